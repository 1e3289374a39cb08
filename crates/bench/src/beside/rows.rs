//! What is compared: groups of operations on the same input.

use std::hash::Hash;

use anyhow::{Result, ensure};

use super::record::Comparison;
use super::timing::{Side, timed};
use super::{Lab, maps, sorted};

/// All groups; each makes its own input.
pub const GROUPS: [fn(&Lab<'_>) -> Result<Vec<Comparison>>; 10] = [
    sorted::sorts,
    sorted::map,
    maps::multi,
    maps::unique,
    maps::unique_skewed,
    maps::linear,
    maps::extendible,
    maps::built,
    maps::page,
    maps::sets,
];

impl Lab<'_> {
    /// Compares both sides, if the row was asked for.
    pub fn row(
        &self,
        rows: &mut Vec<Comparison>,
        [table, op, beside]: [&'static str; 3],
        ours: &mut Side<'_>,
        theirs: &mut Side<'_>,
    ) -> Result<()> {
        self.row_in_parallel(rows, [table, op, beside], ours, theirs, None)
    }

    /// Compares as [`Lab::row`] does, and with a form of the other side that uses all threads.
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

/// A `hashbrown` map with memory for all pairs, and the pairs in it.
pub fn filled<K: Copy + Eq + Hash, V: Copy>(keys: &[K], values: &[V]) -> hashbrown::HashMap<K, V> {
    let mut map = hashbrown::HashMap::with_capacity(keys.len());
    for (&key, &value) in keys.iter().zip(values) {
        map.insert(key, value);
    }
    map
}

/// A side that looks up all queries and checks that as many are found as expected.
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
