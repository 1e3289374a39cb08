//! The slots of removed keys: they never make a key be inserted twice, and they are reused where
//! that is allowed. Tests of the checker of the words follow.

use std::collections::HashMap;
use warpnest::linear::LinearKind;
use warpnest::linear::LinearOperation::{GetOrInsert, Insert, Remove};
use warpnest::low_level::kernels::double_word::PackedPair;
use warpnest::low_level::kernels::linear::Operation;
use warpnest::low_level::kernels::seam::Global;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Answers, Buffer, Device, LinearConfig, LinearMap};
use warpnest_tests::linear_checker::{
    Slot, bucket, check_linear_map, decode, empty_word, line, linear_engines, removed_word, search_order, slot_of,
    words_of,
};
use warpnest_tests::maps::equals;
use warpnest_tests::{TestEngine, distinct_keys, in_all_widths, parameterized};

fn configs() -> [LinearConfig; 2] {
    let config = LinearConfig::default().pairs(100).seed(21);
    [config.clone(), config.linear_probing()]
}

/// Returns keys whose searches read the same two lines first, in the same order.
fn neighbours<K: Key, V: Value>(map: &LinearMap<K, V>, count: usize) -> Vec<K> {
    let first = |key| search_order::<K, V>(map.table().layout(), key).take(2 * line::<K, V>()).collect::<Vec<u64>>();
    let order = first(K::from_u64(1));
    (1..).map(K::from_u64).filter(|&key| first(key) == order).take(count).collect()
}

/// Returns the value that tests give a key.
fn own<K: Key, V: Value>(key: K) -> V {
    V::from_u64(key.to_u64() | key.to_u64() << 33)
}

/// Inserts each key with its value, one after the other, so each key is stored after the keys
/// before it.
fn insert_in_turn<K: Key, V: Value>(map: &mut LinearMap<K, V>, keys: &[K]) {
    keys.iter().for_each(|&key| assert_eq!(map.insert_many(&[key], &[own(key)]), Ok(1)));
}

fn pairs<'k, K: Key, V: Value>(keys: impl IntoIterator<Item = &'k K>) -> HashMap<K, V> {
    keys.into_iter().map(|&key| (key, own(key))).collect()
}

/// Returns the slot of a key, which must have one.
fn slot_number<K: Key, V: Value>(map: &LinearMap<K, V>, key: K) -> u64 {
    check_linear_map(map).unwrap();
    let slots = words_of(map).unwrap().into_iter().map(slot_of::<K, V>);
    let mut slot_numbers =
        slots.enumerate().filter(|(_, slot)| matches!(*slot, Slot::Living(other, _) if other == key));
    let (slot_number, _) = slot_numbers.next().unwrap_or_else(|| panic!("key {key} is nowhere"));
    slot_number as u64
}

/// An insertion of one key that returns its earlier value; the flag says whether it keeps that. The
/// last two must not reuse the slots of other removed keys.
type Insertion<K, V> = (&'static str, bool, fn(&mut LinearMap<K, V>, K, V) -> Option<V>);

fn insertions<K: Key, V: Value>() -> [Insertion<K, V>; 4] {
    [
        ("replace_many", false, |map, key, value| map.replace_many(&[key], &[value]).unwrap()[0]),
        ("get_or_insert_many", true, |map, key, value| {
            let (had, found) = (map.len(), map.get_or_insert_many(&[key], &[value]).unwrap()[0]);
            (map.len() == had).then_some(found)
        }),
        ("an insertion among others", false, |map, key, value| map.apply_many(&[Insert(key, value)]).unwrap()[0]),
        ("a get-or-insertion among others", true, |map, key, value| {
            map.apply_many(&[GetOrInsert(key, value)]).unwrap()[0]
        }),
    ]
}

/// Checks the case of cuCollections' issue 606: a key is present, an earlier slot is freed, and the
/// key is inserted again.
#[parameterized(each_width)]
fn a_key_behind_a_removed_one_is_found_and_not_inserted_again<K: Key, V: Value>() {
    for (engine, config) in linear_engines::<K, V>().flat_map(|engine| configs().map(|config| (engine, config))) {
        for (name, keeps, insert) in insertions::<K, V>() {
            // The key is in the same bucket as the removed key, in the other bucket of the line, or
            // in the next line.
            for before in [1, bucket::<K, V>() as usize - 1, line::<K, V>() - 1, line::<K, V>(), line::<K, V>() + 2] {
                for (removed, alone) in [0, before / 2, before - 1].into_iter().flat_map(|i| [(i, false), (i, true)]) {
                    let mut map = config.create::<K, V>(&engine.device).unwrap();
                    let keys = neighbours(&map, before + 1);
                    insert_in_turn(&mut map, &keys);
                    let key = keys[before];
                    let (slot, given_up) = (slot_number(&map, key), slot_number(&map, keys[removed]));
                    // A batch of removals alone may make the slot empty; a batch of mixed
                    // operations never does.
                    let answer = if alone {
                        map.remove_many(&[keys[removed]])
                    } else {
                        map.apply_many(&[Remove(keys[removed])])
                    };
                    assert_eq!(answer.unwrap(), [Some(own(keys[removed]))]);
                    let (taken, left) = (map.table().taken(), words_of(&map).unwrap()[given_up as usize]);
                    let empty = alone && left == empty_word::<K, V>();
                    assert!(left == removed_word::<K, V>(keys[removed]) || empty, "{left:x?}");
                    let had = insert(&mut map, key, V::from_u64(5));
                    assert_eq!(had, Some(own(key)), "{name} on {}", engine.device.name());
                    assert_eq!((slot_number(&map, key), map.table().taken()), (slot, taken), "{name}");
                    let mut pairs = pairs::<K, V>(&keys);
                    pairs.remove(&keys[removed]);
                    pairs.insert(key, if keeps { own(key) } else { V::from_u64(5) });
                    equals(&map, &pairs);
                    assert_eq!(words_of(&map).unwrap()[given_up as usize], left);
                }
            }
        }
    }
}

#[parameterized]
fn a_removed_slot_serves_its_own_key_always_and_others_if_nothing_is_removed_meanwhile<K: Key, V: Value>() {
    for (engine, config) in linear_engines::<K, V>().flat_map(|engine| configs().map(|config| (engine, config))) {
        for (number, (name, _, insert)) in insertions::<K, V>().into_iter().enumerate() {
            let mut map = config.create::<K, V>(&engine.device).unwrap();
            let [six, seven] = [6, 7].map(V::from_u64);
            let keys = neighbours(&map, 4);
            insert_in_turn(&mut map, &keys[..3]);
            let slot = slot_number(&map, keys[1]);
            map.apply_many(&[Remove(keys[1])]).unwrap();
            assert_eq!(
                (insert(&mut map, keys[1], six), slot_number(&map, keys[1]), map.table().taken()),
                (None, slot, 3),
                "{name}"
            );
            map.apply_many(&[Remove(keys[1])]).unwrap();
            assert_eq!(insert(&mut map, keys[3], seven), None);
            let expected = if number < 2 {
                (slot, 3)
            } else {
                (search_order::<K, V>(map.table().layout(), keys[3]).nth(3).unwrap(), 4)
            };
            assert_eq!(
                (slot_number(&map, keys[3]), map.table().taken()),
                expected,
                "{name} on {}",
                engine.device.name()
            );
            equals(&map, &HashMap::from([(keys[0], own(keys[0])), (keys[2], own(keys[2])), (keys[3], seven)]));
        }
    }
}

/// Checks that a key that moves to an earlier slot and its old removed slot do not hide each other.
#[parameterized]
fn a_key_that_came_back_to_an_earlier_slot_is_not_hidden_by_the_one_that_it_left<K: Key, V: Value>() {
    for (engine, config) in linear_engines::<K, V>().flat_map(|engine| configs().map(|config| (engine, config))) {
        for far in [2, line::<K, V>() + 1] {
            let mut map = config.create::<K, V>(&engine.device).unwrap();
            let value = V::from_u64;
            let keys = neighbours(&map, far + 3);
            let key = keys[far];
            insert_in_turn(&mut map, &keys[..=far]);
            let (near, old) = (slot_number(&map, keys[0]), slot_number(&map, key));
            map.apply_many(&[Remove(keys[0]), Remove(key)]).unwrap();
            assert_eq!(map.replace_many(&[key], &[value(8)]).unwrap(), [None]);
            assert_eq!(
                (slot_number(&map, key), words_of(&map).unwrap()[old as usize]),
                (near, removed_word::<K, V>(key))
            );
            assert_eq!(map.get_many(&[key]).unwrap(), [Some(value(8))]);
            assert_eq!(map.apply_many(&[GetOrInsert(key, value(9))]).unwrap(), [Some(value(8))]);
            // The key is now removed in both slots, and must return to the earlier.
            assert_eq!(map.apply_many(&[Remove(key), Remove(key)]).unwrap().iter().flatten().count(), 1);
            assert_eq!((map.get_many(&[key]).unwrap(), map.contains_many(&[key]).unwrap()), (vec![None], vec![false]));
            assert_eq!(map.apply_many(&[Insert(key, value(10))]).unwrap(), [None]);
            assert_eq!(slot_number(&map, key), near);
            // Other keys take the slot that the key left.
            assert_eq!(map.insert_many(&keys[far + 1..], &[1, 2].map(value)).unwrap(), 2);
            let found = check_linear_map(&map).unwrap();
            assert!(
                words_of(&map).unwrap()[old as usize] != removed_word::<K, V>(key) && found.removed == 0,
                "{found:?}"
            );
            assert_eq!(map.remove_many(&[key]).unwrap(), [Some(value(10))]);
            assert_eq!(map.insert_many(&[key], &[value(11)]).unwrap(), 1);
            let mut pairs = pairs::<K, V>(&keys[1..far]);
            pairs.extend([(key, value(11)), (keys[far + 1], value(1)), (keys[far + 2], value(2))]);
            equals(&map, &pairs);
        }
    }
}

/// Checks that every search reads every slot exactly once if it finds nothing earlier.
#[parameterized]
fn every_search_leads_to_every_slot<K: Key, V: Value>() {
    for (pairs, config) in [0, 20, 100, 1000].into_iter().flat_map(|pairs| configs().map(|config| (pairs, config))) {
        let map = config.pairs(pairs).create::<K, V>(&Device::cpu()).unwrap();
        for key in distinct_keys(50, 4).into_iter().chain([K::from_u64(0), K::ALL_ONES]) {
            let mut slots: Vec<u64> = search_order::<K, V>(map.table().layout(), key).collect();
            slots.sort_unstable();
            assert!(slots.into_iter().eq(0..map.table().slots()), "key {key}: {:?}", map.table().layout());
        }
    }
}

#[test]
fn operations_of_unknown_kinds_do_nothing_and_answer_nothing() {
    fn with<K: Key, V: Value>(engine: &TestEngine, config: &LinearConfig) {
        let (device, stream) = (&engine.device, engine.device.default_stream());
        let mut map = config.create::<K, V>(device).unwrap();
        let [one, two, three] = [1, 2, 3].map(K::from_u64);
        let values = [10, 20, 30].map(V::from_u64);
        map.insert_many(&[one, two, K::ALL_ONES], &values).unwrap();
        let words = words_of(&map).unwrap();
        let kinds = [4, 5, 255, 256, u32::MAX, 1 << 31, Operation::Get as u32];
        let n = 280;
        let keys: Vec<K> = (0..n).map(|i| [one, two, three, K::ALL_ONES][i % 4]).collect();
        let of: Vec<u32> = (0..n).map(|i| kinds[i % kinds.len()]).collect();
        let words_in = |elements: &[u32]| Buffer::from_slice(device, elements).unwrap();
        // None of these kinds is a fold, so none produces an invalid value.
        let (words_of_kinds, none_of_them) = (words_in(&of), words_in(&[]));
        // SAFETY: kinds are words, and nobody writes to this buffer.
        let kinds_in = |words: &Buffer<u32>| unsafe {
            Buffer::<LinearKind<V>>::from_foreign(device, words.address(), words.len()).unwrap()
        };
        let keys_in = |elements: &[K]| Buffer::from_slice(device, elements).unwrap();
        let values_in = |elements: &[V]| Buffer::from_slice(device, elements).unwrap();
        // The old contents of the answers must be overwritten.
        let mut answers = map.get_many_on(stream, &keys_in(&vec![one; n])).unwrap();
        map.reserve(n).unwrap();
        let before = (*map.table().layout(), words_of(&map).unwrap());
        let seven = V::from_u64(7);
        map.apply_many_into(
            stream,
            &kinds_in(&words_of_kinds),
            &keys_in(&keys),
            &values_in(&vec![seven; n]),
            &mut answers,
        )
        .unwrap();
        let pairs = HashMap::from([(one, values[0]), (two, values[1]), (K::ALL_ONES, values[2])]);
        for (i, answer) in answers.download(stream).unwrap().into_iter().enumerate() {
            let expected = if of[i] == Operation::Get as u32 { pairs.get(&keys[i]).copied() } else { None };
            assert_eq!(answer, expected, "operation {i} of kind {}", of[i]);
        }
        assert!(
            answers
                .values()
                .download(stream)
                .unwrap()
                .iter()
                .zip(&of)
                .all(|(&value, &kind)| kind == 0 || value == V::default())
        );
        assert!(
            (*map.table().layout(), words_of(&map).unwrap()) == before && words.len() as u64 <= map.table().slots()
        );
        equals(&map, &pairs);
        let mut none = Answers::new(device, 0).unwrap();
        map.apply_many_into(stream, &kinds_in(&none_of_them), &keys_in(&[]), &values_in(&[]), &mut none).unwrap();
    }
    fn on_all<K: Key, V: Value>() {
        linear_engines::<K, V>().for_each(|engine| configs().iter().for_each(|config| with::<K, V>(engine, config)));
    }
    in_all_widths!(on_all());
}

/// A change to the words of the slots or of the header.
type Damage<'d, W> = dyn Fn(&mut [W], &mut [u64]) + 'd;

#[parameterized]
fn the_checker_finds_damage<K: Key, V: Value>() {
    for config in configs() {
        let mut map = config.create::<K, V>(&Device::cpu()).unwrap();
        let line = line::<K, V>();
        let keys = neighbours(&map, line + 3);
        insert_in_turn(&mut map, &keys);
        map.insert_many(&[K::ALL_ONES], &[V::default()]).unwrap();
        let slot_numbers: Vec<usize> = keys.iter().map(|&key| slot_number(&map, key) as usize).collect();
        map.remove_many(&[keys[2]]).unwrap();
        let words = words_of(&map).unwrap();
        let beside = map.table().header().download(map.device().default_stream()).unwrap();
        assert_eq!(decode::<K, V>(&words, &beside, map.table().layout()).unwrap().pairs.len(), keys.len());
        let finds = |what: &str, damage: &Damage<'_, PackedPair<K, V>>| {
            let (mut words, mut beside) = (words.clone(), beside.clone());
            damage(&mut words, &mut beside);
            let found = decode::<K, V>(&words, &beside, map.table().layout()).expect_err(what);
            assert!(found.contains(what), "{found:?} should say {what:?}");
        };
        let last = line + 2;
        let near = search_order::<K, V>(map.table().layout(), keys[0]).nth(last + 1).unwrap() as usize;
        let far = search_order::<K, V>(map.table().layout(), keys[0]).last().unwrap() as usize;
        finds("there twice", &|words, _| words[slot_numbers[2]] = words[slot_numbers[last]]);
        finds("there twice", &|words, _| words[near] = words[slot_numbers[0]]);
        finds("behind the empty slot", &|words, _| words[slot_numbers[1]] = empty_word::<K, V>());
        finds("behind the empty slot", &|words, _| words.swap(slot_numbers[last], far));
        finds("behind its removed slot", &|words, _| words[slot_numbers[2]] = removed_word::<K, V>(keys[last]));
        finds("the cell", &|_, beside| beside[..2].copy_from_slice(&[5, 0]));
        finds("the cell", &|_, beside| beside[..2].copy_from_slice(&[5, 2]));
    }
}

/// Checks that the checker also compares the map's own figures with the words.
#[parameterized]
fn the_checker_finds_that_a_map_counts_wrong<K: Key, V: Value>() {
    let mut map = configs()[0].create::<K, V>(&Device::cpu()).unwrap();
    let [one, two, three] = [1, 2, 3].map(K::from_u64);
    insert_in_turn(&mut map, &[one, two, three]);
    map.apply_many(&[Remove(three)]).unwrap();
    let words = words_of(&map).unwrap();
    let (living, removed) =
        (slot_number(&map, two), words.iter().position(|&word| word == removed_word::<K, V>(three)).unwrap() as u64);
    for (slot, word, says) in [
        (living, empty_word::<K, V>(), "keys"),
        (living, removed_word::<K, V>(two), "keys"),
        (removed, empty_word::<K, V>(), "slots"),
    ] {
        // SAFETY: the buffer has this slot, its words are of this type, and no kernel runs on the
        // CPU outside a call.
        let all = unsafe { Global::new(map.table().words().address() as *mut PackedPair<K, V>) };
        all.store(slot, word);
        let found = check_linear_map(&map).unwrap_err();
        assert!(found.contains(says) && found.contains("the map says"), "{found:?}");
        all.store(slot, words[slot as usize]);
        check_linear_map(&map).unwrap();
    }
}
