//! Figures 4.5 and 4.6: tables of keys with more and more pairs per key.

use anyhow::{Context as _, ensure};
use warpnest::design::Config;
use warpnest::design::Ids;
use warpnest::{Answers, Buffer, CompactingConfig, CuckooConfig, MultiConfig, PageConfig, SortedConfig, SortedMap};

use super::repeated::{Repeated, keys};
use super::units::{PAIRS_A_SECOND, QUERIES_A_SECOND, TEN_MILLION, billions_a_second};
use crate::bench::roofline::median_ms;
use crate::figures::figure::{Axis, Figure, Series};
use crate::figures::lab::Lab;
use crate::figures::scale::Scale;
use crate::figures::voxels::sorted;

/// The maximum number of pairs with the same key; the numbers are powers of two.
const MAX_MULTIPLICITY: u32 = 1024;

/// The lines of figure 4.5 (construction and retrieval).
const COMPACTING: [&str; 4] =
    ["CompactingTable, on a PageMap", "… on a CuckooMap", "SortedMap, no repeats", "only sorting the pairs"];
/// The lines of figure 4.6.
const MULTI: [&str; 4] =
    ["MultiMap, on a PageMap", "… on a CuckooMap", "SortedMap, all pairs", "only sorting the pairs"];
const RETRIEVED: &str = "MultiMap, values retrieved";

/// The milliseconds of builds and of lookups; sorting alone has no lookup.
struct Times {
    builds: Vec<f64>,
    lookups: Vec<f64>,
}

pub fn multiplicity(lab: &Lab) -> anyhow::Result<[Figure; 4]> {
    let n = lab.largest.min(TEN_MILLION);
    let multiplicities = || std::iter::successors(Some(1), |m| Some(2 * m)).take_while(|&m| m <= MAX_MULTIPLICITY);
    lab.begin("multiplicity", multiplicities().count());
    let lines = |names: &[&'static str]| -> Vec<Series> {
        names.iter().map(|&name| Series { name, points: Vec::new(), cited: None }).collect()
    };
    let [on_pages, on_cuckoo, sorted_all, _] = MULTI;
    let retrieving = [on_pages, on_cuckoo, sorted_all, RETRIEVED];
    let mut series = [&COMPACTING[..], &COMPACTING[..3], &MULTI, &retrieving].map(lines);
    for multiplicity in multiplicities() {
        lab.step(format!("{n} pairs, each key {multiplicity} times"));
        let subjects = Subjects::new(lab, n as u32, multiplicity)?;
        let [compacting, multi] =
            subjects.measure().with_context(|| format!("{n} pairs, each key {multiplicity} times"))?;
        let times = [compacting.builds, compacting.lookups, multi.builds, multi.lookups];
        for (series, ms) in series.iter_mut().flatten().zip(times.into_iter().flatten()) {
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
    let builds = format!("{n} pairs of 32 bits. Builds are rebuilds, in memory that is there.");
    let lookups = format!("{n} queries in random order: each key once for each of its pairs");
    let pairs = || Axis { label: PAIRS_A_SECOND, scale: Scale::Linear };
    let queries = |label| Axis { label, scale: Scale::Log10 };
    let [compacting_builds, compacting_lookups, multi_builds, multi_lookups] = series;
    Ok([
        figure(
            "alcantara_2011_compacting_builds",
            "Building compacting tables of keys that are repeated",
            builds.clone(),
            pairs(),
            compacting_builds,
        ),
        figure(
            "alcantara_2011_compacting_lookups",
            "Looking up the ids of keys that are repeated",
            lookups.clone() + ".",
            queries(QUERIES_A_SECOND),
            compacting_lookups,
        ),
        figure(
            "alcantara_2011_multi_builds",
            "Building multimaps of keys that are repeated",
            builds,
            pairs(),
            multi_builds,
        ),
        figure(
            "alcantara_2011_multi_lookups",
            "Looking up the values of keys that are repeated",
            format!("{lookups}; or all {n} values, each key asked for once."),
            queries("10⁹ queries, or values, a second"),
            multi_lookups,
        ),
    ])
}

/// Pairs on a device, and queries for their keys.
struct Subjects<'l> {
    lab: &'l Lab,
    pairs: Repeated,
    keys: Buffer<u32>,
    values: Buffer<u32>,
    /// The indices of the queried keys.
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

    /// Measures the tables that [`COMPACTING`] and [`MULTI`] list.
    fn measure(&self) -> anyhow::Result<[Times; 2]> {
        let (page, cuckoo) = (PageConfig::default().seed(1), CuckooConfig::default().seed(1));
        let compacting = [self.compacting(&page)?, self.compacting(&cuckoo)?, self.sorted_once()?];
        let [on_pages, on_cuckoo] = [self.multi(&page)?, self.multi(&cuckoo)?];
        let [sorted_build, sorted_lookup] = self.sorted_all()?;
        let (sort, _, values) = sorted(self.lab, &self.keys, &self.values)?;
        right("sorted values", self.pairs.wrong_values(&values.download(self.lab.device.default_stream())?))?;
        let builds = compacting.iter().map(|times| times[0]).chain([sort]).collect();
        let lookups = compacting.iter().map(|times| times[1]).collect();
        let multi = Times {
            builds: vec![on_pages[0], on_cuckoo[0], sorted_build, sort],
            lookups: vec![on_pages[1], on_cuckoo[1], sorted_lookup, on_pages[2]],
        };
        Ok([Times { builds, lookups }, multi])
    }

    /// Returns the milliseconds of a rebuild of the compacting table, and of the lookup of ids.
    fn compacting<D: Ids>(&self, of_ids: &Config<D>) -> anyhow::Result<[f64; 2]> {
        let (Lab { device, runs, .. }, stream) = (self.lab, self.lab.device.default_stream());
        let mut table = CompactingConfig::on(of_ids.clone()).build(device, &self.keys)?;
        let build = median_ms(stream, 1, *runs, || table.rebuild(&self.keys))?;
        let mut ids = Answers::new(device, self.queries.len())?;
        let lookup = median_ms(stream, 1, *runs, || table.get_many_into(stream, &self.queries, &mut ids))?;
        let keys = table.key_buffer().download(stream)?;
        right("ids", self.pairs.wrong_ids(&self.asked, &ids.download(stream)?, &keys))?;
        Ok([build, lookup])
    }

    /// Returns the milliseconds of a rebuild of a sorted map of the distinct keys, and of the
    /// lookup of their ranks.
    fn sorted_once(&self) -> anyhow::Result<[f64; 2]> {
        let (Lab { device, runs, .. }, stream) = (self.lab, self.lab.device.default_stream());
        let mut map = SortedConfig::default().build(device, &self.keys, &self.values)?;
        let build = median_ms(stream, 1, *runs, || map.rebuild(&self.keys, &self.values))?;
        let mut ranks = Buffer::zeroed(device, self.queries.len())?;
        let lookup = median_ms(stream, 1, *runs, || map.lower_bound_many_into(stream, &self.queries, &mut ranks))?;
        right("places", self.pairs.wrong_ranks(&self.asked, &ranks.download(stream)?))?;
        Ok([build, lookup])
    }

    /// Returns the milliseconds of a build of a multimap, of the lookup of the queries' value
    /// ranges, and of the retrieval of all values.
    fn multi<D: Ids>(&self, of_keys: &Config<D>) -> anyhow::Result<[f64; 3]> {
        let (Lab { device, runs, .. }, stream) = (self.lab, self.lab.device.default_stream());
        let mut map = MultiConfig::on(of_keys.clone()).build(device, &self.keys, &self.values)?;
        let build = median_ms(stream, 1, *runs, || map.rebuild(&self.keys, &self.values))?;
        let mut starts = Buffer::zeroed(device, self.queries.len())?;
        let mut counts = Buffer::zeroed(device, self.queries.len())?;
        let lookup =
            median_ms(stream, 1, *runs, || map.runs_many_into(stream, &self.queries, &mut starts, &mut counts))?;
        let (starts, counts) = (starts.download(stream)?, counts.download(stream)?);
        let ends = starts.iter().zip(counts).map(|(start, count)| start + count);
        right("runs", self.pairs.wrong_groups(&self.asked, &starts, ends, &map.value_buffer().download(stream)?))?;

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

    /// Returns the milliseconds of a build of a sorted map with all pairs, and of the lookup of the
    /// start and the end of each query's pairs.
    fn sorted_all(&self) -> anyhow::Result<[f64; 2]> {
        let (Lab { device, runs, .. }, stream) = (self.lab, self.lab.device.default_stream());
        // With `assume_unique` the map keeps all pairs of a repeated key, in the order of the
        // input.
        let config = SortedConfig::default().assume_unique();
        let mut map: SortedMap<u32, u32> = config.build(device, &self.keys, &self.values)?;
        let build = median_ms(stream, 1, *runs, || map.rebuild(&self.keys, &self.values))?;
        let values = map.table().values().download(stream)?;
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
