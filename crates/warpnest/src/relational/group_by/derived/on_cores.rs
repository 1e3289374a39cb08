//! Counts of distinct values and variances on the cores of a CPU, in one pass over the rows.

use super::jobs::{Job, Keyed};
use crate::Result;
use crate::primitives::Scratch;
use crate::relational::columns::{Words, WordsOf, WordsRef};
use crate::relational::group_by::input::chosen;
use crate::relational::group_by::on_cores::{Fold, OfKnown, counts_distinct, group_known};
use crate::relational::group_by::wanted::{Derived, Query};
use gpu_kernels::types::{KeyWord, ValueWord};

/// Computes the aggregates for which cores have a way of their own, if these are cores. Returns the
/// others.
pub(super) fn derive_on_cores<'j, K: KeyWord + ValueWord>(
    keyed: &Keyed<'_, K>,
    scratch: &mut Scratch,
    query: &Query<'_>,
    values: &[WordsOf<'_>],
    jobs: Vec<Job<'j>>,
) -> Result<Vec<Job<'j>>> {
    let Keyed { stream, how, keys, groups } = *keyed;
    if stream.machine().cores().is_none() || !how.hashes(query, keys.len() as u64) {
        return Ok(jobs);
    }
    let is_own = |job: &Job<'_>| match job.derived {
        Derived::CountDistinct(_) => counts_distinct(groups.len()),
        Derived::Spread { .. } => !how.is_reproducible,
        Derived::Quantile { .. } => false,
    };
    let (own, mut others): (Vec<_>, Vec<_>) = jobs.into_iter().partition(is_own);
    let (masked, mut own): (Vec<_>, Vec<_>) = own.into_iter().partition(|job| job.mask.is_some());
    if !compute(keyed, scratch, query, &mut own, &|column| values[column].lent())? {
        others.extend(own);
    }
    for mut job in masked {
        let mask = job.mask.expect("the job has a mask");
        let keys = chosen(stream, scratch, keys, mask)?;
        let values = match values[job.derived.column()].lent() {
            WordsRef::Narrow(words) => Words::Narrow(chosen(stream, scratch, words, mask)?),
            WordsRef::Wide(words) => Words::Wide(chosen(stream, scratch, words, mask)?),
        };
        let keyed = Keyed { keys: &keys, ..*keyed };
        let is_done = compute(&keyed, scratch, query, std::slice::from_mut(&mut job), &|_| values.lent())?;
        values.give_back(scratch);
        scratch.give_back(keys);
        if !is_done {
            others.push(job);
        }
    }
    Ok(others)
}

/// Computes aggregates of the columns that `values` returns. Returns whether that was possible.
fn compute<'v, K: KeyWord + ValueWord>(
    keyed: &Keyed<'_, K>,
    scratch: &mut Scratch,
    query: &Query<'_>,
    jobs: &mut [Job<'_>],
    values: &dyn Fn(usize) -> WordsRef<'v>,
) -> Result<bool> {
    let Keyed { stream, how, keys, groups } = *keyed;
    if jobs.is_empty() {
        return Ok(true);
    }
    // The first outputs are the folds'.
    jobs.sort_by_key(|job| matches!(job.derived, Derived::CountDistinct(_)));
    let columns: Vec<WordsRef<'_>> = jobs.iter().map(|job| values(job.derived.column())).collect();
    let mut wanted = OfKnown::default();
    for (number, job) in jobs.iter().enumerate() {
        if let Derived::Spread { column, is_root } = job.derived {
            let (params, _) = query.columns[column].numbers.expect("the column has numbers");
            wanted.folds.push(Fold::Spread { column: number, params, ddof: query.ddof, is_root });
        } else {
            wanted.distinct.push(number);
        }
    }
    let outputs: Vec<_> = jobs.iter().map(|job| job.output.lent()).collect();
    group_known(stream, scratch, (keys, &columns), (groups, &wanted, how.seed()), &outputs)
}
