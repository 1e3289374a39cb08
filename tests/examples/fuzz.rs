//! The program of `cargo xtask fuzz`, which loads and uses crafted files of tables.

use clap::Parser;
use gpu_kernels::types::Scalar;
use indicatif::{ProgressBar, ProgressStyle};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use warpnest::Device;
use warpnest::low_level::engine::Cores;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest_tests::files::{Contents, Sample, is_fault, samples};
use warpnest_tests::limited::limited;
use warpnest_tests::mutations::mutate;
use warpnest_tests::watch::Watch;
use warpnest_tests::{CheckedRunner, PtxRunner};

/// Change saved tables at random, make their checksums right again, load them, and use the tables
/// that load.
///
/// A change is a failure if the library panics, if a kernel accesses memory outside the table, or
/// if the case exceeds the limit. Then the file is kept and the command ends. A fault of the
/// process itself (a segmentation fault) leaves the file of the last case.
#[derive(Parser)]
#[command(name = "cargo xtask fuzz", bin_name = "cargo xtask fuzz")]
struct Args {
    /// The duration of the run, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The count of files of each kind of table; it replaces `seconds`.
    #[arg(long)]
    files: Option<u64>,
    /// The seed of all changes, which is always printed; by default it differs in each run.
    #[arg(long)]
    seed: Option<u64>,
    /// The engine on which tables are loaded and used.
    #[arg(long, value_enum, default_value = "cpu")]
    engine: Engine,
    /// The largest count of keys of a table.
    #[arg(long, default_value_t = 100)]
    keys: usize,
    /// The most seconds that one case may take.
    #[arg(long, default_value_t = 20)]
    limit: u64,
    /// The folder for the file of a failure.
    #[arg(long, default_value = "target/fuzz")]
    output: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
enum Engine {
    /// The CPU engine, which runs the most cases a second.
    Cpu,
    /// The checking engine, which finds threads that conflict.
    Checked,
    /// The committed PTX in the interpreter, which finds every access outside the table's memory.
    Ptx,
    /// The first CUDA device.
    Cuda,
}

impl Engine {
    fn device(self, seed: u64) -> warpnest::Result<Device> {
        // This is enough memory for tables to grow, and no more than a machine has.
        const MOST: usize = 64 << 20;
        Ok(match self {
            Self::Cpu => limited(Cores, MOST),
            Self::Checked => limited(CheckedRunner::new(seed), MOST),
            // A crafted configuration may make tables large, and the interpreter is slow.
            Self::Ptx => limited(PtxRunner::hopper(seed), 1 << 20),
            Self::Cuda => Device::cuda(0)?,
        })
    }
}

fn main() -> ExitCode {
    match fuzz(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn fuzz(args: &Args) -> Result<(), String> {
    let said = |error: warpnest::Error| error.to_string();
    let seed = args.seed.unwrap_or_else(|| std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0));
    println!("seed {seed}");
    let mut random = Xoshiro256StarStar::seed_from_u64(seed);
    let device = args.engine.device(seed).map_err(said)?;
    std::fs::create_dir_all(&args.output).map_err(|error| format!("{}: {error}", args.output.display()))?;
    let kept = args.output.join("case.warpnest");
    let (length, unit) = args.files.map_or((args.seconds, "s"), |files| (files, "of each kind"));
    let bar = ProgressBar::new(length).with_style(
        ProgressStyle::with_template("{bar:30} {pos}/{len} {prefix}, {msg}").map_err(|error| error.to_string())?,
    );
    bar.set_prefix(unit);
    // A case's panic message is printed only if the case fails.
    std::panic::set_hook(Box::new(|_| ()));
    let watch = Watch::begin(Duration::from_secs(args.limit), Some(kept.clone()));
    let (start, seconds) = (Instant::now(), Duration::from_secs(args.seconds));
    let mut kinds: BTreeMap<&str, Kind> = BTreeMap::new();
    loop {
        let least = kinds.values().map(|kind| kind.files).min().unwrap_or(0);
        bar.set_position(if args.files.is_some() { least } else { start.elapsed().as_secs().min(args.seconds) });
        if args.files.map_or(start.elapsed() >= seconds, |files| !kinds.is_empty() && least >= files) {
            break;
        }
        // Most tables are as small as possible, so a change is likely to matter.
        let keys = [args.keys, args.keys, args.keys.min(9)][random.next_u64() as usize % 3];
        let keys = random.next_u64() as usize % (keys + 1);
        for sample in some_samples(&mut random, keys) {
            let kind = kinds.entry(kind_of(&sample.name)).or_default();
            for _ in 0..100 {
                if args.files.is_some_and(|files| kind.files >= files) {
                    break;
                }
                let mut bytes = sample.bytes.clone();
                mutate(&mut bytes, &mut random);
                std::fs::write(&kept, &bytes).map_err(|error| format!("{}: {error}", kept.display()))?;
                let (outcome, took) = watch.over(&sample.name, || {
                    catch_unwind(AssertUnwindSafe(|| sample.use_on(&device, &bytes, Contents::Any)))
                });
                let failed = match outcome {
                    Err(panic) => Some(format!("a panic: {}", text_of(&*panic))),
                    Ok(Err(error)) if is_fault(&error) => Some(error.to_string()),
                    Ok(loaded) => {
                        kind.loaded += loaded.is_ok() as u64;
                        None
                    }
                };
                if let Some(what) = failed {
                    bar.abandon();
                    return Err(format!("{}, {keys} keys: {what}; the file is {}", sample.name, kept.display()));
                }
                kind.files += 1;
                kind.longest = kind.longest.max(took);
            }
            let (all, loaded) = kinds.values().fold((0, 0), |sum, kind| (sum.0 + kind.files, sum.1 + kind.loaded));
            bar.set_message(format!("{all} files, {loaded} loaded and used"));
            if args.files.is_none() && start.elapsed() >= seconds {
                break;
            }
        }
    }
    bar.finish_and_clear();
    println!("no failure in {:.0} s; files, and how many of them loaded and were used:", start.elapsed().as_secs_f64());
    for (name, Kind { files, loaded, longest }) in kinds {
        println!("{name:17} {files:7} {loaded:7}, the longest {:.3} s", longest.as_secs_f64());
    }
    let _ = std::fs::remove_file(kept);
    Ok(())
}

/// The counts of a run for one kind of table.
#[derive(Default)]
struct Kind {
    files: u64,
    loaded: u64,
    longest: Duration,
}

/// Returns the kind of table that a sample contains.
fn kind_of(name: &str) -> &'static str {
    let kinds = ["row map", "multimap", "compacting table", "page map", "page set", "cuckoo map", "cuckoo set"];
    let kinds = kinds.into_iter().chain(["two-level map", "sorted map", "linear map", "extendible map"]);
    kinds.into_iter().find(|kind| name.contains(kind)).unwrap_or("other")
}

/// Returns samples with keys and values of random widths.
fn some_samples(random: &mut Xoshiro256StarStar, keys: usize) -> Vec<Sample> {
    fn of<K: Key + Scalar, V: Value>(keys: usize) -> Vec<Sample> {
        samples::<K, V>(&warpnest_tests::elsewhere(), keys)
    }
    match random.next_u64() % 4 {
        0 => of::<u32, u32>(keys),
        1 => of::<u32, u64>(keys),
        2 => of::<u64, u32>(keys),
        _ => of::<u64, u64>(keys),
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_default()
}
