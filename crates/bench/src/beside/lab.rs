//! The parameters of comparisons, and their common parts.

use std::hash::{BuildHasher, Hash};

use anyhow::{Result, ensure};
use hashbrown::HashMap;
use indicatif::ProgressBar;
use warpnest::Device;

use super::record::Comparison;
use super::timing::{Clock, Side, timed};

/// A hasher of the other side's maps and sets.
pub trait Hasher: BuildHasher + Clone + Default + Send + Sync + 'static {}

impl<S: BuildHasher + Clone + Default + Send + Sync + 'static> Hasher for S {}

/// The parameters of all comparisons with one number of pairs.
pub struct Lab<'a> {
    pub device: Device,
    pub clock: &'a Clock,
    pub n: u64,
    pub only: &'a [String],
    pub bar: &'a ProgressBar,
}

impl Lab<'_> {
    /// Returns whether the row is requested.
    pub fn wants(&self, table: &str, op: &str) -> bool {
        let name = format!("{table} {op}").to_lowercase();
        self.only.is_empty() || self.only.iter().any(|word| name.contains(&word.to_lowercase()))
    }
}

impl Lab<'_> {
    /// Compares both sides, if the row is requested.
    pub fn row(
        &self,
        rows: &mut Vec<Comparison>,
        [table, op, beside]: [&'static str; 3],
        ours: &mut Side<'_>,
        theirs: &mut Side<'_>,
    ) -> Result<()> {
        self.row_in_parallel(rows, [table, op, beside], ours, theirs, None)
    }

    /// Compares as [`Lab::row`] does, and also with a version of the other side that uses all
    /// threads.
    pub fn row_in_parallel(
        &self,
        rows: &mut Vec<Comparison>,
        [table, op, beside]: [&'static str; 3],
        ours: &mut Side<'_>,
        theirs: &mut Side<'_>,
        theirs_all: Option<&mut Side<'_>>,
    ) -> Result<()> {
        if self.wants(table, op) {
            self.bar.set_message(format!("{table} {op}, {} pairs", self.n));
            let times = self.clock.compare(ours, theirs, theirs_all)?;
            rows.push(Comparison { table, op, beside, n: self.n, times });
        }
        Ok(())
    }
}

/// Fills a map that is created with memory for all pairs.
pub fn filled<K: Copy + Eq + Hash, V: Copy, S: Hasher>(keys: &[K], values: &[V]) -> HashMap<K, V, S> {
    let mut map = HashMap::with_capacity_and_hasher(keys.len(), S::default());
    for (&key, &value) in keys.iter().zip(values) {
        map.insert(key, value);
    }
    map
}

/// Makes a side that looks up all queries, and checks that `expected` of them are found.
pub fn lookups<A: Send>(
    expected: usize,
    mut look_up: impl FnMut() -> Result<Vec<Option<A>>> + Send,
) -> impl FnMut() -> Result<std::time::Duration> + Send {
    move || {
        let (time, answers) = timed(&mut look_up);
        let found = answers?.iter().flatten().count();
        ensure!(found == expected, "{found} keys were found and not {expected}");
        Ok(time)
    }
}
