//! Section 4.5.1: lookups with more and more absent keys.

use anyhow::ensure;
use warpnest::Buffer;

use super::contenders::{CUCKOO_OF_FOUR, CUCKOO_OF_THREE, Contender, PAGE, Pairs, SORTED, TWO_LEVEL};
use super::units::{QUERIES_A_SECOND, TEN_MILLION, billions_a_second};
use crate::bench::input::Mixed;
use crate::figures::figure::{Axis, Figure};
use crate::figures::lab::Lab;
use crate::figures::scale::Scale;

const CONTENDERS: [Contender; 5] = [CUCKOO_OF_FOUR, CUCKOO_OF_THREE, TWO_LEVEL, PAGE, SORTED];
/// The shares of absent keys, in percent.
const ABSENT: [u64; 11] = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

pub fn misses(lab: &Lab) -> anyhow::Result<Figure> {
    let n = lab.largest.min(TEN_MILLION);
    lab.begin("misses", CONTENDERS.len() + ABSENT.len());
    let pairs = Pairs::new(&lab.device, n, lab.runs)?;
    let mut maps = Vec::new();
    for table in &CONTENDERS {
        lab.step(format!("{n} pairs, {}", table.name));
        maps.push((table.build)(&pairs)?);
    }
    let mut series = CONTENDERS.map(|table| table.series());
    for percent in ABSENT {
        lab.step(format!("{percent} % absent"));
        let mixed = Mixed::<u32>::new(n, n * percent / 100);
        let queries = Buffer::from_slice(&lab.device, &mixed.queries)?;
        for (map, series) in maps.iter().zip(&mut series) {
            let (ms, answers) = map.find(&pairs, &queries)?;
            let wrong = mixed.wrong::<u32>(&answers);
            ensure!(wrong == 0, "{}, {percent} % absent: {wrong} of {n} answers are wrong", series.name);
            series.points.push((percent as f64, billions_a_second(n, ms)));
        }
    }
    Ok(Figure {
        name: "alcantara_2011_misses",
        title: "Lookups of which more and more find nothing".to_owned(),
        note: format!("{n} queries in random order, maps of {n} pairs; CuckooMap with 1.25 N slots."),
        x: Axis { label: "absent keys (%)", scale: Scale::Linear },
        y: Axis { label: QUERIES_A_SECOND, scale: Scale::Linear },
        series: series.into(),
        end: None,
    })
}
