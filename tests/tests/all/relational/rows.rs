//! Rows with columns of all types, and their groups as loops find them.

use proptest::prelude::*;
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use warpnest::Key;
use warpnest::relational::Order;
use warpnest_tests::{TestEngine, is_thorough};

/// A type of keys that maps of the standard library accept.
pub trait Tested: Key + Eq + Hash + Ord + Debug + Send + Sync {}
impl<K: Key + Eq + Hash + Ord + Debug + Send + Sync> Tested for K {}

/// The rows of a table with a column of every numeric type, and a column of another type.
#[derive(Clone, Debug)]
pub struct Rows<K> {
    pub keys: Vec<K>,
    pub narrow: Vec<u32>,
    pub signed: Vec<i32>,
    pub wide: Vec<u64>,
    pub long: Vec<i64>,
    pub single: Vec<f32>,
    pub double: Vec<f64>,
    pub letters: Vec<char>,
}

impl<K> Rows<K> {
    /// Returns rows with these keys and random values. No sum of the floating-point values is
    /// rounded.
    pub fn new(keys: Vec<K>, seed: u64) -> Self {
        let bits = |row: usize, column: u64| {
            let mixed = (row as u64 ^ seed << 20).wrapping_add(column << 50).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
        };
        let rows = 0..keys.len();
        Self {
            narrow: rows.clone().map(|row| (bits(row, 1) >> 32) as u32).collect(),
            signed: rows.clone().map(|row| (bits(row, 2) >> 32) as i32).collect(),
            wide: rows.clone().map(|row| bits(row, 3)).collect(),
            long: rows.clone().map(|row| bits(row, 4) as i64).collect(),
            single: rows.clone().map(|row| [-0.0, 0.0, (bits(row, 5) as i16 / 4) as f32][row % 3]).collect(),
            double: rows.clone().map(|row| (bits(row, 6) as i32) as f64 / 8.0).collect(),
            letters: rows.map(|row| (b'a' + (bits(row, 7) >> 40) as u8 % 26) as char).collect(),
            keys,
        }
    }
}

/// Returns which of `N` kinds of rows a case has: all kinds, or a single one on a slow engine.
pub fn kinds_of_case<const N: usize>(engine: &TestEngine, seed: u64) -> [bool; N] {
    let all = engine.max_items > 2000 || is_thorough();
    // The remainder of the seed modulo 3 determines other choices.
    std::array::from_fn(|kind| all || seed / 3 % N as u64 == kind as u64)
}

/// Returns the rows of each group, in order; the groups are in the order of their first rows.
pub fn rows_of<K: Tested>(keys: &[K]) -> Vec<(K, Vec<usize>)> {
    let mut groups: Vec<(K, Vec<usize>)> = Vec::new();
    let mut numbers = HashMap::new();
    for (row, &key) in keys.iter().enumerate() {
        let number = *numbers.entry(key).or_insert_with(|| {
            groups.push((key, Vec::new()));
            groups.len() - 1
        });
        groups[number].1.push(row);
    }
    groups
}

/// Returns the groups in the order of the result's keys, which must be the query's order.
pub fn in_order<K: Tested>(keys: &[K], found: &[K], order: Order) -> Result<Vec<(K, Vec<usize>)>, TestCaseError> {
    let mut groups = rows_of(keys);
    match order {
        Order::FirstSeen => {}
        Order::ByKey => groups.sort(),
        _ => {
            let place: HashMap<K, usize> = found.iter().enumerate().map(|(place, &key)| (key, place)).collect();
            prop_assert_eq!(place.len(), found.len(), "each key comes once");
            groups.sort_by_key(|group| place.get(&group.0));
        }
    }
    prop_assert_eq!(groups.iter().map(|group| group.0).collect::<Vec<K>>(), found, "{:?}", order);
    Ok(groups)
}

/// Returns a strategy for counts of rows below `most`. Long columns, which take several tiles, are
/// needed in only one of eight cases, unless tests are thorough.
pub fn lengths(most: usize) -> impl Strategy<Value = usize> {
    let usual = if most < 1000 || is_thorough() { most } else { most / 4 };
    prop_oneof![7 => 0..usual, 1 => 0..most]
}

/// Returns a strategy for numbers that give keys: all equal, few, skewed, or many.
pub fn key_numbers(most: usize) -> impl Strategy<Value = Vec<u64>> {
    (lengths(most).prop_flat_map(|rows| prop::collection::vec(any::<u64>(), rows)), 0usize..5).prop_map(
        |(bits, kind)| {
            let skewed = |bits: u64| ((1u64 << 20) as f64 / (bits % (1 << 20) + 1) as f64) as u64 - 1;
            let number = |bits: u64| [0, bits % 5, skewed(bits), bits % 300, bits][kind];
            bits.into_iter().map(number).collect()
        },
    )
}
