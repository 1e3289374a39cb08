//! `cargo xtask chains`: a measurement of eviction chains, which determines their default limit.

use warpnest::error::BuildError;
use warpnest::{CuckooConfig, Device, Error};

use crate::bench::parse_size;
use crate::tables::new_table;

/// Measure eviction chains over load factors and counts of hash functions.
///
/// Every build may follow chains of up to 100,000 exchanges. The output has the exchanges per pair,
/// the longest chain (also in units of lg n), and the number of failed builds.
/// docs/measurements/cuckoo.md has the table, and docs/cuckoo.md the default limit.
#[derive(clap::Args)]
pub struct Args {
    /// Where to run: best, cpu, cuda or cuda:N.
    #[arg(long, default_value = "best")]
    device: String,
    /// The counts of pairs.
    #[arg(long, value_delimiter = ',', default_value = "300,4096,65536,1048576", value_parser = parse_size)]
    n: Vec<u64>,
    /// The number of builds of each kind, with different seeds.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    builds: u64,
    /// The sizes of tables, as multiples of the smallest table of Alcantara 2011 (2.1, 1.1, 1.03
    /// and 1.02 slots per pair for two to five functions).
    #[arg(long, value_delimiter = ',', default_value = "1,1.02,1.05,1.1,1.2136,1.5,2")]
    sizes: Vec<f64>,
}

pub fn main(args: &Args) -> anyhow::Result<()> {
    let device = args.device.parse::<Device>()?;
    let mut table = new_table(["functions", "slots/n", "n", "mean", "longest", "longest / lg n", "failed builds"], 0);
    for (functions, least) in [(2, 2.1), (3, 1.1), (4, 1.03), (5, 1.02)] {
        for size in &args.sizes {
            for &n in &args.n {
                let keys: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(0x9e37_79b1)).collect();
                let (mut mean, mut longest, mut failed, mut built) = (0.0, 0, 0u64, 0.0);
                for seed in 0..args.builds {
                    let config = CuckooConfig::default().functions(functions).slots_per_pair(least * size);
                    let config = config.chain_limit(100_000).restarts(0).seed(seed).assume_unique().statistics();
                    match config.build(&device, &keys, &keys) {
                        Ok(map) => {
                            let chains = map.report().chains.expect("statistics were asked for");
                            built += 1.0;
                            mean += chains.mean;
                            longest = longest.max(chains.longest);
                        }
                        Err(Error::BuildFailed(BuildError::Cuckoo { .. })) => failed += 1,
                        Err(error) => return Err(error.into()),
                    }
                }
                table.add_row([
                    functions.to_string(),
                    format!("{:.3}", least * size),
                    n.to_string(),
                    format!("{:.2}", mean / f64::max(built, 1.0)),
                    longest.to_string(),
                    format!("{:.1}", longest as f64 / (n as f64).log2()),
                    format!("{failed} of {}", args.builds),
                ]);
            }
        }
    }
    println!("{table}");
    Ok(())
}
