//! The limits of the device's memory, measured with dedicated kernels.

use std::cell::RefCell;
use warpnest::{Buffer, Device, Module, Stream};
use warpnest_bench_kernels::roofline::{Access, Copy, Random, RandomParams};

/// The kernels that measure the limits.
pub static KERNELS: Module = warpnest::module!("../../kernels/ptx/bench");

/// Returns the median time of `runs` calls of `work`, after `warm_ups` calls, in milliseconds by
/// the device's clock.
pub fn median_ms(
    stream: &Stream,
    warm_ups: u32,
    runs: u32,
    mut work: impl FnMut() -> warpnest::Result<()>,
) -> warpnest::Result<f64> {
    for _ in 0..warm_ups {
        work()?;
    }
    let mut times = Vec::new();
    for _ in 0..runs.max(1) {
        let start = stream.record()?;
        work()?;
        times.push(stream.record()?.milliseconds_since(&start)?);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// Returns the stages of the build with the median total of `runs` builds, if builds report stages.
pub fn median_stages<S>(
    runs: u32,
    total: impl Fn(&S) -> f64,
    mut build: impl FnMut() -> warpnest::Result<Option<S>>,
) -> warpnest::Result<Option<S>> {
    let mut found = Vec::new();
    for _ in 0..runs {
        found.extend(build()?);
    }
    found.sort_by(|a, b| total(a).total_cmp(&total(b)));
    let middle = found.len() / 2;
    Ok(found.into_iter().nth(middle))
}

/// The measurement of random accesses and copies over footprints.
pub struct Roofline<'d> {
    device: &'d Device,
    max_accesses: u64,
    input: Buffer<u32>,
    /// The output, overwritten by every run.
    output: RefCell<Buffer<u32>>,
    runs: u32,
}

impl<'d> Roofline<'d> {
    /// Allocates the buffers for runs of up to `max_accesses` accesses.
    pub fn new(device: &'d Device, max_accesses: u64, runs: u32) -> warpnest::Result<Self> {
        device.load(&KERNELS)?;
        Ok(Self {
            device,
            max_accesses,
            input: Buffer::zeroed(device, 2 * max_accesses as usize)?,
            output: RefCell::new(Buffer::zeroed(device, max_accesses as usize)?),
            runs,
        })
    }

    /// Returns the maximum number of accesses in a run.
    pub fn max_accesses(&self) -> u64 {
        self.max_accesses
    }

    /// Returns the milliseconds of a run of `accesses` accesses, up to the maximum, on new memory
    /// of `words` words of 64 bits.
    pub fn milliseconds(&self, access: Access, words: u64, accesses: u64) -> warpnest::Result<f64> {
        let accesses = accesses.min(self.max_accesses);
        let mut memory = Buffer::<u64>::zeroed(self.device, words as usize)?;
        let stream = self.device.default_stream();
        let (mut seed, mut output) = (0, self.output.borrow_mut());
        median_ms(stream, 2, self.runs, || {
            seed += 1;
            // SAFETY: `memory` has `words` words, and input and output have the documented lengths.
            unsafe {
                stream.launch(accesses as usize, |uses| Random {
                    memory: uses.write(&mut memory),
                    input: uses.read(&self.input),
                    output: uses.write(&mut *output),
                    plan: RandomParams { accesses, words, seed, access: access as u32, padding: 0 },
                })
            }
        })
    }

    /// Returns the rate on memory of `words` words, in 10^9 accesses a second.
    ///
    /// The rate includes the cost of a launch of `accesses` accesses, up to the maximum.
    pub fn gops(&self, access: Access, words: u64, accesses: u64) -> warpnest::Result<f64> {
        let accesses = accesses.min(self.max_accesses);
        Ok(accesses as f64 / self.milliseconds(access, words, accesses)? / 1e6)
    }

    /// Returns the milliseconds of a copy of `words` words of 64 bits.
    pub fn copy_milliseconds(&self, words: u64) -> warpnest::Result<f64> {
        let source = Buffer::<u64>::zeroed(self.device, words as usize)?;
        let mut target = Buffer::<u64>::zeroed(self.device, words as usize)?;
        let stream = self.device.default_stream();
        median_ms(stream, 2, self.runs, || {
            // SAFETY: both buffers have `words` words.
            unsafe {
                stream.launch((words / 2) as usize, |uses| Copy {
                    source: uses.read(&source),
                    target: uses.write(&mut target),
                    words,
                })
            }
        })
    }

    /// Returns the bytes per nanosecond that a copy of `words` words of 64 bits reads and writes.
    pub fn copy_rate(&self, words: u64) -> warpnest::Result<f64> {
        Ok((16 * words) as f64 / self.copy_milliseconds(words)? / 1e6)
    }

    /// Returns the limits of work on `n` items of `bits` bits, measured by a copy of the items.
    pub fn copies(&self, n: u64, bits: u32) -> warpnest::Result<Copies> {
        Ok(Copies { n, rate: self.copy_rate((n * bits as u64 / 64).next_multiple_of(2))? })
    }
}

/// The rate of work that reads and writes memory as a copy does.
pub struct Copies {
    n: u64,
    /// The bytes per nanosecond.
    rate: f64,
}

impl Copies {
    /// Returns the rate of work that reads and writes `bytes` bytes, in 10^9 items a second.
    pub fn gops(&self, bytes: u64) -> f64 {
        self.rate * self.n as f64 / bytes.max(1) as f64
    }
}
