//! Figure 4.7, right: the construction of cuckoo tables with more and more slots, compared with the
//! theory of (Alcantara 2011, §4.5).

use anyhow::{Context as _, ensure};
use warpnest::{Buffer, CuckooConfig};

use super::contenders::Pairs;
use super::strides::Update;
use super::units::{PAIRS_A_SECOND, billions_a_second};
use crate::figures::figure::{Axis, Figure, Series};
use crate::figures::lab::{Lab, MIN_PAIRS};
use crate::figures::scale::Scale;

/// The numbers of slots per pair.
const SLOTS: [f64; 18] =
    [1.02, 1.03, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.42, 1.6, 1.8, 2.1, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0];
/// The numbers of functions, each with the minimum slots per pair for such a table, and the name of
/// its line.
const FUNCTIONS: [(u32, f64, &str); 4] = [
    (4, 1.03, "measured, 4 functions"),
    (5, 1.02, "measured, 5 functions"),
    (3, 1.1, "measured, 3 functions"),
    (2, 2.1, "measured, 2 functions"),
];

/// Returns the estimated exchanges per pair (Alcantara 2011): `-m ln(1 - N/m)` exchanges in all, if
/// each exchange is at a random slot.
fn exchanges(slots: f64) -> f64 {
    -slots * (1.0 - 1.0 / slots).ln()
}

/// Returns the estimated nanoseconds per pair: for its exchanges, for clearing its slots, and for
/// reading it.
fn pair_ns(slots: f64, update: Update) -> f64 {
    exchanges(slots) * update.scattered + (slots + 1.0) * update.streamed
}

/// Measures the rates, and the exchanges per pair.
pub fn construction(lab: &Lab, update: Update) -> anyhow::Result<[Figure; 2]> {
    // The tables take about as much memory as the array of the strided updates.
    let n = (lab.largest / 8).max(MIN_PAIRS);
    let of_functions = |least: f64| SLOTS.into_iter().filter(move |&slots| slots >= least);
    let points = FUNCTIONS.iter().map(|&(_, least, _)| of_functions(least).count()).sum();
    lab.begin("construction", points);
    let pairs = Pairs::new(&lab.device, n, lab.runs)?;
    let theory = |of: &dyn Fn(f64) -> f64| Series {
        name: "theory",
        points: SLOTS.into_iter().map(|slots| (slots, of(slots))).collect(),
        cited: None,
    };
    let mut rates = vec![theory(&|slots| billions_a_second(n, n as f64 * pair_ns(slots, update) / 1e6))];
    let mut counts = vec![theory(&exchanges)];
    for (functions, least, name) in FUNCTIONS {
        let (mut rate, mut count) = (Vec::new(), Vec::new());
        for slots in of_functions(least) {
            lab.step(format!("{n} pairs, {functions} functions, {slots} slots a pair"));
            let config = CuckooConfig::default().functions(functions).slots_per_pair(slots).seed(1).assume_unique();
            let (ms, mean) =
                measure(&pairs, &config).with_context(|| format!("{functions} functions, {slots} slots a pair"))?;
            rate.push((slots, billions_a_second(n, ms)));
            count.push((slots, mean));
        }
        rates.push(Series { name, points: rate, cited: None });
        counts.push(Series { name, points: count, cited: None });
    }
    let x = Axis { label: "slots a pair (m/N)", scale: Scale::Linear };
    Ok([
        Figure {
            name: "alcantara_2011_construction",
            title: "Building cuckoo tables of more and more slots".to_owned(),
            note: format!(
                "CuckooMap of {n} pairs. Theory: {:.4} ns for each exchange, {:.4} ns for each pair read and slot emptied.",
                update.scattered, update.streamed
            ),
            x,
            y: Axis { label: PAIRS_A_SECOND, scale: Scale::Linear },
            series: rates,
            end: None,
        },
        Figure {
            name: "alcantara_2011_exchanges",
            title: "Exchanges that building a cuckoo table takes".to_owned(),
            note: format!("CuckooMap of {n} pairs. Theory: −m ln(1 − N/m) exchanges for N pairs in m slots."),
            x,
            y: Axis { label: "exchanges a pair", scale: Scale::Linear },
            series: counts,
            end: None,
        },
    ])
}

/// Measures the milliseconds of a build, and its exchanges per pair.
fn measure(pairs: &Pairs<'_>, config: &CuckooConfig) -> anyhow::Result<(f64, f64)> {
    let (device, stream) = (pairs.device, pairs.device.default_stream());
    let mut map = pairs.build(config)?;
    let ms = pairs.rebuild_ms(&mut map)?;
    // A slot is one word, so a key that is found has its value.
    let mut found = Buffer::zeroed(device, pairs.keys.len().div_ceil(32))?;
    map.contains_many_into(stream, &pairs.keys, &mut found)?;
    let found: u64 = found.download(stream)?.iter().map(|word| word.count_ones() as u64).sum();
    ensure!(found == pairs.keys.len() as u64, "{found} of {} keys were found", pairs.keys.len());
    drop(map);
    let counted = pairs.build(&config.clone().statistics())?;
    let chains = counted.report().chains.context("the build counted no exchanges")?;
    Ok((ms, chains.mean))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_theory_is_that_of_alcantara() {
        // "only 2N attempts are needed if running in space m = 1.25N"
        assert!((exchanges(1.25) - 2.0).abs() < 0.02);
        // "The best performance (78% of the upper bound) is achieved with 4.5N space; half of the
        // upper bound is achieved with 1.3N space."
        let update = Update { scattered: 1.5, streamed: 0.05 };
        let of_the_bound = |slots| 1.5 / pair_ns(slots, update);
        assert!((of_the_bound(4.5) - 0.78).abs() < 0.02, "{}", of_the_bound(4.5));
        assert!((of_the_bound(1.3) - 0.5).abs() < 0.02, "{}", of_the_bound(1.3));
        assert!([3.0, 6.0].iter().all(|&slots| of_the_bound(slots) < of_the_bound(4.5)));
    }
}
