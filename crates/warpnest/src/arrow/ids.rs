//! Group-bys by keys of any types, which are first mapped to ids.

use super::aggregates::Inputs;
use super::columns::taken;
use super::keys::{KeyColumn, Part};
use super::memory::from_buffer;
use crate::primitives::{Scratch, gather};
use crate::relational::{Distinct, GroupBy, Order, Rows};
use crate::{Buffer, Device, Result, Stream, strings};
use arrow_array::{ArrayRef, UInt32Array};
use arrow_buffer::{NullBuffer, ScalarBuffer};

/// A column of words by which rows are compared.
enum Words {
    Narrow(ScalarBuffer<u32>),
    Wide(ScalarBuffer<u64>),
}

/// Groups by columns of any types, given with their names. Returns the keys and the aggregates.
pub(super) fn by_ids(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &[(&String, &ArrayRef)],
    inputs: &Inputs,
    order: Order,
) -> Result<(Vec<ArrayRef>, Vec<ArrayRef>)> {
    let words = words_of(scratch.device(), keys)?;
    // There is at least one column.
    let rows = words.iter().fold(None, with_column).unwrap_or_else(|| Rows::of(&[0u32; 0]));
    let rows = if order == Order::FirstSeen { rows.in_order_of_appearance() } else { rows };
    let Distinct { ids, first_rows, .. } = rows.distinct_on(stream, scratch)?;
    let mut query = GroupBy::new(&ids);
    // Ids are in the order of the first rows, so groups sorted by id are, too.
    query.order(Order::ByKey);
    let (groups, aggregates) = inputs.aggregates(stream, scratch, query)?;
    let mut kept = Buffer::uninitialized(scratch.device(), groups.len())?;
    gather(stream, &first_rows, groups.keys(), &mut kept)?;
    let first_rows = UInt32Array::new(from_buffer(stream, kept)?, None);
    let keys = keys.iter().map(|(name, keys)| taken(name, keys, &first_rows)).collect::<Result<_>>()?;
    Ok((keys, aggregates))
}

fn with_column<'w>(rows: Option<Rows<'w>>, words: &'w Words) -> Option<Rows<'w>> {
    Some(match (rows, words) {
        (None, Words::Narrow(words)) => Rows::of(&words[..]),
        (None, Words::Wide(words)) => Rows::of(&words[..]),
        (Some(rows), Words::Narrow(words)) => rows.and(&words[..]),
        (Some(rows), Words::Wide(words)) => rows.and(&words[..]),
    })
}

/// Returns columns in which two rows are equal if and only if their keys are equal. Nulls are equal
/// to each other.
fn words_of(device: &Device, keys: &[(&String, &ArrayRef)]) -> Result<Vec<Words>> {
    let (mut words, mut nulls) = (Vec::new(), Vec::new());
    for (name, keys) in keys {
        let column = KeyColumn::new(name, keys)?;
        for part in column.parts {
            let part = match &column.nulls {
                Some(nulls) => part.with_equal_nulls(nulls),
                None => part,
            };
            words.push(match part {
                Part::Narrow(words) => Words::Narrow(words),
                Part::Wide(words) => Words::Wide(words),
                Part::Texts(texts) => Words::Narrow(strings::unique(device, &texts)?.ids.into()),
            });
        }
        nulls.extend(column.nulls);
    }
    words.extend(nulls.chunks(32).map(|nulls| Words::Narrow(null_bits(nulls))));
    Ok(words)
}

/// Returns a word for each row. Bit `i` is set if the row is null in column `i`. There are at most
/// 32 columns.
fn null_bits(columns: &[NullBuffer]) -> ScalarBuffer<u32> {
    let mut bits = vec![0u32; columns.first().map_or(0, NullBuffer::len)];
    for (number, nulls) in columns.iter().enumerate() {
        bits.iter_mut().zip(nulls).for_each(|(bits, is_valid)| *bits |= u32::from(!is_valid) << number);
    }
    bits.into()
}
