//! Minimizers, by which k-mers are divided into bins.
//!
//! A k-mer consists of overlapping parts of a fixed length. Its minimizer is the first part in a
//! fixed order (Roberts et al. 2004). Neighbours often have the same minimizer, so their run can be
//! stored as its bases alone (Deorowicz et al. 2015). A part and its reverse complement count as
//! one here, so a k-mer and its reverse complement have the same minimizer.

/// The number of bases of a minimizer: small, so that neighbours share one, but large enough that
/// none is frequent.
const LENGTH: u32 = 9;
/// The size of the ring, which is at least the number of parts of a k-mer.
const RING: usize = 32;
/// The number of bins.
pub const BINS: usize = 256;

/// The minimizer of the last `k` bases of a run.
#[derive(Debug)]
pub struct Minimizer {
    /// The number of parts of a k-mer.
    parts: usize,
    /// The number of bases of the run so far.
    seen: usize,
    /// The last part as a binary number.
    forward: u32,
    /// The reverse complement of the last part.
    backward: u32,
    /// The hashes of the last parts; a part's index modulo [`RING`] is its position.
    ring: [u32; RING],
    /// The least hash of a k-mer's parts.
    least: u32,
    /// The index of the last part that has the least hash.
    at: usize,
}

impl Minimizer {
    /// The least `k` for which there are several bins, because shorter k-mers are few.
    pub const LEAST_K: u32 = 13;

    /// Returns the minimizer of k-mers of `k` bases: [`Self::LEAST_K`] to 32.
    pub fn new(k: u32) -> Self {
        let parts = (k - LENGTH + 1) as usize;
        Self { parts, seen: 0, forward: 0, backward: 0, ring: [0; RING], least: u32::MAX, at: 0 }
    }

    /// Begins a new run.
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

    /// Returns the bin of the last `k` bases, which the run must have.
    #[inline(always)]
    pub fn bin(&self) -> usize {
        // Least hashes are mostly small, so they are hashed again.
        (self.least.wrapping_mul(0x9e37_79b1) >> 24) as usize % BINS
    }
}

/// Returns a hash of a part; different parts have different hashes.
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

    /// Returns the bins of all k-mers, each from the k-mer's bases alone.
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
            // Bases before the run must not matter.
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
