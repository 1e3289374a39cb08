//! Group-by on the cores of a CPU.
//!
//! A thread finds the groups of a thousand `rows` in its `table` and adds their values to the
//! `states` of these groups, one aggregate after the other. If a `sample` shows few groups, each
//! core has a table for some of the rows, and the tables are merged. If it shows many, no cache
//! holds such a table. Then rows are first divided into `parts` by the hashes of their keys, so
//! that no key is in two parts, as in `distinct`.

mod known;
mod pairs;
mod parts;
mod rows;
mod sample;
mod squares;
mod states;
mod table;

pub(super) use known::{OfKnown, counts_distinct, group_known};
pub(in crate::relational) use sample::Sample;
pub(super) use states::Fold;

use super::hot_and_bins::OnChip;
use super::outputs::{ChipInput, Computed};
use crate::hash::constants;
use crate::primitives::Scratch;
use crate::relational::columns::RowKeys;
use crate::runtime::engine::share;
use crate::{Result, Stream};
use gpu_kernels::types::{KeyWord, ValueWord};
use parts::by_parts;
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::SeedableRng;
use rows::{Grouped, Rows};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use table::Hash;

/// The most groups of a table that a core fills with any rows. A larger one makes more cache misses
/// than dividing the rows costs.
const MOST_TOGETHER: f64 = 24_000.0;
/// The count of rows that a core takes at once. Fewer are aggregated before another core has woken
/// up.
const ROWS_AT_ONCE: usize = 1 << 14;
/// The most groups that one core merges, as a share of the rows of each core.
const MERGED_SHARE: f64 = 0.125;

/// Aggregates the rows of each key in one pass for all columns, if this is a CPU whose memory the
/// host can read. Otherwise, and if there are no rows or two columns of keys, returns `None`, and
/// nothing is done.
pub(super) fn group_on_cores<K: KeyWord + ValueWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    input: &ChipInput<'_, K>,
    computed: &mut Computed<K>,
) -> Result<Option<OnChip>> {
    let Some(cores) = stream.machine().cores() else { return Ok(None) };
    let RowKeys::One(keys) = input.keys else { return Ok(None) };
    let words = input.columns.iter().map(|column| column.words);
    let Some(rows) = Rows::of(stream, keys, words)? else { return Ok(None) };
    let (folds, all_rows) = (Fold::all(computed), rows.keys.len());
    let hash = Hash { constants: constants(input.seed), skipped: 0 };
    let mut random = Xoshiro256StarStar::seed_from_u64(input.seed);
    let expected = Sample::of(rows.keys, hash.constants, &mut random).keys().min(all_rows as f64);
    let tasks = cores.min(all_rows.div_ceil(ROWS_AT_ONCE));
    if !fit_together(expected, all_rows, tasks) {
        let groups = by_parts(stream, scratch, (&rows, &folds), (hash, expected as usize), computed)?;
        return Ok(Some(OnChip { estimated_groups: groups as u64, ..OnChip::default() }));
    }
    let all = together(&rows, &folds, (hash, expected as usize), tasks);
    let groups = all.len() as u64;
    computed.reserve(scratch.device(), groups)?;
    computed.set_length(groups);
    stream.batch(|batch| {
        let (keys, outputs) = (batch.write(&computed.keys), Fold::outputs(computed, batch));
        batch.queue()?.synchronize()?;
        all.write((keys, &outputs), 0);
        Ok(())
    })?;
    Ok(Some(OnChip { estimated_groups: groups, hot_rows: all_rows as u64, overflowed: false }))
}

/// Returns whether each task aggregates any rows, rather than parts of them by key.
fn fit_together(groups: f64, rows: usize, tasks: usize) -> bool {
    let merged = groups * (tasks - 1) as f64;
    groups <= MOST_TOGETHER && merged <= MERGED_SHARE * (rows / tasks) as f64
}

/// Returns the groups of all rows. Each task fills a table with some of the rows, and then the
/// caller merges the tables.
fn together<'f, K: KeyWord>(
    rows: &Rows<'_, K>,
    folds: &'f [Fold],
    (hash, expected): (Hash, usize),
    tasks: usize,
) -> Grouped<'f, K> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let all_rows = rows.keys.len();
    share(tasks as u32, &|_| {
        let mut own = Grouped::new(hash, folds);
        own.clear(expected);
        // At most as many steps as there are rows.
        loop {
            let first = next.fetch_add(ROWS_AT_ONCE, Ordering::Relaxed);
            if first >= all_rows {
                break;
            }
            own.add(rows, first..all_rows.min(first + ROWS_AT_ONCE));
        }
        done.lock().unwrap_or_else(PoisonError::into_inner).push(own);
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter();
    let mut all = done.next().unwrap_or_else(|| Grouped::new(hash, folds));
    done.for_each(|other| all.merge(&other));
    all
}
