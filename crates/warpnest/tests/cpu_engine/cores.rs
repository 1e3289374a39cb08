//! Tests of work that is divided among several cores.

use super::shuffled_threads::ShuffledThreads;
use super::{distinct, holds, repeated, values};
use warpnest::low_level::engine::HostEngine;
use warpnest::primitives::{Scratch, sort_pairs};
use warpnest::relational::{JoinKind, TextColumn, Unique, WideJoin, WideKeys};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Device, LinearConfig};

/// The count of cores among which the tests divide work, whatever the machine has.
const CORES: usize = 4;

/// Runs a test on devices that divide work among several cores.
fn on_several_cores(test: impl Fn(&Device) + Sync) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(CORES).build().unwrap();
    pool.install(|| test(&Device::cpu()));
    test(&Device::from_engine(HostEngine::new(ShuffledThreads::new(2).with_cores(CORES))).unwrap());
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no time for so many items")]
fn sorts_shared_by_cores() {
    fn with<K: Key, V: Value>(device: &Device) {
        // Each core gets at least 2^16 pairs.
        let n = 3 << 16 | 5;
        let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
        let (keys, values) = (repeated::<K>(n), values::<V>(n));
        let mut sorted = Buffer::from_slice(device, &keys).unwrap();
        let mut moved = Buffer::from_slice(device, &values).unwrap();
        sort_pairs(stream, &mut scratch, &mut sorted, &mut moved).unwrap();
        let mut expected: Vec<_> = keys.into_iter().zip(values).collect();
        expected.sort();
        assert!(sorted.download(stream).unwrap().into_iter().zip(moved.download(stream).unwrap()).eq(expected));
    }
    on_several_cores(|device| {
        with::<u32, u32>(device);
        with::<u64, u64>(device);
        with::<u32, u64>(device);
    });
}

/// Joins texts by full hashes, and by hashes of a few bits. With few bits, most pairs of equal
/// hashes have different texts.
#[test]
fn joins_of_texts() {
    let n = if cfg!(miri) { 40 } else { 10_000 };
    let side = |first: usize| (first..first + n).map(|row| "x".repeat(row % 11) + &(row / 2).to_string());
    let (left, right): (Vec<String>, Vec<String>) = (side(0).collect(), side(n / 2).collect());
    let met: std::collections::HashSet<_> = right.iter().collect();
    let met = left.iter().filter(|text| met.contains(text)).count();
    on_several_cores(|device| {
        let [ours, theirs] = [&left, &right].map(|texts| TextColumn::new(device, texts).unwrap());
        for (kind, rows) in [(JoinKind::Inner, met), (JoinKind::Full, 2 * n - met), (JoinKind::Anti, n - met)] {
            for bits in [64, 10] {
                let mut join = WideJoin::new(WideKeys::of_text(&ours), WideKeys::of_text(&theirs));
                let joined = join.kind(kind).hash_bits(bits).run(device).unwrap();
                assert_eq!(joined.len(), rows, "{kind:?}, {bits} bits");
                let stream = device.default_stream();
                let left_rows = joined.left_rows().download(stream).unwrap();
                for (l, r) in left_rows.into_iter().zip(joined.right_rows().download(stream).unwrap()) {
                    let pair = (left.get(l as usize), right.get(r as usize));
                    assert!(pair.0.is_none() || pair.1.is_none() || pair.0 == pair.1);
                }
            }
        }
    });
}

#[test]
fn rows_encoded_by_several_cores() {
    fn with<K: Key>(device: &Device, different: usize) {
        // Each core gets at least 2^13 rows. Cores divide the rows if few keys are rare, and each
        // core gets different keys. With 600 keys the dictionaries grow. Miri has time for one
        // core's rows.
        let n = if cfg!(miri) { 1000 } else { 100_003 };
        let keys = distinct::<K>(different + 9);
        let index = |i: usize| if i.is_multiple_of(50) { different + i * 9 / n } else { (i * i / 8) % different };
        let rows: Vec<K> = (0..n).map(|i| keys[index(i)]).collect();
        right(device, &rows);
    }
    fn right<K: Key>(device: &Device, rows: &[K]) {
        let different = rows.iter().collect::<std::collections::HashSet<_>>().len();
        let check = |keys: &[K], ids: &[u32], found: &[u32]| {
            let mut counts = vec![0; keys.len()];
            for (row, &id) in rows.iter().zip(ids) {
                counts[id as usize] += 1;
                assert!(keys[id as usize] == *row);
            }
            assert_eq!((keys.len(), found), (different, &counts[..]));
        };
        let (stream, mut scratch, query) =
            (device.default_stream(), Scratch::new(device), Unique::of(rows).ids().counts());
        let unique = query.run(device).unwrap();
        check(&unique.keys, &unique.ids, &unique.counts);
        // With a capacity, all blocks add their rows to one table, or fill all of its slots.
        let bounded = query.run_bounded(stream, &mut scratch, different).unwrap();
        let unique = bounded.into_result(stream).unwrap();
        let [ids, counts] = [&unique.ids, &unique.counts].map(|numbers| numbers.download(stream).unwrap());
        check(&unique.keys.download(stream).unwrap(), &ids, &counts);
        for capacity in [different - 1, different / 5] {
            let mut over = query.run_bounded(stream, &mut scratch, capacity).unwrap();
            assert!(over.count().download(stream).unwrap()[0] > capacity as u64);
            assert!(over.finish(stream).is_err());
        }
    }
    on_several_cores(|device| {
        for different in [10, 600] {
            with::<u32>(device, different);
            with::<u64>(device, different);
        }
        // With nearly as many keys as rows, this many rows are sorted.
        if cfg!(not(miri)) {
            right::<u32>(device, &distinct(1 << 18 | 5));
        }
    });
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no time for so many items")]
fn changes_shared_by_cores() {
    fn with<K: Key, V: Value>(device: &Device) {
        // Cores divide 2^14 or more changes. Other cores change many of the same keys.
        let n = 40_000;
        let (keys, again, values) = (distinct::<K>(n), repeated::<K>(n), values::<V>(n));
        for config in [LinearConfig::default(), LinearConfig::default().linear_probing().load(0.95)] {
            let mut map = config.create(device).unwrap();
            assert_eq!(map.insert_many(&keys, &values), Ok(n));
            holds(&map, &keys, &values);
            let removed = map.remove_many(&again).unwrap().iter().flatten().count();
            assert_eq!(map.len(), n - removed);
            // Slots of removed keys are reused while other cores look for the same keys.
            map.get_or_insert_many(&again, &values).unwrap();
            assert_eq!(map.len(), n);
            map.replace_many(&keys, &values).unwrap();
            holds(&map, &keys, &values);
        }
    }
    on_several_cores(|device| {
        with::<u32, u32>(device);
        with::<u64, u64>(device);
    });
}
