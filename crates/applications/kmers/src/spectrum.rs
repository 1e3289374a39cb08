//! The spectrum of k-mers, and the most frequent ones.

use super::counts::Counts;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use warpnest::Result;

/// The counts below which k-mers are counted in an array.
const SMALL: usize = 1 << 12;

/// The number of different k-mers that occur so and so often.
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

    /// Returns each count that there is, the smallest first, and how many k-mers have it.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let small = (0..).zip(&self.small).filter(|(_, kmers)| **kmers > 0).map(|(count, kmers)| (count, *kmers));
        small.chain(self.large.iter().map(|(count, kmers)| (*count, *kmers)))
    }

    /// Returns the number of k-mers that occur once.
    pub fn singletons(&self) -> u64 {
        self.small[1]
    }
}

/// What is known of the k-mers as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    pub spectrum: Spectrum,
    /// The keys of the most frequent k-mers with their counts: those that occur most often first,
    /// of as frequent ones the smaller ones.
    pub top: Vec<(u64, u64)>,
}

impl Survey {
    /// Looks at all k-mers once, and keeps the `top` most frequent ones.
    ///
    /// # Errors
    /// As for [`Counts::each`].
    pub fn of(counts: &Counts, top: usize) -> Result<Self> {
        let mut spectrum = Spectrum::default();
        // The least frequent one of those that are kept is on top of the heap.
        let mut kept = BinaryHeap::new();
        let Ok(()) = counts.each::<std::convert::Infallible>(&mut |pairs| {
            for &(key, count) in pairs {
                spectrum.add(count);
                let candidate = Reverse((count, Reverse(key)));
                if kept.len() < top {
                    kept.push(candidate);
                } else if kept.peek().is_some_and(|least| candidate < *least) {
                    kept.pop();
                    kept.push(candidate);
                }
            }
            Ok(())
        })?;
        let top = kept.into_sorted_vec().into_iter().map(|Reverse((count, Reverse(key)))| (key, count)).collect();
        Ok(Self { spectrum, top })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpnest::{Buffer, Device};

    #[test]
    fn counts_of_all_sizes_are_in_the_spectrum_and_the_most_frequent_on_top() {
        let device = Device::cpu();
        let keys: Vec<u64> = (0..100_000u64).rev().collect();
        let of_key = |key: u64| if key < 5 { 1 << (8 * key) } else { key % 3 + 1 };
        let counts: Vec<u64> = keys.iter().map(|key| of_key(*key)).collect();
        let counts = Counts::new(
            &device,
            Buffer::from_slice(&device, &keys).unwrap(),
            Buffer::from_slice(&device, &counts).unwrap(),
        );
        let survey = Survey::of(&counts, 7).unwrap();
        assert_eq!(survey.top, [(4, 1 << 32), (3, 1 << 24), (2, 1 << 16), (1, 256), (5, 3), (8, 3), (11, 3)]);
        let spectrum: Vec<(u64, u64)> = survey.spectrum.iter().collect();
        let ones = (5..100_000u64).filter(|key| key % 3 == 0).count() as u64 + 1;
        let rest = [(256, 1), (1 << 16, 1), (1 << 24, 1), (1 << 32, 1)];
        assert_eq!((spectrum[0], survey.spectrum.singletons(), &spectrum[3..]), ((1, ones), ones, &rest[..]));
        assert_eq!(spectrum.iter().map(|(_, kmers)| kmers).sum::<u64>(), 100_000);
        assert_eq!(Survey::of(&counts, 0).unwrap().top, []);
        assert_eq!(Survey::of(&counts, usize::MAX).unwrap().top.len(), 100_000);
    }
}
