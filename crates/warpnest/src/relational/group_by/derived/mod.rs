//! Aggregates that need a second look at the rows, after their groups are known.
//!
//! All of them begin with `codes`: a word of 32 bits for each row, equal for the rows of a group.
//! `count_distinct` groups rows by code and value, and then by code. `spread` computes variances,
//! from the deviations from the groups' means. `quantile` sorts the rows by code and value. Each
//! returns an element for each group in ascending order of the codes, which is then brought into
//! the order of the result.

mod codes;
mod count_distinct;
mod quantile;
mod spread;

use super::compute::How;
use super::input::chosen;
use super::sort::SortInput;
use super::wanted::{Derived, Place, Query};
use crate::primitives::{Scratch, fill_all, scatter};
use crate::relational::columns::{KeysOnDevice, OnDevice, Words, WordsRef};
use crate::types::KeyOrder;
use crate::{Buffer, InputError, Result, Stream};
use codes::{Codes, Rows};
use gpu_kernels::types::{KeyWord, ValueWord};
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
    let joined = match input.keys {
        KeysOnDevice::One(_) => None,
        KeysOnDevice::Two(_) => {
            let joined = scratch.lend::<K>(input.rows as usize)?;
            // SAFETY: there is a key for each row.
            stream
                .batch(|batch| unsafe { input.keys.lent().encode(batch, KeyOrder::default(), batch.write(&joined)) })?;
            Some(joined)
        }
    };
    let keys = match (input.keys, &joined) {
        (KeysOnDevice::One(keys), _) => keys,
        (_, joined) => joined.as_ref().expect("two columns were joined"),
    };
    let needs_ids = query.derived.iter().any(|derived| matches!(derived, Derived::Spread { .. }));
    let mask_of = |number: usize| query.mask_of(Place::Derived(number));
    let is_masked = (0..query.derived.len()).any(|number| mask_of(number).is_some());
    let codes = Codes::new(stream, scratch, keys, groups, needs_ids || is_masked)?;
    let rows = Rows { stream, how, codes: codes.words(keys), groups: groups.len() };
    let mut kept = Kept::default();
    for (number, (&derived, output)) in query.derived.iter().zip(&mut memory).enumerate() {
        let values = input.values[derived.column()].lent();
        match mask_of(number) {
            None => {
                let column = kept.compute(scratch, (&rows, &codes), query, (derived, values))?;
                bring(stream, scratch, column, &codes.order, output)?;
            }
            Some(mask) => masked(scratch, (&rows, &codes), query, (derived, values), &masks[mask], output)?,
        }
    }
    kept.give_back(scratch);
    codes.give_back(scratch);
    joined.into_iter().for_each(|joined| scratch.give_back(joined));
    Ok(memory)
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
