//! `cargo xtask beside`: comparisons of every table on the CPU engine with other Rust libraries.
//!
//! `lab`, `timing` and `record` are shared; each other file compares what it is named after.

// `maps`, `sorted`, `strings`, `clicks`, `groups`, `aggregates` and `joins` have the compared
// operations, and `rows` lists all that need no Python. `lab` has the parameters, `timing` the
// medians, `record` and `drawing` the results.
mod aggregates;
mod clicks;
mod drawing;
mod groups;
mod joins;
mod lab;
mod maps;
mod polars;
mod record;
mod rows;
mod sorted;
mod strings;
mod timing;

use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};
use warpnest::Device;

use crate::bench::parse_size;
use crate::bench::record::Run;
use crate::figures;
use lab::Lab;
use record::Comparison;
use timing::Clock;

/// Compare every table on the CPU engine with the usual tools of Rust programs.
///
/// A ratio is the other side's time divided by ours, from medians of interleaved runs: above 1 ours
/// is faster. The other side is a `HashMap`, or a sort of `std`, on one thread. Ours has one
/// thread, or all. If the other side can use all threads (`dashmap`, `papaya`, the sorts of `rayon`
/// and `rdst`), a third ratio has all on both sides. Keys and values have 32 bits. Every answer is
/// checked. docs/cpu.md has the table.
#[derive(clap::Args)]
pub struct Args {
    /// The minimum number of pairs.
    #[arg(long, default_value = "2^6", value_parser = parse_size)]
    smallest: u64,
    /// The maximum number of pairs, at most 2^26.
    #[arg(long, default_value = "2^20", value_parser = parse_largest)]
    largest: u64,
    /// The factor from one number of pairs to the next.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(2..))]
    step: u64,
    /// The hasher of the other side's maps and sets.
    #[arg(long, value_enum, default_value_t = HasherName::Hashbrown)]
    hasher: HasherName,
    /// Compare only rows whose table or operation has one of these words in its name.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Compare only strings: the words of this text.
    #[arg(long, value_name = "FILE", conflicts_with = "draw")]
    text: Option<PathBuf>,
    /// The number of copies of the text. The copy's index is appended to each word, so the words
    /// are new.
    #[arg(long, value_name = "N", requires = "text", value_delimiter = ',', default_values_t = [1])]
    copies: Vec<usize>,
    /// Compare only joins and group-by, with the polars of this Python, which needs `polars` and
    /// `numpy`.
    #[arg(long, value_name = "PYTHON", conflicts_with_all = ["text", "draw"])]
    polars: Option<PathBuf>,
    /// The time for each comparison, in milliseconds; at least 5 runs are timed.
    #[arg(long, default_value_t = 300)]
    time: u64,
    /// Append the ratios to this file, one JSON object per line.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draw the ratios as .svg and .png in this folder, and overwrite old files. The numbers drawn
    /// go to figures.jsonl.
    #[arg(long, value_name = "DIR")]
    draw: Option<PathBuf>,
}

/// The hashers that a Rust program usually has.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum HasherName {
    /// The default of `hashbrown`.
    Hashbrown,
    /// SipHash, which `std` uses, and which resists attacks by chosen keys.
    Std,
}

/// The maximum number of pairs in a comparison.
const MAX_PAIRS: u64 = 1 << 26;

fn parse_largest(text: &str) -> anyhow::Result<u64> {
    let largest = parse_size(text)?;
    anyhow::ensure!((1..=MAX_PAIRS).contains(&largest), "give at least 1 pair and at most {MAX_PAIRS} (2^26)");
    Ok(largest)
}

/// Runs the command.
pub fn main(args: &Args) -> anyhow::Result<()> {
    let clock = Clock::new(args.time)?;
    let mut sizes: Vec<u64> = std::iter::successors(Some(args.smallest.max(1)), |n| n.checked_mul(args.step))
        .take_while(|&n| n <= args.largest)
        .collect();
    anyhow::ensure!(!sizes.is_empty(), "no size from {} to {}: give a larger --largest", args.smallest, args.largest);
    let groups = match args.hasher {
        HasherName::Hashbrown => rows::groups::<hashbrown::DefaultHashBuilder>(),
        HasherName::Std => rows::groups::<std::hash::RandomState>(),
    };
    let of_words = match args.hasher {
        HasherName::Hashbrown => strings::of_words::<hashbrown::DefaultHashBuilder>,
        HasherName::Std => strings::of_words::<std::hash::RandomState>,
    };
    let bar = ProgressBar::new(sizes.len() as u64 * groups.len() as u64);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}")?);
    let mut all: Vec<Comparison> = Vec::new();
    let lab = |n| Lab { device: Device::cpu(), clock: &clock, n, only: &args.only, bar: &bar };
    if let Some(path) = &args.text {
        sizes.clear();
        for &copies in &args.copies {
            let text = strings::text(path, copies)?;
            let words: Vec<&str> = text.split_whitespace().collect();
            sizes.push(words.len() as u64);
            all.extend(of_words(&lab(words.len() as u64), &words)?);
        }
    } else if let Some(python) = &args.polars {
        for &n in &sizes {
            all.extend(joins::beside_polars(&lab(n), python)?);
            all.extend(groups::beside_polars(&lab(n), python)?);
            all.extend(aggregates::beside_polars(&lab(n), python)?);
        }
    } else {
        for &n in &sizes {
            for group in groups {
                all.extend(group(&lab(n))?);
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    anyhow::ensure!(!all.is_empty(), "no row is named {}: leave --only out to see all names", args.only.join(" or "));
    println!("{}", record::table(&all, &sizes, clock.threads()));
    let run = Run::new(&record::machine());
    if let Some(path) = &args.output {
        let hasher = format!("{:?}", args.hasher).to_lowercase();
        record::append(path, &run, &hasher, clock.threads(), &all)?;
        println!("appended to {}", path.display());
    }
    if let Some(folder) = &args.draw {
        for path in figures::save(folder, &drawing::figures(&all, clock.threads()), &run)? {
            println!("wrote {}", path.display());
        }
    }
    Ok(())
}
