//! Figures 4.5 and 4.6: tables of keys that are there more and more often.

use anyhow::{Context as _, ensure};
use warpnest::{Answers, Buffer, CompactingConfig, MultiConfig, SortedConfig, SortedMap};

use super::repeated::{Repeated, keys};
use super::{PAIRS_A_SECOND, TEN_MILLION, billions_a_second};
use crate::bench::roofline::median_ms;
use crate::figures::Lab;
use crate::figures::figure::{Axis, Figure, Series};
use crate::figures::scale::Scale;
use crate::figures::voxels::sorted;

/// How often each key is there: powers of two.
const MOST: u32 = 1024;

const BUILDS: [&str; 5] =
    ["CompactingTable", "SortedMap, no repeats", "MultiMap", "SortedMap, all pairs", "only sorting the pairs"];
const LOOKUPS: [&str; 5] = [BUILDS[0], BUILDS[1], BUILDS[2], BUILDS[3], "MultiMap, values retrieved"];

pub fn multiplicity(lab: &Lab) -> anyhow::Result<[Figure; 2]> {
    let n = lab.largest.min(TEN_MILLION);
    let multiplicities = || std::iter::successors(Some(1), |m| Some(2 * m)).take_while(|&m| m <= MOST);
    lab.begin("multiplicity", multiplicities().count());
    let series = |name| Series { name, points: Vec::new(), cited: None };
    let (mut builds, mut lookups) = (BUILDS.map(series), LOOKUPS.map(series));
    for multiplicity in multiplicities() {
        lab.step(format!("{n} pairs, each key {multiplicity} times"));
        let subjects = Subjects::new(lab, n as u32, multiplicity)?;
        let (build_ms, lookup_ms) =
            subjects.measure().with_context(|| format!("{n} pairs, each key {multiplicity} times"))?;
        for (series, ms) in builds.iter_mut().zip(build_ms).chain(lookups.iter_mut().zip(lookup_ms)) {
            series.points.push((multiplicity as f64, billions_a_second(n, ms)));
        }
    }
    let figure = |name, title: &str, note, y, series| Figure {
        name,
        title: title.to_owned(),
        note,
        x: Axis { label: "pairs of each key", scale: Scale::Log2 },
        y,
        series,
        end: None,
    };
    Ok([
        figure(
            "chapter_repeated_builds",
            "Building tables of keys that are repeated",
            format!("{n} pairs of 32 bits. Builds are rebuilds, in memory that is there."),
            Axis { label: PAIRS_A_SECOND, scale: Scale::Linear },
            builds.into(),
        ),
        figure(
            "chapter_repeated_lookups",
            "Looking up keys that are repeated",
            format!(
                "{n} queries in random order: each key once for each of its pairs; or all {n} values, each key asked for once."
            ),
            Axis { label: "10⁹ queries, or values, a second", scale: Scale::Log10 },
            lookups.into(),
        ),
    ])
}

/// Pairs on a device, and the queries for them.
struct Subjects<'l> {
    lab: &'l Lab,
    pairs: Repeated,
    keys: Buffer<u32>,
    values: Buffer<u32>,
    /// Numbers of keys.
    asked: Vec<u32>,
    queries: Buffer<u32>,
}

impl<'l> Subjects<'l> {
    fn new(lab: &'l Lab, n: u32, multiplicity: u32) -> warpnest::Result<Self> {
        let pairs = Repeated::new(n, multiplicity);
        let on_device = |words: &[u32]| Buffer::from_slice(&lab.device, words);
        let asked = pairs.queries_for_pairs();
        let queries = on_device(&keys(&asked))?;
        let (keys, values) = (on_device(&pairs.keys())?, on_device(&pairs.values())?);
        Ok(Self { lab, pairs, keys, values, asked, queries })
    }

    /// Milliseconds of what [`BUILDS`] names, and of what [`LOOKUPS`] names.
    fn measure(&self) -> anyhow::Result<([f64; BUILDS.len()], [f64; LOOKUPS.len()])> {
        let [compacting, sorted_once, sorted_all] = [self.compacting()?, self.sorted_once()?, self.sorted_all()?];
        let [build, runs, retrieval] = self.multi()?;
        let (sort, _, values) = sorted(self.lab, &self.keys, &self.values)?;
        right("sorted values", self.pairs.wrong_values(&values.download(self.lab.device.default_stream())?))?;
        let builds = [compacting[0], sorted_once[0], build, sorted_all[0], sort];
        Ok((builds, [compacting[1], sorted_once[1], runs, sorted_all[1], retrieval]))
    }

    /// Milliseconds of building the compacting table anew, and of looking up ids.
    fn compacting(&self) -> anyhow::Result<[f64; 2]> {
        let (Lab { device, runs, .. }, stream) = (self.lab, self.lab.device.default_stream());
        let mut table = CompactingConfig::default().seed(1).build_on(stream, device, &self.keys)?;
        let build = median_ms(stream, 1, *runs, || table.rebuild(stream, &self.keys))?;
        let mut ids = Answers::new(device, self.queries.len())?;
        let lookup = median_ms(stream, 1, *runs, || table.get_many_into(stream, &self.queries, &mut ids))?;
        let keys = table.keys().download(stream)?;
        right("ids", self.pairs.wrong_ids(&self.asked, &ids.download(stream)?, &keys))?;
        Ok([build, lookup])
    }

    /// Milliseconds of building a sorted map of the different keys anew, and of looking up their places there.
    fn sorted_once(&self) -> anyhow::Result<[f64; 2]> {
        let (Lab { device, runs, .. }, stream) = (self.lab, self.lab.device.default_stream());
        let mut map = SortedConfig::default().build_on(stream, device, &self.keys, &self.values)?;
        let build = median_ms(stream, 1, *runs, || map.rebuild(stream, &self.keys, &self.values))?;
        let mut places = Buffer::zeroed(device, self.queries.len())?;
        let lookup = median_ms(stream, 1, *runs, || map.lower_bound_many_into(stream, &self.queries, &mut places))?;
        right("places", self.pairs.wrong_places(&self.asked, &places.download(stream)?))?;
        Ok([build, lookup])
    }

    /// Milliseconds of building a multimap, of looking up where the values of the queries are, and of getting all values.
    fn multi(&self) -> anyhow::Result<[f64; 3]> {
        let (Lab { device, runs, .. }, stream) = (self.lab, self.lab.device.default_stream());
        let config = MultiConfig::default().seed(1);
        let mut map = config.build_on(stream, device, &self.keys, &self.values)?;
        let build = median_ms(stream, 1, *runs, || map.rebuild(stream, &self.keys, &self.values))?;
        let mut starts = Buffer::zeroed(device, self.queries.len())?;
        let mut counts = Buffer::zeroed(device, self.queries.len())?;
        let lookup = median_ms(stream, 1, *runs, || map.runs_into(stream, &self.queries, &mut starts, &mut counts))?;
        let (starts, counts) = (starts.download(stream)?, counts.download(stream)?);
        let ends = starts.iter().zip(counts).map(|(start, count)| start + count);
        right("runs", self.pairs.wrong_groups(&self.asked, &starts, ends, &map.values().download(stream)?))?;

        let asked = self.pairs.queries_for_keys();
        let queries = Buffer::from_slice(device, &keys(&asked))?;
        let mut found = map.retrieve_many_on(stream, &queries)?;
        let retrieval = median_ms(stream, 1, *runs, || {
            found = map.retrieve_many_on(stream, &queries)?;
            Ok(())
        })?;
        let (offsets, values) = (found.offsets.download(stream)?, found.values.download(stream)?);
        right("retrieved values", self.pairs.wrong_retrieved(&asked, &offsets, &values))?;
        Ok([build, lookup, retrieval])
    }

    /// Milliseconds of building a sorted map of all pairs, and of looking up where those of the queries begin and end.
    fn sorted_all(&self) -> anyhow::Result<[f64; 2]> {
        let (Lab { device, runs, .. }, stream) = (self.lab, self.lab.device.default_stream());
        // With that promise it keeps the pairs of a repeated key, in the order of the input.
        let config = SortedConfig::default().assume_unique();
        let mut map: SortedMap<u32, u32> = config.build_on(stream, device, &self.keys, &self.values)?;
        let build = median_ms(stream, 1, *runs, || map.rebuild(stream, &self.keys, &self.values))?;
        let values = map.values().download(stream)?;
        right("values", self.pairs.wrong_values(values.get(..map.len() as usize).unwrap_or_default()))?;
        let mut starts = Buffer::zeroed(device, self.queries.len())?;
        let mut ends = Buffer::zeroed(device, self.queries.len())?;
        let lookup = median_ms(stream, 1, *runs, || {
            map.lower_bound_many_into(stream, &self.queries, &mut starts)?;
            map.upper_bound_many_into(stream, &self.queries, &mut ends)
        })?;
        let (starts, ends) = (starts.download(stream)?, ends.download(stream)?);
        right("bounds", self.pairs.wrong_runs(&self.asked, &starts, ends.into_iter()))?;
        Ok([build, lookup])
    }
}

fn right(what: &str, wrong: u64) -> anyhow::Result<()> {
    ensure!(wrong == 0, "{wrong} wrong {what}");
    Ok(())
}
