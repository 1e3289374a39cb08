//! Tests of the checker of cuckoo sets: it finds every kind of damage to a table's words, and
//! ignores words without a meaning.

use gpu_kernels::cuckoo::header;
use gpu_kernels::hash::HashFunctions;
use std::collections::HashSet;
use warpnest::types::WordKey as Key;
use warpnest::{CuckooConfig, Device};
use warpnest_tests::cuckoo_checker::{Said, check_cuckoo_set, keys_of_words, slot};
use warpnest_tests::sets::holds;
use warpnest_tests::{distinct_keys, parameterized};

/// A table on the host, which tests damage.
#[derive(Clone)]
struct Table<K: Key> {
    functions: HashFunctions,
    words: Vec<u64>,
    head: Vec<u64>,
    said: Said<K>,
}

impl<K: Key> Table<K> {
    /// Returns the checker's verdict on the table, which should have its original keys.
    fn wrong(&self) -> Result<(), String> {
        let said = keys_of_words::<K>(&self.functions, &self.words, &self.head)?;
        match said.keys == self.said.keys {
            true => Ok(()),
            false => Err("other keys".to_owned()),
        }
    }

    fn get(&self, number: u32) -> Option<K> {
        slot(&self.words, number)
    }

    fn set(&mut self, number: u32, key: K) {
        if K::BITS == 64 {
            self.words[number as usize] = key.to_u64();
        } else {
            let (at, shift) = (number as usize / 2, number % 2 * 32);
            self.words[at] = self.words[at] & !((u32::MAX as u64) << shift) | key.to_u64() << shift;
        }
    }

    /// Damages a copy; the checker must then report one of `says`.
    fn damaged(&self, says: &[&str], damage: impl FnOnce(&mut Self)) {
        let mut copy = self.clone();
        damage(&mut copy);
        let found = copy.wrong().expect_err(&format!("{says:?} was not found"));
        assert!(says.iter().any(|says| found.contains(says)), "{found:?} should say one of {says:?}");
    }
}

/// Returns a table built from keys that each came twice, so copies were erased, and from the key of
/// the cell.
fn table<K: Key>() -> Table<K> {
    let device = Device::cpu();
    let mut keys = distinct_keys::<K>(500, 3).repeat(2);
    keys[9] = K::ALL_ONES;
    let set = CuckooConfig::default().seed(3).slots(1251).build_set(&device, &keys).unwrap();
    holds(&set, &keys);
    let stream = device.default_stream();
    let (words, head) = (set.table().words().download(stream).unwrap(), set.table().header().download(stream).unwrap());
    let said = keys_of_words::<K>(set.table().functions(), &words, &head).unwrap();
    assert_eq!(said.keys, keys.into_iter().collect());
    Table { functions: *set.table().functions(), words, head, said }
}

#[parameterized(each_width)]
fn damage_is_found<K: Key>() {
    let whole = table::<K>();
    assert_eq!(whole.wrong(), Ok(()));
    let functions = whole.functions;
    let taken: Vec<(u32, K)> = (0..functions.slots()).filter_map(|at| whole.get(at).map(|key| (at, key))).collect();
    let at_home: Vec<(u32, K)> = taken.iter().copied().filter(|&(at, _)| !whole.said.fillers.contains(&at)).collect();
    assert!(!whole.said.fillers.is_empty() && at_home.len() == whole.said.keys.len() - 1);

    let mut away = 0;
    for &(at, key) in at_home.iter().step_by(5) {
        // Another of the key's slots gets a copy, whatever was there.
        for &other in functions.slots_of(key)[..4].iter().filter(|&&other| other != at) {
            whole.damaged(&["is in slots", "passed by"], |table| table.set(other, key));
        }
        whole.damaged(&["passed by", "other keys"], |table| table.set(at, K::ALL_ONES));
        // Another key is written, in one of its slots or not.
        whole.damaged(&["other keys", "passed by"], |table| table.set(at, K::from_u64(key.to_u64() ^ 1)));
        // No slot by an earlier function of the key may be empty.
        for &before in functions.slots_of(key)[..4].iter().take_while(|&&before| before != at) {
            away += 1;
            whole.damaged(&["which is empty"], |table| table.set(before, K::ALL_ONES));
        }
    }
    assert!(away > 10, "{away} slots were passed by");
    // If the slot of an erased copy becomes empty, it hides keys whose probes passed it.
    let hidden = whole.said.fillers.iter().filter(|&&at| {
        let mut table = whole.clone();
        table.set(at, K::ALL_ONES);
        table.wrong().is_err()
    });
    assert!(hidden.count() > 0, "no key passed by an erased copy");
    whole.damaged(&["other keys"], |table| table.head[header::CELL as usize] = 0);
    whole.damaged(&["the build failed"], |table| table.head[header::FAILED as usize] = 1);
    whole.damaged(&["too few"], |table| table.words.truncate(10));
    whole.damaged(&["the build failed"], |table| table.head.clear());

    // Any filler may replace an erased copy, and words after the slots may be anything.
    let mut other = whole;
    for at in other.said.fillers.clone() {
        let filler = (1u64 << 20..).map(K::from_u64).find(|&key| !functions.slots_of(key).contains(&at));
        other.set(at, filler.unwrap());
    }
    if K::BITS == 32 {
        other.set(functions.slots(), K::from_u64(5));
    }
    assert_eq!(other.wrong(), Ok(()));
}

#[test]
fn a_set_with_a_key_too_many_or_too_few_is_not_what_it_should_be() {
    let keys: Vec<u32> = distinct_keys(1000, 3);
    let set = CuckooConfig::default().seed(1).build_set(&Device::cpu(), &keys).unwrap();
    let mut reference: HashSet<u32> = keys.iter().copied().collect();
    assert_eq!(check_cuckoo_set(&set, &reference), Ok(()));
    reference.remove(&keys[5]);
    assert!(check_cuckoo_set(&set, &reference).unwrap_err().contains(&format!("key {} should not", keys[5])));
    reference.extend([keys[5], 1]);
    assert!(check_cuckoo_set(&set, &reference).unwrap_err().contains("key 1 is nowhere"));
    let fewer = std::panic::AssertUnwindSafe(|| holds(&set, &keys[1..]));
    assert!(std::panic::catch_unwind(fewer).is_err());
}
