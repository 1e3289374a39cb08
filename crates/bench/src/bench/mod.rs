//! `cargo xtask bench`: every table and operation beside the memory system's limits.

mod columns;
mod combine;
mod compacting;
mod cuckoo;
mod extendible;
mod files;
mod gather;
mod group_by;
mod group_by_lying;
#[cfg(feature = "figures")]
mod hashbrown;
mod host_time;
pub mod input;
mod join;
mod join_forms;
mod lab;
mod linear;
pub mod maps;
mod multi;
mod page;
mod page_build;
mod page_changes;
mod primitives;
pub mod record;
mod refs;
pub mod roofline;
mod rows;
mod set;
mod skews;
mod sorted;
mod transfers;
mod two_level;

use std::path::PathBuf;

pub use lab::{Bench, device_name, is_cpu, parse_size};
use record::{Record, Run, Subject};
use roofline::Roofline;
use warpnest::design::Ids;
use warpnest::{Config, CuckooConfig, Device, LinearConfig, PageConfig};
use warpnest_bench_kernels::roofline::Access;

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
    device: String,
    /// Numbers of pairs, as 1000000 or 2^20. Default: 2^20, 2^24 and 2^27 on a GPU, 2^20 and 2^22
    /// on the CPU.
    #[arg(long, value_delimiter = ',', value_parser = parse_size)]
    n: Vec<u64>,
    /// Slots for each pair: 1.25 is a load of .8.
    #[arg(long, value_delimiter = ',', default_value = "1.25")]
    slots_per_pair: Vec<f64>,
    /// Items of a bucket of `TwoLevelMap` on average; without it, the default, which shrinks with
    /// the number of pairs.
    #[arg(long)]
    items_per_bucket: Option<f64>,
    /// Load factors of `PageMap`, `PageSet`, `LinearMap`, and of the page maps of `CompactingTable`
    /// and `MultiMap`.
    #[arg(long, value_delimiter = ',', default_value = "0.8,0.95")]
    load: Vec<f64>,
    /// The maps under `CompactingTable` and `MultiMap`. The rows of those over another map than a
    /// page map have its name with theirs, as `MultiMap<CuckooMap>`; `--slots-per-pair` holds for
    /// it, too.
    #[arg(long, value_delimiter = ',', value_enum, default_value = "page")]
    under: Vec<Under>,
    /// Rounds in which a tenth of a `LinearMap`'s keys are replaced by others.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Pairs of a batch of `ExtendibleMap`.
    #[arg(long, default_value = "2^22", value_parser = parse_size)]
    batch: u64,
    /// Probe a `LinearMap` from a full line on to the next one, not by a step of each key's own.
    #[arg(long)]
    linear_probing: bool,
    /// Also measure 64-bit keys and values.
    #[arg(long)]
    wide: bool,
    /// Timed runs of each operation, after the warm-ups.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Measure the limits over these footprints in MiB. Default: 32, 256, 2048 and 32768 on a GPU,
    /// 4 and 256 on the CPU; those that do not fit the device are left out.
    #[arg(long, value_delimiter = ',')]
    footprints: Vec<u64>,
    /// Measure group-by for every power of two of groups.
    #[arg(long)]
    every_power: bool,
    /// Measure group-by for these numbers of groups, and only for these and `--skews`.
    #[arg(long, value_delimiter = ',', value_parser = parse_size, conflicts_with = "every_power")]
    groups: Vec<u64>,
    /// Measure group-by for Zipf distributions with these exponents, and only for these and
    /// `--groups`.
    #[arg(long, value_delimiter = ',', conflicts_with = "every_power")]
    skews: Vec<f64>,
    /// Only the limits, no tables.
    #[arg(long)]
    only_limits: bool,
    /// What to measure: all of it but files and transfers by default.
    #[arg(long, value_delimiter = ',', value_enum)]
    only: Vec<Part>,
    /// Also measure hashbrown::HashMap on one thread, with the same input in the same run.
    #[cfg(feature = "figures")]
    #[arg(long)]
    beside_hashbrown: bool,
    /// The folder of the files that `--only files` saves and loads; by default that for temporary
    /// files. Its rows have the bytes of a file for `n` and GB/s for rates. The limit of `save` and
    /// `load` is a plain write and `fsync`, or a plain read into the same memory, of as many bytes;
    /// or the link to the device, if that is slower. Its rate is the better one of a plain copy
    /// (`plain_upload`, `plain_download`) and of `load_from_memory` or `save_to_nowhere`, which are
    /// without the disk. A plain download goes to new memory, so that it mostly measures page
    /// faults. Files that were just written are read from the system's memory; those of
    /// `load_cold` and `plain_read_cold` (on Linux) were forced to the disk and dropped from there
    /// before each run, which has no effect in a folder that is itself in memory.
    #[arg(long)]
    files: Option<PathBuf>,
    /// The folder for the records; none are kept without it.
    #[arg(long)]
    output: Option<PathBuf>,
}

/// The design of a map under another table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Under {
    Page,
    Cuckoo,
}

/// The most pairs for the rounds: four times as many keys must be different.
const MAX_ROUNDS_PAIRS: u64 = 1 << 29;

/// A part of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
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
    /// Copies of so many bytes between the host and a GPU, if asked for. Rates are in GB/s, by the
    /// host's clock. The limit is the rate of page-locked memory in the same run.
    Transfers,
}

impl Args {
    fn wants(&self, part: Part) -> bool {
        self.only.is_empty() && ![Part::Files, Part::Transfers].contains(&part) || self.only.contains(&part)
    }
}

/// A measurement with keys of one width.
type Measure<'m> = &'m dyn Fn() -> anyhow::Result<Vec<Record>>;

/// Measures the selected tables over a map with this configuration.
fn measure_on<D: Ids + Ids>(
    at: Bench<'_>,
    args: &Args,
    config: &Config<D>,
    keep_both: &mut dyn FnMut(Measure, Measure) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if args.wants(Part::Compacting) {
        keep_both(&|| compacting::measure::<u32, D>(at, config), &|| compacting::measure::<u64, D>(at, config))?;
    }
    if args.wants(Part::Multi) {
        keep_both(&|| multi::measure::<u32, u32, D>(at, config), &|| multi::measure::<u64, u64, D>(at, config))?;
    }
    Ok(())
}

pub fn main(args: &Args) -> anyhow::Result<()> {
    let device = args.device.parse::<Device>()?;
    let on_gpu = !is_cpu(&device);
    if let Some(reason) = device.fallback_reason() {
        eprintln!("on the CPU engine: {reason}");
    }
    let name = device_name(&device);
    let run = Run::new(&name);
    let roofline = Roofline::new(&device, if on_gpu { 1 << 27 } else { 1 << 22 }, args.runs)?;
    let mut records = Vec::new();
    let progress = indicatif::ProgressBar::new_spinner();
    let show = |text: String| {
        progress.set_message(text);
        progress.tick();
    };

    let footprints: &[u64] = match (&args.footprints[..], on_gpu) {
        ([], true) => &[32, 256, 2048, 32_768],
        ([], false) => &[4, 256],
        (given, _) => given,
    };
    for &mib in footprints {
        show(format!("limits over {mib} MiB"));
        if device.memory()?.free > (2 * mib) << 20 {
            records.extend(limits(&run, &roofline, mib << 17)?);
        }
    }
    let sizes: &[u64] = match (&args.n[..], on_gpu) {
        ([], true) => &[1 << 20, 1 << 24, 1 << 27],
        ([], false) => &[1 << 20, 1 << 22],
        (given, _) => given,
    };
    let wanted = |part| args.wants(part);
    let mut records_of_files = Vec::new();
    // Keeps the records of 32-bit keys, and those of 64-bit ones if they are wanted.
    let mut keep_both = |narrow: Measure, wide: Measure| -> anyhow::Result<()> {
        records.extend(narrow()?);
        if args.wide {
            records.extend(wide()?);
        }
        Ok(())
    };
    for &n in if args.only_limits { &[] } else { sizes } {
        let at = Bench { device: &device, run: &run, roofline: &roofline, n, runs: args.runs };
        if wanted(Part::Primitives) {
            show(format!("primitives, {n} items"));
            keep_both(&|| primitives::measure::<u32, u32>(at), &|| primitives::measure::<u64, u64>(at))?;
            keep_both(&|| gather::measure(at), &|| Ok(vec![]))?;
        }
        if wanted(Part::GroupBy) {
            show(format!("group-by, {n} rows"));
            let cases = group_by::cases(n, args.every_power, &args.groups, &args.skews);
            keep_both(&|| group_by::measure::<u32, u32>(at, &cases), &|| group_by::measure::<u64, u64>(at, &cases))?;
        }
        if wanted(Part::Combine) {
            show(format!("sums in maps, {n} rows"));
            let cases = combine::cases(n, &args.groups, &args.skews);
            keep_both(&|| combine::measure::<u32, u32>(at, &cases), &|| combine::measure::<u64, u64>(at, &cases))?;
        }
        if wanted(Part::GroupByLying) {
            show(format!("group-by of lying samples, {n} rows"));
            keep_both(&|| group_by_lying::measure::<u32, u32>(at), &|| group_by_lying::measure::<u64, u64>(at))?;
        }
        if wanted(Part::Join) {
            show(format!("joins, {n} with {n} rows"));
            keep_both(&|| join::measure::<u32>(at), &|| join::measure::<u64>(at))?;
            keep_both(&|| join_forms::measure::<u32>(at), &|| join_forms::measure::<u64>(at))?;
            keep_both(&|| join_forms::measure_wide(at), &|| Ok(vec![]))?;
        }
        if wanted(Part::Skews) {
            show(format!("frequent keys, {n} rows"));
            keep_both(&|| skews::joins::<u32>(at), &|| skews::joins::<u64>(at))?;
            keep_both(&|| skews::changes::<u32>(at), &|| skews::changes::<u64>(at))?;
        }
        if wanted(Part::Unique) {
            show(format!("different keys of columns, {n} rows"));
            keep_both(&|| columns::measure::<u32>(at), &|| columns::measure::<u64>(at))?;
        }
        for &slots in args.slots_per_pair.iter().filter(|_| wanted(Part::Cuckoo)) {
            show(format!("CuckooMap, {n} pairs, {slots} slots a pair"));
            keep_both(&|| cuckoo::measure::<u32, u32>(at, slots), &|| cuckoo::measure::<u64, u64>(at, slots))?;
            show(format!("CuckooSet, {n} keys, {slots} slots a key"));
            keep_both(&|| at.cuckoo_set::<u32>(slots), &|| at.cuckoo_set::<u64>(slots))?;
        }
        if wanted(Part::TwoLevel) {
            show(format!("TwoLevelMap, {n} pairs"));
            let mean = args.items_per_bucket;
            keep_both(&|| two_level::measure::<u32, u32>(at, mean), &|| two_level::measure::<u64, u64>(at, mean))?;
        }
        for &load in args.load.iter().filter(|_| wanted(Part::Page)) {
            show(format!("PageMap, {n} pairs, load {load}"));
            keep_both(&|| page::measure::<u32, u32>(at, load), &|| page::measure::<u64, u64>(at, load))?;
        }
        for &load in args.load.iter().filter(|_| wanted(Part::Changes)) {
            show(format!("changes of PageMap, {n} pairs, load {load}"));
            keep_both(&|| page_changes::measure::<u32, u32>(at, load), &|| {
                page_changes::measure::<u64, u64>(at, load)
            })?;
            let rounds = args.rounds as usize;
            keep_both(&|| page_changes::rounds::<u32>(at, load, rounds), &|| {
                page_changes::rounds::<u64>(at, load, rounds)
            })?;
        }
        for &load in args.load.iter().filter(|_| wanted(Part::Set)) {
            show(format!("PageSet, {n} keys, load {load}"));
            keep_both(&|| at.page_set::<u32>(load), &|| at.page_set::<u64>(load))?;
        }
        if wanted(Part::Extendible) {
            show(format!("ExtendibleMap, {n} pairs"));
            let batch = args.batch;
            keep_both(&|| extendible::measure::<u32, u32>(at, batch), &|| extendible::measure::<u64, u64>(at, batch))?;
        }
        if wanted(Part::Sorted) {
            show(format!("SortedMap, {n} pairs"));
            keep_both(&|| sorted::measure::<u32, u32>(at), &|| sorted::measure::<u64, u64>(at))?;
        }
        for &load in args.load.iter().filter(|load| wanted(Part::Linear) && **load < 1.0) {
            show(format!("LinearMap, {n} pairs, load {load}"));
            let config = LinearConfig::default().load(load);
            let config = &if args.linear_probing { config.linear_probing() } else { config };
            keep_both(&|| linear::measure::<u32, u32>(at, config), &|| linear::measure::<u64, u64>(at, config))?;
            if n <= MAX_ROUNDS_PAIRS {
                let rounds = args.rounds as usize;
                keep_both(&|| linear::rounds::<u32>(at, config, rounds), &|| {
                    linear::rounds::<u64>(at, config, rounds)
                })?;
            }
        }
        if wanted(Part::Rows) {
            show(format!("RowMap, {n} rows"));
            keep_both(&|| rows::measure::<u32>(at), &|| rows::measure::<u64>(at))?;
        }
        if wanted(Part::Refs) {
            show(format!("maps as arguments, {n} pairs"));
            keep_both(&|| refs::measure::<u32, u32>(at), &|| refs::measure::<u64, u64>(at))?;
        }
        for &under in &args.under {
            show(format!("CompactingTable and MultiMap on {under:?}, {n} rows"));
            match under {
                Under::Page => {
                    for &load in &args.load {
                        measure_on(at, args, &PageConfig::default().load(load).seed(1), &mut keep_both)?;
                    }
                }
                Under::Cuckoo => {
                    for &slots in &args.slots_per_pair {
                        let config = CuckooConfig::default().slots_per_pair(slots).seed(1);
                        measure_on(at, args, &config, &mut keep_both)?;
                    }
                }
            }
        }
        if wanted(Part::Files) {
            show(format!("save and load, {n} pairs"));
            let folder = args.files.clone().unwrap_or_else(std::env::temp_dir);
            records_of_files.extend(files::measure(at, &folder)?);
        }
        if wanted(Part::Transfers) {
            show(format!("transfers, {n} bytes"));
            keep_both(&|| transfers::measure(at), &|| Ok(vec![]))?;
        }
        #[cfg(feature = "figures")]
        if args.beside_hashbrown {
            show(format!("hashbrown::HashMap, {n} pairs"));
            keep_both(&|| Ok(hashbrown::measure(at)), &|| Ok(Vec::new()))?;
        }
    }
    records.extend(records_of_files);
    progress.finish_and_clear();
    println!("{name}\n{}", record::table(&records));
    if let Some(folder) = &args.output
        && let Some(path) = record::append(folder, &records)?
    {
        println!("appended to {}", path.display());
    }
    let wrong: u64 = records.iter().map(|record| record.wrong).sum();
    anyhow::ensure!(wrong == 0, "{wrong} answers were wrong");
    Ok(())
}

/// Returns the rates of each kind of random access over `words` words of 64 bits, and of a
/// streaming copy.
fn limits(run: &Run, roofline: &Roofline, words: u64) -> anyhow::Result<Vec<Record>> {
    let kinds = [
        (Access::Read, "random_read"),
        (Access::Write, "random_write"),
        (Access::Exchange, "random_exchange"),
        (Access::CompareExchange, "random_cas"),
        (Access::Find, "best_find"),
        (Access::Insert, "best_insert"),
    ];
    // The footprint of a limit stands in the name in the table, since no table keeps it.
    let table = format!("limit, {} MiB", words >> 17);
    let subject = |op, n| Subject { table: table.clone(), op, n, load: 0.0, key_bits: 64, value_bits: 0 };
    let (mut records, all) = (Vec::new(), roofline.max_accesses());
    for (access, op) in kinds {
        records.push(run.record(subject(op, all), roofline.milliseconds(access, words, all)?, 0.0, 0));
    }
    records.push(run.record(subject("copy_words", words), roofline.copy_milliseconds(words)?, 0.0, 0));
    Ok(records)
}
