//! Figure 4.4: the rates of builds and of lookups of all keys, for more and more pairs.

use anyhow::{Context as _, ensure};
use warpnest::Buffer;

use super::contenders::{CUCKOO, CUCKOO_IN_MORE, Contender, PAGE, Pairs, SORTED, TWO_LEVEL};
use super::units::{PAIRS_A_SECOND, QUERIES_A_SECOND, billions_a_second};
use crate::bench::input::wrong_hits;
use crate::figures::figure::{Axis, Figure};
use crate::figures::lab::Lab;
use crate::figures::scale::Scale;

const CONTENDERS: [Contender; 5] = [CUCKOO, CUCKOO_IN_MORE, TWO_LEVEL, PAGE, SORTED];

pub fn rates(lab: &Lab) -> anyhow::Result<[Figure; 2]> {
    let sizes = lab.doubling_sizes();
    lab.begin("figure 4.4", sizes.len() * CONTENDERS.len());
    let (mut builds, mut lookups) = (CONTENDERS.map(|table| table.series()), CONTENDERS.map(|table| table.series()));
    for n in sizes {
        let pairs = Pairs::new(&lab.device, n, lab.runs)?;
        let queries = Buffer::from_slice(&lab.device, &pairs.input.present)?;
        for ((table, builds), lookups) in CONTENDERS.iter().zip(&mut builds).zip(&mut lookups) {
            lab.step(format!("{n} pairs, {}", table.name));
            let [build_ms, lookup_ms] =
                measure(&pairs, &queries, table).with_context(|| format!("{}, {n} pairs", table.name))?;
            builds.points.push((n as f64, billions_a_second(n, build_ms)));
            lookups.points.push((n as f64, billions_a_second(n, lookup_ms)));
        }
    }
    let figure = |name, title: &str, note: &str, label, series: [_; CONTENDERS.len()]| Figure {
        name,
        title: title.to_owned(),
        note: note.to_owned(),
        x: Axis { label: "pairs (N)", scale: Scale::Log2 },
        y: Axis { label, scale: Scale::Linear },
        series: series.into(),
        end: None,
    };
    let built = "Random keys of 32 bits, known to be unique, with values of 32 bits.";
    let asked = "All keys looked up once, in random order; keys and values of 32 bits.";
    Ok([
        figure("alcantara_2011_builds", "Building tables of more and more pairs", built, PAIRS_A_SECOND, builds),
        figure(
            "alcantara_2011_lookups",
            "Looking up all keys of more and more pairs",
            asked,
            QUERIES_A_SECOND,
            lookups,
        ),
    ])
}

/// Measures the milliseconds of a build, and of the lookup of all keys.
fn measure(pairs: &Pairs<'_>, queries: &Buffer<u32>, table: &Contender) -> anyhow::Result<[f64; 2]> {
    let mut map = (table.build)(pairs)?;
    let build_ms = map.rebuild_ms(pairs)?;
    let (lookup_ms, answers) = map.find(pairs, queries)?;
    let wrong = wrong_hits::<u32, u32>(&pairs.input.present, &answers);
    ensure!(wrong == 0, "{wrong} of {} answers are wrong", answers.len());
    Ok([build_ms, lookup_ms])
}
