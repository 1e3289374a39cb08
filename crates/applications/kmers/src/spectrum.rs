//! The spectrum of k-mers, and the most frequent k-mers.

use super::count::{Count, Work, count};
use super::packed::Packed;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use warpnest::{Device, Result};

/// The limit below which counts have an element in an array.
const SMALL: usize = 1 << 12;

/// The number of distinct k-mers that occur once, twice, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spectrum {
    small: Vec<u64>,
    large: BTreeMap<u64, u64>,
}

impl Default for Spectrum {
    fn default() -> Self {
        Self { small: vec![0; SMALL], large: BTreeMap::new() }
    }
}

impl Spectrum {
    /// Adds a k-mer that occurs `count` times.
    pub fn add(&mut self, count: u64) {
        match usize::try_from(count).ok().and_then(|count| self.small.get_mut(count)) {
            Some(kmers) => *kmers += 1,
            None => *self.large.entry(count).or_default() += 1,
        }
    }

    /// Returns each count that occurs, in ascending order, and the number of k-mers with this
    /// count.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let small = (0..).zip(&self.small).filter(|(_, kmers)| **kmers > 0).map(|(count, kmers)| (count, *kmers));
        small.chain(self.large.iter().map(|(count, kmers)| (*count, *kmers)))
    }

    /// Returns the number of distinct k-mers.
    pub fn distinct(&self) -> u64 {
        self.iter().map(|(_, kmers)| kmers).sum()
    }

    /// Returns the number of k-mers that occur once.
    pub fn singletons(&self) -> u64 {
        self.small[1]
    }
}

/// The spectrum and the most frequent k-mers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    pub spectrum: Spectrum,
    /// The keys and counts of the most frequent k-mers, in descending order of counts, then in
    /// ascending order of keys.
    pub top: Vec<Count>,
}

impl Survey {
    /// Counts k-mers as [`count`] does, with the limit `at_once`, and keeps the `top` most frequent
    /// ones. `also` is called with all counts, some at a time; its first error ends the count.
    ///
    /// # Errors
    /// As for [`count`].
    pub fn of<E>(
        device: &Device,
        packed: &Packed,
        (at_once, top): (usize, usize),
        also: &mut Work<'_, E>,
    ) -> Result<Result<Self, E>> {
        let mut collector = Collector { spectrum: Spectrum::default(), kept: BinaryHeap::new(), top };
        let counted = count(device, packed, at_once, &mut |pairs| {
            pairs.iter().for_each(|(key, count)| collector.add(*key, *count));
            also(pairs)
        })?;
        Ok(counted.map(|()| collector.finish()))
    }
}

/// A survey that is being computed.
struct Collector {
    spectrum: Spectrum,
    /// The most frequent k-mers so far, in a heap with the least frequent one on top.
    kept: BinaryHeap<Reverse<(u64, Reverse<u64>)>>,
    top: usize,
}

impl Collector {
    fn add(&mut self, key: u64, count: u64) {
        self.spectrum.add(count);
        let candidate = Reverse((count, Reverse(key)));
        if self.kept.len() < self.top {
            self.kept.push(candidate);
        } else if self.kept.peek().is_some_and(|least| candidate < *least) {
            self.kept.pop();
            self.kept.push(candidate);
        }
    }

    fn finish(self) -> Survey {
        let by_count = self.kept.into_sorted_vec().into_iter();
        let top = by_count.map(|Reverse((count, Reverse(key)))| (key, count)).collect();
        Survey { spectrum: self.spectrum, top }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_sizes_are_in_the_spectrum_and_the_most_frequent_on_top() {
        let of_key = |key: u64| if key < 5 { 1 << (8 * key) } else { key % 3 + 1 };
        let survey = |top| {
            let mut collector = Collector { spectrum: Spectrum::default(), kept: BinaryHeap::new(), top };
            (0..100_000u64).rev().for_each(|key| collector.add(key, of_key(key)));
            collector.finish()
        };
        let found = survey(7);
        assert_eq!(found.top, [(4, 1 << 32), (3, 1 << 24), (2, 1 << 16), (1, 256), (5, 3), (8, 3), (11, 3)]);
        let spectrum: Vec<(u64, u64)> = found.spectrum.iter().collect();
        let ones = (5..100_000u64).filter(|key| key % 3 == 0).count() as u64 + 1;
        let rest = [(256, 1), (1 << 16, 1), (1 << 24, 1), (1 << 32, 1)];
        assert_eq!((spectrum[0], found.spectrum.singletons(), &spectrum[3..]), ((1, ones), ones, &rest[..]));
        assert_eq!((found.spectrum.distinct(), survey(0).top.len()), (100_000, 0));
        assert_eq!(survey(usize::MAX).top.len(), 100_000);
    }
}
