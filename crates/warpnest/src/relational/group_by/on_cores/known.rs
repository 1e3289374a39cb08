//! Aggregates of groups whose keys are known, written in the order of these keys.

use super::pairs::Pairs;
use super::parts::{Divided, bits_for};
use super::rows::{Rows, elements};
use super::states::{Fold, States, Values};
use super::table::{AT_ONCE, Hash, Table};
use super::{ROWS_AT_ONCE, fit_together};
use crate::hash::constants;
use crate::primitives::Scratch;
use crate::relational::columns::WordsRef;
use crate::runtime::engine::share;
use crate::{Buffer, Result, Stream};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, ValueWord};
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The fewest groups whose distinct values are counted in parts by key. Fewer would make parts of
/// very different sizes.
const MIN_GROUPS_OF_PAIRS: usize = 1 << 10;
/// The count of rows of a part whose distinct values are counted, if that makes neither too few nor
/// too many parts.
const ROWS_OF_PART: usize = 1 << 11;

/// What is computed of groups.
#[derive(Clone, Debug, Default)]
pub(in crate::relational::group_by) struct OfKnown {
    /// The aggregates that are folded row by row.
    pub folds: Vec<Fold>,
    /// The columns whose distinct values are counted.
    pub distinct: Vec<usize>,
}

/// Returns whether distinct values of this many groups are counted here.
pub(in crate::relational::group_by) fn counts_distinct(groups: usize) -> bool {
    groups >= MIN_GROUPS_OF_PAIRS
}

/// Computes aggregates of groups, and writes them to `outputs`, first the folds. `groups` has the
/// key of each group; all keys of rows are there. Returns false, and does nothing, if there are no
/// rows, or if this is no CPU whose memory the host can read.
pub(in crate::relational::group_by) fn group_known<K: KeyWord + ValueWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    (keys, columns): (&Buffer<K>, &[WordsRef<'_>]),
    (groups, wanted, seed): (&Buffer<K>, &OfKnown, u64),
    outputs: &[WordsRef<'_>],
) -> Result<bool> {
    let Some(cores) = stream.machine().cores() else { return Ok(false) };
    let Some(rows) = Rows::of(stream, keys, columns.iter().copied().map(Some))? else { return Ok(false) };
    let Some(groups) = elements(stream, groups)? else { return Ok(false) };
    let tasks = cores.min(rows.keys.len().div_ceil(ROWS_AT_ONCE));
    let known = Known { groups, wanted, hash: Hash { constants: constants(seed), skipped: 0 } };
    if wanted.distinct.is_empty() && fit_together(groups.len() as f64, rows.keys.len(), tasks) {
        let states = known.together(&rows, tasks);
        write(stream, outputs, |outputs| states.write(outputs, 0..))?;
    } else {
        known.by_parts(stream, scratch, (&rows, cores), outputs)?;
    }
    Ok(true)
}

/// Lets `work` write the outputs.
fn write(stream: &Stream, outputs: &[WordsRef<'_>], work: impl FnOnce(&[Global<u64>])) -> Result<()> {
    stream.batch(|batch| {
        let outputs: Vec<_> = outputs.iter().map(|words| words.write(batch)).collect();
        batch.queue()?.synchronize()?;
        work(&outputs);
        Ok(())
    })
}

/// The groups, and what is computed of them.
struct Known<'k, K> {
    groups: &'k [K],
    wanted: &'k OfKnown,
    hash: Hash,
}

impl<'k, K: KeyWord + ValueWord> Known<'k, K> {
    /// Returns the states of all groups, in their order. Each task adds some of the rows to states
    /// of its own, and then the caller combines them.
    fn together(&self, rows: &Rows<'_, K>, tasks: usize) -> States<'k> {
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let all_rows = rows.keys.len();
        share(tasks as u32, &|_| {
            let mut own = OfPart::new(self);
            own.begin(self.groups, 0);
            // At most as many steps as there are rows.
            loop {
                let first = next.fetch_add(ROWS_AT_ONCE, Ordering::Relaxed);
                if first >= all_rows {
                    break;
                }
                own.add(rows, first..all_rows.min(first + ROWS_AT_ONCE));
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push(own.states);
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter();
        let mut all = done.next().unwrap_or_else(|| States::new(&self.wanted.folds));
        let ids: Vec<u32> = (0..self.groups.len() as u32).collect();
        done.for_each(|other| all.combine(&ids, ids.len(), (&other, 0)));
        all
    }

    /// Computes the aggregates in parts by the hashes of the keys, and writes them.
    fn by_parts(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        (rows, cores): (&Rows<'_, K>, usize),
        outputs: &[WordsRef<'_>],
    ) -> Result<()> {
        let of_pairs = if self.wanted.distinct.is_empty() { 0 } else { rows.keys.len() / ROWS_OF_PART };
        let hash = Hash { skipped: bits_for(self.groups.len(), of_pairs), ..self.hash };
        let groups = Rows { keys: self.groups, columns: vec![Values::RowNumbers(0)] };
        let groups = Divided::new(stream, scratch, &groups, (hash, cores))?;
        let divided = Divided::new(stream, scratch, rows, (hash, cores))?;
        let (of_groups, of_rows) = (groups.rows(stream)?, divided.rows(stream)?);
        let Values::Narrow(places) = of_groups.columns[0] else { unreachable!("row numbers are narrow") };
        // The largest parts come first, so that no core is left with one at the end.
        let mut parts: Vec<[Range<usize>; 2]> = divided.parts().zip(groups.parts()).map(Into::into).collect();
        parts.sort_unstable_by_key(|[rows, _]| Reverse(rows.len()));
        let (next, known) = (AtomicUsize::new(0), Known { hash, ..*self });
        write(stream, outputs, |outputs| {
            share(cores as u32, &|_| {
                let mut own = OfPart::new(&known);
                // At most as many steps as there are parts.
                while let Some([rows, groups]) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    own.begin(&of_groups.keys[groups.clone()], rows.len());
                    own.add(&of_rows, rows.clone());
                    own.write(outputs, &places[groups.clone()]);
                }
            });
        })?;
        drop((of_groups, of_rows));
        divided.give_back(scratch);
        groups.give_back(scratch);
        Ok(())
    }
}

/// The groups of a part or of a task, and their aggregates.
struct OfPart<'k, K> {
    table: Table<K>,
    states: States<'k>,
    distinct: Vec<Pairs>,
}

impl<'k, K: KeyWord> OfPart<'k, K> {
    fn new(known: &Known<'k, K>) -> Self {
        let Known { wanted, hash, .. } = known;
        let distinct = wanted.distinct.iter().map(|&column| Pairs::new(column, *hash)).collect();
        Self { table: Table::new(*hash), states: States::new(&wanted.folds), distinct }
    }

    /// Begins with these groups, whose ids are their indices.
    fn begin(&mut self, groups: &[K], rows: usize) {
        let mut ids = [0; AT_ONCE];
        self.table.clear(groups.len());
        groups.chunks(AT_ONCE).for_each(|keys| self.table.find(keys, &mut ids));
        self.states.clear();
        self.states.reserve(groups.len());
        self.distinct.iter_mut().for_each(|pairs| pairs.clear(groups.len(), rows));
    }

    /// Adds rows to their groups.
    fn add(&mut self, rows: &Rows<'_, K>, range: Range<usize>) {
        let (mut groups, mut columns) = ([0; AT_ONCE], Vec::new());
        for first in range.clone().step_by(AT_ONCE) {
            let keys = &rows.keys[first..range.end.min(first + AT_ONCE)];
            self.table.find(keys, &mut groups);
            columns.clear();
            columns.extend(rows.columns.iter().map(|column| column.from(first)));
            let groups = &groups[..keys.len()];
            self.states.add(groups, self.table.keys.len(), &columns);
            self.distinct.iter_mut().for_each(|pairs| pairs.add(groups, &columns));
        }
    }

    /// Writes the aggregates of the groups to these indices of the outputs.
    fn write(&self, outputs: &[Global<u64>], places: &[u32]) {
        let (folded, distinct) = outputs.split_at(outputs.len() - self.distinct.len());
        self.states.write(folded, places.iter().map(|&place| place.into()));
        self.distinct.iter().zip(distinct).for_each(|(pairs, output)| pairs.write(output.cast(), places));
    }
}
