//! The kernels that read a cuckoo table after its insertion, tested with every formula on tables
//! that are filled here. Maps draw a formula at random, and they run some of these kernels only
//! after failures.

use gpu_kernels::cuckoo::{Census, Last, PairsParams, header, next_slot, slot_bytes, slot_words};
use gpu_kernels::hash::{Formula, HashFunctions, MAX_FUNCTIONS, NO_SLOT};
use gpu_kernels::types::KeyWord as _;
use gpu_kernels::types::Payload;
use std::collections::HashSet;
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device};
use warpnest_tests::cuckoo_checker::keys_of_words;
use warpnest_tests::{at, distinct_keys, null, on_all};

const FORMULAS: [Formula; 5] =
    [Formula::Mix, Formula::Linear, Formula::LinearWrapping, Formula::Xor, Formula::XorWrapping];

fn functions<K: Key>(formula: Formula, count: u32, slots: u32, prime: u32, seed: u64) -> HashFunctions {
    let mut number = 0;
    HashFunctions::new(formula, count, slots, prime, K::BITS, || {
        number += 1;
        u64::mixed(number, seed, 0x9e37_79b9)
    })
}

/// A table as an insertion leaves it.
struct Filled<K> {
    functions: HashFunctions,
    slots: Vec<Option<K>>,
    /// The keys that found no slot.
    left: Vec<K>,
}

impl<K: Key> Filled<K> {
    /// Inserts each key into the first of its slots that is empty.
    fn new(functions: HashFunctions, keys: &[K]) -> Self {
        let mut filled = Self { functions, slots: vec![None; functions.slots() as usize], left: Vec::new() };
        for &key in keys {
            match filled.own(key).into_iter().find(|&slot| filled.slots[slot].is_none()) {
                Some(slot) => filled.slots[slot] = Some(key),
                None => filled.left.push(key),
            }
        }
        filled
    }

    /// Returns the slots of a key.
    fn own(&self, key: K) -> Vec<usize> {
        let own = self.functions.slots_of(key);
        own.into_iter().filter(|&slot| slot != NO_SLOT).map(|slot| slot as usize).collect()
    }

    /// Returns the slot where lookups find a key.
    fn position(&self, key: K) -> Option<usize> {
        self.own(key).into_iter().find(|&slot| self.slots[slot] == Some(key))
    }

    /// Writes copies of some keys to empty slots of these keys, and returns the count of copies.
    fn add_copies(&mut self) -> usize {
        let mut copies = 0;
        for key in self.slots.clone().into_iter().flatten() {
            let free = self.own(key).into_iter().find(|&slot| self.slots[slot].is_none());
            if let (0, Some(slot)) = (key.mix(1, 2) % 4, free) {
                self.slots[slot] = Some(key);
                copies += 1;
            }
        }
        copies
    }

    /// Returns the words of the slots.
    fn words<V: Payload>(&self, device: &Device) -> Buffer<u64> {
        let word_bytes = (slot_bytes::<K, V>() / slot_words::<K, V>()) as usize;
        let mut bytes = vec![0xff; self.slots.len() * slot_bytes::<K, V>() as usize];
        let is_packed = K::BITS == 32 && V::VALUE_BITS == 32;
        for (key, slot) in self.slots.iter().zip(bytes.chunks_exact_mut(slot_bytes::<K, V>() as usize)) {
            let Some(key) = key else { continue };
            let item = if is_packed { key.to_u64() << 32 | 7 } else { key.to_u64() };
            slot[..word_bytes].copy_from_slice(&item.to_le_bytes()[..word_bytes]);
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0xff);
        let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
        Buffer::from_slice(device, &words.collect::<Vec<u64>>()).unwrap()
    }
}

/// Returns the header that a kernel leaves when it starts with a header of zeros.
fn launched(device: &Device, launch: impl FnOnce(&mut Buffer<u64>)) -> Vec<u64> {
    let mut head = Buffer::<u64>::zeroed(device, header::WORDS).unwrap();
    launch(&mut head);
    head.download(device.default_stream()).unwrap()
}

/// Checks the index of each key's last pair, stored for the slot where lookups find the key, and
/// whether keys without a slot are reported.
fn last_pairs<K: Key, V: Payload>(device: &Device, table: &Filled<K>) {
    let stream = device.default_stream();
    let there: Vec<K> = table.slots.iter().flatten().copied().collect();
    let mut keys = [&there[..], &there[there.len() / 3..], &[K::ALL_ONES], &there[..there.len() / 2]].concat();
    for is_missing in [false, true] {
        if is_missing {
            let absent = distinct_keys::<K>(5, 991).into_iter().find(|&key| table.position(key).is_none());
            keys.extend(absent);
        }
        let mut expected = vec![0u32; table.slots.len()];
        for (i, &key) in keys.iter().enumerate().filter(|(_, key)| **key != K::ALL_ONES) {
            if let Some(slot) = table.position(key) {
                expected[slot] = i as u32;
            }
        }
        let (words, on_device) = (table.words::<V>(device), Buffer::from_slice(device, &keys).unwrap());
        let mut last = Buffer::<u32>::zeroed(device, table.slots.len()).unwrap();
        for is_null in [false, true] {
            let plan = PairsParams { functions: table.functions, pairs: keys.len() as u64 };
            let head = launched(device, |head| {
                // SAFETY: `pairs` is the count of keys; `last` is null or as long as the slots.
                unsafe {
                    stream.launch(plan.pairs as usize, |uses| Last::<K, V> {
                        keys: uses.read(&on_device),
                        words: uses.read(&words).cast(),
                        header: uses.write(head),
                        last: if is_null { null() } else { uses.write(&mut last) },
                        plan,
                    })
                }
                .unwrap();
            });
            assert_eq!(head[header::FAILED as usize], is_missing as u64);
        }
        assert_eq!(last.download(stream).unwrap(), expected);
    }
}

/// Checks the count of keys, and whether repeated keys are reported; in a set, their copies are
/// then erased.
fn census<K: Key, V: Payload>(device: &Device, table: &Filled<K>, keys: usize, copies: usize) {
    let (stream, slots) = (device.default_stream(), table.slots.len() as u64);
    let mut words = table.words::<V>(device);
    let head = launched(device, |head| {
        // SAFETY: the words are the slots of the functions.
        unsafe {
            stream.launch(slots as usize, |uses| Census::<K, V> {
                words: uses.write(&mut words).cast(),
                header: uses.write(head),
                functions: table.functions,
            })
        }
        .unwrap();
    });
    let found = [header::FAILED, header::REPEATED, header::KEYS].map(|word| head[word as usize]);
    assert_eq!(found, [0, (copies > 0) as u64, keys as u64]);
    if V::VALUE_BITS == 0 {
        let said = keys_of_words::<K>(&table.functions, &words.download(stream).unwrap(), &head).unwrap();
        let there: HashSet<K> = table.slots.iter().flatten().copied().collect();
        assert_eq!((said.keys, said.fillers.len()), (there, copies));
    }
}

fn after_an_insertion<K: Key, V: Payload>(device: &Device) {
    for formula in FORMULAS {
        for count in [2, 5] {
            let _at = at(format!("{formula:?}, {count} functions"));
            let functions = functions::<K>(formula, count, 701, 334_214_459, count as u64);
            let mut table = Filled::<K>::new(functions, &distinct_keys(200, 4));
            let keys = 200 - table.left.len();
            last_pairs::<K, V>(device, &table);
            census::<K, V>(device, &table, keys, 0);
            let copies = table.add_copies();
            assert!(copies > 10, "{copies} copies");
            last_pairs::<K, V>(device, &table);
            census::<K, V>(device, &table, keys, copies);
        }
    }
}

fn every_kernel<K: Key, V: Payload>() {
    on_all(after_an_insertion::<K, V>);
}

warpnest_tests::of_pairs_and_keys_alone!(every_kernel);

#[test]
fn the_walk_visits_every_distinct_slot_whichever_functions_agree() {
    // This runs through all choices of up to five functions on up to five slots.
    for code in 0..5u32.pow(5) {
        for count in 2..=MAX_FUNCTIONS {
            let slots: [u32; MAX_FUNCTIONS] =
                core::array::from_fn(|f| if f < count { code / 5u32.pow(f as u32) % 5 } else { NO_SLOT });
            let mut current = slots[0];
            let mut visited = 0u32;
            for _ in 0..MAX_FUNCTIONS {
                visited |= 1 << current;
                current = next_slot(&slots, current);
            }
            let all = slots[..count].iter().fold(0u32, |all, &slot| all | 1 << slot);
            assert_eq!(visited, all, "{slots:?}");
        }
    }
}
