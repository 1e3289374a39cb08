//! Group-by by one hash table in memory: of few rows on a GPU, and with a capacity for the groups.

use super::bounded::Bound;
use super::listed::List;
use super::outputs::{ChipInput, Computed, OwnArrays, Shape, SlotPlaces};
use crate::hash::constants;
use crate::primitives::Scratch;
use crate::runtime::machine::{Machine, PerMachine};
use crate::{Buffer, Result, Stream};
use gpu_kernels::columns::LIST_WORDS;
use gpu_kernels::relational::group_by::table::{GroupRows, GroupRowsParams, WriteGroups, WriteGroupsParams, answer};
use gpu_kernels::types::{KeyWord, Row, ValueWord};
use std::marker::PhantomData;

/// The most rows that are grouped in one table: a sample and bins are faster for more. On cores
/// they always are.
const MOST_ROWS: PerMachine<u64> = PerMachine { gpu: 1 << 20, core: 0 };

/// Returns whether so many rows are grouped in one table, without a capacity for the groups.
pub(in crate::relational) fn fits_table(machine: Machine, rows: u64) -> bool {
    (1..=machine.pick(MOST_ROWS)).contains(&rows)
}

/// The layout of the scratch, in 64-bit words: two counts of groups, then the slots and their
/// aggregates, which are all 0 at first, and a list of columns.
#[derive(Clone, Debug)]
struct Layout {
    slot_bits: u32,
    aggregates: SlotPlaces,
}

/// The word of the count of groups that were found, unless there is other memory for it, and of the
/// count of those that were written.
const FOUND: u64 = 0;
const WRITTEN: u64 = 1;
/// The first word of the slots.
const SLOTS: u64 = 2;

impl Layout {
    fn new(capacity: u64, shape: &Shape) -> Self {
        // At most half of the slots are taken, unless that is more slots than hashes. With four
        // slots or more, every array begins at a multiple of 16 bytes.
        let slots = (2 * capacity).next_power_of_two().clamp(4, 1 << 32);
        Self { slot_bits: slots.trailing_zeros(), aggregates: SlotPlaces::new(SLOTS + slots / 2, slots, shape) }
    }

    fn slots(&self) -> u64 {
        1 << self.slot_bits
    }

    fn words(&self) -> u64 {
        self.aggregates.end + LIST_WORDS
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
pub(in crate::relational) fn group_in_table<K: KeyWord + ValueWord, V: Row>(
    stream: &Stream,
    scratch: &mut Scratch,
    input: ChipInput<'_, K>,
    computed: &mut Computed<K>,
    of_rows: OfRows<'_>,
    bound: Option<Bound<'_>>,
) -> Result<()> {
    let (device, rows) = (scratch.device().clone(), input.keys.len());
    let shape = computed.shape();
    let capacity = bound.map_or(rows, |bound| bound.capacity.min(rows)) as u64;
    let layout = Layout::new(capacity, &shape);
    let OfRows { mut firsts, answers } = of_rows;
    let slots_of_rows = answers.is_some().then(|| scratch.lend::<u32>(rows)).transpose()?;
    let words = scratch.reserve(layout.words())?;
    let table = Table::<K, V> { stream, input, layout, words, row: PhantomData };
    table.group(computed, slots_of_rows.as_ref(), capacity, bound.map(|bound| bound.count))?;
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
        let slots = words.elements_at::<u32>(SLOTS, table.layout.slots() as usize);
        crate::primitives::gather(stream, &slots, &slots_of_rows, answers)?;
        scratch.give_back(slots_of_rows);
    }
    Ok(())
}

/// The rows, and the table in the scratch.
struct Table<'t, K, V> {
    stream: &'t Stream,
    input: ChipInput<'t, K>,
    layout: Layout,
    words: &'t Buffer<u64>,
    row: PhantomData<V>,
}

impl<K: KeyWord + ValueWord, V: Row> Table<'_, K, V> {
    /// Queues adding all rows to the table. The count of groups goes to `count`, or to the table's
    /// own memory.
    fn group(
        &self,
        computed: &Computed<K>,
        slots_of_rows: Option<&Buffer<u32>>,
        capacity: u64,
        count: Option<&Buffer<u64>>,
    ) -> Result<()> {
        let Self { stream, input, ref layout, words, .. } = *self;
        let (rows, [a, b]) = (input.keys.len() as u64, constants(input.seed));
        stream.batch(|batch| {
            batch.zero(words, layout.aggregates.end as usize)?;
            count.map_or(Ok(()), |count| batch.zero(count, 1))?;
            let header = batch.write(words);
            let (arrays, columns) = (layout.aggregates.arrays(header), header.offset(layout.aggregates.end));
            let OwnArrays { sums, counts, minima, maxima } = arrays.own::<V>();
            let (slot_bits, capacity) = (layout.slot_bits, capacity as u32);
            let listed_words = computed.shape().listed_words::<V>();
            let plan = GroupRowsParams {
                a,
                b,
                column: computed.params(),
                rows,
                slot_bits,
                capacity,
                listed_words,
                padding: 0,
            };
            // SAFETY: the kernel's documentation allows null for what is not wanted. The scratch
            // has the layout's words, which are 0, and more slots than the capacity. There are as
            // many values and slots of rows as keys. The count is one word, which is 0.
            unsafe {
                let (keys, upper) = input.keys.read(batch);
                if V::IS_LIST {
                    List::new(input.moved(batch, computed, &[]), [Some(arrays), None]).queue(batch, columns)?;
                }
                let group = GroupRows::<K, V> {
                    keys,
                    upper,
                    values: input.values::<V>(batch),
                    slots: header.offset(SLOTS).cast(),
                    sums,
                    counts,
                    minima,
                    maxima,
                    columns,
                    slots_of_rows: batch.write_or_null(slots_of_rows),
                    groups: count.map_or(header.offset(FOUND), |count| batch.write(count)),
                    plan,
                };
                batch.launch(&group, rows)
            }
        })
    }

    /// Queues writing the groups of the table.
    fn write(&self, computed: &Computed<K>, firsts: Option<&Buffer<u32>>, of_rows: Answer) -> Result<()> {
        let Self { stream, input, ref layout, words, .. } = *self;
        let answer = match of_rows {
            Answer::Group => answer::GROUP,
            Answer::FirstRow => answer::FIRST_ROW,
        };
        let (slots, capacity) = (layout.slots(), computed.keys.len() as u64);
        let plan = WriteGroupsParams { column: computed.params(), slots, capacity, answer, padding: 0 };
        stream.batch(|batch| {
            let header = batch.write(words);
            let (arrays, columns) = (layout.aggregates.arrays(header), header.offset(layout.aggregates.end));
            let OwnArrays { sums, counts, minima, maxima } = arrays.own::<V>();
            let groups = computed.arrays(batch);
            let out = groups.own::<V>();
            // SAFETY: the kernel's documentation allows null for what is not wanted. The table is
            // as `group` left it, and its count of written groups is 0. Outputs are as long as the
            // keys, and the kernel leaves out the groups beyond that.
            unsafe {
                let (keys, upper) = input.keys.read(batch);
                if V::IS_LIST {
                    List::new(input.moved(batch, computed, &[]), [Some(arrays), Some(groups)]).queue(batch, columns)?;
                }
                let write = WriteGroups::<K, V> {
                    keys,
                    upper,
                    slots: header.offset(SLOTS).cast(),
                    sums,
                    counts,
                    minima,
                    maxima,
                    columns,
                    keys_out: batch.write(&computed.keys),
                    firsts_out: batch.write_or_null(firsts),
                    sums_out: out.sums,
                    counts_out: out.counts,
                    minima_out: out.minima,
                    maxima_out: out.maxima,
                    written: header.offset(WRITTEN),
                    plan,
                };
                batch.launch(&write, plan.slots)
            }
        })
    }
}
