//! The input of benchmarks: unique pseudo-random keys, queries for present and absent keys, and
//! counts of wrong answers.

use rand_distr::{Distribution, Zipf};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use warpnest::types::{WordKey as Key, WordValue as Value};

/// `n` pairs and two sets of queries.
pub struct Input<K, V> {
    pub keys: Vec<K>,
    pub values: Vec<V>,
    /// Every key once, in an order unrelated to the order of `keys`.
    pub present: Vec<K>,
    /// Equally many keys that are not among `keys`.
    pub absent: Vec<K>,
}

impl<K: Key, V: Value> Input<K, V> {
    /// Makes an input of `n` pairs, at most 2^31, so that there are enough absent keys.
    pub fn new(n: u64) -> Self {
        let keys: Vec<K> = (0..n).map(key).collect();
        // A prime step that does not divide n visits every index once.
        let step = [2_654_435_761u64, 2_147_483_647].into_iter().find(|&step| !n.is_multiple_of(step)).unwrap_or(1);
        Self {
            values: keys.iter().map(|&key| value(key)).collect(),
            // Both factors are below 2^32.
            present: (0..n).map(|i| keys[(i * step % n) as usize]).collect(),
            absent: (n..2 * n).map(key).collect(),
            keys,
        }
    }
}

/// Queries for present and absent keys in random order; an [`Input`] has equally many keys.
pub struct Mixed<K> {
    pub queries: Vec<K>,
    /// A flag for each query, which tells whether its key is present.
    present: Vec<bool>,
}

impl<K: Key> Mixed<K> {
    /// Makes `n` queries for distinct keys, `absent` of which are not among the keys of
    /// `Input::new(n)`.
    pub fn new(n: u64, absent: u64) -> Self {
        let mut numbers: Vec<u64> = (absent..n + absent).collect();
        shuffle(&mut numbers);
        let present = numbers.iter().map(|&number| number < n).collect();
        Self { queries: numbers.into_iter().map(key).collect(), present }
    }

    /// Returns the number of wrong answers.
    pub fn wrong<V: Value>(&self, answers: &[Option<V>]) -> u64 {
        let missing = self.queries.len().abs_diff(answers.len()) as u64;
        let expected = self.queries.iter().zip(&self.present).map(|(&query, present)| present.then(|| value(query)));
        missing + expected.zip(answers).filter(|(expected, answer)| expected != *answer).count() as u64
    }
}

/// Puts `items` in random order, which depends only on their count.
pub fn shuffle<T>(items: &mut [T]) {
    let mut random = Xoshiro256StarStar::seed_from_u64(2);
    for last in (1..items.len()).rev() {
        // The product's high half is a random number below the second factor.
        let other = (random.next_u64() as u128 * (last as u128 + 1)) >> 64;
        items.swap(last, other as usize);
    }
}

/// The multipliers of [`key`] for words of 32 and of 64 bits. They are odd.
const MULTIPLIERS: [[u64; 2]; 2] = [[0x9e37_79b1, 0x85eb_ca77], [0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93]];

/// Returns the key with an index.
///
/// It is a bijection of words of the key's width (a multiplication by an odd number between two
/// shifts), so keys differ. [`index`] is its inverse.
pub fn key<K: Key>(index: u64) -> K {
    if K::BITS == 32 {
        let [first, second] = MULTIPLIERS[0].map(|multiplier| multiplier as u32);
        let mut x = (index as u32).wrapping_mul(first);
        x ^= x >> 15;
        x = x.wrapping_mul(second);
        K::from_u64((x ^ x >> 13) as u64)
    } else {
        let [first, second] = MULTIPLIERS[1];
        let mut x = index.wrapping_mul(first);
        x ^= x >> 29;
        x = x.wrapping_mul(second);
        K::from_u64(x ^ x >> 32)
    }
}

/// Returns the index of a key.
pub fn index<K: Key>(key: K) -> u64 {
    // A word x is y ^ y >> s ^ y >> 2s and so on, if y is x ^ x >> s.
    if K::BITS == 32 {
        const INVERSES: [u32; 2] = [inverse(MULTIPLIERS[0][0]) as u32, inverse(MULTIPLIERS[0][1]) as u32];
        let mut x = key.to_u64() as u32;
        x = (x ^ x >> 13 ^ x >> 26).wrapping_mul(INVERSES[1]);
        (x ^ x >> 15 ^ x >> 30).wrapping_mul(INVERSES[0]) as u64
    } else {
        const INVERSES: [u64; 2] = [inverse(MULTIPLIERS[1][0]), inverse(MULTIPLIERS[1][1])];
        let mut x = key.to_u64();
        x = (x ^ x >> 32).wrapping_mul(INVERSES[1]);
        (x ^ x >> 29 ^ x >> 58).wrapping_mul(INVERSES[0])
    }
}

/// Returns the number whose product with an odd number is 1, by Newton's method.
const fn inverse(odd: u64) -> u64 {
    // Three bits are right at first, and each step doubles them.
    let (mut found, mut right) = (odd, 3);
    while right < u64::BITS {
        found = found.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(found)));
        right *= 2;
    }
    found
}

/// The distribution of repeated keys.
#[derive(Clone, Copy, Debug)]
pub enum Repeats {
    /// One in this many pairs (a power of two from 32 to 65,536) has the key of another, distant
    /// pair.
    OneIn(u64),
    /// Every key occurs twice, at distant positions.
    Half,
    /// One key occurs a million times, or in half of the pairs if there are fewer than two million.
    /// Each other key occurs once.
    Million,
    /// Key `r` with a frequency about proportional to 1 / r^1.2.
    Zipf,
}

impl Repeats {
    /// Returns the name of a build from such keys.
    pub fn op(self) -> &'static str {
        match self {
            Self::OneIn(32) => "build_1_in_32",
            Self::OneIn(64) => "build_1_in_64",
            Self::OneIn(128) => "build_1_in_128",
            Self::OneIn(256) => "build_1_in_256",
            Self::OneIn(1024) => "build_1_in_1024",
            Self::OneIn(_) => "build_1_in_65536",
            Self::Half => "build_half_repeated",
            Self::Million => "build_million_copies",
            Self::Zipf => "build_zipf_1.2",
        }
    }
}

/// Returns the ranks of `n` keys, some of them repeated.
pub fn ranks(n: u64, repeats: Repeats) -> Vec<u64> {
    match repeats {
        Repeats::OneIn(many) => (0..n).map(|i| if i % many == 0 { (i + n / 2 + 1) % n } else { i }).collect(),
        Repeats::Half => (0..n).map(|i| i % n.div_ceil(2)).collect(),
        Repeats::Million => {
            // The repeated key occurs once in every `step` keys.
            let step = n.div_ceil(1_000_000).max(2);
            (0..n).map(|i| if i % step == 0 { 0 } else { i }).collect()
        }
        Repeats::Zipf => {
            let mut random = Xoshiro256StarStar::seed_from_u64(1);
            let zipf = Zipf::new(n as f64, 1.2).expect("a positive number of ranks and exponent");
            (0..n).map(|_| zipf.sample(&mut random) as u64).collect()
        }
    }
}

/// Returns `n` keys, some of them repeated, and the number of distinct keys.
pub fn repeated<K: Key>(n: u64, repeats: Repeats) -> (Vec<K>, u64) {
    let ranks = ranks(n, repeats);
    let mut seen = vec![0u64; n as usize / 64 + 1];
    ranks.iter().for_each(|&rank| seen[rank as usize / 64] |= 1 << (rank % 64));
    let distinct = seen.iter().map(|word| word.count_ones() as u64).sum();
    (ranks.into_iter().map(key).collect(), distinct)
}

/// Returns the value that belongs to a key.
pub fn value<K: Key, V: Value>(key: K) -> V {
    V::from_u64(!key.to_u64().wrapping_mul(3))
}

/// Returns the number of wrong answers to queries for present keys.
pub fn wrong_hits<K: Key, V: Value>(queries: &[K], answers: &[Option<V>]) -> u64 {
    let missing = queries.len().abs_diff(answers.len()) as u64;
    missing + queries.iter().zip(answers).filter(|(query, answer)| **answer != Some(value(**query))).count() as u64
}

/// Returns the number of wrong answers to queries for absent keys.
pub fn wrong_misses<V>(answers: &[Option<V>]) -> u64 {
    answers.iter().filter(|answer| answer.is_some()).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn keys_are_unique_queries_cover_them_and_absent_ones_are_absent() {
        for n in [1, 2, 1000, 65_536] {
            let input = Input::<u32, u64>::new(n);
            let keys: HashSet<u32> = input.keys.iter().copied().collect();
            assert_eq!(keys.len() as u64, n);
            assert_eq!(input.present.iter().copied().collect::<HashSet<u32>>(), keys);
            assert!(input.absent.iter().all(|key| !keys.contains(key)));
        }
    }

    #[test]
    fn a_key_has_its_index() {
        for index in (0..5000).chain([u32::MAX as u64 - 1, u32::MAX as u64]) {
            assert_eq!(super::index(key::<u32>(index)), index);
            assert_eq!(super::index(key::<u64>(index)), index);
            assert_eq!(super::index(key::<u64>(!index)), !index);
        }
    }

    #[test]
    fn mixed_queries_are_as_many_as_asked_for_and_wrong_answers_are_counted() {
        let keys: HashSet<u32> = Input::<u32, u64>::new(1000).keys.into_iter().collect();
        for absent in [0, 300, 1000] {
            let mixed = Mixed::<u32>::new(1000, absent);
            let found = |query: &u32| keys.contains(query).then(|| value::<u32, u64>(*query));
            let mut answers: Vec<Option<u64>> = mixed.queries.iter().map(found).collect();
            assert_eq!(answers.iter().filter(|answer| answer.is_none()).count() as u64, absent);
            assert_eq!(mixed.wrong(&answers), 0);
            answers[17] = Some(0);
            assert_eq!((mixed.wrong(&answers), mixed.wrong(&answers[..990])), (1, 11));
        }
    }

    #[test]
    fn a_shuffle_keeps_all_items_and_moves_nearly_all() {
        let mut items: Vec<usize> = (0..1000).collect();
        shuffle(&mut items);
        assert!(items.iter().enumerate().filter(|(place, item)| place == *item).count() < 10);
        items.sort_unstable();
        assert!(items.into_iter().eq(0..1000));
    }
}
