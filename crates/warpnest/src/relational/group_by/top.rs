//! The groups with the greatest values of an aggregate.

use super::input::bits_where;
use super::memory::Grouped;
use super::wanted::{Query, Top};
use crate::primitives::{Scratch, fill_absent, gather, invert, iota, sort_pairs};
use crate::relational::columns::Words;
use crate::types::Plain;
use crate::{Buffer, Error, InputError, Result, Stream, Value};
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::relational::group_by::quantiles::{OrderValues, OrderValuesParams};
use gpu_kernels::types::{KeyWord, ValueWord};

impl Query<'_> {
    /// Fails unless the aggregate by which groups are kept belongs to the query.
    pub(super) fn check_top(&self) -> Result<()> {
        match self.top {
            Some(top) if top.query != self.number => Err(Error::Input(InputError::ForeignAggregate)),
            _ => Ok(()),
        }
    }
}

/// Keeps the groups with the greatest values of an aggregate, in their own memory. The first
/// `folded` columns are folded. Groups with a count of 0 are last, if there are `counts`.
pub(super) fn kept<K: KeyWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    top: Top,
    (keys, columns): Grouped<K>,
    (folded, counts): (usize, Option<Buffer<u32>>),
) -> Result<Grouped<K>> {
    let by = top.place.among(&columns, folded).ok_or(Error::Input(InputError::ForeignAggregate))?;
    let mut order = match by {
        Words::Narrow(words) => descending(stream, scratch, words, top.column, counts)?,
        Words::Wide(words) => descending(stream, scratch, words, top.column, counts)?,
    };
    order.set_length(top.count.min(keys.len()));
    let keys = front(stream, scratch, keys, &order)?;
    let front = |words: Words| {
        Ok(match words {
            Words::Narrow(words) => Words::Narrow(front(stream, scratch, words, &order)?),
            Words::Wide(words) => Words::Wide(front(stream, scratch, words, &order)?),
        })
    };
    let columns = columns.into_iter().map(front).collect::<Result<_>>()?;
    scratch.give_back(order);
    Ok((keys, columns))
}

/// Returns the indices of values in descending order, in memory of the scratch. The order of equal
/// values is kept. Values with a count of 0 are last.
fn descending<W: KeyWord + ValueWord + Value>(
    stream: &Stream,
    scratch: &mut Scratch,
    values: &Buffer<W>,
    column: ColumnParams,
    counts: Option<Buffer<u32>>,
) -> Result<Buffer<u32>> {
    let (mut words, mut order) = (scratch.lend::<W>(values.len())?, scratch.lend::<u32>(values.len())?);
    let plan = OrderValuesParams { column, items: values.len() as u64, is_descending: 1, padding: 0 };
    stream.batch(|batch| {
        let kernel = OrderValues { values: batch.read(values), ranks: batch.write(&words), plan };
        // SAFETY: there is a word for each value.
        unsafe { batch.launch(&kernel, plan.items) }
    })?;
    if let Some(counts) = counts {
        let flags = bits_where(stream, scratch, &counts, 0)?;
        invert(stream, &flags, plan.items)?;
        fill_absent(stream, &flags, W::from_u64(u64::MAX), &mut words)?;
        scratch.give_back(flags);
        scratch.give_back(counts);
    }
    iota(stream, &mut order)?;
    sort_pairs(stream, scratch, &mut words, &mut order)?;
    scratch.give_back(words);
    Ok(order)
}

/// Moves the elements with the given indices to the front of their buffer, and leaves no others.
fn front<T: Plain>(
    stream: &Stream,
    scratch: &mut Scratch,
    mut buffer: Buffer<T>,
    indices: &Buffer<u32>,
) -> Result<Buffer<T>> {
    let mut gathered = scratch.lend::<T>(indices.len())?;
    gather(stream, &buffer, indices, &mut gathered)?;
    buffer.set_length(indices.len());
    buffer.copy_from(stream, &gathered)?;
    scratch.give_back(gathered);
    Ok(buffer)
}
