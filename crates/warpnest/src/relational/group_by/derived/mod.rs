//! Aggregates that need a second look at the rows, after their groups are known.
//!
//! On a CPU, variances and counts of distinct values mostly take one pass (`on_cores`). Otherwise
//! all of the `jobs` begin with `codes`: a word of 32 bits for each row, equal for the rows of a
//! group. `count_distinct` groups rows by code and value, and then by code. `spread` computes
//! variances, from the deviations from the groups' means. `quantile` sorts the rows by code and
//! value. Each returns an element for each group in ascending order of the codes, which is then
//! brought into the order of the result.

mod codes;
mod count_distinct;
mod jobs;
mod on_cores;
mod quantile;
mod spread;

use super::compute::How;
use super::input::chosen;
use super::sort::SortInput;
use super::wanted::{Derived, Place, Query};
use crate::primitives::{Scratch, fill_all, scatter};
use crate::relational::columns::{OnDevice, Words, WordsOf, WordsRef, one_column};
use crate::{Buffer, InputError, Result, Stream};
use codes::{Codes, Rows};
use gpu_kernels::types::{KeyWord, ValueWord};
use jobs::{Job, Keyed};
use on_cores::derive_on_cores;
use quantile::Sorted;
use spread::Squares;

impl Query<'_> {
    /// Fails unless all derived aggregates exist.
    pub(super) fn check_derived(&self) -> Result<()> {
        let of_no_quantile = |derived: &Derived| match *derived {
            Derived::Quantile { quantile, .. } if !(0.0..=1.0).contains(&quantile) => Some(quantile),
            _ => None,
        };
        match self.derived.iter().find_map(of_no_quantile) {
            Some(asked) => Err(InputError::Quantile { asked }.into()),
            None => Ok(()),
        }
    }
}

/// Computes the derived aggregates of groups with the given keys, in the given memory, which has a
/// column for each. Their order is the order of the keys. `masks` are the query's masks.
pub(super) fn derive<K: KeyWord + ValueWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    (query, masks, how): (&Query<'_>, &[OnDevice<'_, u32>], How),
    input: &SortInput<'_, '_, K>,
    groups: &Buffer<K>,
    mut memory: Vec<Words>,
) -> Result<Vec<Words>> {
    let device = scratch.device().clone();
    memory.iter_mut().try_for_each(|column| column.resize(&device, groups.len()))?;
    if memory.is_empty() || groups.is_empty() {
        return Ok(memory);
    }
    let mut joined = None;
    let keys = one_column(stream, scratch, input.keys.lent(), &mut joined)?;
    let mask_of = |number: usize| query.mask_of(Place::Derived(number)).map(|mask| &*masks[mask]);
    let jobs = query.derived.iter().zip(&mut memory).enumerate();
    let jobs = jobs.map(|(number, (&derived, output))| Job { derived, mask: mask_of(number), output }).collect();
    let keyed = Keyed { stream, how, keys, groups };
    let jobs = derive_on_cores(&keyed, scratch, query, input.values, jobs)?;
    if !jobs.is_empty() {
        derive_by_codes(&keyed, scratch, query, input.values, jobs)?;
    }
    joined.into_iter().for_each(|joined| scratch.give_back(joined));
    Ok(memory)
}

/// Computes aggregates by codes of the groups.
fn derive_by_codes<K: KeyWord + ValueWord>(
    keyed: &Keyed<'_, K>,
    scratch: &mut Scratch,
    query: &Query<'_>,
    values: &[WordsOf<'_>],
    jobs: Vec<Job<'_>>,
) -> Result<()> {
    let Keyed { stream, how, keys, groups } = *keyed;
    let needs_ids = |job: &Job<'_>| job.mask.is_some() || matches!(job.derived, Derived::Spread { .. });
    let codes = Codes::new(stream, scratch, keys, groups, jobs.iter().any(needs_ids))?;
    let rows = Rows { stream, how, codes: codes.words(keys), groups: groups.len() };
    let mut kept = Kept::default();
    for job in jobs {
        let values = values[job.derived.column()].lent();
        if let Some(mask) = job.mask {
            masked(scratch, (&rows, &codes), query, (job.derived, values), mask, job.output)?;
        } else {
            let column = kept.compute(scratch, (&rows, &codes), query, (job.derived, values))?;
            bring(stream, scratch, column, &codes.order, job.output)?;
        }
    }
    kept.give_back(scratch);
    codes.give_back(scratch);
    Ok(())
}

/// Brings a column, in memory of the scratch, into the order of the result.
fn bring(stream: &Stream, scratch: &mut Scratch, column: Words, order: &Buffer<u32>, output: &mut Words) -> Result<()> {
    match (&column, output) {
        (Words::Narrow(found), Words::Narrow(output)) => scatter(stream, found, order, output)?,
        (Words::Wide(found), Words::Wide(output)) => scatter(stream, found, order, output)?,
        _ => unreachable!("the memory of an aggregate has its width"),
    }
    column.give_back(scratch);
    Ok(())
}

/// Computes an aggregate of the rows whose bit in the mask is set. For groups without such rows it
/// is 0 if it is a count, and a NaN if not.
fn masked(
    scratch: &mut Scratch,
    (rows, codes): (&Rows<'_>, &Codes),
    query: &Query<'_>,
    (derived, values): (Derived, WordsRef<'_>),
    mask: &Buffer<u32>,
    output: &mut Words,
) -> Result<()> {
    let Rows { stream, how, .. } = *rows;
    match output {
        Words::Narrow(output) => fill_all(stream, 0, output)?,
        Words::Wide(output) => fill_all(stream, f64::NAN.to_bits(), output)?,
    }
    let Some(codes) = codes.masked(rows, scratch, mask)? else { return Ok(()) };
    let values = match values {
        WordsRef::Narrow(words) => Words::Narrow(chosen(stream, scratch, words, mask)?),
        WordsRef::Wide(words) => Words::Wide(chosen(stream, scratch, words, mask)?),
    };
    let ids = codes.ids.as_ref().expect("masked rows have ids");
    let rows = Rows { stream, how, codes: ids, groups: codes.order.len() };
    let mut kept = Kept::default();
    let column = kept.compute(scratch, (&rows, &codes), query, (derived, values.lent()))?;
    bring(stream, scratch, column, &codes.order, output)?;
    values.give_back(scratch);
    kept.give_back(scratch);
    codes.give_back(scratch);
    Ok(())
}

/// What was computed for the last aggregate of its kind. The next one may need it too, if it is of
/// the same column.
#[derive(Default)]
struct Kept {
    squares: Option<(usize, Squares)>,
    sorted: Option<(usize, Sorted)>,
}

impl Kept {
    /// Returns an aggregate in the order of the codes, in memory of the scratch.
    fn compute(
        &mut self,
        scratch: &mut Scratch,
        (rows, codes): (&Rows<'_>, &Codes),
        query: &Query<'_>,
        (derived, values): (Derived, WordsRef<'_>),
    ) -> Result<Words> {
        let numbers = |column: usize| query.columns[column].numbers.expect("the column has numbers");
        match derived {
            Derived::CountDistinct(_) => rows.count_distinct(scratch, values),
            Derived::Spread { column, is_root } => {
                if self.squares.as_ref().is_none_or(|kept| kept.0 != column) {
                    self.squares.take().into_iter().for_each(|kept| kept.1.give_back(scratch));
                    let ids = codes.ids.as_ref().expect("rows have ids if a variance is wanted");
                    let squares = Squares::new(rows, scratch, ids, (values, numbers(column)))?;
                    self.squares = Some((column, squares));
                }
                let (_, squares) = self.squares.as_ref().expect("the squares were just computed");
                squares.spreads(rows, scratch, (query.ddof, is_root))
            }
            Derived::Quantile { column, quantile } => {
                if self.sorted.as_ref().is_none_or(|kept| kept.0 != column) {
                    self.sorted.take().into_iter().for_each(|kept| kept.1.give_back(scratch));
                    let sorted = Sorted::new(rows, scratch, values, numbers(column).0)?;
                    self.sorted = Some((column, sorted));
                }
                let (_, sorted) = self.sorted.as_ref().expect("the rows were just sorted");
                sorted.quantiles(rows, scratch, quantile)
            }
        }
    }

    fn give_back(self, scratch: &mut Scratch) {
        self.squares.into_iter().for_each(|kept| kept.1.give_back(scratch));
        self.sorted.into_iter().for_each(|kept| kept.1.give_back(scratch));
    }
}
