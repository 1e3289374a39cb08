//! The arguments of `cargo xtask bench`.

use super::cold::Call;
use super::lab::parse_size;
use std::path::PathBuf;

/// Measure every table and operation, beside the limits of the memory system in the same run.
///
/// Prints a table and, with `--output`, appends the records to `OUTPUT/DEVICE.jsonl`. Rates are in
/// 10^9 operations a second. `limit` is the rate of the memory system, measured just before, for
/// equally many operations over as much memory as the table takes. A build's operation is a
/// streamed read of a pair and one random 64-bit exchange. A lookup's is a streamed read of a key,
/// one random read, and a streamed write of the result. Times are the median of the runs, by the
/// device's clock. `build` uses `assume_unique`, and `build_any` does not. `assume_unique`,
/// `build_any` without.
#[derive(clap::Args)]
pub struct Args {
    /// Where to run: best, cpu, cuda or cuda:N.
    #[arg(long, default_value = "best")]
    pub(super) device: String,
    /// Numbers of pairs, written as 1000000 or 2^20. Default: 2^20, 2^24 and 2^27 on a GPU, 2^20
    /// and 2^22 on the CPU.
    #[arg(long, value_delimiter = ',', value_parser = parse_size)]
    pub(super) n: Vec<u64>,
    /// Slots per pair: 1.25 is a load of .8.
    #[arg(long, value_delimiter = ',', default_value = "1.25")]
    pub(super) slots_per_pair: Vec<f64>,
    /// The mean number of items in a bucket of `TwoLevelMap`. Default: the map's default, which
    /// shrinks with the number of pairs.
    #[arg(long)]
    pub(super) items_per_bucket: Option<f64>,
    /// Load factors of `PageMap`, `PageSet`, `LinearMap`, and of the page maps of `CompactingTable`
    /// and `MultiMap`.
    #[arg(long, value_delimiter = ',', default_value = "0.8,0.95")]
    pub(super) load: Vec<f64>,
    /// The maps under `CompactingTable` and `MultiMap`. If the map is not a page map, the rows have
    /// its name, as `MultiMap<CuckooMap>`. `--slots-per-pair` also applies to these maps.
    #[arg(long, value_delimiter = ',', value_enum, default_value = "page")]
    pub(super) under: Vec<Under>,
    /// The number of rounds in which a tenth of a `LinearMap`'s keys are replaced.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) rounds: u32,
    /// The number of pairs in a batch of `ExtendibleMap`.
    #[arg(long, default_value = "2^22", value_parser = parse_size)]
    pub(super) batch: u64,
    /// Probe the next line of a `LinearMap` after a full line, and not by a step that depends on
    /// the key.
    #[arg(long)]
    pub(super) linear_probing: bool,
    /// Also measure 64-bit keys and values.
    #[arg(long)]
    pub(super) wide: bool,
    /// The number of timed runs of each operation, after the warm-ups.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) runs: u32,
    /// Measure the limits over these footprints in MiB. Default: 32, 256, 2048 and 32768 on a GPU,
    /// 4 and 256 on the CPU. Footprints that do not fit the device are left out.
    #[arg(long, value_delimiter = ',')]
    pub(super) footprints: Vec<u64>,
    /// Measure group-by for every power of two of groups.
    #[arg(long)]
    pub(super) every_power: bool,
    /// Measure group-by only for these numbers of groups and for `--skews`.
    #[arg(long, value_delimiter = ',', value_parser = parse_size, conflicts_with = "every_power")]
    pub(super) groups: Vec<u64>,
    /// Measure group-by only for Zipf distributions with these exponents and for `--groups`.
    #[arg(long, value_delimiter = ',', conflicts_with = "every_power")]
    pub(super) skews: Vec<f64>,
    /// Measure only the limits, and no tables.
    #[arg(long)]
    pub(super) only_limits: bool,
    /// The parts to measure. Default: all parts except files, calls, soak, transfers and cold.
    #[arg(long, value_delimiter = ',', value_enum)]
    only: Vec<Part>,
    /// The duration of `--only soak`.
    #[arg(long, default_value_t = 10)]
    pub(super) seconds: u64,
    /// Make one call for `--only cold`, in this process.
    #[arg(long, hide = true, value_enum)]
    pub(super) first_call: Option<Call>,
    /// Also measure hashbrown::HashMap on one thread, with the same input in the same run.
    #[cfg(feature = "figures")]
    #[arg(long)]
    pub(super) beside_hashbrown: bool,
    /// The folder of the files that `--only files` saves and loads; by default the folder for
    /// temporary files. Its rows have the bytes of a file as `n` and GB/s as rates. The limit of
    /// `save` is a plain write and `fsync` of equally many bytes, and the limit of `load` a plain
    /// read into the same memory; or the link to the device, if that is slower. The link's rate is
    /// the better one of a plain copy (`plain_upload`, `plain_download`) and of `load_from_memory`
    /// or `save_to_nowhere`, which do not use the disk. A plain download goes to new memory, so it
    /// mostly measures page faults. Files that were just written are read from the system's memory.
    /// The files of `load_cold` and `plain_read_cold` (on Linux) are forced to the disk and dropped
    /// from that memory before each run, which has no effect if the folder itself is in memory.
    #[arg(long)]
    pub(super) files: Option<PathBuf>,
    /// The folder for the records. Without it no records are kept.
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
    /// Group-by by the default method and by sorting.
    GroupBy,
    /// Group-by with several aggregates, of floating-point numbers too, and by two columns or one
    /// wide column of keys.
    Aggregates,
    /// Sums that are updated in a `LinearMap` and a `PageMap` by many batches, for `--groups` and
    /// `--skews`.
    Combine,
    /// Group-by of rows whose sample is misleading, beside ordinary rows with equally many groups.
    #[value(name = "group_by_lying")]
    GroupByLying,
    /// Joins of unique and of repeated keys, with large and small build sides.
    Join,
    /// Joins and changing batches with frequent keys, beside the same with distinct keys.
    Skews,
    /// Distinct keys with ids and counts, and membership.
    Unique,
    /// `CuckooMap` and `CuckooSet`.
    Cuckoo,
    /// `TwoLevelMap`.
    TwoLevel,
    /// `PageMap`.
    Page,
    /// Batches that are added to a `PageMap` or removed from it.
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
    /// Kernels of a user that take maps as arguments, beside the batches that do the same.
    Refs,
    /// Saving and loading; only measured if requested, because it writes files.
    Files,
    /// Whole calls of a program of ordinary size, with their allocations; only measured if
    /// requested.
    Calls,
    /// Calls of random kinds and of up to `n` rows on four streams at once, for `--seconds`, with
    /// all answers checked; only if requested.
    Soak,
    /// Copies of `n` bytes between the host and a GPU; only measured if requested. Rates are in
    /// GB/s, by the host's clock. The limit is the rate of page-locked memory in the same run.
    Transfers,
    /// First calls, each in a new process, by the host's clock, if asked for. Nothing else is
    /// measured then.
    Cold,
}

impl Args {
    /// Returns whether a part is to be measured.
    pub(super) fn wants(&self, part: Part) -> bool {
        self.only.is_empty() && ![Part::Files, Part::Calls, Part::Soak, Part::Transfers, Part::Cold].contains(&part)
            || self.only.contains(&part)
    }
}
