//! The lanes that a file's bytes take between the host and the device, several at a time.

use super::UNIT;
use crate::runtime::staging::Staging;
use crate::{Device, Result, Stream};

/// The most lanes. A few are as fast as a disk or a link.
const MOST: u64 = 8;
/// The units for which one more lane is worth its thread, its stream and its memory.
const UNITS_OF_ONE: u64 = 8;

/// The alignment of each lane's memory, in bytes, as words of any size need it.
const ALIGNMENT: u64 = 16;

/// The lanes of a file: each is a stream and memory of the host for one unit. They are made once
/// for all sections, since page-locked memory and streams take their time.
pub struct Lanes {
    device: Device,
    /// None if the device's own stream is enough.
    streams: Vec<Stream>,
    staging: Staging,
    /// The bytes of each lane's memory.
    bytes: usize,
}

/// A lane: a stream, and the memory of a unit.
pub type Lane<'l> = (&'l Stream, &'l mut [u8]);

impl Lanes {
    /// Makes lanes for sections of at most `most` bytes.
    pub fn new(device: &Device, most: u64) -> Result<Self> {
        let lanes = count(most.div_ceil(UNIT));
        let bytes = most.clamp(ALIGNMENT, UNIT).next_multiple_of(ALIGNMENT) as usize;
        let streams = (0..lanes).filter(|_| lanes > 1).map(|_| device.stream()).collect::<Result<_>>()?;
        let staging = Staging::new(device, lanes as usize * bytes)?;
        Ok(Self { device: device.clone(), streams, staging, bytes })
    }

    /// Returns the lanes for so many units.
    pub fn of(&mut self, units: u64) -> Vec<Lane<'_>> {
        let own = std::slice::from_ref(self.device.default_stream());
        let streams = if self.streams.is_empty() { own } else { &self.streams };
        streams.iter().zip(self.staging.chunks_exact_mut(self.bytes)).take(count(units) as usize).collect()
    }
}

/// Returns the number of lanes for so many units: 1 if the calling thread is enough.
fn count(units: u64) -> u64 {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    // With one core, too, copies overlap with reads and writes.
    units.div_ceil(UNITS_OF_ONE).clamp(1, cores.clamp(2, MOST))
}

#[cfg(all(test, feature = "cpu"))]
mod tests {
    use super::*;

    #[test]
    fn the_largest_files_have_eight_mebibytes_of_the_host_and_small_ones_less() {
        let lanes = |bytes| Lanes::new(&Device::cpu(), bytes).unwrap();
        for bytes in [0, 1, 4097, UNIT, UNIT * UNITS_OF_ONE] {
            let mut lanes = lanes(bytes);
            assert!(lanes.streams.is_empty() && lanes.staging.len() as u64 <= bytes.clamp(4096, UNIT) + 4096);
            assert_eq!(lanes.of(bytes.div_ceil(UNIT)).len(), 1);
        }
        for bytes in [UNIT * UNITS_OF_ONE + 1, 1 << 56] {
            let mut lanes = lanes(bytes);
            assert!((2 * UNIT..=8 * UNIT).contains(&(lanes.staging.len() as u64)), "{}", lanes.staging.len());
            let of = |lanes: &mut Lanes, units| lanes.of(units).len();
            assert_eq!((of(&mut lanes, 1), of(&mut lanes, 9)), (1, 2));
            assert!(lanes.of(bytes.div_ceil(UNIT)).iter().all(|(_, memory)| memory.len() as u64 == UNIT));
            assert_eq!(of(&mut lanes, u64::MAX), lanes.streams.len().max(of(&mut lanes, 9)));
        }
    }
}
