//! The first calls of new processes: a kernel is loaded when it is first launched, or compiled.

use anyhow::{Context as _, ensure};
use clap::ValueEnum;
use std::process::Command;
use std::time::Instant;
use warpnest::relational::{GroupBy, Join, unique};
use warpnest::{Device, MultiMap, PageMap};

/// The keys or rows of a call: so few that the work itself takes no time.
const N: u32 = 1 << 16;

/// An operation, on slices of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum Call {
    /// `PageMap::build`.
    Build,
    /// `PageMap::get_many`.
    Find,
    /// `PageMap::insert_many`.
    Insert,
    /// `unique`.
    Unique,
    /// A sum of each group.
    GroupBy,
    /// An inner join.
    Join,
    /// `MultiMap::build`.
    Multi,
}

/// Makes each call in a process of its own, in which the driver keeps no compiled code of earlier
/// ones, and prints the times.
pub fn measure(device: &str) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("this program has no path")?;
    println!("times of new processes in ms, by the host's clock\ncall          device  first call  second call");
    for call in Call::value_variants() {
        let name = call.to_possible_value().context("it has a name")?.get_name().to_owned();
        let mut command = Command::new(&program);
        command.args(["bench", "--device", device, "--first-call", &name]).env("CUDA_CACHE_DISABLE", "1");
        let output = command.output()?;
        ensure!(output.status.success(), "{name} failed: {}", String::from_utf8_lossy(&output.stderr));
        println!("{name:9} {}", String::from_utf8_lossy(&output.stdout).trim_end());
    }
    Ok(())
}

/// Makes a call twice in this process, after what it needs, and prints how long the device took to
/// be made, and each call.
pub fn make(device: &str, call: Call) -> anyhow::Result<()> {
    let start = Instant::now();
    let device = &device.parse::<Device>()?;
    let made = start.elapsed().as_secs_f64();
    let keys: Vec<u32> = (0..N).collect();
    let rows: Vec<u32> = keys.iter().map(|key| key % 1000).collect();
    let mut map = match call {
        Call::Find | Call::Insert => Some(PageMap::build(device, &keys, &keys)?),
        _ => None,
    };
    let mut times = [0.0; 2];
    for time in &mut times {
        let start = Instant::now();
        let answers = match (call, &mut map) {
            (Call::Find, Some(map)) => map.get_many(&keys)?.len(),
            (Call::Insert, Some(map)) => map.insert_many(&rows, &rows).map(|_| rows.len())?,
            (Call::Unique, _) => unique(device, &rows)?.len(),
            (Call::GroupBy, _) => {
                let mut query = GroupBy::new(&rows);
                query.sum(&keys);
                query.run(device)?.keys.len()
            }
            (Call::Join, _) => Join::new(&rows, &keys[..1000]).run(device)?.len(),
            (Call::Multi, _) => MultiMap::build(device, &rows, &keys)?.len(),
            _ => PageMap::build(device, &keys, &keys)?.len(),
        };
        *time = start.elapsed().as_secs_f64();
        let expected = if matches!(call, Call::Unique | Call::GroupBy) { 1000 } else { N as usize };
        ensure!(answers == expected, "{answers} answers, and not {expected}");
    }
    println!("{:10.1} {:11.1} {:12.1}", made * 1e3, times[0] * 1e3, times[1] * 1e3);
    Ok(())
}
