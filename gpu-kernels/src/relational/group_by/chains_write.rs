//! Writing the groups of a bin whose rows are in registers.

use super::chains_thread::{ABSENT, CHAINED_ROWS, GROUP, HELD, Thread, row};
use super::in_memory::InMemory;
use crate::column_values::ColumnParams;
use crate::columns::{each_column, kind};
use crate::seam::{Block, Global, Shared, opaque};
use crate::types::{KeyWord, Payload, Row, Scalar, WordOf};

/// The arrays to which groups are written, and the part of them for the groups of a bin.
#[derive(Clone, Copy)]
pub(super) struct Target<K: KeyWord, V: Payload> {
    pub keys: Global<K>,
    pub aggregates: InMemory<WordOf<V>>,
    pub columns: Global<u64>,
    /// The arguments of [`KeyWord::unmixed_by`].
    pub mix: (u64, u64),
    pub params: ColumnParams,
    /// The index of the first row in the input.
    pub first_row: u64,
    /// The index of the first group in the outputs, and the count of groups for which there is
    /// capacity.
    pub first: u64,
    pub count: u32,
}

impl<K: KeyWord, V: Row> Target<K, V> {
    /// Writes the rows of a thread as groups, for a bin whose keys are all distinct. `key_of`
    /// returns the mixed key of a row.
    #[inline(always)]
    pub fn write_distinct(&self, thread: u32, state: &Thread<K, V::Word>, key_of: impl Fn(u32, K) -> K) {
        let keys = self.keys.offset(self.first + thread as u64);
        for i in 0..HELD {
            if row(thread, i) < self.count {
                let key = key_of(row(thread, i), state.keys[i]);
                keys.store(row(0, i) as u64, key.unmixed_by(self.mix.0, self.mix.1));
            }
        }
        self.write_one_row(thread, (self.aggregates, self.params), |i| state.values[i]);
        if V::IS_LIST {
            let first = self.first_row + thread as u64;
            each_column!(column in self.columns => {
                if column.kind() & kind::IS_WIDE == 0 {
                    let words = column.words::<u32>().offset(first);
                    let value = |i: usize| words.load_streaming(row(0, i) as u64);
                    self.write_one_row(thread, (column.groups(), column.params()), value);
                } else {
                    let words = column.words::<u64>().offset(first);
                    let value = |i: usize| words.load_streaming(row(0, i) as u64);
                    self.write_one_row(thread, (column.groups(), column.params()), value);
                }
            });
        }
    }

    /// Writes the aggregates of the groups of a thread's rows, which have one row each.
    #[inline(always)]
    fn write_one_row<W: Scalar>(
        &self,
        thread: u32,
        (to, params): (InMemory<W>, ColumnParams),
        value: impl Fn(usize) -> W,
    ) {
        self.write_each(thread, to.counts, |_| 1);
        self.write_each(thread, to.sums, |i| params.addend(value(i)));
        self.write_each(thread, to.minima, &value);
        self.write_each(thread, to.maxima, &value);
    }

    /// Writes a word for each row of a thread, unless the array is null.
    #[inline(always)]
    fn write_each<T: Scalar>(&self, thread: u32, to: Global<T>, word: impl Fn(usize) -> T) {
        if to.is_null() {
            return;
        }
        let to = to.offset(self.first + thread as u64);
        for i in 0..HELD {
            if row(thread, i) < self.count {
                to.store_streaming(row(0, i) as u64, word(i));
            }
        }
    }

    /// Adds up the rows of each key, and writes the groups. There is memory for two words per row.
    ///
    /// The words of the first row of each key contain the aggregates of its group, one aggregate
    /// after the other.
    #[inline(always)]
    pub fn write_groups<B: Block>(
        &self,
        block: &mut B,
        threads: &mut B::Local<Thread<K, V::Word>>,
        memory: impl Shared<u32>,
        key_of: impl Fn(u32, K) -> K + Sync,
    ) {
        block.each(threads, |thread, state| {
            let thread = opaque(thread);
            for i in 0..HELD {
                if let Some(group) = self.written(state.groups[i]) {
                    let key = key_of(row(thread, i), state.keys[i]);
                    self.keys.store(group, key.unmixed_by(self.mix.0, self.mix.1));
                }
            }
        });
        let (to, params) = (self.aggregates, self.params);
        self.write_aggregates(block, threads, memory, (to, params), |_, i, state| state.values[i]);
        if V::IS_LIST {
            each_column!(column in self.columns => {
                if column.kind() & kind::IS_WIDE == 0 {
                    let words = column.words::<u32>().offset(self.first_row);
                    let value = |thread, i, _: &_| words.load_streaming(row(thread, i) as u64);
                    self.write_aggregates(block, threads, memory, (column.groups(), column.params()), value);
                } else {
                    let words = column.words::<u64>().offset(self.first_row);
                    let value = |thread, i, _: &_| words.load_streaming(row(thread, i) as u64);
                    self.write_aggregates(block, threads, memory, (column.groups(), column.params()), value);
                }
            });
        }
    }

    /// Computes and writes the aggregates of a column. `value` returns the value of a thread's row.
    #[inline(always)]
    fn write_aggregates<B: Block, W: Scalar>(
        &self,
        block: &mut B,
        threads: &mut B::Local<Thread<K, V::Word>>,
        memory: impl Shared<u32>,
        (to, params): (InMemory<W>, ColumnParams),
        value: impl Fn(u32, usize, &Thread<K, V::Word>) -> W + Sync,
    ) {
        if !to.counts.is_null() {
            self.fold(
                block,
                threads,
                memory,
                |at, _, _, _| {
                    memory.fetch_add(at, 1);
                },
                |at, group| to.counts.store_streaming(group, memory.get(at)),
            );
        }
        if !to.sums.is_null() && params.adds_floats() {
            let sums = memory.cast::<u64>();
            self.fold(
                block,
                threads,
                memory,
                |at, thread, i, state| sums.add_float(at, params.addend(value(thread, i, state))),
                |at, group| to.sums.store_streaming(group, sums.get(at)),
            );
        } else if !to.sums.is_null() {
            let high = |at: u32| CHAINED_ROWS + at;
            self.fold(
                block,
                threads,
                memory,
                |at, thread, i, state| {
                    // The sum has two halves, since a GPU adds 64 bits in shared memory by
                    // compare-and-exchange, which takes longer.
                    let wide = params.addend(value(thread, i, state));
                    let was = memory.fetch_add(at, wide as u32);
                    let carry = (was.wrapping_add(wide as u32) < wide as u32) as u32;
                    let above = ((wide >> 32) as u32).wrapping_add(carry);
                    if above != 0 {
                        memory.fetch_add(high(at), above);
                    }
                },
                |at, group| {
                    let sum = memory.get(at) as u64 | (memory.get(high(at)) as u64) << 32;
                    to.sums.store_streaming(group, sum);
                },
            );
        }
        let words = memory.cast::<W>();
        if !to.minima.is_null() {
            self.fold(
                block,
                threads,
                memory,
                |at, thread, i, state| {
                    words.fetch_max(at, params.min_rank(value(thread, i, state)));
                },
                |at, group| to.minima.store_streaming(group, params.of_min_rank(words.get(at))),
            );
        }
        if !to.maxima.is_null() {
            self.fold(
                block,
                threads,
                memory,
                |at, thread, i, state| {
                    words.fetch_max(at, params.max_rank(value(thread, i, state)));
                },
                |at, group| to.maxima.store_streaming(group, params.of_max_rank(words.get(at))),
            );
        }
    }

    /// Computes an aggregate. `add` adds each row to the words of the first row with its key, 0 at
    /// first, and `write` writes the group with a given index. The indices of rows are computed
    /// again each time, since keeping them takes registers.
    #[inline(always)]
    fn fold<B: Block>(
        &self,
        block: &mut B,
        threads: &mut B::Local<Thread<K, V::Word>>,
        memory: impl Shared<u32>,
        add: impl Fn(u32, u32, usize, &Thread<K, V::Word>) + Sync,
        write: impl Fn(u32, u64) + Sync,
    ) {
        block.phase(threads, |thread, _| {
            let thread = opaque(thread);
            for i in 0..HELD {
                memory.cast::<u64>().set(row(thread, i), 0);
            }
        });
        block.phase(threads, |thread, state| {
            let thread = opaque(thread);
            for i in 0..HELD {
                let group = state.groups[i];
                if group != ABSENT {
                    add(if group >= GROUP { row(thread, i) } else { group }, thread, i, state);
                }
            }
        });
        block.phase(threads, |thread, state| {
            let thread = opaque(thread);
            for i in 0..HELD {
                if let Some(group) = self.written(state.groups[i]) {
                    write(row(thread, i), group);
                }
            }
        });
    }

    /// Returns the index of a row's group in the outputs, if it is the first row of the key and
    /// there is capacity.
    #[inline(always)]
    fn written(&self, group: u32) -> Option<u64> {
        let number = group ^ GROUP;
        if number < self.count { Some(self.first + number as u64) } else { None }
    }
}
