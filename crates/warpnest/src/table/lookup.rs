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

/// The most queries that are looked up at once if the answers go to the host. A core then still has
/// the answers in its cache when it turns them into `Option`s.
const AT_ONCE: PerMachine<usize> = PerMachine { gpu: usize::MAX, core: 1 << 13 };

/// Returns the values of `queries`, in their order.
pub(crate) fn get_many<K: Key, V: Value>(
    table: &dyn ReadTable<K::Word, V::Word>,
    queries: &[K],
) -> Result<Vec<Option<V>>> {
    // Without queries there is no chunk, but an unusable table must return an error.
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

/// Writes the values of queries to `spare`, which is as long as `queries`. Device memory of the
/// last call is reused if it has the same size.
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

/// Runs `work` on chunks of the queries and of the memory for their answers. On a CPU the chunks
/// run on all cores; on a GPU one chunk has all queries.
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
    // SAFETY: there are as many answers as queries, and the caller borrows the answers mutably.
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
    // SAFETY: a flag is one byte, and only 0 and 1 are written to the bytes.
    let bytes = unsafe { std::slice::from_raw_parts_mut(flags.as_mut_ptr().cast::<u8>(), flags.len()) };
    contains_on_host(table, stream, queries, &mut [], bytes)?;
    Ok(flags)
}

/// Queues a lookup that tells whether each of `queries` is in the table.
pub(crate) fn contains_many_on<K: Key, V: words::ValueWord>(
    table: &dyn ReadTable<K::Word, V>,
    stream: &Stream,
    queries: &Buffer<K>,
) -> Result<Buffer<u32>> {
    let mut found = Buffer::uninitialized(table.device(), queries.len().div_ceil(32))?;
    contains_many_into(table, stream, queries, &mut found)?;
    Ok(found)
}

/// Queues a lookup that tells whether each of `queries` is in the table, and writes the found-bits.
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
    // SAFETY: there are enough found-words, and the caller borrows the words mutably.
    unsafe { table.find(stream, queries.words(), (None, found)) }
}
