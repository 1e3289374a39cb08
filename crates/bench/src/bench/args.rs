//! What `cargo xtask bench` can be asked for.

use super::cold::Call;
use super::lab::parse_size;
use std::path::PathBuf;

/// Measure every table and operation, beside what the memory system allows in the same run.
///
/// Prints a table and, with `--output`, appends the records to `OUTPUT/DEVICE.jsonl`. Rates are in
/// 10^9 operations a second. `limit` is what the memory system allows for as many operations, over
/// as much memory as the table takes, measured just before. For a build that is a pair streamed in
/// and one random 64-bit exchange; for a lookup, a key streamed in, one random read, and its result
/// streamed out. Times are the median of the runs, by the device's clock. `build` is with
/// `assume_unique`, `build_any` without.
#[derive(clap::Args)]
pub struct Args {
    /// Where to run: best, cpu, cuda or cuda:N.
    #[arg(long, default_value = "best")]
    pub(super) device: String,
    /// Numbers of pairs, as 1000000 or 2^20. Default: 2^20, 2^24 and 2^27 on a GPU, 2^20 and 2^22
    /// on the CPU.
    #[arg(long, value_delimiter = ',', value_parser = parse_size)]
    pub(super) n: Vec<u64>,
    /// Slots for each pair: 1.25 is a load of .8.
    #[arg(long, value_delimiter = ',', default_value = "1.25")]
    pub(super) slots_per_pair: Vec<f64>,
    /// Items of a bucket of `TwoLevelMap` on average; without it, the default, which shrinks with
    /// the number of pairs.
    #[arg(long)]
    pub(super) items_per_bucket: Option<f64>,
    /// Load factors of `PageMap`, `PageSet`, `LinearMap`, and of the page maps of `CompactingTable`
    /// and `MultiMap`.
    #[arg(long, value_delimiter = ',', default_value = "0.8,0.95")]
    pub(super) load: Vec<f64>,
    /// The maps under `CompactingTable` and `MultiMap`. The rows of those over another map than a
    /// page map have its name with theirs, as `MultiMap<CuckooMap>`; `--slots-per-pair` holds for
    /// it, too.
    #[arg(long, value_delimiter = ',', value_enum, default_value = "page")]
    pub(super) under: Vec<Under>,
    /// Rounds in which a tenth of a `LinearMap`'s keys are replaced by others.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) rounds: u32,
    /// Pairs of a batch of `ExtendibleMap`.
    #[arg(long, default_value = "2^22", value_parser = parse_size)]
    pub(super) batch: u64,
    /// Probe a `LinearMap` line by line behind a full line, not by a step of each key's own.
    #[arg(long)]
    pub(super) linear_probing: bool,
    /// Also measure 64-bit keys and values.
    #[arg(long)]
    pub(super) wide: bool,
    /// Timed runs of each operation, after the warm-ups.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) runs: u32,
    /// Measure the limits over these footprints in MiB. Default: 32, 256, 2048 and 32768 on a GPU,
    /// 4 and 256 on the CPU; those that do not fit the device are left out.
    #[arg(long, value_delimiter = ',')]
    pub(super) footprints: Vec<u64>,
    /// Measure group-by for every power of two of groups.
    #[arg(long)]
    pub(super) every_power: bool,
    /// Measure group-by for these numbers of groups, and only for these and `--skews`.
    #[arg(long, value_delimiter = ',', value_parser = parse_size, conflicts_with = "every_power")]
    pub(super) groups: Vec<u64>,
    /// Measure group-by for Zipf distributions with these exponents, and only for these and
    /// `--groups`.
    #[arg(long, value_delimiter = ',', conflicts_with = "every_power")]
    pub(super) skews: Vec<f64>,
    /// Only the limits, no tables.
    #[arg(long)]
    pub(super) only_limits: bool,
    /// What to measure: all of it but files, calls, transfers and cold by default.
    #[arg(long, value_delimiter = ',', value_enum)]
    only: Vec<Part>,
    /// Make one call for `--only cold`, in this process.
    #[arg(long, hide = true, value_enum)]
    pub(super) first_call: Option<Call>,
    /// Also measure hashbrown::HashMap on one thread, with the same input in the same run.
    #[cfg(feature = "figures")]
    #[arg(long)]
    pub(super) beside_hashbrown: bool,
    /// The folder of the files that `--only files` saves and loads; by default the folder for
    /// temporary files. Its rows have the bytes of a file for `n` and GB/s for rates. The limit of
    /// `save` and `load` is a plain write and `fsync`, or a plain read into the same memory, of as
    /// many bytes; or the link to the device, if that is slower. Its rate is the better one of a
    /// plain copy (`plain_upload`, `plain_download`) and of `load_from_memory` or
    /// `save_to_nowhere`, which are without the disk. A plain download goes to new memory, so that
    /// it mostly measures page faults. Files that were just written are read from the system's
    /// memory; the files of `load_cold` and `plain_read_cold` (on Linux) were forced to the disk
    /// and dropped from there before each run, which has no effect in a folder that is itself in
    /// memory.
    #[arg(long)]
    pub(super) files: Option<PathBuf>,
    /// The folder for the records; none are kept without it.
    #[arg(long)]
    pub(super) output: Option<PathBuf>,
}

/// The design of a map under another table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Under {
    Page,
    Cuckoo,
}

/// A part of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Part {
    /// Scan, compaction, histogram, partition, sort, gather.
    Primitives,
    /// Group-by, also by sorting.
    GroupBy,
    /// Sums that are kept in a `LinearMap` and a `PageMap` over many batches, for `--groups` and
    /// `--skews`.
    Combine,
    /// Group-by of rows whose sample lies, beside honest ones of as many groups.
    #[value(name = "group_by_lying")]
    GroupByLying,
    /// Joins of unique and of repeated keys, with large and small build sides.
    Join,
    /// Joins and changing batches of frequent keys, beside distinct ones.
    Skews,
    /// Different keys with ids and counts, and membership.
    Unique,
    /// `CuckooMap` and `CuckooSet`.
    Cuckoo,
    /// `TwoLevelMap`.
    TwoLevel,
    /// `PageMap`.
    Page,
    /// Batches added to a `PageMap`, and removed.
    Changes,
    /// `PageSet`.
    Set,
    /// `LinearMap`.
    Linear,
    /// `ExtendibleMap`.
    Extendible,
    /// `CompactingTable`.
    Compacting,
    /// `MultiMap`.
    Multi,
    /// `SortedMap`.
    Sorted,
    /// `RowMap`, with rows of 24 bytes.
    Rows,
    /// Kernels of one's own that take maps as arguments, beside the batches that do the same.
    Refs,
    /// Saving and loading, if asked for: it writes files.
    Files,
    /// Whole calls of a program of ordinary size, with the memory of their results, if asked for.
    Calls,
    /// Copies of so many bytes between the host and a GPU, if asked for. Rates are in GB/s, by the
    /// host's clock. The limit is the rate of page-locked memory in the same run.
    Transfers,
    /// First calls, each in a new process, by the host's clock, if asked for. Nothing else is
    /// measured then.
    Cold,
}

impl Args {
    /// Returns whether a part is to be measured.
    pub(super) fn wants(&self, part: Part) -> bool {
        self.only.is_empty() && ![Part::Files, Part::Calls, Part::Transfers, Part::Cold].contains(&part)
            || self.only.contains(&part)
    }
}
