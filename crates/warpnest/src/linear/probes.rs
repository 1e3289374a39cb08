//! The distances of the keys of a linear table from their home buckets.

use super::table::LinearTable;
use crate::table::probes::ProbeLengths;
use crate::{Buffer, Result};
use gpu_kernels::double_word::Half;
use gpu_kernels::linear::{self, InspectParams};
use gpu_kernels::types::{KeyWord, ValueWord};

/// The count of elements of the histogram.
const HISTOGRAM: usize = 129;

impl<K: KeyWord, V: ValueWord> LinearTable<K, V> {
    /// Measures the distances of all keys from their home buckets, and waits.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn probe_lengths(&self) -> Result<ProbeLengths> {
        self.check()?;
        let stream = self.device.default_stream();
        let histogram = Buffer::<u64>::zeroed(&self.device, HISTOGRAM)?;
        let totals = Buffer::<u64>::zeroed(&self.device, 2)?;
        stream.batch(|batch| {
            let lengths = linear::ProbeLengths::<Half<K, V>> {
                words: batch.read(&self.words),
                histogram: batch.write(&histogram),
                totals: batch.write(&totals),
                plan: InspectParams { layout: self.layout, capacity: HISTOGRAM as u64 },
            };
            // SAFETY: slots and layout belong together, and the histogram has the plan's size.
            unsafe { batch.launch(&lengths, self.slots()) }
        })?;
        let (histogram, totals) = (histogram.download(stream)?, totals.download(stream)?);
        let keys: u64 = histogram.iter().sum();
        Ok(ProbeLengths { mean: totals[0] as f64 / keys.max(1) as f64, longest: totals[1], histogram })
    }
}
