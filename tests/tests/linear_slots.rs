//! The slots of removed keys: that no key comes twice because of them, that they are used again where they may be; and that the
//! checker of the words finds damage.

use std::collections::HashMap;
use warpnest::LinearOperation::{GetOrInsert, Insert, Remove};
use warpnest::kernels::linear::{Operation, header};
use warpnest::{Answers, Buffer, LinearConfig, LinearMap};
use warpnest_tests::linear_checker::{Slot, check_linear_map, decode, removed_word, search_order, slot_of, words_of};
use warpnest_tests::maps::equals;
use warpnest_tests::{TestEngine, distinct_keys, engines};

/// Slots of a line, which a search looks at before it goes on to another one.
const LINE: usize = 8;

fn configs() -> [LinearConfig; 2] {
    let config = LinearConfig::default().pairs(100).seed(21);
    [config.clone(), config.to_the_next_line()]
}

/// Keys whose searches look at the same slots first, in the same order, and how many slots that are.
fn neighbours(map: &LinearMap, count: usize) -> Vec<u32> {
    let first = |key| search_order(map.layout(), key).take(LINE).collect::<Vec<u64>>();
    let order = first(1);
    (1..).filter(|&key| first(key) == order).take(count).collect()
}

/// The slot of a key, which must have one.
fn place(map: &LinearMap, key: u32) -> u64 {
    check_linear_map(map).unwrap();
    let slots = words_of(map).unwrap().into_iter().map(slot_of);
    let mut places = slots.enumerate().filter(|(_, slot)| matches!(*slot, Slot::Living(other, _) if other == key));
    let (place, _) = places.next().unwrap_or_else(|| panic!("key {key} is nowhere"));
    place as u64
}

/// Ways to insert one key, all of which say what it had; the last two must leave the slots of other removed keys alone.
type Way = (&'static str, bool, fn(&mut LinearMap, u32, u32) -> Option<u32>);
const WAYS: [Way; 4] = [
    ("replace_many", false, |map, key, value| map.replace_many(&[key], &[value]).unwrap()[0]),
    ("get_or_insert_many", true, |map, key, value| {
        let (had, found) = (map.len(), map.get_or_insert_many(&[key], &[value]).unwrap()[0]);
        (map.len() == had).then_some(found)
    }),
    ("an insertion among others", false, |map, key, value| map.apply_many(&[Insert(key, value)]).unwrap()[0]),
    ("a get-or-insertion among others", true, |map, key, value| map.apply_many(&[GetOrInsert(key, value)]).unwrap()[0]),
];

/// cuCollections' issue 606: the key is there, a slot before it was given up, and the key is inserted once more.
#[test]
fn a_key_behind_a_removed_one_is_found_and_not_inserted_again() {
    for (engine, config) in engines().iter().flat_map(|engine| configs().map(|config| (engine, config))) {
        for (name, keeps, insert) in WAYS {
            // The key is in the same bucket as the removed one, in the other one of the line, or in the next line.
            for before in [1, 3, 5, LINE, LINE + 2] {
                for (removed, alone) in [0, before / 2, before - 1].into_iter().flat_map(|i| [(i, false), (i, true)]) {
                    let mut map = config.create(&engine.device).unwrap();
                    let keys = neighbours(&map, before + 1);
                    // One after the other, so that each stands behind those before.
                    keys.iter().for_each(|&key| assert_eq!(map.insert_many(&[key], &[key]), Ok(1)));
                    let key = keys[before];
                    let (slot, given_up) = (place(&map, key), place(&map, keys[removed]));
                    // Removed alone, it may leave an empty slot; among other operations it never does.
                    let answer = if alone {
                        map.remove_many(&[keys[removed]])
                    } else {
                        map.apply_many(&[Remove(keys[removed])])
                    };
                    assert_eq!(answer.unwrap(), [Some(keys[removed])]);
                    let (taken, left) = (map.taken(), words_of(&map).unwrap()[given_up as usize]);
                    assert!(left == removed_word(keys[removed]) || alone && left == u64::MAX, "{left:#x}");
                    assert_eq!(insert(&mut map, key, 5), Some(key), "{name} on {}", engine.device.name());
                    assert_eq!((place(&map, key), map.taken()), (slot, taken), "{name}");
                    let mut pairs: HashMap<u32, u32> = keys.iter().map(|&key| (key, key)).collect();
                    pairs.remove(&keys[removed]);
                    pairs.insert(key, if keeps { key } else { 5 });
                    equals(&map, &pairs);
                    assert_eq!(words_of(&map).unwrap()[given_up as usize], left);
                }
            }
        }
    }
}

#[test]
fn a_removed_slot_serves_its_own_key_always_and_others_if_nothing_is_removed_meanwhile() {
    for (engine, config) in engines().iter().flat_map(|engine| configs().map(|config| (engine, config))) {
        for (number, (name, _, insert)) in WAYS.into_iter().enumerate() {
            let mut map = config.create(&engine.device).unwrap();
            let keys = neighbours(&map, 4);
            keys[..3].iter().for_each(|&key| assert_eq!(map.insert_many(&[key], &[key]), Ok(1)));
            let slot = place(&map, keys[1]);
            map.apply_many(&[Remove(keys[1])]).unwrap();
            assert_eq!((insert(&mut map, keys[1], 6), place(&map, keys[1]), map.taken()), (None, slot, 3), "{name}");
            map.apply_many(&[Remove(keys[1])]).unwrap();
            assert_eq!(insert(&mut map, keys[3], 7), None);
            let expected =
                if number < 2 { (slot, 3) } else { (search_order(map.layout(), keys[3]).nth(3).unwrap(), 4) };
            assert_eq!((place(&map, keys[3]), map.taken()), expected, "{name} on {}", engine.device.name());
            equals(&map, &HashMap::from([(keys[0], keys[0]), (keys[2], keys[2]), (keys[3], 7)]));
        }
    }
}

/// A key that moves forward leaves its old removed slot behind it, which must not hide it, nor be hidden by it.
#[test]
fn a_key_that_came_back_to_an_earlier_slot_is_not_hidden_by_the_one_that_it_left() {
    for (engine, config) in engines().iter().flat_map(|engine| configs().map(|config| (engine, config))) {
        for far in [2, LINE + 1] {
            let mut map = config.create(&engine.device).unwrap();
            let keys = neighbours(&map, far + 3);
            let key = keys[far];
            keys[..=far].iter().for_each(|&key| assert_eq!(map.insert_many(&[key], &[key]), Ok(1)));
            let (near, old) = (place(&map, keys[0]), place(&map, key));
            map.apply_many(&[Remove(keys[0]), Remove(key)]).unwrap();
            assert_eq!(map.replace_many(&[key], &[8]).unwrap(), [None]);
            assert_eq!((place(&map, key), words_of(&map).unwrap()[old as usize]), (near, removed_word(key)));
            assert_eq!(map.get_many(&[key]).unwrap(), [Some(8)]);
            assert_eq!(map.apply_many(&[GetOrInsert(key, 9)]).unwrap(), [Some(8)]);
            // Removed in both places now: it comes back to the first.
            assert_eq!(map.apply_many(&[Remove(key), Remove(key)]).unwrap().iter().flatten().count(), 1);
            assert_eq!((map.get_many(&[key]).unwrap(), map.contains_many(&[key]).unwrap()), (vec![None], vec![false]));
            assert_eq!(map.apply_many(&[Insert(key, 10)]).unwrap(), [None]);
            assert_eq!(place(&map, key), near);
            // Others take the slot that it left.
            assert_eq!(map.insert_many(&keys[far + 1..], &[1, 2]).unwrap(), 2);
            let found = check_linear_map(&map).unwrap();
            assert!(words_of(&map).unwrap()[old as usize] != removed_word(key) && found.removed == 0, "{found:?}");
            assert_eq!(map.remove_many(&[key]).unwrap(), [Some(10)]);
            assert_eq!(map.insert_many(&[key], &[11]).unwrap(), 1);
            let mut pairs: HashMap<u32, u32> = keys[1..far].iter().map(|&key| (key, key)).collect();
            pairs.extend([(key, 11), (keys[far + 1], 1), (keys[far + 2], 2)]);
            equals(&map, &pairs);
        }
    }
}

/// Slots and probes: every search comes to every slot once, if it must.
#[test]
fn every_search_leads_to_every_slot() {
    for (pairs, config) in [0, 20, 100, 1000].into_iter().flat_map(|pairs| configs().map(|config| (pairs, config))) {
        let map = config.pairs(pairs).create(&engines()[0].device).unwrap();
        for key in distinct_keys(50, 4).into_iter().chain([0, u32::MAX]) {
            let mut slots: Vec<u64> = search_order(map.layout(), key).collect();
            slots.sort_unstable();
            assert!(slots.into_iter().eq(0..map.slots()), "key {key}: {:?}", map.layout());
        }
    }
}

#[test]
fn operations_of_unknown_kinds_do_nothing_and_answer_nothing() {
    fn with(engine: &TestEngine, config: &LinearConfig) {
        let (device, stream) = (&engine.device, engine.device.default_stream());
        let mut map = config.create(device).unwrap();
        map.insert_many(&[1, 2, u32::MAX], &[10, 20, 30]).unwrap();
        let words = words_of(&map).unwrap();
        let kinds = [4, 5, 255, 256, u32::MAX, 1 << 31, Operation::Get as u32];
        let n = 280;
        let keys: Vec<u32> = (0..n).map(|i| [1, 2, 3, u32::MAX][i % 4]).collect();
        let of: Vec<u32> = (0..n).map(|i| kinds[i % kinds.len()]).collect();
        let buffer = |elements: &[u32]| Buffer::from_slice(device, elements).unwrap();
        // What was in the answers before must be gone.
        let mut answers = map.get_many_on(stream, &buffer(&vec![1; n])).unwrap();
        map.reserve(stream, n as u64).unwrap();
        let before = (*map.layout(), words_of(&map).unwrap());
        map.apply_many_into(stream, &buffer(&of), &buffer(&keys), &buffer(&vec![7; n]), &mut answers).unwrap();
        let pairs = HashMap::from([(1, 10), (2, 20), (u32::MAX, 30)]);
        for (i, answer) in answers.download(stream).unwrap().into_iter().enumerate() {
            let expected = if of[i] == Operation::Get as u32 { pairs.get(&keys[i]).copied() } else { None };
            assert_eq!(answer, expected, "operation {i} of kind {}", of[i]);
        }
        assert!(
            answers.values().download(stream).unwrap().iter().zip(&of).all(|(&value, &kind)| kind == 0 || value == 0)
        );
        assert!((*map.layout(), words_of(&map).unwrap()) == before && words.len() as u64 <= map.slots());
        equals(&map, &pairs);
        let mut none = Answers::new(device, 0).unwrap();
        map.apply_many_into(stream, &buffer(&[]), &buffer(&[]), &buffer(&[]), &mut none).unwrap();
    }
    engines().iter().for_each(|engine| configs().iter().for_each(|config| with(engine, config)));
}

#[test]
fn the_checker_finds_damage() {
    for config in configs() {
        let mut map = config.create(&engines()[0].device).unwrap();
        let keys = neighbours(&map, LINE + 3);
        keys.iter().for_each(|&key| assert_eq!(map.insert_many(&[key], &[key]), Ok(1)));
        map.insert_many(&[u32::MAX], &[0]).unwrap();
        let places: Vec<usize> = keys.iter().map(|&key| place(&map, key) as usize).collect();
        map.remove_many(&[keys[2]]).unwrap();
        let words = words_of(&map).unwrap();
        let beside = map.header().download(map.device().default_stream()).unwrap();
        assert_eq!(decode(&words, &beside, map.layout()).unwrap().pairs.len(), keys.len());
        let finds = |what: &str, damage: &dyn Fn(&mut [u64], &mut [u64])| {
            let (mut words, mut beside) = (words.clone(), beside.clone());
            damage(&mut words, &mut beside);
            let found = decode(&words, &beside, map.layout()).expect_err(what);
            assert!(found.contains(what), "{found:?} should say {what:?}");
        };
        let last = LINE + 2;
        let near = search_order(map.layout(), keys[0]).nth(last + 1).unwrap() as usize;
        let far = search_order(map.layout(), keys[0]).last().unwrap() as usize;
        finds("there twice", &|words, _| words[places[2]] = words[places[last]]);
        finds("there twice", &|words, _| words[near] = words[places[0]]);
        finds("behind the empty slot", &|words, _| words[places[1]] = u64::MAX);
        finds("behind the empty slot", &|words, _| words.swap(places[last], far));
        finds("behind its removed slot", &|words, _| words[places[2]] = removed_word(keys[last]));
        finds("the cell", &|_, beside| beside[header::CELL as usize] = 5);
    }
}

/// What the map says of itself is compared with the words, too.
#[test]
fn the_checker_finds_that_a_map_counts_wrong() {
    let mut map = configs()[0].create(&engines()[0].device).unwrap();
    map.insert_many(&[1, 2, 3], &[1, 2, 3]).unwrap();
    map.apply_many(&[Remove(3)]).unwrap();
    let words = words_of(&map).unwrap();
    let (living, removed) = (place(&map, 2), words.iter().position(|&word| word == removed_word(3)).unwrap() as u64);
    for (slot, word, says) in
        [(living, u64::MAX, "keys"), (living, removed_word(2), "keys"), (removed, u64::MAX, "slots")]
    {
        // SAFETY: the buffer has this slot, its words are of 64 bits, and no kernel runs on the CPU when no call does.
        let all = unsafe { map.words().global::<u64>() };
        all.store(slot, word);
        let found = check_linear_map(&map).unwrap_err();
        assert!(found.contains(says) && found.contains("the map says"), "{found:?}");
        all.store(slot, words[slot as usize]);
        check_linear_map(&map).unwrap();
    }
}
