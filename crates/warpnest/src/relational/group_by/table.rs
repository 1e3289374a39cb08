//! Group-by by one hash table in memory: of few rows on a GPU, and with a capacity for the groups.

use super::bounded::Bound;
use super::hot_and_bins::ChipInput;
use super::outputs::Computed;
use crate::hash::constants;
use crate::primitives::Scratch;
use crate::runtime::machine::{Machine, PerMachine};
use crate::{Buffer, Result, Stream};
use gpu_kernels::relational::group_by::Wanted;
use gpu_kernels::relational::group_by::table::{GroupRows, GroupRowsParams, WriteGroups, WriteGroupsParams, answer};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Payload, Scalar, ValueWord, WordOf};

/// The most rows that are grouped in one table: a sample and bins are faster for more. On cores
/// they always are.
const MOST_ROWS: PerMachine<u64> = PerMachine { gpu: 1 << 20, core: 0 };

/// Returns whether so many rows are grouped in one table, without a capacity for the groups.
pub(in crate::relational) fn fits_table(machine: Machine, rows: u64) -> bool {
    (1..=machine.pick(MOST_ROWS)).contains(&rows)
}

/// The layout of the scratch, in 64-bit words: two counts of groups, then the slots and their
/// aggregates. All are 0 at first.
#[derive(Clone, Copy, Debug)]
struct Layout {
    slot_bits: u32,
    sums: u64,
    counts: u64,
    minima: u64,
    maxima: u64,
    words: u64,
}

/// The word of the count of groups that were found, unless there is other memory for it, and of the
/// count of those that were written.
const FOUND: u64 = 0;
const WRITTEN: u64 = 1;
/// The first word of the slots.
const SLOTS: u64 = 2;

impl Layout {
    fn new<W: Scalar>(capacity: u64, wanted: Wanted) -> Self {
        // At most half of the slots are taken, unless that is more slots than hashes. Four slots or
        // more make every array begin at a multiple of 16 bytes.
        let slots = (2 * capacity).next_power_of_two().clamp(4, 1 << 32);
        let of = |is_wanted: bool, bits: u32| if is_wanted { slots * bits as u64 / 64 } else { 0 };
        let sums = SLOTS + slots / 2;
        let counts = sums + of(wanted.sums, 64);
        let minima = counts + of(wanted.counts, 32);
        let maxima = minima + of(wanted.minima, W::BITS);
        let words = maxima + of(wanted.maxima, W::BITS);
        Self { slot_bits: slots.trailing_zeros(), sums, counts, minima, maxima, words }
    }

    fn slots(&self) -> u64 {
        1 << self.slot_bits
    }
}

/// What is computed of rows and groups besides the aggregates.
#[derive(Debug, Default)]
pub(in crate::relational) struct OfRows<'o> {
    /// The first row of each group, in memory that becomes as long as the memory of the keys.
    pub firsts: Option<&'o mut Buffer<u32>>,
    /// A word for each row: the index of its group, or the first row of its group.
    pub answers: Option<(&'o mut Buffer<u32>, Answer)>,
}

/// What each row gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::relational) enum Answer {
    Group,
    FirstRow,
}

/// Aggregates the rows of each key, and writes the groups in any order. Without a bound, the
/// outputs become as long as the groups, for whose count this waits. With a bound, they become as
/// long as its capacity, and new memory of keys is 0 at first, so that all elements are keys.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub(in crate::relational) fn group_in_table<K: KeyWord + ValueWord, V: Payload>(
    stream: &Stream,
    scratch: &mut Scratch,
    input: ChipInput<'_, K, V>,
    computed: &mut Computed<K, WordOf<V>>,
    of_rows: OfRows<'_>,
    bound: Option<Bound<'_>>,
) -> Result<()> {
    let (device, rows) = (scratch.device().clone(), input.keys.len());
    let wanted = computed.outputs(input.column).wanted();
    let capacity = bound.map_or(rows, |bound| bound.capacity.min(rows)) as u64;
    let layout = Layout::new::<WordOf<V>>(capacity, wanted);
    let OfRows { mut firsts, answers } = of_rows;
    let slots_of_rows = answers.is_some().then(|| scratch.lend::<u32>(rows)).transpose()?;
    let words = scratch.reserve(layout.words)?;
    let table = Table { stream, input, layout, wanted, words };
    table.group(slots_of_rows.as_ref(), capacity, bound.map(|bound| bound.count))?;
    let groups = match bound {
        None => words.download_at(stream, FOUND as usize)?,
        Some(Bound { capacity, .. }) => {
            if computed.keys.capacity() < capacity {
                computed.keys.fit_at_least(&device, capacity)?;
                computed.keys.set_bytes(stream, 0)?;
            }
            capacity as u64
        }
    };
    computed.reserve(&device, groups)?;
    computed.set_length(groups);
    if let Some(firsts) = &mut firsts {
        firsts.fit_at_least(&device, groups as usize)?;
        firsts.set_length(groups as usize);
    }
    let answer = answers.as_ref().map_or(Answer::Group, |(_, answer)| *answer);
    table.write(computed, firsts.as_deref(), answer)?;
    if let (Some((answers, _)), Some(slots_of_rows)) = (answers, slots_of_rows) {
        answers.fit_at_least(&device, rows)?;
        answers.set_length(rows);
        let slots = words.elements_at::<u32>(SLOTS, layout.slots() as usize);
        crate::primitives::gather(stream, &slots, &slots_of_rows, answers)?;
        scratch.give_back(slots_of_rows);
    }
    Ok(())
}

/// The rows, and the table in the scratch.
struct Table<'t, K, V: Payload> {
    stream: &'t Stream,
    input: ChipInput<'t, K, V>,
    layout: Layout,
    wanted: Wanted,
    words: &'t Buffer<u64>,
}

/// The arrays of the table, in the device's memory.
struct Arrays<W> {
    slots: Global<u32>,
    sums: Global<u64>,
    counts: Global<u32>,
    minima: Global<W>,
    maxima: Global<W>,
}

impl<K: KeyWord + ValueWord, V: Payload> Table<'_, K, V> {
    /// Returns the arrays of the table that begins at `words`. What is not wanted is null.
    fn arrays(&self, words: Global<u64>) -> Arrays<WordOf<V>> {
        let Self { layout, wanted, .. } = *self;
        let part = |is_wanted: bool, at: u64| {
            // SAFETY: the kernels read and write what is not null.
            if is_wanted { words.offset(at) } else { unsafe { Global::null() } }
        };
        Arrays {
            slots: words.offset(SLOTS).cast(),
            sums: part(wanted.sums, layout.sums),
            counts: part(wanted.counts, layout.counts).cast(),
            minima: part(wanted.minima, layout.minima).cast(),
            maxima: part(wanted.maxima, layout.maxima).cast(),
        }
    }

    /// Queues adding all rows to the table. The count of groups goes to `count`, or to the table's
    /// own memory.
    fn group(&self, slots_of_rows: Option<&Buffer<u32>>, capacity: u64, count: Option<&Buffer<u64>>) -> Result<()> {
        let Self { stream, input, layout, words, .. } = *self;
        let (rows, [a, b]) = (input.keys.len() as u64, constants(input.seed));
        stream.batch(|batch| {
            batch.zero(words, layout.words as usize)?;
            count.map_or(Ok(()), |count| batch.zero(count, 1))?;
            let header = batch.write(words);
            let Arrays { slots, sums, counts, minima, maxima } = self.arrays(header);
            let (slot_bits, capacity) = (layout.slot_bits, capacity as u32);
            let plan = GroupRowsParams { a, b, column: input.column, rows, slot_bits, capacity };
            // SAFETY: the kernel's documentation allows null for what is not wanted. The scratch
            // has the layout's words, which are 0, and more slots than the capacity. There are as
            // many values and slots of rows as keys. The count is one word, which is 0.
            unsafe {
                let group = GroupRows::<K, V> {
                    keys: batch.read(input.keys),
                    values: batch.read_or_null(input.values),
                    slots,
                    sums,
                    counts,
                    minima,
                    maxima,
                    slots_of_rows: batch.write_or_null(slots_of_rows),
                    groups: count.map_or(header.offset(FOUND), |count| batch.write(count)),
                    plan,
                };
                batch.launch(&group, rows)
            }
        })
    }

    /// Queues writing the groups of the table.
    fn write(&self, computed: &Computed<K, WordOf<V>>, firsts: Option<&Buffer<u32>>, of_rows: Answer) -> Result<()> {
        let Self { stream, input, layout, words, .. } = *self;
        let out = computed.outputs(input.column);
        let answer = match of_rows {
            Answer::Group => answer::GROUP,
            Answer::FirstRow => answer::FIRST_ROW,
        };
        let (slots, capacity) = (layout.slots(), out.keys.len() as u64);
        let plan = WriteGroupsParams { column: input.column, slots, capacity, answer, padding: 0 };
        stream.batch(|batch| {
            let header = batch.write(words);
            let Arrays { slots, sums, counts, minima, maxima } = self.arrays(header);
            // SAFETY: the kernel's documentation allows null for what is not wanted. The table is
            // as `group` left it, and its count of written groups is 0. Outputs are as long as the
            // keys, and the kernel leaves out the groups beyond that.
            unsafe {
                let write = WriteGroups::<K, V> {
                    keys: batch.read(input.keys),
                    slots,
                    sums,
                    counts,
                    minima,
                    maxima,
                    keys_out: batch.write(out.keys),
                    firsts_out: batch.write_or_null(firsts),
                    sums_out: batch.write_or_null(out.sums),
                    counts_out: batch.write_or_null(out.counts),
                    minima_out: batch.write_or_null(out.minima),
                    maxima_out: batch.write_or_null(out.maxima),
                    written: header.offset(WRITTEN),
                    plan,
                };
                batch.launch(&write, plan.slots)
            }
        })
    }
}
