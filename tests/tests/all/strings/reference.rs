//! The expected results of tables of strings, from a `HashMap` of the strings themselves.

use std::collections::HashMap;
use std::hash::BuildHasher;
use warpnest::Device;
use warpnest::design::Builds;
use warpnest::strings::{StringConfig, StringCounts, StringIds, StringMap, Strings, unique_with_hasher};

/// The rows of each string, in the order of first appearance.
#[derive(Debug, Default)]
pub struct Reference {
    pub strings: Vec<Vec<u8>>,
    pub ids: Vec<u32>,
    pub counts: Vec<u32>,
    pub first_rows: Vec<u32>,
    pub last_rows: Vec<u32>,
}

impl Reference {
    pub fn of(rows: &[Vec<u8>]) -> Self {
        let (mut reference, mut ids) = (Self::default(), HashMap::new());
        for (string, row) in rows.iter().zip(0..) {
            let next = reference.strings.len() as u32;
            let id = *ids.entry(string).or_insert(next);
            if id == next {
                reference.strings.push(string.clone());
                reference.counts.push(0);
                reference.first_rows.push(row);
                reference.last_rows.push(row);
            }
            reference.ids.push(id);
            reference.counts[id as usize] += 1;
            reference.last_rows[id as usize] = row;
        }
        reference
    }

    /// Returns strings that may be absent: shorter, longer and changed ones.
    fn others(&self) -> impl Iterator<Item = Vec<u8>> {
        self.strings.iter().flat_map(|string| {
            let longer = [&string[..], &[0]].concat();
            let shorter = string[..string.len().saturating_sub(1)].to_vec();
            let changed = string.iter().map(|byte| byte ^ 1).collect();
            [longer, shorter, changed]
        })
    }
}

/// Fails unless the result of `unique` is right for a column of these rows.
#[track_caller]
pub fn unique_is_right(
    device: &Device,
    column: &(impl Strings + ?Sized),
    reference: &Reference,
    hasher: &(impl BuildHasher + Sync),
) {
    let unique = unique_with_hasher(device, column, hasher).unwrap();
    assert_eq!((&unique.first_rows, &unique.counts), (&reference.first_rows, &reference.counts));
    assert!(unique.ids == reference.ids);
    assert_eq!((unique.len(), unique.is_empty()), (reference.strings.len(), reference.strings.is_empty()));
}

/// Fails unless an interner and a counter that receive the rows in batches are right.
#[track_caller]
pub fn batches_are_right(device: &Device, rows: &[Vec<u8>], batch: usize, hasher: &(impl BuildHasher + Clone + Sync)) {
    let reference = Reference::of(rows);
    let mut ids = StringIds::with_hasher(device, hasher.clone());
    let mut counts = StringCounts::with_hasher(device, hasher.clone());
    for (number, batch_rows) in rows.chunks(batch).enumerate() {
        let first = number * batch;
        let given = ids.get_or_insert_many(batch_rows).unwrap();
        assert!(given == reference.ids[first..first + batch_rows.len()]);
        let expected = |row: &u32| (*row as usize).checked_sub(first).filter(|row| *row < batch_rows.len());
        let expected: Vec<u32> = reference.first_rows.iter().filter_map(expected).map(|row| row as u32).collect();
        assert_eq!(counts.add_many(batch_rows).unwrap(), expected);
    }
    assert!(ids.iter().eq(reference.strings.iter().map(Vec::as_slice)));
    assert!(counts.iter().eq(reference.strings.iter().zip(&reference.counts).map(|(s, &n)| (&s[..], u64::from(n)))));
    assert_eq!((ids.len(), counts.len(), counts.total()), (reference.strings.len(), ids.len(), rows.len() as u64));
    let queries: Vec<Vec<u8>> = rows.iter().cloned().chain(reference.others()).collect();
    let number_of: HashMap<&[u8], u32> = reference.strings.iter().map(Vec::as_slice).zip(0..).collect();
    let expected: Vec<Option<u32>> = queries.iter().map(|query| number_of.get(&query[..]).copied()).collect();
    assert!(ids.get_many(&queries) == expected);
    for (query, id) in queries.iter().zip(expected).take(50) {
        assert_eq!(counts.get(query), id.map_or(0, |id| u64::from(reference.counts[id as usize])));
        assert_eq!(id.and_then(|id| ids.string(id)), id.map(|_| &query[..]));
    }
    assert_eq!(ids.string(ids.len() as u32), None);
    let mut order: Vec<usize> = (0..reference.strings.len()).collect();
    order.sort_by_key(|&id| std::cmp::Reverse(reference.counts[id]));
    for most in [0, 1, 3, order.len(), order.len() + 5] {
        let common = counts.most_common(most);
        assert_eq!(common.len(), most.min(order.len()));
        for ((string, count), &id) in common.into_iter().zip(&order) {
            assert_eq!((string, count), (&reference.strings[id][..], u64::from(reference.counts[id])));
        }
    }
}

/// Fails unless a map from strings to their rows is right.
#[track_caller]
pub fn map_is_right<D: Builds, S: BuildHasher + Clone + Sync>(
    device: &Device,
    config: &StringConfig<D, S>,
    rows: &[Vec<u8>],
) {
    let values: Vec<String> = (0..rows.len()).map(|row| row.to_string()).collect();
    answers_are_right(&config.build(device, rows, &values).unwrap(), rows);
    let pairs = rows.iter().zip(values);
    answers_are_right(&config.build_from_pairs(device, pairs).unwrap(), rows);
}

/// Fails unless a map from strings to their rows gives right answers.
#[track_caller]
pub fn answers_are_right<D: Builds, S: BuildHasher + Clone + Sync>(map: &StringMap<String, D, S>, rows: &[Vec<u8>]) {
    let reference = Reference::of(rows);
    let values: Vec<String> = reference.last_rows.iter().map(|row| row.to_string()).collect();
    assert_eq!((map.len(), map.is_empty()), (values.len(), values.is_empty()));
    assert!(map.iter().eq(reference.strings.iter().map(Vec::as_slice).zip(&values)));
    let queries: Vec<Vec<u8>> = reference.strings.iter().cloned().chain(reference.others()).collect();
    let number_of: HashMap<&[u8], usize> = reference.strings.iter().map(Vec::as_slice).zip(0..).collect();
    let expected: Vec<Option<&String>> =
        queries.iter().map(|query| number_of.get(&query[..]).map(|&number| &values[number])).collect();
    assert!(map.get_many(&queries).unwrap() == expected);
    let found: Vec<bool> = expected.iter().map(Option::is_some).collect();
    assert_eq!(map.contains_many(&queries).unwrap(), found);
    for query in queries.iter().take(5) {
        assert_eq!(map.get(query).unwrap(), number_of.get(&query[..]).map(|&number| &values[number]));
    }
}
