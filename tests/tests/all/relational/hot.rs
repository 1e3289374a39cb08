//! The hot pass and its sample, compared with a `HashMap` of the same rows. The groups of hot keys
//! must have all of their rows, and all rows of other keys must be returned.

use super::hash::has_values;
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::types::{Columns, Nothing, Payload, Scalar, WordOf};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};
use warpnest::low_level::{Few, FewBuffers, HotBlocks, group_few};
use warpnest::primitives::Scratch;
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device};
use warpnest_tests::{TestEngine, at, distinct_keys, key, on_every_engine, parameterized, the_cpu_engine};

/// The word after the last group in the outputs.
const BEHIND: u64 = 0xabab_abab_abab_abab;

/// The aggregates that a case requests.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    counts: bool,
    sums: bool,
    minima: bool,
    maxima: bool,
}

const ALL: Wanted = Wanted { counts: true, sums: true, minima: true, maxima: true };
const SUMS: Wanted = Wanted { counts: false, minima: false, maxima: false, ..ALL };

/// The aggregates of the rows of one key: their count, their sum, and their least and greatest
/// ordered words.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Aggregated<W> {
    count: u32,
    sum: u64,
    minimum: W,
    maximum: W,
}

/// The rows and the parameters of one case.
#[derive(Debug)]
struct Case<'c, K, V: Payload> {
    keys: &'c [K],
    /// The values, which are not used if `V` is [`Nothing`].
    values: &'c [WordOf<V>],
    column: ColumnParams,
    wanted: Wanted,
    capacity: usize,
    seed: u64,
    blocks: HotBlocks,
}

impl<K: Key, V: Payload> Case<'_, K, V> {
    fn expected(&self) -> HashMap<K, Aggregated<WordOf<V>>> {
        let mut groups = HashMap::new();
        for (&key, &value) in self.keys.iter().zip(self.values) {
            let [minimum, maximum] = [self.column.min_rank(value), self.column.max_rank(value)];
            let group = groups.entry(key).or_insert(Aggregated { count: 0, sum: 0, minimum, maximum });
            group.count += 1;
            group.sum = self.column.sum(group.sum, self.column.addend(value));
            group.minimum = group.minimum.max(minimum);
            group.maximum = group.maximum.max(maximum);
        }
        groups
    }

    /// Runs the sample and the hot pass, and checks every group and every row.
    fn check(&self, device: &Device) -> Few {
        let stream = device.default_stream();
        let Self { wanted, capacity, column, .. } = *self;
        let has_values = has_values::<V>();
        let keys = Buffer::from_slice(device, self.keys).unwrap();
        let values = has_values.then(|| Buffer::from_slice(device, self.values).unwrap());
        let behind = |is_wanted: bool| is_wanted.then(|| vec![<WordOf<V> as Scalar>::from_u64(BEHIND); capacity]);
        let words = |is_wanted| behind(is_wanted).map(|words| Buffer::from_slice(device, &words).unwrap());
        let mut out = FewBuffers {
            keys: Buffer::from_slice(device, &vec![K::from_u64(BEHIND); capacity]).unwrap(),
            counts: wanted.counts.then(|| Buffer::from_slice(device, &vec![BEHIND as u32; capacity]).unwrap()),
            sums: (wanted.sums && has_values).then(|| Buffer::from_slice(device, &vec![BEHIND; capacity]).unwrap()),
            minima: words(wanted.minima && has_values),
            maxima: words(wanted.maxima && has_values),
        };
        let mut scratch = Scratch::new(device);
        let (few, missed_keys, mut missed_values) =
            group_few::<K, V>(stream, &mut scratch, &keys, values.as_ref(), column, &mut out, (self.seed, self.blocks))
                .unwrap();

        let mut expected = self.expected();
        assert_eq!(few.rows == 0, self.keys.is_empty());
        assert!(few.distinct <= few.rows && few.hot <= few.distinct && few.covered <= few.rows, "{few:?}");
        assert!((0.0..=1.0).contains(&few.missed_share) && few.estimated_groups <= self.keys.len() as u64);

        // If a row is missed, all rows of its key are.
        assert_eq!(missed_keys.len() as u64, few.missed);
        if !has_values {
            missed_values = vec![Default::default(); missed_keys.len()];
        }
        assert_eq!(missed_values.len(), missed_keys.len());
        let mut rows: BTreeMap<K, Vec<WordOf<V>>> = BTreeMap::new();
        for (&key, &value) in missed_keys.iter().zip(&missed_values) {
            rows.entry(key).or_default().push(value);
        }
        let mut all_rows: HashMap<K, Vec<WordOf<V>>> = HashMap::new();
        for (&key, &value) in self.keys.iter().zip(self.values) {
            if rows.contains_key(&key) {
                all_rows.entry(key).or_default().push(if has_values { value } else { Default::default() });
            }
        }
        for (key, mut found) in rows {
            found.sort_unstable();
            let mut all = all_rows.remove(&key).unwrap_or_default();
            all.sort_unstable();
            assert_eq!(found, all, "the missed rows of {key}");
            expected.remove(&key);
        }

        // All other keys have groups.
        assert_eq!(few.groups, expected.len() as u64, "{few:?}");
        let written = capacity.min(few.groups as usize);
        let found = out.keys.download(stream).unwrap();
        let counts = out.counts.map(|counts| counts.download(stream).unwrap());
        let sums = out.sums.map(|sums| sums.download(stream).unwrap());
        let [minima, maxima] = [out.minima, out.maxima].map(|words| words.map(|words| words.download(stream).unwrap()));
        for (i, key) in found.iter().enumerate() {
            let beyond = Aggregated {
                count: BEHIND as u32,
                sum: BEHIND,
                minimum: Scalar::from_u64(BEHIND),
                maximum: Scalar::from_u64(BEHIND),
            };
            let group = if i < written {
                let group = expected.remove(key).unwrap_or_else(|| panic!("{key} is no group, or twice"));
                let (minimum, maximum) = (column.of_min_rank(group.minimum), column.of_max_rank(group.maximum));
                Aggregated { minimum, maximum, ..group }
            } else {
                assert_eq!(*key, K::from_u64(BEHIND));
                beyond
            };
            assert!(counts.as_ref().is_none_or(|counts| counts[i] == group.count), "the count of {key}");
            assert!(sums.as_ref().is_none_or(|sums| sums[i] == group.sum), "the sum of {key}");
            assert!(minima.as_ref().is_none_or(|minima| minima[i] == group.minimum), "the least of {key}");
            assert!(maxima.as_ref().is_none_or(|maxima| maxima[i] == group.maximum), "the greatest of {key}");
        }
        assert_eq!(expected.len(), few.groups as usize - written);
        few
    }
}

/// Returns keys from uniformly random numbers.
fn skewed<K: Key>(kind: u32, numbers: &[u64]) -> Vec<K> {
    let of = |&number: &u64| match kind {
        0 => K::from_u64(number % 7),
        1 => K::from_u64(number % 300 * 0x0101_0101),
        // The logarithm of a key is uniform, so few keys have most rows.
        2 => K::from_u64((number % 1000).pow(2) >> ((number >> 32) % 20)),
        _ => K::from_u64(number),
    };
    numbers.iter().map(of).collect()
}

fn column<W: Scalar>(kind: u32) -> ColumnParams {
    match kind {
        0 => ColumnParams::unsigned(),
        1 => ColumnParams::signed(W::BITS),
        _ => ColumnParams::float(W::BITS),
    }
}

fn every_row_is_in_its_group_or_missed<K: Key, V: Payload>()
where
    WordOf<V>: Key,
{
    let inputs = |engine: &TestEngine| {
        let rows = prop_oneof![0..engine.max_items.min(20_000), 0..40usize];
        let wanted =
            any::<[bool; 4]>().prop_map(|[counts, sums, minima, maxima]| Wanted { counts, sums, minima, maxima });
        let column = (0..3u32).prop_map(column::<WordOf<V>>);
        let capacity = prop_oneof![Just(40_000usize), 0..20usize];
        let keys = (rows, 0..5u32).prop_flat_map(|(rows, kind)| match kind {
            4 => prop::collection::vec(key::<K>(), rows).boxed(),
            _ => prop::collection::vec(any::<u64>(), rows).prop_map(move |numbers| skewed(kind, &numbers)).boxed(),
        });
        (keys, any::<u64>(), wanted, column, capacity)
    };
    on_every_engine(inputs, |engine, (keys, seed, wanted, column, capacity)| {
        let values: Vec<WordOf<V>> = distinct_keys(keys.len(), seed);
        // Sums of any floating-point numbers depend on their order.
        let wanted = Wanted { sums: wanted.sums && !column.adds_floats(), ..wanted };
        let blocks = match seed % 4 {
            0 => HotBlocks::OfSample,
            1 => HotBlocks::Large,
            bits => HotBlocks::Parts(bits as u32 - 1),
        };
        Case::<K, V> { keys: &keys, values: &values, column, wanted, capacity, seed, blocks }.check(&engine.device);
        Ok(())
    });
}

#[test]
fn keys_32_values_32() {
    every_row_is_in_its_group_or_missed::<u32, u32>();
}

#[test]
fn keys_32_values_64() {
    every_row_is_in_its_group_or_missed::<u32, u64>();
}

#[test]
fn keys_64_values_32() {
    every_row_is_in_its_group_or_missed::<u64, u32>();
}

#[test]
fn keys_64_values_64() {
    every_row_is_in_its_group_or_missed::<u64, u64>();
}

#[test]
fn a_list_of_one_column() {
    every_row_is_in_its_group_or_missed::<u32, Columns>();
    every_row_is_in_its_group_or_missed::<u64, Columns>();
}

#[test]
fn keys_alone() {
    every_row_is_in_its_group_or_missed::<u32, Nothing>();
    every_row_is_in_its_group_or_missed::<u64, Nothing>();
}

/// Checks rows of 32-bit keys and values, with capacity for all groups.
fn check(device: &Device, keys: &[u32], wanted: Wanted) -> Few {
    let values: Vec<u32> = distinct_keys(keys.len(), 3);
    let column = ColumnParams::signed(32);
    Case::<u32, u32> {
        keys,
        values: &values,
        column,
        wanted,
        capacity: keys.len(),
        seed: 5,
        blocks: HotBlocks::OfSample,
    }
    .check(device)
}

#[parameterized]
fn one_row_and_none(engine: &TestEngine) {
    assert_eq!(check(&engine.device, &[], ALL).groups, 0);
    for key in [0, 1, u32::MAX] {
        let few = check(&engine.device, &[key], ALL);
        assert_eq!((few.rows, few.distinct, few.groups, few.missed), (1, 1, 1, 0));
    }
}

#[parameterized]
fn few_keys_are_all_hot(engine: &TestEngine) {
    let n = engine.max_items.min(5_000);
    for groups in [1, 2, 33] {
        let _at = at(format!("{groups} groups"));
        let keys: Vec<u32> = (0..n as u32).map(|i| if i % groups == 0 { u32::MAX } else { i % groups - 1 }).collect();
        for wanted in [ALL, SUMS] {
            let few = check(&engine.device, &keys, wanted);
            // If 300 rows have 33 groups, a sample of 256 rows may miss a group.
            assert!(few.groups as u32 >= groups.min(30), "{few:?}");
            assert!(few.estimated_groups.abs_diff(groups as u64) <= 3, "{few:?}");
        }
    }
}

#[parameterized]
fn hot_keys_at_the_end_of_the_input_are_found(engine: &TestEngine) {
    let n = engine.max_items.min(50_000);
    let mut keys: Vec<u32> = distinct_keys(n, 7);
    keys[n - n / 4..].fill(77);
    let few = check(&engine.device, &keys, SUMS);
    assert!(few.missed <= 3 * n as u64 / 4, "{few:?}");
    assert!((0.55..0.95).contains(&few.missed_share), "{few:?}");
    keys.sort_unstable();
    assert!(check(&engine.device, &keys, SUMS).missed <= 3 * n as u64 / 4);
}

#[parameterized]
fn rows_that_the_sample_has_no_sign_of_come_out_whole(engine: &TestEngine) {
    let mut unseen = 0;
    for place in 0..24 {
        let mut keys = vec![5; 300];
        keys[12 * place..12 * place + 2].fill(77);
        let few = check(&engine.device, &keys, if place % 2 == 0 { SUMS } else { ALL });
        unseen += (few.missed == 2 && few.missed_share == 0.0) as u32;
    }
    // The sample draws neither row for about a quarter of the places.
    assert!(unseen != 0);
}

#[test]
fn more_keys_than_fit_leave_the_most_frequent_ones_hot() {
    let Some(engine) = the_cpu_engine() else { return };
    // Half of the rows have 500 keys. The other rows have some 100,000 keys, many of which the
    // sample contains.
    let random: Vec<u32> = distinct_keys(1 << 20, 11);
    let keys: Vec<u32> =
        random.iter().map(|&word| if word & 1 == 0 { word >> 8 & 0x1ff } else { word >> 15 }).collect();
    for wanted in [ALL, SUMS] {
        let few = check(&engine.device, &keys, wanted);
        assert!(few.distinct > few.hot && few.hot > 1000, "{few:?}");
        let missed = few.missed as f64 / keys.len() as f64;
        assert!(missed < 0.5 && (missed - few.missed_share).abs() < 0.05, "{few:?}");
        assert!(few.covered as f64 >= 0.5 * few.rows as f64, "{few:?}");
    }
}

#[test]
fn the_number_of_groups_is_estimated_from_repeats() {
    let Some(engine) = the_cpu_engine() else { return };
    for bits in [4, 10, 14, 18] {
        let keys: Vec<u32> = distinct_keys::<u32>(1 << 18, 13)
            .iter()
            .map(|word| word.wrapping_mul(0x9e37_79b1) >> (32 - bits))
            .collect();
        let groups = keys.iter().collect::<std::collections::HashSet<_>>().len() as f64;
        let estimate = check(&engine.device, &keys, SUMS).estimated_groups as f64;
        assert!((0.7..1.4).contains(&(estimate / groups)), "2^{bits}: {estimate} of {groups}");
    }
    let few = check(&engine.device, &distinct_keys(1 << 18, 17), SUMS);
    assert!(few.estimated_groups > 1 << 17 && few.missed_share > 0.9, "{few:?}");
}

#[parameterized]
fn buffers_of_other_lengths_are_refused(engine: &TestEngine) {
    let device = &engine.device;
    let keys = Buffer::from_slice(device, &[1u32, 2, 3]).unwrap();
    let values = Buffer::from_slice(device, &[1u32, 2]).unwrap();
    let mut buffers = FewBuffers {
        keys: Buffer::zeroed(device, 3).unwrap(),
        counts: None,
        sums: Some(Buffer::zeroed(device, 3).unwrap()),
        minima: None,
        maxima: None,
    };
    let column = ColumnParams::unsigned();
    let mut group = |values| {
        let mut scratch = Scratch::new(device);
        group_few::<u32, u32>(
            device.default_stream(),
            &mut scratch,
            &keys,
            Some(values),
            column,
            &mut buffers,
            (1, HotBlocks::OfSample),
        )
    };
    assert!(group(&values).is_err());
    assert_eq!(group(&keys).unwrap().0.groups, 3);
}
