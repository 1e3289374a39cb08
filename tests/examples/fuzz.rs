//! `cargo xtask fuzz`: files that somebody crafted, for as long as one wishes.

use clap::Parser;
use gpu_kernels::types::Scalar;
use indicatif::{ProgressBar, ProgressStyle};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use warpnest::low_level::engine::Cores;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, Error};
use warpnest_tests::files::{Contents, Sample, samples};
use warpnest_tests::limited::limited;
use warpnest_tests::mutations::mutate;
use warpnest_tests::{CheckedRunner, PtxRunner};

/// Change saved tables at random, make their checksums right again, load them, and use what loads.
///
/// A change that makes the library panic, or a kernel access what is not the table's, or that takes
/// longer than the limit, is a failure: its file is kept, and the command ends. A fault of the
/// process itself (a segmentation fault) leaves the file of the last case.
#[derive(Parser)]
#[command(name = "cargo xtask fuzz", bin_name = "cargo xtask fuzz")]
struct Args {
    /// How long, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The seed of all changes; by default another one each time. It is printed.
    #[arg(long)]
    seed: Option<u64>,
    /// Where tables are loaded and used.
    #[arg(long, value_enum, default_value = "cpu")]
    engine: Engine,
    /// The most keys of the tables.
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
    /// The kernels as functions: the most cases a second.
    Cpu,
    /// The checking engine, which finds threads in conflict.
    Checked,
    /// The committed PTX in the interpreter, which finds every access outside the table's memory.
    Ptx,
    /// The first CUDA device.
    Cuda,
}

impl Engine {
    fn device(self, seed: u64) -> warpnest::Result<Device> {
        // So much memory that tables can grow, and no more than a machine has.
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
    let bar = ProgressBar::new(args.seconds)
        .with_style(ProgressStyle::with_template("{bar:30} {pos}/{len} s, {msg}").map_err(|error| error.to_string())?);
    // What a case says is shown if it fails.
    std::panic::set_hook(Box::new(|_| ()));
    let (start, seconds) = (Instant::now(), Duration::from_secs(args.seconds));
    let (mut cases, mut used) = (0u64, 0u64);
    while start.elapsed() < seconds {
        let keys = random.next_u64() as usize % (args.keys + 1);
        for sample in some_samples(&mut random, keys) {
            for _ in 0..20 {
                let mut bytes = sample.bytes.clone();
                mutate(&mut bytes, &mut random);
                std::fs::write(&kept, &bytes).map_err(|error| format!("{}: {error}", kept.display()))?;
                let began = Instant::now();
                let outcome = catch_unwind(AssertUnwindSafe(|| sample.use_on(&device, &bytes, Contents::Any)));
                let failed = match outcome {
                    Err(panic) => Some(format!("a panic: {}", text_of(&*panic))),
                    Ok(Err(Error::Kernel { kernel, fault })) => Some(format!("{kernel}: {fault}")),
                    Ok(Err(Error::Driver { call, name, .. })) => Some(format!("{call}: {name}")),
                    _ if began.elapsed() > Duration::from_secs(args.limit) => {
                        Some(format!("it took {:.0} s", began.elapsed().as_secs_f64()))
                    }
                    Ok(loaded) => {
                        used += loaded.is_ok() as u64;
                        None
                    }
                };
                if let Some(what) = failed {
                    bar.abandon();
                    return Err(format!("{}, {keys} keys: {what}; the file is {}", sample.name, kept.display()));
                }
                cases += 1;
            }
            bar.set_position(start.elapsed().as_secs().min(args.seconds));
            bar.set_message(format!("{cases} cases, {used} used to the end"));
            if start.elapsed() >= seconds {
                break;
            }
        }
    }
    bar.finish_and_clear();
    println!("{cases} cases without a failure, {used} of them used to the end");
    let _ = std::fs::remove_file(kept);
    Ok(())
}

/// Returns the samples of some widths.
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
