//! The linear map under concurrency: many operations on few keys at the same time. The checker of
//! their answers is tested, too.

use gpu_kernels::double_word::{Double, PackedPair};
use gpu_kernels::linear::slot::IfHeld;
use gpu_kernels::linear::{InUse, Layout, header};
use gpu_kernels::seam::Global;
use proptest::prelude::*;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use warpnest::linear::LinearOperation;
use warpnest::linear::LinearOperation::{Combine, Get, GetOrInsert, Insert, Remove};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Answers, Buffer, Device, Fold, LinearConfig};
use warpnest_tests::linear_checker::{Done, check_answers, check_linear_map, in_some_order, search_order};
use warpnest_tests::random::run_property;
use warpnest_tests::{distinct_keys, of_all_widths};

/// Returns a value with `number`, less than 2^32, in its lower 32 bits. The upper 32 bits of a
/// 64-bit value depend on `number`, too.
fn value<V: Value>(number: u64) -> V {
    V::from_u64(number | u64::from((number as u32).wrapping_mul(0x9e37_79b1)) << 32)
}

mod threads_that_meet_at_few_keys_for_a_second_leave_answers_that_have_an_order {
    use super::*;
    of_all_widths!(meet_at_few_keys);
}

/// Runs many batches on few keys, by all threads, to find races.
fn meet_at_few_keys<K: Key, V: Value>() {
    let (begin, device) = (Instant::now(), Device::cpu());
    let mut next = 1u64;
    let mut random = move |below: u64| {
        next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (next >> 33) % below
    };
    for round in 0.. {
        // Each round has another map: a small full one, or one with spare capacity.
        let config = LinearConfig::default().load([0.99, 0.8][round % 2]).pairs([30_000, 0][round / 2 % 2]);
        let config = config.seed(round as u64);
        let mut map = if round % 3 == 0 { config.linear_probing() } else { config }.create::<K, V>(&device).unwrap();
        let mut before = HashMap::new();
        let distinct = [1, 3, 40, 2000][round % 4];
        // Keys with the same home line collide; the last key has a cell of its own.
        let home = |key: &K| search_order::<K, V>(map.table().layout(), *key).next();
        let candidates = (0..20_000).map(K::from_u64);
        let mut keys: Vec<K> = candidates.filter(|key| home(key) < Some(64)).take(distinct).collect();
        keys.extend((1 << 20..).map(K::from_u64).take(distinct.saturating_sub(keys.len())));
        keys.push(K::ALL_ONES);
        for batch in 0..6 {
            let mut operation = |i: u64| {
                let key = keys[random(keys.len() as u64) as usize];
                // Every value of a batch is unique, so each answer tells its origin.
                let value = value(batch << 24 | i);
                match random(8) {
                    0 => Get(key),
                    1..=3 => Insert(key, value),
                    4 | 5 => GetOrInsert(key, value),
                    _ => Remove(key),
                }
            };
            let operations: Vec<LinearOperation<K, V>> = (0..20_000).map(&mut operation).collect();
            let answers = map.apply_many(&operations).unwrap();
            let after = check_linear_map(&map).unwrap().pairs;
            check_answers(&before, operations.into_iter().zip(answers), &after).unwrap();
            // These batches have insertions alone, which reuse the slots of removed keys.
            let some: Vec<K> = (0..5_000).map(|_| keys[random(keys.len() as u64) as usize]).collect();
            let values: Vec<V> = (0..5_000).map(|i| value(1 << 30 | i)).collect();
            let answers = map.replace_many(&some, &values).unwrap();
            let inserted = check_linear_map(&map).unwrap().pairs;
            let done = some.iter().zip(&values).map(|(&key, &value)| Insert(key, value)).zip(answers);
            check_answers(&after, done, &inserted).unwrap();
            // These batches have removals alone, which make some of these slots empty.
            let gone: Vec<K> = (0..keys.len()).map(|_| keys[random(keys.len() as u64) as usize]).collect();
            let gone: Vec<K> = gone.iter().cycle().take(3 * gone.len()).copied().collect();
            let answers = map.remove_many(&gone).unwrap();
            before = check_linear_map(&map).unwrap().pairs;
            check_answers(&inserted, gone.into_iter().map(Remove).zip(answers), &before).unwrap();
        }
        if begin.elapsed() > Duration::from_secs(1) {
            break;
        }
    }
}

mod blocks_that_do_the_same_at_the_same_time_for_a_second_leave_answers_that_have_an_order {
    use super::*;
    of_all_widths!(do_the_same);
}

/// Runs batches whose blocks all have the same keys in the same order. Threads that begin at the
/// same time then reach each key's slot at the same time, be it empty, removed or taken.
fn do_the_same<K: Key, V: Value>() {
    type Make<K, V> = fn(K, V) -> LinearOperation<K, V>;
    let in_turn: Make<K, V> = |key, value| if value.to_u64() % 2 == 0 { Remove(key) } else { GetOrInsert(key, value) };
    // The operation of every key in a batch, and whether it runs in a batch of mixed operations.
    let batches: [(Make<K, V>, bool); 10] = [
        (Insert, true),
        (|key, _| Remove(key), true),
        (Insert, false),
        (|key, _| Remove(key), true),
        (GetOrInsert, false),
        (|key, _| Remove(key), false),
        (GetOrInsert, true),
        (in_turn, true),
        (Insert, false),
        (in_turn, true),
    ];
    let begin = Instant::now();
    let (block, copies) = (256, 8);
    for round in 0..u32::MAX {
        let config = LinearConfig::default().seed(round as u64).load(0.98).pairs([40_000, 4_500][round as usize % 2]);
        let mut map =
            if round % 3 == 0 { config.linear_probing() } else { config }.create::<K, V>(&Device::cpu()).unwrap();
        let distinct: Vec<K> = distinct_keys(4096, round as u64);
        let keys: Vec<K> = distinct.chunks(block).flat_map(|chunk| chunk.repeat(copies)).collect();
        let mut before = HashMap::new();
        for (number, (operation, mixed)) in batches.into_iter().enumerate() {
            let value = |i: usize| value(((number << 24) + 2 * i + i / block % 2) as u64);
            let values: Vec<V> = (0..keys.len()).map(value).collect();
            let operations: Vec<_> = keys.iter().zip(&values).map(|(&key, &value)| operation(key, value)).collect();
            let answers = match operations[0] {
                Insert(..) if !mixed => map.replace_many(&keys, &values).unwrap(),
                Remove(_) if !mixed => map.remove_many(&keys).unwrap(),
                GetOrInsert(..) if !mixed => {
                    let device = map.device().clone();
                    let (keys, values) =
                        (Buffer::from_slice(&device, &keys).unwrap(), Buffer::from_slice(&device, &values).unwrap());
                    let mut answers = Answers::new(&device, keys.len()).unwrap();
                    map.get_or_insert_many_into(device.default_stream(), &keys, &values, &mut answers).unwrap();
                    answers.download(device.default_stream()).unwrap()
                }
                _ => map.apply_many(&operations).unwrap(),
            };
            let after = check_linear_map(&map).unwrap().pairs;
            check_answers(&before, operations.into_iter().zip(answers), &after).unwrap();
            before = after;
        }
        if begin.elapsed() > Duration::from_secs(1) {
            break;
        }
    }
}

mod different_keys_that_want_the_same_slot_at_the_same_time_take_the_first_ones {
    use super::*;
    of_all_widths!(want_the_same_slot);
}

/// Checks keys whose searches begin concurrently at one slot. The keys that do not get it must take
/// the next slot, and no later one.
fn want_the_same_slot<K: Key, V: Value>() {
    let begin = Instant::now();
    let mut map = LinearConfig::default().seed(3).pairs(40_000).create::<K, V>(&Device::cpu()).unwrap();
    let mut homes: HashMap<u64, Vec<K>> = HashMap::new();
    for key in (0..300_000).map(K::from_u64) {
        homes
            .entry(search_order::<K, V>(map.table().layout(), key).next().expect("there are slots"))
            .or_default()
            .push(key);
    }
    let homes: Vec<Vec<K>> = homes.into_values().filter(|keys| keys.len() >= 3).take(4096).collect();
    // A block has the first keys of some homes, and the next block has their second keys.
    let block = |homes: &[Vec<K>]| (0..3).flat_map(|i| homes.iter().map(move |keys| keys[i])).collect::<Vec<K>>();
    let own = |key: K| value::<V>(key.to_u64());
    let keys: Vec<K> = homes.chunks(256).flat_map(block).collect();
    while begin.elapsed() < Duration::from_secs(1) {
        // This removal makes a slot empty, so later insertions search for the key before they take
        // a slot.
        map.insert_many(&[K::ALL_ONES >> 1], &[value(1)]).unwrap();
        map.remove_many(&[K::ALL_ONES >> 1]).unwrap();
        let insertions: Vec<_> = keys.iter().map(|&key| Insert(key, own(key))).collect();
        assert!(map.apply_many(&insertions).unwrap().iter().all(Option::is_none));
        assert_eq!(check_linear_map(&map).unwrap().pairs.len(), keys.len());
        assert!(map.remove_many(&keys).unwrap().iter().zip(&keys).all(|(value, key)| *value == Some(own(*key))));
        // Clearing keeps the constants and thereby the homes.
        map.clear().unwrap();
    }
}

mod no_word_is_torn_beside_replacements {
    use super::*;
    of_all_widths!(whole);
}

/// Words that are aligned for accesses of 16 bytes.
#[repr(align(16))]
struct Aligned<T, const N: usize>([T; N]);

/// Checks that words are read whole. Two threads insert and remove and two threads look up the same
/// keys of one table, without pause. Every part of a value depends on its key and its turn, so
/// halves of two different words do not fit together.
fn whole<K: Key, V: Value>() {
    let layout = Layout { a: 0x9e37_79b9_7f4a_7c15, b: 0xd1b5_4a32_d192_ed03, lines: 2, linear: 1 };
    let (mut words, mut header) = (Aligned([PackedPair::<K, V>::ALL_ONES; 16]), Aligned([0u64; header::WORDS]));
    // SAFETY: the table lives until all threads have ended, and has as many slots as the layout
    // says. All threads access the words by atomics alone.
    let (slots, header) = unsafe { (Global::new(words.0.as_mut_ptr()), Global::new(header.0.as_mut_ptr())) };
    let table = InUse::<K, V>::new(slots, header, layout);
    // The few keys make threads meet. One key has the cell; the others differ in their upper halves
    // if they have 64 bits.
    let keys = [K::ALL_ONES.to_u64(), 3, 3 | 1 << (K::BITS - 1)].map(K::from_u64);
    let made = |key: usize, turn: u64| value::<V>((1 + turn % (1 << 23)) << 8 | key as u64);
    let check = |key: usize, found: Option<V>| {
        let number = found.map(|found| found.to_u64() & u32::MAX as u64);
        let fits = |number: u64| number > 0xff && number & 0xff == key as u64 && found == Some(value(number));
        assert!(number.is_none_or(fits), "key {} has {found:x?}", keys[key]);
    };
    let end = Instant::now() + Duration::from_secs(1);
    let turns = || (0..).take_while(|turn| turn % 1024 != 0 || Instant::now() < end);
    std::thread::scope(|scope| {
        for key in 0..2 {
            scope.spawn(move || {
                for turn in turns() {
                    let key = (key + turn as usize / 2) % keys.len();
                    check(key, table.insert(keys[key], made(key, turn), IfHeld::Replace, true).before);
                    check(key, table.remove(keys[key]));
                }
            });
            scope.spawn(move || {
                turns().for_each(|turn| check(turn as usize % keys.len(), table.get(keys[turn as usize % keys.len()])))
            });
        }
    });
}

/// Checks the walk along all operations against a search through all orders of the operations.
#[test]
fn an_order_is_found_exactly_if_there_is_one() {
    fn search(state: Option<u32>, done: &mut Vec<Done<u32, u32>>, last: Option<u32>) -> bool {
        done.is_empty() && state == last
            || (0..done.len()).any(|i| {
                let (operation, answer) = done.swap_remove(i);
                let then = match operation {
                    Get(_) => state,
                    Insert(_, value) => Some(value),
                    GetOrInsert(_, value) => Some(state.unwrap_or(value)),
                    Remove(_) => None,
                    // All folds here are sums.
                    Combine(_, value, _) => Some(state.map_or(value, |held| held + value)),
                };
                let found = answer == state && search(then, done, last);
                done.push((operation, answer));
                let end = done.len() - 1;
                done.swap(i, end);
                found
            })
    }
    let state = || prop_oneof![Just(None), (0u32..3).prop_map(Some)];
    let operation = (0u32..5, 0u32..3).prop_map(|(kind, value)| match kind {
        0 => Get(7),
        1 => Insert(7, value),
        2 => GetOrInsert(7, value),
        3 => Combine(7, value, Fold::SUM),
        _ => Remove(7),
    });
    let inputs = (state(), prop::collection::vec((operation, state()), 0..6), state());
    let orders = std::cell::Cell::new(0);
    let property = |(first, done, last): (_, Vec<Done<u32, u32>>, _)| {
        let there_is = search(first, &mut done.clone(), last);
        orders.set(orders.get() + there_is as u32);
        prop_assert_eq!(in_some_order(first, &done, last), there_is);
        Ok(())
    };
    run_property(20_000, inputs, property).unwrap();
    assert!(orders.get() > 500, "only {} had an order", orders.get());
}
