//! `cargo xtask bench`: measurements of every table and operation beside the memory system's
//! limits.
//!
//! Read `args`, `lab` and `record` first, then `roofline`, which measures the limits. `input` and
//! `skews` make the keys, and `on_cores` fills columns. Each other file measures what it is named
//! after; `maps` has the operations that every map shares.

// `parts` runs a file for each table or operation, which uses `input`, `lab` and `maps`. Each
// measurement is a `record`, beside a limit from `roofline`.
mod args;
mod calls;
mod cold;
mod columns;
mod combine;
mod compacting;
mod cuckoo;
mod extendible;
mod files;
mod gather;
pub mod group_by;
mod group_by_aggregates;
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
mod on_cores;
mod page;
mod page_build;
mod page_changes;
mod parts;
mod primitives;
pub mod record;
mod refs;
pub mod roofline;
mod rows;
mod set;
mod skews;
mod soak;
mod sorted;
mod transfers;
mod two_level;

pub use args::Args;
use args::Part;
pub use lab::{Bench, device_name, is_cpu, parse_size};
use parts::Measured;
use record::{Record, Run, Subject};
use roofline::Roofline;
use warpnest::Device;
use warpnest_bench_kernels::roofline::Access;

pub fn main(args: &Args) -> anyhow::Result<()> {
    if let Some(call) = args.first_call {
        return cold::make(&args.device, call);
    }
    if args.wants(Part::Cold) {
        return cold::measure(&args.device);
    }
    let device = &args.device.parse::<Device>()?;
    let on_gpu = !is_cpu(device);
    if let Some(reason) = device.fallback_reason() {
        eprintln!("on the CPU engine: {reason}");
    }
    let name = device_name(device);
    let run = &Run::new(&name);
    let roofline = &Roofline::new(device, if on_gpu { 1 << 27 } else { 1 << 22 }, args.runs)?;
    let mut measured = Measured::new(args);
    for &mib in given_or(&args.footprints, if on_gpu { &[32, 256, 2048, 32_768] } else { &[4, 256] }) {
        measured.show(format!("limits over {mib} MiB"));
        if device.memory()?.free > (2 * mib) << 20 {
            measured.keep(limits(run, roofline, mib << 17)?);
        }
    }
    let sizes = given_or(&args.n, if on_gpu { &[1 << 20, 1 << 24, 1 << 27] } else { &[1 << 20, 1 << 22] });
    for &n in if args.only_limits { &[] } else { sizes } {
        measured.all_parts(Bench { device, run, roofline, n, runs: args.runs })?;
    }
    report(args, &name, &measured.into_records())
}

/// Returns `given`, or `default` if nothing was given.
fn given_or<'a>(given: &'a [u64], default: &'a [u64]) -> &'a [u64] {
    if given.is_empty() { default } else { given }
}

/// Prints the records and appends them to the device's file, and fails if answers were wrong.
fn report(args: &Args, device: &str, records: &[Record]) -> anyhow::Result<()> {
    println!("{device}\n{}", record::table(records));
    if let Some(folder) = &args.output
        && let Some(path) = record::append(folder, records)?
    {
        println!("appended to {}", path.display());
    }
    let wrong: u64 = records.iter().map(|record| record.wrong).sum();
    anyhow::ensure!(wrong == 0, "{wrong} answers were wrong");
    Ok(())
}

/// Returns the rates of each kind of random access over `words` words of 64 bits, and the rate of a
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
    // The footprint of a limit is in the table's name, because no table takes this memory.
    let table = format!("limit, {} MiB", words >> 17);
    let subject = |op, n| Subject { table: table.clone(), op, n, load: 0.0, key_bits: 64, value_bits: 0 };
    let (mut records, all) = (Vec::new(), roofline.max_accesses());
    for (access, op) in kinds {
        records.push(run.record(subject(op, all), roofline.milliseconds(access, words, all)?, 0.0, 0));
    }
    records.push(run.record(subject("copy_words", words), roofline.copy_milliseconds(words)?, 0.0, 0));
    Ok(records)
}
