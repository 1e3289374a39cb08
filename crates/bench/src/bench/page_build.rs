//! The limits of a build of a page table, for the whole build and for each stage.

use super::maps::Stage;
use super::roofline::{Copies, Roofline};
use warpnest::low_level::kernels::split::MAX_SPLIT_BITS;
use warpnest::page::PageStages;

/// The limits of a build and its stages: the times of copies of equally many bytes.
///
/// Each split reads and writes keys and values. The last stage reads keys and values and writes the
/// table.
pub struct Limits {
    copies: Copies,
    splits: u64,
    /// The bytes of the keys and values.
    bytes: u64,
    table_bytes: u64,
}

impl Limits {
    /// Measures the limits of a build of `n` items of `bits` bits each, into a table of
    /// `table_bytes` bytes in 2^`page_bits` pages.
    pub fn new(roofline: &Roofline, n: u64, bits: u32, table_bytes: u64, page_bits: u32) -> anyhow::Result<Self> {
        let splits = page_bits.div_ceil(MAX_SPLIT_BITS) as u64;
        Ok(Self { copies: roofline.copies(n, bits)?, splits, bytes: n * bits as u64 / 8, table_bytes })
    }

    /// Returns the limit of the whole build, in 10^9 items a second.
    pub fn whole(&self) -> f64 {
        self.copies.gops(self.splits * 2 * self.bytes + self.bytes + self.table_bytes)
    }

    /// Returns the stages of a build with `assume_unique`, then of a build without it.
    pub fn stages(&self, builds: [Option<PageStages>; 2]) -> Vec<Stage> {
        let names =
            [["clear", "split_1", "split_2", "pages"], ["clear_any", "split_1_any", "split_2_any", "pages_any"]];
        let later = if self.splits > 1 { self.copies.gops((self.splits - 1) * 2 * self.bytes) } else { 0.0 };
        let of_build = |(stages, [clear, first, second, pages]): (Option<PageStages>, [&'static str; 4])| {
            stages.map(|stages| {
                [
                    (clear, stages.initialization, 0.0),
                    (first, stages.first_split, self.copies.gops(2 * self.bytes)),
                    (second, stages.later_splits, later),
                    (pages, stages.pages, self.copies.gops(self.bytes + self.table_bytes)),
                ]
            })
        };
        builds.into_iter().zip(names).filter_map(of_build).flatten().collect()
    }
}
