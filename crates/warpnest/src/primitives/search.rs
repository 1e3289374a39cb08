//! Binary search.

use crate::{Answers, Buffer, Result, Stream};
use gpu_kernels::sorted::{BinarySearch, BinarySearchParams};
use gpu_kernels::types::{KeyWord, ValueWord};

/// Queues the lookup of `queries` among sorted `keys`, by binary search. If several keys are equal,
/// the answer is the value of the first of these keys. After [`sort_pairs`](super::sort_pairs),
/// this is the baseline with which the papers compare their hash tables.
///
/// A query among `n` keys takes about `lg n` dependent reads. If the keys are not sorted, the
/// answers are meaningless.
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn binary_search<K: KeyWord, V: ValueWord>(
    stream: &Stream,
    (keys, values): (&Buffer<K>, &Buffer<V>),
    queries: &Buffer<K>,
    answers: &mut Answers<V>,
) -> Result<()> {
    crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
    crate::error::same_length(("the queries", queries.len()), ("the answers", answers.len()))?;
    let plan = BinarySearchParams { keys: keys.len() as u64, queries: queries.len() as u64 };
    stream.batch(|batch| {
        let search = BinarySearch::<K, V> {
            keys: batch.read(keys),
            values: batch.read(values),
            queries: batch.read(queries),
            values_out: batch.write(&answers.values),
            found: batch.write(&answers.found),
            plan,
        };
        // SAFETY: there are as many values as keys, and as many answers and found-words as the
        // queries need.
        unsafe { batch.launch(&search, plan.queries) }
    })
}
