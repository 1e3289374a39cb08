//! Group-by, compared with loops over maps of the standard library, on every engine.

use super::means::exact;
use super::rows::{Rows, Tested, in_order, key_numbers, kinds_of_case};
use proptest::prelude::*;
use warpnest::error::InputError;
use warpnest::primitives::Scratch;
use warpnest::relational::{GroupBy, Groups, Method, Order};
use warpnest::{Buffer, Device, Error};
use warpnest_tests::{TestEngine, at, on_every_engine, parameterized, the_cpu_engine};

/// Checks every aggregate of every type in one query.
fn check_all<K: Tested>(device: &Device, rows: &Rows<K>, order: Order, method: Method) -> Result<(), TestCaseError> {
    let mut query = GroupBy::new(&rows.keys);
    let count = query.count();
    let sums = (query.sum(&rows.narrow), query.sum(&rows.signed), query.sum(&rows.wide), query.sum(&rows.long));
    let float_sums = (query.sum(&rows.single), query.sum(&rows.double));
    let means = (query.mean(&rows.narrow), query.mean(&rows.long), query.mean(&rows.double));
    let least = (query.min(&rows.narrow), query.min(&rows.signed), query.min(&rows.single), query.min(&rows.long));
    let greatest = (query.max(&rows.wide), query.max(&rows.signed), query.max(&rows.single), query.max(&rows.double));
    let (first, last) = (query.first(&rows.letters), query.last(&rows.letters));
    let last_wide = query.last(&rows.wide);
    let groups = query.order(order).method(method).run(device).unwrap();
    let is_right = method == Method::Auto || groups.report.method == method || groups.report.overflowed;
    prop_assert!(is_right || rows.keys.is_empty(), "{:?} instead of {:?}", groups.report, method);
    let expected = in_order(&rows.keys, &groups.keys, order)?;
    macro_rules! check {
        ($aggregate:expr, $of:expr) => {
            let found = groups.column($aggregate).unwrap();
            prop_assert_eq!(found.len(), expected.len());
            for (found, (key, rows)) in found.iter().zip(&expected) {
                let of: &dyn Fn(&[usize]) -> _ = &$of;
                prop_assert_eq!(*found, of(rows), "{} of {:?}", stringify!($aggregate), key);
            }
        };
    }
    check!(count, |of| of.len() as u32);
    check!(sums.0, |of| of.iter().map(|&row| rows.narrow[row] as u64).sum::<u64>());
    check!(sums.1, |of| of.iter().map(|&row| rows.signed[row] as i64).sum::<i64>());
    check!(sums.2, |of| of.iter().fold(0u64, |sum, &row| sum.wrapping_add(rows.wide[row])));
    let long_sum = |of: &[usize]| of.iter().fold(0i64, |sum, &row| sum.wrapping_add(rows.long[row]));
    check!(sums.3, |of| long_sum(of));
    check!(float_sums.0, |of| of.iter().map(|&row| rows.single[row] as f64).sum::<f64>());
    check!(float_sums.1, |of| of.iter().map(|&row| rows.double[row]).sum::<f64>());
    check!(means.0, |of| exact(of.iter().map(|&row| i128::from(rows.narrow[row])).sum(), of.len()));
    check!(means.1, |of| exact(of.iter().map(|&row| i128::from(rows.long[row])).sum(), of.len()));
    check!(means.2, |of| of.iter().map(|&row| rows.double[row]).sum::<f64>() / of.len() as f64);
    check!(least.0, |of| of.iter().map(|&row| rows.narrow[row]).min().unwrap());
    check!(least.1, |of| of.iter().map(|&row| rows.signed[row]).min().unwrap());
    check!(least.3, |of| of.iter().map(|&row| rows.long[row]).min().unwrap());
    check!(greatest.0, |of| of.iter().map(|&row| rows.wide[row]).max().unwrap());
    check!(greatest.1, |of| of.iter().map(|&row| rows.signed[row]).max().unwrap());
    check!(greatest.3, |of| of.iter().map(|&row| rows.double[row]).max_by(f64::total_cmp).unwrap());
    check!(first, |of| rows.letters[of[0]]);
    check!(last, |of| rows.letters[of[of.len() - 1]]);
    check!(last_wide, |of| rows.wide[of[of.len() - 1]]);
    // The two zeros differ only in their bits.
    let bits = |column: &[f32]| -> Vec<u32> { column.iter().copied().map(f32::to_bits).collect() };
    let (min_bits, max_bits) = (bits(groups.column(least.2).unwrap()), bits(groups.column(greatest.2).unwrap()));
    for ((key, of), (min, max)) in expected.iter().zip(min_bits.iter().zip(&max_bits)) {
        let singles = || of.iter().map(|&row| rows.single[row]);
        prop_assert_eq!(*min, singles().min_by(f32::total_cmp).unwrap().to_bits(), "the least of {:?}", key);
        prop_assert_eq!(*max, singles().max_by(f32::total_cmp).unwrap().to_bits(), "the greatest of {:?}", key);
    }
    Ok(())
}

/// Checks queries of one column and of none. They sort other payloads, and can be answered on chip.
fn check_each<K: Tested>(device: &Device, rows: &Rows<K>, order: Order, method: Method) -> Result<(), TestCaseError> {
    let stream = device.default_stream();
    let mut scratch = Scratch::new(device);
    let expected = |groups: &Groups<K>| {
        let report = groups.report();
        let hashed = method == Method::Hash && !rows.keys.is_empty();
        let as_wanted = report.method == if hashed { Method::Hash } else { Method::Sort };
        prop_assert!(as_wanted || report.overflowed, "{:?}", report);
        in_order(&rows.keys, &groups.keys().download(stream).unwrap(), order)
    };

    let mut query = GroupBy::new(&rows.keys);
    let groups = query.order(order).method(method).seed(7).run_on(stream, &mut scratch).unwrap();
    expected(&groups)?;
    let count = query.count();
    let mut groups = query.run_on(stream, &mut scratch).unwrap();
    for _ in 0..2 {
        let counts: Vec<u32> = expected(&groups)?.iter().map(|group| group.1.len() as u32).collect();
        prop_assert_eq!(groups.column(count).unwrap().download(stream).unwrap(), counts);
        query.run_into(stream, &mut scratch, &mut groups).unwrap();
    }

    let keys = Buffer::from_slice(device, &rows.keys).unwrap();
    let narrow = Buffer::from_slice(device, &rows.narrow).unwrap();
    let mut query = GroupBy::new(&keys);
    let (sum, max, again) = (query.sum(&narrow), query.max(&narrow), query.sum(&narrow));
    let groups = query.order(order).method(method).run_on(stream, &mut scratch).unwrap();
    let of = expected(&groups)?;
    let sums: Vec<u64> = of.iter().map(|group| group.1.iter().map(|&row| rows.narrow[row] as u64).sum()).collect();
    let most: Vec<u32> = of.iter().map(|group| group.1.iter().map(|&row| rows.narrow[row]).max().unwrap()).collect();
    prop_assert_eq!(&groups.column(sum).unwrap().download(stream).unwrap(), &sums);
    prop_assert_eq!(&groups.column(again).unwrap().download(stream).unwrap(), &sums);
    prop_assert_eq!(groups.column(max).unwrap().download(stream).unwrap(), most);

    // With small values no sum wraps.
    let long: Vec<i64> = rows.long.iter().map(|value| value >> 20).collect();
    let mut query = GroupBy::new(&rows.keys);
    let (sum, mean) = (query.sum(&long), query.mean(&long));
    let groups = query.order(order).method(method).run_on(stream, &mut scratch).unwrap();
    let of = expected(&groups)?;
    let of_rows = |of: &Vec<usize>| of.iter().map(|&row| long[row]).sum::<i64>();
    let sums: Vec<i64> = of.iter().map(|group| of_rows(&group.1)).collect();
    let means: Vec<f64> = of.iter().map(|group| exact(of_rows(&group.1).into(), group.1.len())).collect();
    prop_assert_eq!(groups.column(sum).unwrap().download(stream).unwrap(), sums);
    prop_assert_eq!(groups.column(mean).unwrap().download(stream).unwrap(), means);

    let mut query = GroupBy::new(&rows.keys);
    let (count, mean) = (query.count(), query.mean(&rows.signed));
    let groups = query.order(order).method(method).run_on(stream, &mut scratch).unwrap();
    let of = expected(&groups)?;
    let of_rows = |of: &Vec<usize>| exact(of.iter().map(|&row| i128::from(rows.signed[row])).sum(), of.len());
    let means: Vec<f64> = of.iter().map(|group| of_rows(&group.1)).collect();
    prop_assert_eq!(groups.column(mean).unwrap().download(stream).unwrap(), means);
    prop_assert_eq!(groups.column(count).unwrap().len(), of.len());

    let mut query = GroupBy::new(&rows.keys);
    let (min, max) = (query.min(&rows.double), query.max(&rows.double));
    let groups = query.order(order).method(method).run_on(stream, &mut scratch).unwrap();
    let of = expected(&groups)?;
    let doubles = |of: &(K, Vec<usize>)| of.1.iter().map(|&row| rows.double[row]).collect::<Vec<f64>>();
    let least = of.iter().map(|of| doubles(of).into_iter().min_by(f64::total_cmp).unwrap());
    prop_assert_eq!(groups.column(min).unwrap().download(stream).unwrap(), least.collect::<Vec<f64>>());
    let greatest = of.iter().map(|of| doubles(of).into_iter().max_by(f64::total_cmp).unwrap());
    prop_assert_eq!(groups.column(max).unwrap().download(stream).unwrap(), greatest.collect::<Vec<f64>>());
    Ok(())
}

fn check<K: Tested>(engine: &TestEngine, keys: Vec<K>, seed: u64, order: Order) -> Result<(), TestCaseError> {
    let rows = Rows::new(keys, seed);
    let method = [Method::Auto, Method::Sort, Method::Hash][(seed % 3) as usize];
    check_all(&engine.device, &rows, order, method)?;
    let method = if seed.is_multiple_of(3) { Method::Sort } else { Method::Hash };
    check_each(&engine.device, &rows, order, method)
}

fn order() -> impl Strategy<Value = Order> {
    prop::sample::select(vec![Order::Any, Order::ByKey, Order::FirstSeen])
}

fn most(engine: &TestEngine) -> usize {
    if engine.max_items < 1000 { 400 } else { 9_000 }
}

#[test]
fn groups_of_32_bit_keys() {
    on_every_engine(
        |engine| (key_numbers(most(engine)), any::<u64>(), order()),
        |engine, (keys, seed, order)| check::<u32>(engine, keys.iter().map(|&key| key as u32).collect(), seed, order),
    );
}

#[test]
fn groups_of_64_bit_keys() {
    on_every_engine(
        |engine| (key_numbers(most(engine)), any::<u64>(), order()),
        |engine, (keys, seed, order)| check::<u64>(engine, keys, seed, order),
    );
}

#[test]
fn groups_of_signed_keys_and_of_pairs_are_in_their_order() {
    on_every_engine(
        |engine| (key_numbers(most(engine)), any::<u64>()),
        |engine, (keys, seed)| {
            let signed = |key: &u64| key.wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64 >> (key % 60);
            let [narrow, wide, pairs] = kinds_of_case(engine, seed);
            if narrow {
                check::<i32>(engine, keys.iter().map(|key| signed(key) as i32).collect(), seed, Order::ByKey)?;
            }
            if wide {
                check::<i64>(engine, keys.iter().map(signed).collect(), seed, Order::ByKey)?;
            }
            if pairs {
                let pairs = keys.iter().map(|key| ((signed(key) % 3) as i32, *key as u32)).collect();
                check::<(i32, u32)>(engine, pairs, seed, Order::ByKey)?;
            }
            Ok(())
        },
    );
}

#[test]
fn two_columns_of_keys_are_pairs() {
    on_every_engine(
        |engine| (key_numbers(most(engine)), order()),
        |engine, (keys, order)| {
            let first: Vec<i32> = keys.iter().map(|key| (key % 7) as i32 - 3).collect();
            let second: Vec<u32> = keys.iter().map(|key| (key >> 3) as u32).collect();
            let pairs: Vec<(i32, u32)> = first.iter().copied().zip(second.iter().copied()).collect();
            for method in [Method::Sort, Method::Hash] {
                let mut query = GroupBy::by_two(&first, &second);
                let count = query.count();
                let groups = query.order(order).method(method).run(&engine.device).unwrap();
                let expected = in_order(&pairs, &groups.keys, order)?;
                let counts: Vec<u32> = expected.iter().map(|group| group.1.len() as u32).collect();
                prop_assert_eq!(groups.column(count).unwrap(), counts);
            }
            Ok(())
        },
    );
}

/// Checks so many rows that cores share them, in groups that are few, that are merged, and that are
/// divided into parts. On other engines the other tests do as much.
#[test]
fn groups_of_rows_that_cores_share() {
    let Some(engine) = the_cpu_engine() else { return };
    let most = engine.max_items as u64;
    let mixed = |row: u64| (row ^ row >> 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    for groups in [1, 16, 17, 3_000, 40_000, most] {
        // With this seed, rows are hashed.
        let (seed, keys) = (2, || (0..most).map(|row| mixed(row) % groups));
        let _at = at(format!("{groups} groups"));
        check::<u32>(engine, keys().map(|key| key as u32).collect(), seed, Order::Any).unwrap();
        check::<u64>(engine, keys().map(|key| key << 40).collect(), seed, Order::FirstSeen).unwrap();
    }
}

#[test]
fn edges() {
    on_every_engine(
        |_| (prop::sample::select(vec![0usize, 1, 2, 31, 33, 255, 257]), order(), 0..24u64),
        |engine, (rows, order, seed)| {
            let [equal, ascending, descending, extreme] = kinds_of_case(engine, seed);
            for (spread, has) in [(0, equal), (1, ascending), (u32::MAX, descending)] {
                if has {
                    let key = |row: usize| (row as u32).wrapping_mul(spread);
                    check::<u32>(engine, (0..rows).map(key).collect(), seed, order)?;
                }
            }
            if extreme {
                // These keys are the lowest and the highest possible key.
                let key = |row: usize| if row.is_multiple_of(2) { 0 } else { u64::MAX };
                check::<u64>(engine, (0..rows).map(key).collect(), seed, order)?;
            }
            Ok(())
        },
    );
}

#[parameterized]
fn what_does_not_belong_together_is_refused(device: &Device) {
    let (keys, values) = ([1u32, 2, 3], [1i32, 2]);
    let mut query = GroupBy::new(&keys);
    let sum = query.sum(&values);
    let refused = query.run(device).unwrap_err();
    assert!(refused.to_string().contains("the keys 3, a column of values 2"), "{refused}");

    let mut other = GroupBy::new(&keys);
    let on_host = other.run(device).unwrap();
    assert_eq!(on_host.column(sum).unwrap_err(), Error::Input(InputError::ForeignAggregate));
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let mut groups = other.run_on(stream, &mut scratch).unwrap();
    assert_eq!(groups.column(sum).unwrap_err(), Error::Input(InputError::ForeignAggregate));
    // Groups have only the aggregates that were requested before they were computed.
    let count = other.count();
    assert_eq!(on_host.column(count).unwrap_err(), Error::Input(InputError::ForeignAggregate));
    assert_eq!(groups.column(count).unwrap_err(), Error::Input(InputError::ForeignAggregate));

    let refused = other.run_into(stream, &mut scratch, &mut groups).unwrap_err();
    assert_eq!((refused, groups.len()), (Error::Input(InputError::ForeignAggregate), 3));

    let (first, second) = ([1u32; 4], [1u32; 5]);
    let refused = GroupBy::by_two(&first, &second).run(device).unwrap_err();
    assert!(refused.to_string().contains("the first key column 4, the second key column 5"), "{refused}");
}

#[test]
fn buffers_of_another_device_are_refused() {
    let (here, there) = (Device::cpu(), warpnest_tests::elsewhere());
    let keys = Buffer::from_slice(&there, &[1u32, 2]).unwrap();
    let values = [1u32, 2];
    let mut query = GroupBy::new(&keys);
    query.sum(&values);
    assert!(matches!(query.run(&here), Err(Error::WrongDevice { .. })));
    let near = [1u32, 2];
    let far = Buffer::from_slice(&there, &[1.0f32, 2.0]).unwrap();
    let mut query = GroupBy::new(&near);
    query.sum(&far);
    assert!(matches!(query.run(&here), Err(Error::WrongDevice { .. })));
    assert!(matches!(query.run_on(there.default_stream(), &mut Scratch::new(&here)), Err(Error::WrongDevice { .. })));
}
