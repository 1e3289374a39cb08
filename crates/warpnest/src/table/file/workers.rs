//! Workers, which copy the bytes of a file between the host and the device, several units at a
//! time.

use super::UNIT;
use crate::runtime::staging::Staging;
use crate::{Device, Result, Stream};

/// The most workers. A few workers are as fast as a disk or a link.
const MOST: u64 = 8;
/// The count of units that makes another worker worth its thread, stream and memory.
const UNITS_OF_ONE: u64 = 8;

/// The alignment of each worker's memory, in bytes, which is enough for words of any size.
const ALIGNMENT: u64 = 16;

/// The workers of a file. Each worker is a stream and host memory for one unit. They are made once
/// for all sections, because allocating page-locked memory and streams takes time.
pub(super) struct Workers {
    device: Device,
    /// The workers' streams; empty if the device's own stream is enough.
    streams: Vec<Stream>,
    staging: Staging,
    /// The bytes of each worker's memory.
    bytes: usize,
}

/// A worker: a stream, and the memory of a unit.
pub(super) type Worker<'l> = (&'l Stream, &'l mut [u8]);

impl Workers {
    /// Makes workers for sections of at most `most` bytes.
    pub(super) fn new(device: &Device, most: u64) -> Result<Self> {
        let workers = count(most.div_ceil(UNIT));
        let bytes = most.clamp(ALIGNMENT, UNIT).next_multiple_of(ALIGNMENT) as usize;
        let streams = (0..workers).filter(|_| workers > 1).map(|_| device.stream()).collect::<Result<_>>()?;
        let staging = Staging::new(device, workers as usize * bytes)?;
        Ok(Self { device: device.clone(), streams, staging, bytes })
    }

    /// Returns the workers for a section of `units` units.
    pub(super) fn of(&mut self, units: u64) -> Vec<Worker<'_>> {
        let own = std::slice::from_ref(self.device.default_stream());
        let streams = if self.streams.is_empty() { own } else { &self.streams };
        streams.iter().zip(self.staging.chunks_exact_mut(self.bytes)).take(count(units) as usize).collect()
    }
}

/// Returns the count of workers for `units` units: 1 if the calling thread is enough.
fn count(units: u64) -> u64 {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    // Even with one core, copies overlap with reads and writes.
    units.div_ceil(UNITS_OF_ONE).clamp(1, cores.clamp(2, MOST))
}

#[cfg(all(test, feature = "cpu"))]
mod tests {
    use super::*;

    #[test]
    fn the_largest_files_have_eight_mebibytes_of_the_host_and_small_ones_less() {
        let workers = |bytes| Workers::new(&Device::cpu(), bytes).unwrap();
        for bytes in [0, 1, 4097, UNIT, UNIT * UNITS_OF_ONE] {
            let mut workers = workers(bytes);
            assert!(workers.streams.is_empty() && workers.staging.len() as u64 <= bytes.clamp(4096, UNIT) + 4096);
            assert_eq!(workers.of(bytes.div_ceil(UNIT)).len(), 1);
        }
        for bytes in [UNIT * UNITS_OF_ONE + 1, 1 << 56] {
            let mut workers = workers(bytes);
            assert!((2 * UNIT..=8 * UNIT).contains(&(workers.staging.len() as u64)), "{}", workers.staging.len());
            let of = |workers: &mut Workers, units| workers.of(units).len();
            assert_eq!((of(&mut workers, 1), of(&mut workers, 9)), (1, 2));
            assert!(workers.of(bytes.div_ceil(UNIT)).iter().all(|(_, memory)| memory.len() as u64 == UNIT));
            assert_eq!(of(&mut workers, u64::MAX), workers.streams.len().max(of(&mut workers, 9)));
        }
    }
}
