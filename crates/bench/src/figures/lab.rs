//! The device and the sizes for the measurements.

use indicatif::ProgressBar;
use warpnest::Device;

/// The minimum number of pairs, with which the figures of (Sahu 2015) start.
pub const MIN_PAIRS: u64 = 512;

/// The device and the sizes for the measurements.
pub struct Lab {
    pub device: Device,
    pub runs: u32,
    pub largest: u64,
    pub progress: ProgressBar,
}

impl Lab {
    /// Announces `steps` steps of some work; [`Lab::step`] counts them.
    pub fn begin(&self, what: &'static str, steps: usize) {
        self.progress.reset();
        self.progress.set_prefix(what);
        self.progress.set_length(steps as u64);
    }

    /// Returns the numbers of pairs, which double from the minimum to the maximum.
    pub fn doubling_sizes(&self) -> Vec<u64> {
        std::iter::successors(Some(MIN_PAIRS), |n| Some(2 * n)).take_while(|&n| n <= self.largest).collect()
    }

    pub fn step(&self, detail: String) {
        self.progress.set_message(detail);
        self.progress.inc(1);
    }
}
