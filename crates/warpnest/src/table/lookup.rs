//! Lookups of many keys at once, in any table.

use super::host_lookup::contains_on_host;
use super::input::keys_on;
use super::raw::ReadTable;
use crate::primitives::answers::bit;
use crate::relational::Column;
use crate::relational::columns::Source;
use crate::runtime::host_chunks::Chunks;
use crate::runtime::huge_pages::advise_huge_pages;
use crate::runtime::lent::Lent;
use crate::runtime::machine::PerMachine;
use crate::{Answers, Buffer, BufferSlice, Device, Key, Result, Stream, Value};
use gpu_kernels::types as words;
use std::mem::MaybeUninit;

/// The most queries that are answered at once if the answers go to the host: a core finds them in
/// its cache when it makes `Option`s of them.
const AT_ONCE: PerMachine<usize> = PerMachine { gpu: usize::MAX, core: 1 << 13 };

/// Returns the values of `queries`, in their order.
pub(crate) fn get_many<K: Key, V: Value>(
    table: &dyn ReadTable<K::Word, V::Word>,
    queries: &[K],
) -> Result<Vec<Option<V>>> {
    // No queries make no chunk, and a table that cannot answer says so all the same.
    table.check_usable()?;
    let mut values = Vec::with_capacity(queries.len());
    let spare = &mut values.spare_capacity_mut()[..queries.len()];
    advise_huge_pages(spare);
    if let Some(chunks) = Chunks::of(table.device(), queries.len(), size_of::<K>().max(size_of::<V>())) {
        let spare = spare.chunks_mut(chunks.rows);
        chunks.answer(queries, spare, |stream, memory: &mut Option<(Buffer<K>, Answers<V>)>, queries, spare| {
            write_answers(table, stream, memory, queries, spare)
        })?;
    } else {
        for_each_chunk(table.device(), queries, spare, |queries, spare| {
            let (device, stream) = (table.device(), table.device().default_stream());
            let queries = Lent::new(device, queries)?;
            let mut answers = Answers::uninitialized(device, queries.len())?;
            get_many_into(table, stream, &*queries, &mut answers)?;
            answers.write_to(stream, spare)
        })?;
    }
    // SAFETY: the answer to each query has been written.
    unsafe { values.set_len(queries.len()) };
    Ok(values)
}

/// Writes the values of queries to as many elements. Device memory from the last call is used again
/// if there were as many.
fn write_answers<K: Key, V: Value>(
    table: &dyn ReadTable<K::Word, V::Word>,
    stream: &Stream,
    memory: &mut Option<(Buffer<K>, Answers<V>)>,
    queries: &[K],
    spare: &mut [MaybeUninit<Option<V>>],
) -> Result<()> {
    let (asked, answers) = match memory {
        Some(memory) if memory.0.len() == queries.len() => memory,
        _ => {
            let rows = queries.len();
            let device = table.device();
            memory.insert((Buffer::uninitialized(device, rows)?, Answers::uninitialized(device, rows)?))
        }
    };
    asked.upload(stream, queries)?;
    get_many_into(table, stream, asked, answers)?;
    answers.write_to(stream, spare)
}

/// Runs `work` with chunks of the queries and the memory for their answers, on all cores of a CPU
/// if that is what answers; elsewhere with all of them.
pub(crate) fn for_each_chunk<K: Sync, A: Send>(
    device: &Device,
    queries: &[K],
    answers: &mut [A],
    work: impl Fn(&[K], &mut [A]) -> Result<()> + Sync,
) -> Result<()> {
    let at_once = device.machine().pick(AT_ONCE);
    #[cfg(feature = "cpu")]
    if queries.len() > at_once && rayon::current_num_threads() > 1 {
        use rayon::prelude::*;
        let chunks = queries.par_chunks(at_once).zip(answers.par_chunks_mut(at_once));
        return chunks.try_for_each(|(queries, answers)| work(queries, answers));
    }
    queries.chunks(at_once).zip(answers.chunks_mut(at_once)).try_for_each(|(queries, answers)| work(queries, answers))
}

/// Queues the lookup of `queries` into existing answers.
pub(crate) fn get_many_into<K: Key, V: Value>(
    table: &dyn ReadTable<K::Word, V::Word>,
    stream: &Stream,
    queries: &Buffer<K>,
    answers: &mut Answers<V>,
) -> Result<()> {
    crate::error::same_length(("the queries", queries.len()), ("the answers", answers.len()))?;
    // SAFETY: there are as many answers as queries, and the caller has them exclusively.
    unsafe { table.find(stream, queries.words(), (Some(answers.values.words()), &answers.found)) }
}

/// Returns whether each of `queries` is in the table, in their order.
pub(crate) fn contains_many<K: Key, V: words::ValueWord>(
    table: &dyn ReadTable<K::Word, V>,
    queries: Column<'_, K>,
) -> Result<Vec<bool>> {
    let (device, stream) = (table.device(), table.device().default_stream());
    let queries = match queries.0 {
        Source::Slice(queries) if Chunks::of(device, queries.len(), size_of::<K>()).is_some() => queries,
        _ => {
            let queries = keys_on(device, queries)?;
            let words = contains_many_on(table, stream, &*queries)?.download(stream)?;
            return Ok((0..queries.len()).map(|i| bit(&words, i)).collect());
        }
    };
    let mut flags = vec![false; queries.len()];
    advise_huge_pages(&raw mut *flags);
    // SAFETY: a byte for each flag, to which only 0 and 1 are written.
    let bytes = unsafe { std::slice::from_raw_parts_mut(flags.as_mut_ptr().cast::<u8>(), flags.len()) };
    contains_on_host(table, stream, queries, &mut [], bytes)?;
    Ok(flags)
}

/// Queues the lookup whether each of `queries` is in the table.
pub(crate) fn contains_many_on<K: Key, V: words::ValueWord>(
    table: &dyn ReadTable<K::Word, V>,
    stream: &Stream,
    queries: &Buffer<K>,
) -> Result<Buffer<u32>> {
    let mut found = Buffer::uninitialized(table.device(), queries.len().div_ceil(32))?;
    contains_many_into(table, stream, queries, &mut found)?;
    Ok(found)
}

/// Queues the lookup whether each of `queries` is in the table, into bits.
pub(crate) fn contains_many_into<K: Key, V: words::ValueWord>(
    table: &dyn ReadTable<K::Word, V>,
    stream: &Stream,
    queries: &Buffer<K>,
    found: &mut BufferSlice<u32>,
) -> Result<()> {
    crate::error::same_length(
        ("the queries, in words of 32,", queries.len().div_ceil(32)),
        ("the found-words", found.len()),
    )?;
    // SAFETY: there are enough found-words, and the caller has them exclusively.
    unsafe { table.find(stream, queries.words(), (None, found)) }
}
