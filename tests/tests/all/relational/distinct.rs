//! Different keys, ids, counts and first rows, compared with loops over maps of the standard
//! library, on every engine.

use super::rows::{Tested, in_order, key_numbers, kinds_of_case, lengths, rows_of};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use warpnest::primitives::Scratch;
use warpnest::relational::{
    Distinct, OnHost, Order, Rows, Unique, factorize_on, isin_on, mode_on, top_k_on, unique_on, value_counts_on,
};
use warpnest::relational::{factorize, isin, mode, top_k, unique, value_counts};
use warpnest::{Buffer, Device, Error};
use warpnest_tests::random::derived;
use warpnest_tests::{
    TestEngine, assert_lengths, assert_wrong_device, at, counting, elsewhere, engines, is_thorough, on_every_engine,
    parameterized, the_cpu_engine,
};

/// Says what is wrong with the keys, ids, counts and first rows of a column.
fn check_all<K: Tested>(rows: &[K], found: &OnHost<K, u32, u32, u32>, order: Order) -> Result<(), TestCaseError> {
    let Distinct { keys, ids, counts, first_rows, .. } = found;
    let groups = in_order(rows, keys, order)?;
    let mut expected = vec![u32::MAX; rows.len()];
    for (id, (_, of_key)) in (0..).zip(&groups) {
        of_key.iter().for_each(|&row| expected[row] = id);
    }
    prop_assert_eq!(ids, &expected, "ids, {:?}", order);
    prop_assert_eq!(counts, &groups.iter().map(|group| group.1.len() as u32).collect::<Vec<_>>(), "{:?}", order);
    prop_assert_eq!(first_rows, &groups.iter().map(|group| group.1[0] as u32).collect::<Vec<_>>(), "{:?}", order);
    Ok(())
}

/// Returns whether every row has the key of its id, and no two ids have the same key.
fn lead_back<K: Tested>(rows: &[K], keys: &[K], ids: &[u32]) -> bool {
    let different: HashSet<K> = keys.iter().copied().collect();
    let lead_back = |(key, &id): (&K, &u32)| keys.get(id as usize) == Some(key);
    different.len() == keys.len() && ids.len() == rows.len() && rows.iter().zip(ids).all(lead_back)
}

/// Checks queries for all results in every order, in new memory and in the memory of earlier
/// results.
fn check<K: Tested>(engine: &TestEngine, rows: &[K], seed: u64) -> Result<(), TestCaseError> {
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let buffer = Buffer::from_slice(device, rows).unwrap();
    let mut scratch = Scratch::new(device);
    let host = |found: &warpnest::relational::OnDevice<K, u32, u32, u32>| -> OnHost<K, u32, u32, u32> {
        let mut on_host = Unique::of(&[] as &[K]).ids().counts().first_rows().run(&Device::cpu()).unwrap();
        on_host.keys = found.keys.download(stream).unwrap();
        on_host.ids = found.ids.download(stream).unwrap();
        on_host.counts = found.counts.download(stream).unwrap();
        on_host.first_rows = found.first_rows.download(stream).unwrap();
        on_host
    };
    let mut of_others = {
        let few = [rows, rows].concat();
        let few = Buffer::from_slice(device, &few[..few.len().min(40)]).unwrap();
        Unique::of(&few).ids().counts().first_rows().run_on(stream, &mut scratch).unwrap()
    };
    for order in [Order::Any, Order::ByKey, Order::FirstSeen] {
        let query = Unique::of(&buffer).ids().counts().first_rows().order(order).seed(seed);
        query.run_into(stream, &mut scratch, &mut of_others).unwrap();
        check_all(rows, &host(&of_others), order)?;
    }
    // These queries request only some of the results.
    let order = [Order::Any, Order::FirstSeen, Order::ByKey][(seed % 3) as usize];
    let found = Unique::of(rows).ids().order(order).run(device).unwrap();
    prop_assert!(lead_back(rows, &found.keys, &found.ids), "{:?}", found);
    in_order(rows, &found.keys, order)?;
    let found = Unique::of(&buffer).ids().counts().order(order).run_on(stream, &mut scratch).unwrap();
    let (keys, ids) = (found.keys.download(stream).unwrap(), found.ids.download(stream).unwrap());
    prop_assert!(lead_back(rows, &keys, &ids), "{:?} {:?}", keys, ids);
    let groups = in_order(rows, &keys, order)?;
    let counts: Vec<u32> = groups.iter().map(|group| group.1.len() as u32).collect();
    prop_assert_eq!(found.counts.download(stream).unwrap(), counts);
    let found = Unique::of(rows).first_rows().order(order).run(device).unwrap();
    let groups = in_order(rows, &found.keys, order)?;
    prop_assert_eq!(found.first_rows, groups.iter().map(|group| group.1[0] as u32).collect::<Vec<_>>());
    let found = Unique::of(rows).counts().order(order).run(device).unwrap();
    let groups = in_order(rows, &found.keys, order)?;
    prop_assert_eq!(found.counts, groups.iter().map(|group| group.1.len() as u32).collect::<Vec<_>>());
    let found = Unique::of(rows).order(order).run(device).unwrap();
    in_order(rows, &found.keys, order)?;
    Ok(())
}

/// Checks the free functions, with slices and with buffers.
fn check_functions<K: Tested>(device: &Device, rows: &[K], seed: u64) -> Result<(), TestCaseError> {
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let buffer = Buffer::from_slice(device, rows).unwrap();
    let groups = rows_of(rows);
    in_order(rows, &unique(device, rows).unwrap(), Order::Any)?;
    in_order(rows, &unique_on(stream, &mut scratch, &buffer).unwrap().download(stream).unwrap(), Order::Any)?;

    let (ids, keys) = factorize(device, rows).unwrap();
    prop_assert_eq!(&keys, &groups.iter().map(|group| group.0).collect::<Vec<K>>());
    prop_assert!(lead_back(rows, &keys, &ids));
    let (ids_on, keys_on) = factorize_on(stream, &mut scratch, &buffer).unwrap();
    prop_assert_eq!((ids_on.download(stream).unwrap(), keys_on.download(stream).unwrap()), (ids, keys));

    let mut by_count: Vec<(K, u32)> = groups.iter().map(|(key, of_key)| (*key, of_key.len() as u32)).collect();
    by_count.sort_by_key(|&(key, count)| (Reverse(count), key));
    let (keys, counts): (Vec<K>, Vec<u32>) = by_count.iter().copied().unzip();
    prop_assert_eq!(&value_counts(device, rows).unwrap(), &(keys.clone(), counts.clone()));
    let (keys_on, counts_on) = value_counts_on(stream, &mut scratch, &buffer).unwrap();
    prop_assert_eq!((keys_on.download(stream).unwrap(), counts_on.download(stream).unwrap()), (keys, counts));
    let k = seed as usize % (by_count.len() + 2);
    let (keys, counts): (Vec<K>, Vec<u32>) = by_count.iter().copied().take(k).unzip();
    prop_assert_eq!(&top_k(device, rows, k).unwrap(), &(keys.clone(), counts.clone()));
    let (keys_on, counts_on) = top_k_on(stream, &mut scratch, &buffer, k).unwrap();
    prop_assert_eq!((keys_on.download(stream).unwrap(), counts_on.download(stream).unwrap()), (keys, counts));
    let most = by_count.first().map_or(0, |first| first.1);
    let modes: Vec<K> = by_count.iter().take_while(|(_, count)| *count == most).map(|&(key, _)| key).collect();
    prop_assert_eq!(&mode(device, rows).unwrap(), &modes);
    prop_assert_eq!(mode_on(stream, &mut scratch, &buffer).unwrap().download(stream).unwrap(), modes);

    let among: Vec<K> =
        rows.iter().copied().enumerate().filter(|(row, _)| row % 3 == seed as usize % 3).map(|(_, key)| key).collect();
    let set: HashSet<K> = among.iter().copied().collect();
    let expected: Vec<bool> = rows.iter().map(|key| set.contains(key)).collect();
    prop_assert_eq!(&isin(device, rows, &among).unwrap(), &expected);
    let among = Buffer::from_slice(device, &among).unwrap();
    for _ in 0..2 {
        let words = isin_on(stream, &mut scratch, &buffer, &among).unwrap().download(stream).unwrap();
        let is_set = |row: usize| words[row / 32] >> (row % 32) & 1 != 0;
        prop_assert_eq!(words.len(), rows.len().div_ceil(32));
        prop_assert!((0..rows.len()).all(|row| is_set(row) == expected[row]));
        prop_assert!((rows.len()..32 * words.len()).all(|past| !is_set(past)));
    }
    Ok(())
}

fn most(engine: &TestEngine) -> usize {
    if engine.max_items < 1000 { 160 } else { 6_000 }
}

/// Returns a strategy for numbers that give keys: as for group-by, all different except a few, or
/// each twice.
fn numbers(most: usize) -> impl Strategy<Value = Vec<u64>> {
    let nearly = (lengths(most), 0usize..4, 0..9u64).prop_map(|(rows, kind, odd)| {
        let rows = rows as u64;
        let spread = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let once = |row: u64| if row % (odd + 7) == odd { spread(odd) } else { spread(row + 1) };
        let number =
            |row: u64| [spread(row), once(row), spread(row % (rows / 2 + 1)), spread(row % (rows * 3 / 4 + 1))][kind];
        (0..rows).map(number).collect()
    });
    prop_oneof![key_numbers(most), nearly]
}

#[test]
fn keys_of_32_bits() {
    on_every_engine(
        |engine| (numbers(most(engine)), any::<u64>()),
        |engine, (numbers, seed)| {
            // The upper halves of these numbers differ, too.
            let rows: Vec<u32> = numbers.iter().map(|&number| (number >> 32) as u32 ^ number as u32).collect();
            check(engine, &rows, seed)
        },
    );
}

#[test]
fn keys_of_64_bits() {
    on_every_engine(
        |engine| (numbers(most(engine)), any::<u64>()),
        |engine, (numbers, seed)| check(engine, &numbers, seed),
    );
}

#[test]
fn signed_keys_and_pairs() {
    on_every_engine(
        |engine| (numbers(most(engine)), any::<u64>()),
        |engine, (numbers, seed)| {
            let [signed_keys, pairs] = kinds_of_case(engine, seed);
            if signed_keys {
                let signed: Vec<i32> = numbers.iter().map(|&number| (number >> 7) as i32).collect();
                check_functions(&engine.device, &signed, seed)?;
            }
            if pairs {
                let pair = |&number: &u64| (number as i32 % 5, (number >> 40) as u32);
                check(engine, &numbers.iter().map(pair).collect::<Vec<(i32, u32)>>(), seed)?;
            }
            Ok(())
        },
    );
}

#[test]
fn functions_of_whole_columns() {
    on_every_engine(
        |engine| (numbers(most(engine)), any::<u64>()),
        |engine, (numbers, seed)| {
            let [wide, narrow] = kinds_of_case(engine, seed);
            if wide {
                check_functions(&engine.device, &numbers, seed)?;
            }
            if narrow {
                let narrow: Vec<u32> = numbers.iter().map(|&number| number as u32).collect();
                check_functions(&engine.device, &narrow, seed)?;
            }
            Ok(())
        },
    );
}

/// Checks each length with seeds of all three remainders modulo 3, which determine the order. On a
/// slow engine each length has only one remainder, which differs from run to run.
#[test]
fn edges() {
    for engine in engines().iter().chain(the_cpu_engine()) {
        let rounds: u64 = if is_thorough() {
            24
        } else if engine.max_items > 2000 {
            3
        } else {
            1
        };
        let first = derived(("order", engine.device.name())) % 3;
        for (round, (i, length)) in (0..rounds).flat_map(|round| (0..).zip(LENGTHS).map(move |length| (round, length)))
        {
            let seed = derived(("edges", round, length)) % (1 << 32) * 3 + (first + round + i) % 3;
            let _at = at(format!("{length} rows, seed {seed}, on {}", engine.device.name()));
            edges_of(engine, length, seed).unwrap();
        }
    }
}

/// The lengths of columns at their edges.
const LENGTHS: [usize; 8] = [0, 1, 2, 31, 32, 33, 255, 257];

fn edges_of(engine: &TestEngine, length: usize, seed: u64) -> Result<(), TestCaseError> {
    let all_ones = vec![u32::MAX; length];
    let mut distinct: Vec<u32> = (0..length as u32).map(|row| row.wrapping_mul(0x9e37_79b1)).collect();
    let [repeated, different] = kinds_of_case(engine, seed);
    if repeated {
        check(engine, &all_ones, seed)?;
        check_functions(&engine.device, &all_ones, seed)?;
        let wide: Vec<u64> = (0..length as u64).map(|row| if row % 3 == 0 { u64::MAX } else { row }).collect();
        check(engine, &wide, seed)?;
        check_functions(&engine.device, &wide, seed)?;
    }
    if different {
        check(engine, &distinct, seed)?;
        check_functions(&engine.device, &distinct, seed)?;
        // All rows differ, except that one key occurs twice and the all-ones key is repeated.
        distinct.extend([distinct.first().copied().unwrap_or(7), u32::MAX, u32::MAX]);
        check(engine, &distinct, seed)?;
    }
    Ok(())
}

/// Checks rows of one to five columns of several types, compared with rows as tuples.
#[test]
fn rows_of_several_columns() {
    on_every_engine(
        |engine| (key_numbers(most(engine)), any::<u64>()),
        |engine, (numbers, seed)| {
            let (device, stream) = (&engine.device, engine.device.default_stream());
            let first: Vec<u32> = numbers.iter().map(|&number| number as u32 % 7).collect();
            let second: Vec<i32> = numbers.iter().map(|&number| (number >> 3) as i32 % 5).collect();
            let third: Vec<u64> = numbers.iter().map(|&number| number >> 5 << 40).collect();
            let fourth: Vec<char> = numbers.iter().map(|&number| if number % 11 < 3 { 'x' } else { 'y' }).collect();
            let fifth = Buffer::from_slice(device, &third).unwrap();
            type Tuple = (u32, Option<i32>, Option<u64>, Option<char>);
            let mut scratch = Scratch::new(device);
            let count = 1 + seed as usize % 5;
            let mut rows = Rows::of(&first).seed(seed);
            if count > 1 {
                rows = rows.and(&second);
            }
            if count > 2 {
                rows = rows.and(&third);
            }
            if count > 3 {
                rows = rows.and(&fourth);
            }
            if count > 4 {
                rows = rows.and(&fifth);
            }
            let tuple = |row: usize| -> Tuple {
                let (second, third) = ((count > 1).then(|| second[row]), (count > 2).then(|| third[row]));
                (first[row], second, third, (count > 3).then(|| fourth[row]))
            };
            let mut groups: HashMap<Tuple, Vec<usize>> = HashMap::new();
            for row in 0..first.len() {
                groups.entry(tuple(row)).or_default().push(row);
            }
            let right = |ids: &[u32], counts: &[u32], firsts: &[u32]| {
                let of_group = |group: &Vec<usize>| {
                    let id = ids[group[0]] as usize;
                    let all = group.iter().all(|&row| ids[row] as usize == id);
                    all && counts[id] as usize == group.len() && firsts[id] as usize == group[0]
                };
                let lengths = [ids.len(), counts.len(), firsts.len()] == [first.len(), groups.len(), groups.len()];
                lengths && groups.values().all(of_group)
            };
            for _ in 0..2 {
                let found = rows.distinct_on(stream, &mut scratch).unwrap();
                let [ids, counts, firsts] =
                    [&found.ids, &found.counts, &found.first_rows].map(|part| part.download(stream).unwrap());
                prop_assert!(right(&ids, &counts, &firsts), "{:?} {:?} {:?}", ids, counts, firsts);
            }
            let found = rows.in_order_of_appearance().distinct(device).unwrap();
            prop_assert!(right(&found.ids, &found.counts, &found.first_rows), "{:?}", found);
            prop_assert!(found.first_rows.is_sorted(), "{:?}", found);
            Ok(())
        },
    );
}

/// Checks columns that are long enough to be grouped on chip.
#[test]
fn long_columns() {
    for engine in engines().iter().filter(|engine| engine.max_items >= 100_000) {
        let length = 70_001u64;
        let spread = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        let columns: [&dyn Fn(u64) -> u64; 5] = [
            &spread,
            &|row| spread(row % 35_000),
            &|row| if row % 70 == 3 { 5 } else { spread(row) },
            &|row| spread(row % 53_000),
            &|row| row % 1000,
        ];
        for (seed, number) in (0..).zip(columns) {
            let rows: Vec<u64> = (0..length).map(number).collect();
            check(engine, &rows, seed).unwrap();
            let narrow: Vec<u32> = rows.iter().map(|&number| number as u32).collect();
            check(engine, &narrow, seed + 1).unwrap();
            check_functions(&engine.device, &narrow, seed).unwrap();
        }
    }
}

/// Checks that a call with the scratch and the result of an earlier call allocates nothing.
#[test]
fn memory_is_used_again() {
    use std::sync::atomic::Ordering::Relaxed;
    let (device, counts) = counting();
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
    for rows in [(0..5000u32).map(|row| row % 2500).collect::<Vec<_>>(), (0..5000).map(|row| row.min(4990)).collect()] {
        let column = Buffer::from_slice(&device, &rows).unwrap();
        let query = Unique::of(&column).ids().counts().seed(1);
        let mut found = query.run_on(stream, &mut scratch).unwrap();
        for _ in 0..3 {
            query.run_into(stream, &mut scratch, &mut found).unwrap();
        }
        let before = counts.allocations.load(Relaxed);
        query.run_into(stream, &mut scratch, &mut found).unwrap();
        assert_eq!(counts.allocations.load(Relaxed), before);
        assert!(scratch.memory_bytes() > 0);
    }
    scratch.release();
    assert_eq!(scratch.memory_bytes(), 0);
}

#[parameterized]
fn columns_of_another_device_or_length_are_refused(device: &Device) {
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let there = elsewhere();
    let (far, near) =
        (Buffer::from_slice(&there, &[1u32, 2]).unwrap(), Buffer::from_slice(device, &[1u32, 2]).unwrap());
    let error = Unique::of(&far).ids().run_on(stream, &mut scratch).unwrap_err();
    assert!(matches!(error, Error::WrongDevice { .. }), "{error}");
    let error = isin_on(stream, &mut scratch, &far, &near).unwrap_err();
    assert_wrong_device(error, "the buffer of keys", &there, device);
    let error = isin_on(stream, &mut scratch, &near, &far).unwrap_err();
    assert_wrong_device(error, "the buffer of keys", &there, device);
    let error = Rows::of(&[1u32, 2]).and(&[1u64]).distinct(device).unwrap_err();
    assert_lengths(error, ("the first column", 2), ("another column", 1));
    let mut words = Buffer::zeroed(device, 2).unwrap();
    let error = warpnest::relational::isin_into(stream, &mut scratch, &near, &near, &mut words).unwrap_err();
    assert_lengths(error, ("the keys, in words of 32,", 1), ("the found-words", 2));
    let mut found = Unique::of(&far).run_on(there.default_stream(), &mut Scratch::new(&there)).unwrap();
    let error = Unique::of(&near).run_into(stream, &mut scratch, &mut found).unwrap_err();
    assert!(matches!(error, Error::WrongDevice { .. }), "{error}");
    assert_eq!(found.keys.len(), 2);
}
