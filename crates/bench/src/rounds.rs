//! `cargo xtask rounds`: a measurement of how many rounds the buckets of a two-level map take, and
//! how often they need another seed.

use comfy_table::Table;
use warpnest::{Device, TwoLevelConfig, TwoLevelMap};

use crate::bench::{input, parse_size};
use crate::tables;

/// Measure the rounds of parallel cuckoo hashing by the number of items in a bucket.
///
/// The first table is of single buckets with exact numbers of items, each in its own map. The
/// second is of whole maps, by their mean number of items. Rounds are counted per seed; a seed that
/// failed counts with all its rounds. Sub-tables, seeds and rounds have their defaults.
/// docs/two-level.md has the tables.
#[derive(clap::Args)]
pub struct Args {
    /// Where to run: best, cpu, cuda or cuda:N.
    #[arg(long, default_value = "cpu")]
    device: String,
    /// The numbers of items in a bucket.
    #[arg(long, value_delimiter = ',', default_value = "256,320,384,409,440,460,480,490,500,505,512")]
    items: Vec<u64>,
    /// The number of buckets for each number of items.
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u64).range(1..))]
    buckets: u64,
    /// The number of pairs in the whole maps.
    #[arg(long, default_value = "2^21", value_parser = parse_size)]
    n: u64,
    /// The mean numbers of items in a bucket of the whole maps.
    #[arg(long, value_delimiter = ',', default_value = "300,360,409.6,440")]
    means: Vec<f64>,
}

/// The sums and maxima over some maps.
#[derive(Default)]
struct Tally {
    buckets: u64,
    rounds: u64,
    most: u64,
    reseeded: u64,
    overflows: u32,
}

impl Tally {
    fn add(&mut self, map: &TwoLevelMap<u32, u32>) {
        let report = map.report();
        let (most, rounds) = report.rounds.expect("statistics were asked for");
        self.buckets += map.table().buckets();
        self.rounds += rounds;
        self.most = self.most.max(most);
        self.reseeded += report.reseeded;
        self.overflows += report.overflows;
    }

    fn cells(&self) -> [String; 5] {
        [
            self.buckets.to_string(),
            format!("{:.2}", self.rounds as f64 / (self.buckets + self.reseeded) as f64),
            self.most.to_string(),
            format!("{:.5}", self.reseeded as f64 / self.buckets as f64),
            self.overflows.to_string(),
        ]
    }
}

pub fn main(args: &Args) -> anyhow::Result<()> {
    let device = args.device.parse::<Device>()?;
    let config = TwoLevelConfig::default().assume_unique().statistics();
    let mut one = new_table("items", &[]);
    for &items in &args.items {
        let mut tally = Tally::default();
        for bucket in 0..args.buckets {
            let keys: Vec<u32> = (0..items).map(|i| input::key(bucket * items + i)).collect();
            // The map gets one bucket, because the mean is the number of all items.
            tally.add(&config.clone().items_per_bucket(items as f64).seed(bucket).build(&device, &keys, &keys)?);
        }
        one.add_row([items.to_string()].into_iter().chain(tally.cells()));
    }
    println!("buckets of so many items\n{one}");
    let mut whole = new_table("mean", &["keys by probe"]);
    let keys: Vec<u32> = (0..args.n).map(input::key).collect();
    for &mean in &args.means {
        let map = config.clone().items_per_bucket(mean).restarts(1000).seed(1).build(&device, &keys, &keys)?;
        let mut tally = Tally::default();
        tally.add(&map);
        let probes = map
            .table()
            .probe_lengths()?
            .histogram
            .into_iter()
            .skip(1)
            .map(|found| format!("{:.4}", found as f64 / args.n as f64));
        let probes = probes.collect::<Vec<_>>().join(" ");
        whole.add_row([mean.to_string()].into_iter().chain(tally.cells()).chain([probes]));
    }
    println!("maps of {} pairs\n{whole}", args.n);
    Ok(())
}

fn new_table(first: &str, more: &[&str]) -> Table {
    let header = [first, "buckets", "mean rounds", "most rounds", "reseeds a bucket", "overflows"];
    tables::new_table(header.iter().chain(more), 0)
}
