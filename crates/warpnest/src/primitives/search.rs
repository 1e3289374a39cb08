//! Binary search.

use crate::{Answers, Buffer, Result, Stream};
use gpu_kernels::sorted::{BinarySearch, BinarySearchParams};
use gpu_kernels::types::{Key, Value};

/// Queues the lookup of `queries` among sorted `keys`, by binary search. If several keys are equal,
/// the answer is the value of the first of them. With [`sort_pairs`](super::sort_pairs) before it,
/// this is the baseline that the papers compare their tables with.
///
/// A query takes about `lg n` dependent reads. If the keys are not sorted, the answers are useless.
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn binary_search<K: Key, V: Value>(
    stream: &Stream,
    (keys, values): (&Buffer<K>, &Buffer<V>),
    queries: &Buffer<K>,
    answers: &mut Answers<V>,
) -> Result<()> {
    crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
    crate::error::same_length(("the queries", queries.len()), ("the answers", answers.len()))?;
    let search = BinarySearch::<K, V> {
        keys: keys.argument(),
        values: values.argument(),
        queries: queries.argument(),
        values_out: answers.values.argument(),
        found: answers.found.argument(),
        plan: BinarySearchParams { keys: keys.len() as u64, queries: queries.len() as u64 },
    };
    // SAFETY: there are as many values as keys, and as many answers and found-words as the queries
    // need.
    unsafe {
        stream.launch(&search, queries.len() as u64, &[keys, values, queries], &[&answers.values, &answers.found])
    }
}
