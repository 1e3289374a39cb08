//! A sample of rows on a CPU.

use gpu_kernels::types::{KeyWord, Scalar};
use rand_xoshiro::rand_core::Rng;

/// The sample has one of this many rows, and at most `MAX_SAMPLE` rows.
const SAMPLED_ONE_IN: usize = 64;
const MAX_SAMPLE: usize = 1 << 13;
/// The bits for each row of a sample. Each bit stands for a range of hashes.
const BITS_A_ROW: usize = 64;

/// A sample of rows.
#[derive(Debug)]
pub(in crate::relational) struct Sample {
    rows: u32,
    /// The count of rows whose key occurs once in the sample.
    once: u32,
    /// The count of ranges of hashes, which are not distinguished further.
    bits: u32,
}

impl Sample {
    /// Samples one of every `one_in` rows. Keys are distinguished only by some bits of their
    /// hashes.
    pub(in crate::relational) fn of<W: KeyWord>(keys: &[W], [a, b]: [u64; 2], random: &mut impl Rng) -> Self {
        let one_in = SAMPLED_ONE_IN.max(keys.len().div_ceil(MAX_SAMPLE));
        let bits = (keys.len() / one_in * BITS_A_ROW).next_power_of_two().max(64);
        let (mut seen, mut again) = (vec![0u64; bits / 64], vec![0u64; bits / 64]);
        let mut sample = Self { rows: 0, once: 0, bits: bits as u32 };
        for rows in keys.chunks_exact(one_in) {
            let key = rows[(random.next_u64() as u32).scaled(one_in as u32) as usize];
            let at = key.mixed(a, b).scaled(bits as u32) as usize;
            let bit = 1 << (at % 64);
            again[at / 64] |= seen[at / 64] & bit;
            seen[at / 64] |= bit;
            sample.rows += 1;
        }
        sample.once = seen.iter().zip(&again).map(|(seen, again)| (seen & !again).count_ones()).sum();
        sample
    }

    /// Returns the share of rows whose key occurs once in the sample.
    ///
    /// Of the rows outside the sample, the same share has a key that is not in the sample (Good
    /// 1953, *The population frequencies of species and the estimation of population parameters*).
    pub(in crate::relational) fn once_share(&self) -> f64 {
        self.once as f64 / self.rows.max(1) as f64
    }

    /// Returns the estimated count of distinct keys, if all are equally frequent. Then the share of
    /// rows with a range of hashes that occurs once is e^-(rows / keys + rows / ranges).
    pub(in crate::relational) fn keys(&self) -> f64 {
        let rows = f64::from(self.rows);
        rows / (-self.once_share().ln() - rows / f64::from(self.bits)).max(0.0)
    }
}
