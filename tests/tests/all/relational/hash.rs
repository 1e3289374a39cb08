//! Group-by by hashing, compared with a `HashMap`: with and without splits, with all or some
//! aggregates, and with keys and values of every width.

use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::types::{Columns, Nothing, Payload, WordOf};
use std::collections::HashMap;
use warpnest::low_level::{group_by_chains, group_by_hash};
use warpnest::primitives::Scratch;
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device};
use warpnest_tests::{TestEngine, at, distinct_keys, on_each_engine, the_cpu_engine};

pub const CONSTANTS: [u64; 2] = [0x0123_4567_89ab_cdef, 0x0edc_ba98_7654_3210];

/// Which aggregates a query requests: counts, sums, minima, maxima.
pub type Asked = [bool; 4];
pub const ALL: Asked = [true; 4];
pub const ONLY_SUMS: Asked = [false, true, false, false];
pub const ONLY_COUNTS: Asked = [true, false, false, false];

/// The aggregates of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    count: u32,
    sum: u64,
    minimum: u64,
    maximum: u64,
}

/// The kind of pages that give the groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pages {
    Hash,
    /// Chains, which give the groups themselves.
    Chains,
    /// Chains that are replaced by hash pages.
    NoChains,
    /// Chains, whether or not hash pages replace them.
    Any,
}

/// A group-by to test.
#[derive(Clone)]
pub struct Case<K, W> {
    pub keys: Vec<K>,
    pub values: Vec<W>,
    pub column: ColumnParams,
    pub asked: Asked,
    /// The count of groups that the group-by expects.
    pub expected: u64,
    /// The bits of each split; empty if the group-by chooses the splits.
    pub bits: &'static [u32],
    pub capacity: usize,
    /// The kind of pages to test.
    pub pages: Pages,
}

/// Returns whether rows have values, of which a list has one column here.
pub fn has_values<V: Payload>() -> bool {
    V::VALUE_BITS != 0 || V::IS_LIST
}

impl<K: Key, W: Key> Case<K, W> {
    pub fn of<V: Payload<Word = W>>(keys: Vec<K>, column: ColumnParams) -> Self {
        let words = distinct_keys::<u64>(keys.len(), 5);
        let values = words.into_iter().map(W::from_u64).collect();
        let (expected, capacity) = (keys.len() as u64, keys.len());
        let asked = if has_values::<V>() { ALL } else { ONLY_COUNTS };
        Self { keys, values, column, asked, expected, bits: &[], capacity, pages: Pages::Hash }
    }

    pub fn groups(&self) -> HashMap<K, Group> {
        let mut groups = HashMap::new();
        for (&key, &value) in self.keys.iter().zip(&self.values) {
            let wide = self.column.addend(value);
            let min_rank = |word: u64| self.column.min_rank(W::from_u64(word));
            let max_rank = |word: u64| self.column.max_rank(W::from_u64(word));
            let word = value.to_u64();
            groups
                .entry(key)
                .and_modify(|group: &mut Group| {
                    group.count += 1;
                    group.sum = self.column.sum(group.sum, wide);
                    group.minimum = std::cmp::max_by_key(group.minimum, word, |&word| min_rank(word));
                    group.maximum = std::cmp::max_by_key(group.maximum, word, |&word| max_rank(word));
                })
                .or_insert(Group { count: 1, sum: wide, minimum: word, maximum: word });
        }
        groups
    }

    /// Runs the group-by. Returns the count of groups and the groups that were written, or `None`
    /// after an overflow. Aggregates that were not requested are 0.
    pub fn run<V: Payload<Word = W>>(&self, device: &Device) -> Option<(usize, Vec<(K, Group)>)> {
        let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
        let keys = Buffer::from_slice(device, &self.keys).unwrap();
        let values = has_values::<V>().then(|| Buffer::from_slice(device, &self.values).unwrap());
        // The arrays of aggregates are longer than the capacity, so writes beyond it are found.
        let beyond = 9;
        let mut keys_out = Buffer::from_slice(device, &vec![K::ALL_ONES; self.capacity]).unwrap();
        let [counts, sums, minima, maxima] = self.asked;
        let words = |asked: bool| asked.then(|| vec![W::from_u64(77); self.capacity + beyond]);
        let mut counts = counts.then(|| Buffer::from_slice(device, &vec![77u32; self.capacity + beyond]).unwrap());
        let mut sums = sums.then(|| Buffer::from_slice(device, &vec![77u64; self.capacity + beyond]).unwrap());
        let mut minima = words(minima).map(|words| Buffer::from_slice(device, &words).unwrap());
        let mut maxima = words(maxima).map(|words| Buffer::from_slice(device, &words).unwrap());
        let rows = (&keys, values.as_ref());
        let (sizes, outputs) = (
            (self.expected, self.bits),
            (&mut keys_out, counts.as_mut(), sums.as_mut(), minima.as_mut(), maxima.as_mut()),
        );
        let found = if self.pages == Pages::Hash {
            group_by_hash::<K, V>(stream, &mut scratch, rows.0, rows.1, sizes, CONSTANTS, self.column, outputs)
                .unwrap()?
        } else {
            let found =
                group_by_chains::<K, V>(stream, &mut scratch, rows.0, rows.1, sizes, CONSTANTS, self.column, outputs);
            let (found, chained) = found.unwrap()?;
            assert!(self.pages == Pages::Any || chained == (self.pages == Pages::Chains), "chained: {chained}");
            found
        };
        let found = found as usize;
        let keys_out = keys_out.download(stream).unwrap();
        let counts = counts.map(|counts| counts.download(stream).unwrap());
        let sums = sums.map(|sums| sums.download(stream).unwrap());
        let minima = minima.map(|minima| minima.download(stream).unwrap());
        let maxima = maxima.map(|maxima| maxima.download(stream).unwrap());
        let written = found.min(self.capacity);
        // Chains that turn out too long may already have written groups up to the capacity.
        let untouched = if matches!(self.pages, Pages::Hash | Pages::Chains) { written } else { self.capacity };
        assert!(counts.iter().all(|counts| counts[untouched..].iter().all(|&count| count == 77)));
        assert!(sums.iter().all(|sums| sums[untouched..].iter().all(|&sum| sum == 77)));
        let words = minima.iter().chain(&maxima);
        assert!(words.into_iter().all(|words| words[untouched..].iter().all(|word| word.to_u64() == 77)));
        let groups = (0..written).map(|i| {
            let group = Group {
                count: counts.as_ref().map_or(0, |counts| counts[i]),
                sum: sums.as_ref().map_or(0, |sums| sums[i]),
                minimum: minima.as_ref().map_or(0, |minima| minima[i].to_u64()),
                maximum: maxima.as_ref().map_or(0, |maxima| maxima[i].to_u64()),
            };
            (keys_out[i], group)
        });
        Some((found, groups.collect()))
    }

    /// Runs the group-by and checks every group.
    pub fn check<V: Payload<Word = W>>(&self, device: &Device) {
        let _at = at(format!(
            "{} keys of {} bits, values of {}, bits {:?}, {:?}, asked {:?}",
            self.keys.len(),
            K::BITS,
            V::VALUE_BITS,
            self.bits,
            self.pages,
            self.asked
        ));
        let mut expected = self.groups();
        let (found, groups) = self.run::<V>(device).expect("nothing overflows");
        assert_eq!((found, groups.len()), (expected.len(), expected.len().min(self.capacity)));
        for (key, group) in groups {
            let of_key = expected.remove(&key).unwrap_or_else(|| panic!("{key} is no group, or comes twice"));
            let [counts, sums, minima, maxima] = self.asked.map(u64::from);
            let of_key = Group {
                count: of_key.count * counts as u32,
                sum: of_key.sum * sums,
                minimum: of_key.minimum * minima,
                maximum: of_key.maximum * maxima,
            };
            assert_eq!(group, of_key, "the group of {key}");
        }
    }
}

/// Runs `test` on every engine, including the CPU engine itself.
pub fn everywhere(test: impl Fn(&TestEngine)) {
    on_each_engine(&test);
    if let Some(engine) = the_cpu_engine() {
        let _at = at("the CPU engine");
        test(engine);
    }
}

/// Returns `rows` keys of about `groups` groups, including 0 and the all-ones key.
pub fn keys_of<K: Key>(rows: usize, groups: usize) -> Vec<K> {
    let mut distinct = distinct_keys::<K>(groups, 11);
    distinct[0] = K::from_u64(0);
    let last = distinct.len() - 1;
    distinct[last] = K::ALL_ONES;
    let which = distinct_keys::<u32>(rows, 7);
    which.into_iter().map(|word| distinct[word as usize % groups]).collect()
}

/// Returns `rows` keys; key `i` is about `i`² times rarer than the first key.
fn zipf<K: Key>(rows: usize) -> Vec<K> {
    let distinct = distinct_keys::<K>(rows, 13);
    let which = distinct_keys::<u32>(rows, 17);
    let rank = |word: u32| (1.0 / (word as f64 / 2f64.powi(32) + 1e-9)) as usize % rows;
    which.into_iter().map(|word| distinct[rank(word)]).collect()
}

/// The splits to test: the group-by's own choice, one level, and two levels.
const SPLITS: [&[u32]; 4] = [&[], &[1], &[3], &[2, 2]];

fn every_case<K: Key, V: Payload>(engine: &TestEngine, column: ColumnParams)
where
    WordOf<V>: Key,
{
    let device = &engine.device;
    let most = engine.max_items.min(20_000);
    let inputs = [
        Vec::new(),
        vec![K::ALL_ONES],
        vec![K::from_u64(0); 37],
        distinct_keys::<K>(most.min(1_000), 3),
        keys_of::<K>(most, (most / 7).min(1_000)),
        zipf::<K>(most.min(4_000)),
    ];
    for (number, keys) in inputs.into_iter().enumerate() {
        let mut case = Case::of::<V>(keys, column);
        if number == 4 {
            case.expected = (most as u64 / 7).min(1_000);
        }
        // Splits need keys of many groups, because their bins have no capacity for more rows.
        let splits = if number == 3 || number == 4 { &SPLITS[..] } else { &SPLITS[..1] };
        for &bits in splits {
            Case { bits, ..case.clone() }.check::<V>(device);
        }
        if has_values::<V>() && number >= 4 {
            for asked in [ONLY_SUMS, ONLY_COUNTS, [true, true, false, false], [false, false, false, true]] {
                Case { asked, ..case.clone() }.check::<V>(device);
            }
        }
    }
    // A block processes one row of a bin per thread at once.
    let mut case = Case::of::<V>(keys_of::<K>(6_000, 1_000), column);
    (case.expected, case.bits) = (1_000, &[1]);
    case.check::<V>(device);
    if has_values::<V>() {
        Case { asked: ONLY_SUMS, ..case }.check::<V>(device);
    }
}

/// Expands to a test of `every_case` for each width of keys and values, and one for keys alone.
macro_rules! of_every_case {
    (narrow values of wide keys: $column:ident($($bits:literal)?)) => {
        #[test]
        fn keys_32_values_32() {
            everywhere(|engine| {
                every_case::<u32, u32>(engine, ColumnParams::unsigned());
                every_case::<u32, u32>(engine, ColumnParams::signed(32));
            });
        }

        #[test]
        fn keys_32_values_64() {
            everywhere(|engine| every_case::<u32, u64>(engine, ColumnParams::signed(64)));
        }

        #[test]
        fn keys_64_values_32() {
            everywhere(|engine| every_case::<u64, u32>(engine, ColumnParams::$column($($bits)?)));
        }

        #[test]
        fn keys_64_values_64() {
            everywhere(|engine| every_case::<u64, u64>(engine, ColumnParams::unsigned()));
        }

        #[test]
        fn keys_alone() {
            everywhere(|engine| {
                every_case::<u32, Nothing>(engine, ColumnParams::unsigned());
                every_case::<u64, Nothing>(engine, ColumnParams::unsigned());
            });
        }

        #[test]
        fn a_list_of_one_column() {
            everywhere(|engine| {
                every_case::<u32, Columns>(engine, ColumnParams::signed(32));
                every_case::<u64, Columns>(engine, ColumnParams::unsigned());
            });
        }
    };
}
pub(super) use of_every_case;

of_every_case!(narrow values of wide keys: unsigned());

#[test]
fn floating_point_values_are_in_their_order() {
    everywhere(|engine| {
        let case = Case::<u64, u64>::of::<u64>(keys_of(engine.max_items.min(2_000), 60), ColumnParams::float(64));
        Case { asked: [false, false, true, true], ..case }.check::<u64>(&engine.device);
    });
}

/// Checks sums of floating-point numbers of few keys. Small integers have the same sum in any
/// order.
fn sums_of_few_keys<K: Key, V: Payload>(engine: &TestEngine, word: fn(u8) -> WordOf<V>)
where
    WordOf<V>: Key,
{
    let rows = engine.max_items.min(2_000);
    for keys in [1, 2, 40] {
        let mut case = Case::of::<V>(keys_of::<K>(rows, keys), ColumnParams::float(V::VALUE_BITS));
        case.values = (0..rows).map(|row| word(row as u8)).collect();
        // As many groups are expected as rows, so there is memory for few copies, and lanes wait
        // for each other.
        for asked in [ONLY_SUMS, ALL] {
            Case { asked, ..case.clone() }.check::<V>(&engine.device);
        }
    }
}

#[test]
fn floating_point_numbers_of_few_keys_are_added() {
    everywhere(|engine| {
        let (narrow, wide) = (|value| f32::from(value).to_bits(), |value| f64::from(value).to_bits());
        sums_of_few_keys::<u32, u32>(engine, narrow);
        sums_of_few_keys::<u32, u64>(engine, wide);
        sums_of_few_keys::<u64, u32>(engine, narrow);
        sums_of_few_keys::<u64, u64>(engine, wide);
    });
}

#[test]
fn of_more_groups_than_there_is_capacity_for_all_are_counted() {
    everywhere(|engine| {
        let rows = engine.max_items.min(2_000);
        let case = Case::<u32, u32>::of::<u32>(keys_of(rows, rows / 2), ColumnParams::unsigned());
        for capacity in [0, 1, rows / 5] {
            Case { capacity, ..case.clone() }.check::<u32>(&engine.device);
        }
        Case { capacity: 1, bits: &[2], ..case }.check::<u32>(&engine.device);
    });
}

#[test]
fn the_last_split_is_made_again_if_a_bin_gets_too_many_rows_and_an_earlier_one_is_reported() {
    everywhere(|engine| {
        let rows = engine.max_items.min(2_000);
        let case = Case::<u64, u32>::of::<u32>(vec![7; rows], ColumnParams::unsigned());
        Case { bits: &[3], ..case.clone() }.check::<u32>(&engine.device);
        assert_eq!(Case { bits: &[2, 2], ..case.clone() }.run::<u32>(&engine.device), None);
        // If few groups are expected, bins have enough capacity.
        Case { bits: &[3], expected: 1, ..case }.check::<u32>(&engine.device);
        // A quarter of the rows has one key. Its bin has enough capacity in the first split, but
        // not in the second.
        let keys =
            distinct_keys::<u64>(rows, 5).into_iter().enumerate().map(|(row, key)| if row % 4 == 3 { 9 } else { key });
        let case = Case::<u64, u32>::of::<u32>(keys.collect(), ColumnParams::unsigned());
        Case { bits: &[1, 4], ..case }.check::<u32>(&engine.device);
    });
}

#[test]
fn pages_of_too_many_groups_are_reported_or_become_more() {
    everywhere(|engine| {
        // The interpreter would take long for as many groups as a page has slots.
        let rows = 12_000;
        if engine.max_items < rows {
            return;
        }
        let case = Case::<u64, u64>::of::<u64>(distinct_keys(rows, 3), ColumnParams::unsigned());
        assert_eq!(Case { bits: &[1], ..case.clone() }.run::<u64>(&engine.device), None);
        Case { expected: 10, ..case.clone() }.check::<u64>(&engine.device);
        Case { bits: &[5], ..case }.check::<u64>(&engine.device);
    });
}

#[test]
fn many_rows_are_split() {
    let Some(engine) = the_cpu_engine() else { return };
    for groups in [20_000, 250_000] {
        let case = Case::<u32, u32>::of::<u32>(keys_of(300_000, groups), ColumnParams::signed(32));
        Case { expected: groups as u64, asked: ONLY_SUMS, ..case }.check::<u32>(&engine.device);
    }
}
