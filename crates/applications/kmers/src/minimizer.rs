//! Minimizers, by which k-mers are divided among bins.
//!
//! The minimizer of a k-mer is the part of it, with some bases, that comes first in a fixed order
//! (Roberts et al. 2004). Neighbouring k-mers often share it, so runs of them can be kept as their
//! bases alone (Deorowicz et al. 2015). A part and its reverse complement are one here, so a k-mer
//! and its own reverse complement have the same minimizer.

/// The bases of a minimizer: short, so that neighbours share one, and long enough that none is
/// frequent.
const LENGTH: u32 = 9;
/// The most parts of a k-mer, of whose places a ring has one each.
const RING: usize = 32;
/// The number of bins.
pub const BINS: usize = 256;

/// The minimizer of the last `k` bases of a run.
#[derive(Debug)]
pub struct Minimizer {
    /// The number of parts of a k-mer.
    parts: usize,
    /// The bases of the run.
    seen: usize,
    /// The last part, as a number, and its reverse complement.
    forward: u32,
    backward: u32,
    /// The hashes of the last parts, by their numbers.
    ring: [u32; RING],
    /// The least hash of a k-mer's parts, and the number of the last part with it.
    least: u32,
    at: usize,
}

impl Minimizer {
    /// The least `k` for which there are bins; there are few k-mers of fewer bases.
    pub const LEAST_K: u32 = 13;

    /// Returns the minimizer of k-mers of `k` bases: [`Self::LEAST_K`] to 32.
    pub fn new(k: u32) -> Self {
        let parts = (k - LENGTH + 1) as usize;
        Self { parts, seen: 0, forward: 0, backward: 0, ring: [0; RING], least: u32::MAX, at: 0 }
    }

    /// Begins another run.
    #[inline(always)]
    pub fn begin(&mut self) {
        (self.seen, self.least, self.at) = (0, u32::MAX, 0);
    }

    /// Adds the code of the next base.
    #[inline(always)]
    pub fn push(&mut self, code: u8) {
        let code = u32::from(code);
        self.forward = (self.forward << 2 | code) & ((1 << (2 * LENGTH)) - 1);
        self.backward = self.backward >> 2 | (3 - code) << (2 * LENGTH - 2);
        self.seen += 1;
        if self.seen < LENGTH as usize {
            return;
        }
        let part = self.seen - LENGTH as usize;
        let hash = hash(self.forward.min(self.backward));
        self.ring[part % RING] = hash;
        if hash <= self.least {
            (self.least, self.at) = (hash, part);
        } else if self.at + self.parts <= part {
            self.least = u32::MAX;
            for part in part + 1 - self.parts..=part {
                if self.ring[part % RING] <= self.least {
                    (self.least, self.at) = (self.ring[part % RING], part);
                }
            }
        }
    }

    /// Returns the bin of the last `k` bases, of which there are as many.
    #[inline(always)]
    pub fn bin(&self) -> usize {
        // Least hashes are mostly small, and are spread once more.
        (self.least.wrapping_mul(0x9e37_79b1) >> 24) as usize % BINS
    }
}

/// Returns a number that looks random, a different one for each.
#[inline(always)]
fn hash(part: u32) -> u32 {
    let mixed = (part ^ 0x5bd1_e995).wrapping_mul(0x85eb_ca6b);
    let mixed = (mixed ^ mixed >> 15).wrapping_mul(0xc2b2_ae35);
    mixed ^ mixed >> 13
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256StarStar;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};
    use std::collections::HashSet;

    /// Returns the bins of all k-mers, each from its own bases.
    fn bins_alone(codes: &[u8], k: u32) -> Vec<usize> {
        let of_one = |kmer: &[u8]| {
            let mut minimizer = Minimizer::new(k);
            kmer.iter().for_each(|code| minimizer.push(*code));
            minimizer.bin()
        };
        codes.windows(k as usize).map(of_one).collect()
    }

    #[test]
    fn a_kmer_has_one_bin_wherever_and_on_either_strand() {
        let mut random = Xoshiro256StarStar::seed_from_u64(1);
        let mut codes: Vec<u8> = (0..3000).map(|_| (random.next_u64() & 3) as u8).collect();
        codes.extend([0; 100]);
        codes.extend([3, 1].repeat(40));
        let other: Vec<u8> = codes.iter().rev().map(|code| 3 - code).collect();
        for k in Minimizer::LEAST_K..=32 {
            let alone = bins_alone(&codes, k);
            let (mut minimizer, mut rolled) = (Minimizer::new(k), Vec::new());
            // What came before a run says nothing.
            other.iter().for_each(|code| minimizer.push(*code));
            minimizer.begin();
            for (number, code) in codes.iter().enumerate() {
                minimizer.push(*code);
                if number + 1 >= k as usize {
                    rolled.push(minimizer.bin());
                }
            }
            assert_eq!(rolled, alone, "{k}");
            assert!(bins_alone(&other, k).into_iter().rev().eq(alone.iter().copied()));
            let different: HashSet<usize> = alone.into_iter().collect();
            assert!(different.len() > BINS / 2, "{k}: {}", different.len());
        }
    }
}
