//! Figure 4.7, left: updates of words that are a stride apart.

use anyhow::ensure;
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device};
use warpnest_bench_kernels::roofline::{Strided, StridedParams};

use super::units::billions_a_second;
use crate::bench::roofline::{KERNELS, median_ms};
use crate::figures::figure::{Axis, Figure, Series};
use crate::figures::lab::Lab;
use crate::figures::scale::{Scale, power_of_two};

/// The nanoseconds of an update of 64 bits, the size of a slot with a key and a value of 32 bits.
#[derive(Clone, Copy, Debug)]
pub struct Update {
    /// The time of an exchange without locality.
    pub scattered: f64,
    /// The time of one of the two accesses when neighbouring words are read and written.
    pub streamed: f64,
}

/// Measures the updates for every stride. The number of 32-bit words is the limit, and the number
/// of 64-bit words is half of it.
pub fn strides(lab: &Lab) -> anyhow::Result<(Figure, Update)> {
    let narrow_log2 = lab.largest.ilog2();
    lab.begin("figure 4.7", 2 * (2 * narrow_log2 as usize + 1));
    let [narrow, narrow_atomic] = measure::<u32>(lab, narrow_log2)?;
    let [wide, wide_atomic] = measure::<u64>(lab, narrow_log2 - 1)?;
    let ns = |times: &[f64], words_log2: u32| times.last().copied().unwrap_or(0.0) * 1e6 / (1u64 << words_log2) as f64;
    let update =
        Update { scattered: ns(&wide_atomic, narrow_log2 - 1), streamed: ns(&wide[..1], narrow_log2 - 1) / 2.0 };
    let series = |name, words_log2: u32, times: &[f64]| {
        let rate = |(stride, &ms): (i32, &f64)| (2f64.powi(stride), billions_a_second(1 << words_log2, ms));
        Series { name, points: (0..).zip(times).map(rate).collect(), cited: None }
    };
    let figure = Figure {
        name: "alcantara_2011_strides",
        title: "Updates of words that are a stride apart".to_owned(),
        note: format!(
            "Each of {} words of 32 bits, or {} of 64, is updated once by a thread; the longest stride leaves no locality.",
            power_of_two(narrow_log2),
            power_of_two(narrow_log2 - 1)
        ),
        x: Axis { label: "stride (words)", scale: Scale::Log2 },
        y: Axis { label: "10⁹ updates a second", scale: Scale::Log10 },
        series: vec![
            series("32 bits, read and write", narrow_log2, &narrow),
            series("64 bits, read and write", narrow_log2 - 1, &wide),
            series("32 bits, atomic exchange", narrow_log2, &narrow_atomic),
            series("64 bits, atomic exchange", narrow_log2 - 1, &wide_atomic),
        ],
        end: None,
    };
    Ok((figure, update))
}

/// Measures the milliseconds of updates of all words, for the strides 1, 2, 4, …: by reads and
/// writes, and by exchanges.
fn measure<T: Key>(lab: &Lab, words_log2: u32) -> anyhow::Result<[Vec<f64>; 2]> {
    let mut words = Words::<T>::new(&lab.device, words_log2)?;
    let mut times = [Vec::new(), Vec::new()];
    for stride_log2 in 0..=words_log2 {
        lab.step(format!("words of {} bits, stride {}", T::BITS, power_of_two(stride_log2)));
        for (atomic, times) in (0..).zip(&mut times) {
            times.push(words.update_ms(stride_log2, atomic, lab.runs)?);
        }
    }
    words.check()?;
    Ok(times)
}

/// An array of words whose values are the number of updates.
struct Words<'d, T: Key> {
    device: &'d Device,
    words_log2: u32,
    memory: Buffer<T>,
    wrong: Buffer<u32>,
    updates: u64,
}

impl<'d, T: Key> Words<'d, T> {
    fn new(device: &'d Device, words_log2: u32) -> warpnest::Result<Self> {
        device.load(&KERNELS)?;
        let (memory, wrong) = (Buffer::zeroed(device, 1 << words_log2)?, Buffer::zeroed(device, 1)?);
        Ok(Self { device, words_log2, memory, wrong, updates: 0 })
    }

    /// Returns the milliseconds of one update of every word.
    fn update_ms(&mut self, stride_log2: u32, atomic: u32, runs: u32) -> warpnest::Result<f64> {
        let stream = self.device.default_stream();
        median_ms(stream, 1, runs, || {
            let before = self.updates;
            self.updates += 1;
            let plan = StridedParams {
                before,
                after: self.updates,
                words_log2: self.words_log2,
                stride_log2,
                atomic,
                padding: 0,
            };
            // SAFETY: the buffers have the documented lengths.
            unsafe {
                stream.launch(1 << self.words_log2, |uses| Strided {
                    memory: uses.write(&mut self.memory),
                    wrong: uses.write(&mut self.wrong),
                    plan,
                })
            }
        })
    }

    /// Checks all updates by one more update, because each update counts the words that the last
    /// one missed.
    fn check(&mut self) -> anyhow::Result<()> {
        self.update_ms(0, 0, 1)?;
        let wrong = self.wrong.download(self.device.default_stream())?[0];
        ensure!(wrong == 0, "{wrong} words of {} bits were not as the update before left them", T::BITS);
        Ok(())
    }
}
