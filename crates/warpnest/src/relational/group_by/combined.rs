//! Merges the rows of each key into one row before they are inserted into a table.

use super::groups::Method;
use super::query::GroupBy;
use super::wanted::Wanted;
use crate::primitives::Scratch;
use crate::relational::columns::{Cast, Words, cast_words};
use crate::{Buffer, Key, Result, Stream, Value};
use gpu_kernels::primitives::reduce::SumKind;
use gpu_kernels::table::fold::Fold;
use gpu_kernels::types::{KeyWord, ValueWord};

/// Returns each key once, with the combined values of its rows, or with the count of its rows if
/// there are no values. Waits for the count of keys.
///
/// Sums of floating-point numbers are added as `f64`, and are the same in every run on one device.
///
/// # Errors
/// As for [`GroupBy::run_on`].
pub(crate) fn combined<K: KeyWord, V: ValueWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    values: Option<&Buffer<V>>,
    fold: Fold,
) -> Result<(Buffer<K>, Buffer<V>)> {
    // SAFETY: the branch is chosen by the words' sizes, so each word is cast to itself.
    unsafe {
        let (keys, combined) = match (K::BITS, V::BITS) {
            (32, 32) => {
                of_typed::<u32, u32>(stream, scratch, keys.as_type(), values.map(|words| words.as_type()), fold)?
            }
            (32, _) => {
                of_typed::<u32, u64>(stream, scratch, keys.as_type(), values.map(|words| words.as_type()), fold)?
            }
            (_, 32) => {
                of_typed::<u64, u32>(stream, scratch, keys.as_type(), values.map(|words| words.as_type()), fold)?
            }
            (..) => of_typed::<u64, u64>(stream, scratch, keys.as_type(), values.map(|words| words.as_type()), fold)?,
        };
        Ok((keys.into_buffer(), combined.into_buffer()))
    }
}

fn of_typed<K, V>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    values: Option<&Buffer<V>>,
    fold: Fold,
) -> Result<(Words, Words)>
where
    K: Key<Word = K> + KeyWord + ValueWord,
    V: Value<Word = V> + ValueWord,
{
    let (numbers, is_float) = ((fold.column(), fold.numbers()), fold.numbers() == SumKind::Float);
    let mut query = GroupBy::<K>::new(keys);
    match values {
        None => _ = query.count(),
        Some(values) => query.of_words(
            values,
            numbers,
            match (fold.is_sum(), fold.is_min()) {
                (true, _) => Wanted::Sum,
                (_, true) => Wanted::Min,
                (..) => Wanted::Max,
            },
        ),
    }
    if is_float && fold.is_sum() {
        query.method(Method::Sort);
    }
    let (keys, mut columns) = query.run_on(stream, scratch)?.into_parts();
    let column = columns.swap_remove(0);
    let memory = |length| Buffer::<V>::uninitialized(scratch.device(), length);
    // Counts have 32 bits, and sums have 64 bits.
    let combined = match (column, values.is_some() && !fold.is_sum()) {
        (column, true) => column,
        (Words::Narrow(counts), _) if is_float || V::BITS == 64 => {
            let kind = if is_float { Cast::Float } else { Cast::Bits };
            Words::of(cast_words(stream, &counts, memory(counts.len())?, kind)?)
        }
        (Words::Wide(sums), _) if V::BITS == 32 => {
            let kind = if is_float { Cast::Narrow } else { Cast::Bits };
            Words::of(cast_words(stream, &sums, memory(sums.len())?, kind)?)
        }
        (column, _) => column,
    };
    Ok((Words::of(keys), combined))
}
