//! Lookups of many keys at once, in any table.

use super::answers::bit;
use super::raw::RawTable;
use crate::runtime::lent::Lent;
use crate::{Answers, Buffer, BufferSlice, Device, Key, Result, Stream, Value};
use gpu_kernels::types as words;

/// Returns the number of queries that are answered at once if the answers go to the host. It is all
/// of them, unless a core is to find the answers in its cache when it makes `Option`s of them.
fn queries_at_once(device: &Device) -> usize {
    match device.engine().cores() {
        None => usize::MAX,
        Some(1) => 1 << 13,
        // This many can be divided among all cores.
        Some(cores) => cores << 15,
    }
}

/// Returns the values of `queries`, in their order.
pub fn get_many<K: Key, V: Value>(table: &impl RawTable<K::Word, V::Word>, queries: &[K]) -> Result<Vec<Option<V>>> {
    // No queries make no chunk, and a table that cannot answer says so all the same.
    table.check_usable()?;
    let device = table.device();
    let stream = device.default_stream();
    let mut values = Vec::with_capacity(queries.len());
    for queries in queries.chunks(queries_at_once(device)) {
        let queries = Lent::new(device, queries)?;
        let mut answers = Answers::uninitialized(device, queries.len())?;
        get_many_into(table, stream, &*queries, &mut answers)?;
        answers.append_to(stream, &mut values)?;
    }
    Ok(values)
}

/// Queues the lookup of `queries` into existing answers.
pub fn get_many_into<K: Key, V: Value>(
    table: &impl RawTable<K::Word, V::Word>,
    stream: &Stream,
    queries: &Buffer<K>,
    answers: &mut Answers<V>,
) -> Result<()> {
    crate::error::same_length(("the queries", queries.len()), ("the answers", answers.len()))?;
    // SAFETY: there are as many answers as queries, and the caller has them exclusively.
    unsafe { table.find(stream, queries.words(), Some(answers.values.words()), &answers.found) }
}

/// Returns whether each of `queries` is in the table, in their order.
pub fn contains_many<K: Key, V: words::ValueWord>(
    table: &impl RawTable<K::Word, V>,
    queries: &[K],
) -> Result<Vec<bool>> {
    let stream = table.device().default_stream();
    let words = contains_many_on(table, stream, &*Lent::new(table.device(), queries)?)?.download(stream)?;
    Ok((0..queries.len()).map(|i| bit(&words, i)).collect())
}

/// Queues the lookup whether each of `queries` is in the table.
pub fn contains_many_on<K: Key, V: words::ValueWord>(
    table: &impl RawTable<K::Word, V>,
    stream: &Stream,
    queries: &Buffer<K>,
) -> Result<Buffer<u32>> {
    let mut found = Buffer::uninitialized(table.device(), queries.len().div_ceil(32))?;
    contains_many_into(table, stream, queries, &mut found)?;
    Ok(found)
}

/// Queues the lookup whether each of `queries` is in the table, into bits.
pub fn contains_many_into<K: Key, V: words::ValueWord>(
    table: &impl RawTable<K::Word, V>,
    stream: &Stream,
    queries: &Buffer<K>,
    found: &mut BufferSlice<u32>,
) -> Result<()> {
    crate::error::same_length(
        ("the queries, in words of 32,", queries.len().div_ceil(32)),
        ("the found-words", found.len()),
    )?;
    // SAFETY: there are enough found-words, and the caller has them exclusively.
    unsafe { table.find(stream, queries.words(), None, found) }
}
