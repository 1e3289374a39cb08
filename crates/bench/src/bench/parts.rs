//! The parts of the library, which are measured one after the other with a number of pairs.

use super::args::{Args, Part, Under};
#[cfg(feature = "figures")]
use super::hashbrown;
use super::lab::Bench;
use super::record::Record;
use super::{
    calls, columns, combine, compacting, cuckoo, extendible, files, gather, group_by, group_by_aggregates,
    group_by_lying, join, join_forms, linear, multi, page, page_changes, primitives, refs, rows, skews, soak, sorted,
    transfers, two_level,
};
use warpnest::design::Config;
use warpnest::design::Ids;
use warpnest::{CuckooConfig, LinearConfig, PageConfig};

/// The maximum number of pairs for the rounds, which need four times as many distinct keys.
const MAX_ROUNDS_PAIRS: u64 = 1 << 29;

/// The records of a measurement, or its error.
type Records = anyhow::Result<Vec<Record>>;

/// The records so far, and the display of progress.
pub struct Measured<'a> {
    args: &'a Args,
    progress: indicatif::ProgressBar,
    records: Vec<Record>,
    of_files: Vec<Record>,
}

impl<'a> Measured<'a> {
    pub fn new(args: &'a Args) -> Self {
        Self { args, progress: indicatif::ProgressBar::new_spinner(), records: Vec::new(), of_files: Vec::new() }
    }

    /// Shows `text` as the current measurement.
    pub fn show(&self, text: String) {
        self.progress.set_message(text);
        self.progress.tick();
    }

    /// Returns whether a part is requested, and shows it if so.
    fn begins(&self, part: Part, text: String) -> bool {
        let is_wanted = self.args.wants(part);
        if is_wanted {
            self.show(text);
        }
        is_wanted
    }

    pub fn keep(&mut self, records: Vec<Record>) {
        self.records.extend(records);
    }

    /// Keeps the records of 32-bit keys, and the records of 64-bit keys if these are requested.
    fn keep_both(&mut self, narrow: impl FnOnce() -> Records, wide: impl FnOnce() -> Records) -> anyhow::Result<()> {
        self.keep(narrow()?);
        if self.args.wide {
            self.keep(wide()?);
        }
        Ok(())
    }

    /// Ends the display, and returns all records. The records of files are last.
    pub fn into_records(self) -> Vec<Record> {
        self.progress.finish_and_clear();
        [self.records, self.of_files].concat()
    }

    /// Measures all parts that are requested.
    pub fn all_parts(&mut self, at: Bench<'_>) -> anyhow::Result<()> {
        self.columns(at)?;
        self.maps(at)?;
        self.tables_over_maps(at)?;
        if self.begins(Part::Files, format!("save and load, {} pairs", at.n)) {
            let folder = self.args.files.clone().unwrap_or_else(std::env::temp_dir);
            self.of_files.extend(files::measure(at, &folder)?);
        }
        if self.begins(Part::Calls, format!("whole calls, {} rows", at.n)) {
            self.keep_both(|| calls::measure::<u32>(at), || calls::measure::<u64>(at))?;
        }
        if self.begins(Part::Soak, format!("soak, up to {} rows", at.n)) {
            self.keep(soak::measure(at, self.args.seconds)?);
        }
        if self.begins(Part::Transfers, format!("transfers, {} bytes", at.n)) {
            self.keep(transfers::measure(at)?);
        }
        #[cfg(feature = "figures")]
        if self.args.beside_hashbrown {
            self.show(format!("hashbrown::HashMap, {} pairs", at.n));
            self.keep(hashbrown::measure(at));
        }
        Ok(())
    }

    /// Measures the operations on columns of keys and values.
    fn columns(&mut self, at: Bench<'_>) -> anyhow::Result<()> {
        let (args, n) = (self.args, at.n);
        if self.begins(Part::Primitives, format!("primitives, {n} items")) {
            self.keep_both(|| primitives::measure::<u32, u32>(at), || primitives::measure::<u64, u64>(at))?;
            self.keep(gather::measure(at)?);
        }
        if self.begins(Part::GroupBy, format!("group-by, {n} rows")) {
            let cases = &group_by::cases(n, args.every_power, &args.groups, &args.skews);
            self.keep_both(|| group_by::measure::<u32, u32>(at, cases), || group_by::measure::<u64, u64>(at, cases))?;
        }
        if self.begins(Part::Aggregates, format!("several aggregates, {n} rows")) {
            let cases = &group_by_aggregates::cases(n, args.every_power, &args.groups, &args.skews);
            self.keep(group_by_aggregates::measure(at, cases)?);
        }
        if self.begins(Part::Combine, format!("sums in maps, {n} rows")) {
            let cases = &combine::cases(n, &args.groups, &args.skews);
            self.keep_both(|| combine::measure::<u32, u32>(at, cases), || combine::measure::<u64, u64>(at, cases))?;
        }
        if self.begins(Part::GroupByLying, format!("group-by of lying samples, {n} rows")) {
            self.keep_both(|| group_by_lying::measure::<u32, u32>(at), || group_by_lying::measure::<u64, u64>(at))?;
        }
        if self.begins(Part::Join, format!("joins, {n} with {n} rows")) {
            self.keep_both(|| join::measure::<u32>(at), || join::measure::<u64>(at))?;
            self.keep_both(|| join_forms::measure::<u32>(at), || join_forms::measure::<u64>(at))?;
            self.keep(join_forms::measure_wide(at)?);
        }
        if self.begins(Part::Skews, format!("frequent keys, {n} rows")) {
            self.keep_both(|| skews::joins::<u32>(at), || skews::joins::<u64>(at))?;
            self.keep_both(|| skews::changes::<u32>(at), || skews::changes::<u64>(at))?;
        }
        if self.begins(Part::Unique, format!("different keys of columns, {n} rows")) {
            self.keep_both(|| columns::measure::<u32>(at), || columns::measure::<u64>(at))?;
        }
        Ok(())
    }

    /// Measures maps and sets, and kernels that take maps as arguments.
    fn maps(&mut self, at: Bench<'_>) -> anyhow::Result<()> {
        let (args, n) = (self.args, at.n);
        for &slots in args.slots_per_pair.iter().filter(|_| args.wants(Part::Cuckoo)) {
            self.show(format!("CuckooMap, {n} pairs, {slots} slots a pair"));
            self.keep_both(|| cuckoo::measure::<u32, u32>(at, slots), || cuckoo::measure::<u64, u64>(at, slots))?;
            self.show(format!("CuckooSet, {n} keys, {slots} slots a key"));
            self.keep_both(|| at.cuckoo_set::<u32>(slots), || at.cuckoo_set::<u64>(slots))?;
        }
        if self.begins(Part::TwoLevel, format!("TwoLevelMap, {n} pairs")) {
            let mean = args.items_per_bucket;
            self.keep_both(|| two_level::measure::<u32, u32>(at, mean), || two_level::measure::<u64, u64>(at, mean))?;
        }
        for &load in args.load.iter().filter(|_| args.wants(Part::Page)) {
            self.show(format!("PageMap, {n} pairs, load {load}"));
            self.keep_both(|| page::measure::<u32, u32>(at, load), || page::measure::<u64, u64>(at, load))?;
        }
        for &load in args.load.iter().filter(|_| args.wants(Part::Changes)) {
            use page_changes::{measure, rounds};
            self.show(format!("changes of PageMap, {n} pairs, load {load}"));
            self.keep_both(|| measure::<u32, u32>(at, load), || measure::<u64, u64>(at, load))?;
            let times = args.rounds as usize;
            self.keep_both(|| rounds::<u32>(at, load, times), || rounds::<u64>(at, load, times))?;
        }
        for &load in args.load.iter().filter(|_| args.wants(Part::Set)) {
            self.show(format!("PageSet, {n} keys, load {load}"));
            self.keep_both(|| at.page_set::<u32>(load), || at.page_set::<u64>(load))?;
        }
        if self.begins(Part::Extendible, format!("ExtendibleMap, {n} pairs")) {
            let batch = args.batch;
            self.keep_both(
                || extendible::measure::<u32, u32>(at, batch),
                || extendible::measure::<u64, u64>(at, batch),
            )?;
        }
        if self.begins(Part::Sorted, format!("SortedMap, {n} pairs")) {
            self.keep_both(|| sorted::measure::<u32, u32>(at), || sorted::measure::<u64, u64>(at))?;
        }
        for &load in args.load.iter().filter(|load| args.wants(Part::Linear) && **load < 1.0) {
            use linear::{measure, rounds};
            self.show(format!("LinearMap, {n} pairs, load {load}"));
            let config = LinearConfig::default().load(load);
            let config = &if args.linear_probing { config.linear_probing() } else { config };
            self.keep_both(|| measure::<u32, u32>(at, config), || measure::<u64, u64>(at, config))?;
            if n <= MAX_ROUNDS_PAIRS {
                let times = args.rounds as usize;
                self.keep_both(|| rounds::<u32>(at, config, times), || rounds::<u64>(at, config, times))?;
            }
        }
        if self.begins(Part::Rows, format!("RowMap, {n} rows")) {
            self.keep_both(|| rows::measure::<u32>(at), || rows::measure::<u64>(at))?;
        }
        if self.begins(Part::Refs, format!("maps as arguments, {n} pairs")) {
            self.keep_both(|| refs::measure::<u32, u32>(at), || refs::measure::<u64, u64>(at))?;
        }
        Ok(())
    }

    /// Measures compacting tables and multimaps over the requested maps.
    fn tables_over_maps(&mut self, at: Bench<'_>) -> anyhow::Result<()> {
        let args = self.args;
        for &under in &args.under {
            self.show(format!("CompactingTable and MultiMap on {under:?}, {} rows", at.n));
            match under {
                Under::Page => {
                    for &load in &args.load {
                        self.tables_over(at, &PageConfig::default().load(load).seed(1))?;
                    }
                }
                Under::Cuckoo => {
                    for &slots in &args.slots_per_pair {
                        self.tables_over(at, &CuckooConfig::default().slots_per_pair(slots).seed(1))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Measures the tables over a map with this configuration.
    fn tables_over<D: Ids>(&mut self, at: Bench<'_>, config: &Config<D>) -> anyhow::Result<()> {
        if self.args.wants(Part::Compacting) {
            use compacting::measure;
            self.keep_both(|| measure::<u32, D>(at, config), || measure::<u64, D>(at, config))?;
        }
        if self.args.wants(Part::Multi) {
            use multi::measure;
            self.keep_both(|| measure::<u32, u32, D>(at, config), || measure::<u64, u64, D>(at, config))?;
        }
        Ok(())
    }
}
