//! Writing the groups of a bin whose rows are in registers.

use super::chains_thread::{ABSENT, CHAINED_ROWS, GROUP, HELD, Thread, row};
use crate::column_values::ColumnParams;
use crate::seam::{Block, Global, Shared, opaque};
use crate::types::{KeyWord, Payload, WordOf};

/// The arrays to which groups are written. The array of an aggregate that is not wanted is null.
#[derive(Clone, Copy)]
pub(super) struct Outputs<K: KeyWord, V: Payload> {
    pub keys: Global<K>,
    pub counts: Global<u32>,
    pub sums: Global<u64>,
    pub minima: Global<WordOf<V>>,
    pub maxima: Global<WordOf<V>>,
}

/// The part of the outputs to which the groups of a bin are written.
#[derive(Clone, Copy)]
pub(super) struct Target<K: KeyWord, V: Payload> {
    outputs: Outputs<K, V>,
    mix: (u64, u64),
    column: ColumnParams,
    /// The index of the first group in the outputs, and the count of groups for which there is
    /// capacity.
    first: u64,
    count: u32,
}

impl<K: KeyWord, V: Payload> Target<K, V> {
    /// Returns the target of `found` groups that begin at index `first` of outputs with a total
    /// capacity of `capacity` groups. `mix` has the arguments of [`KeyWord::unmixed_by`].
    #[inline(always)]
    pub fn new(
        outputs: Outputs<K, V>,
        mix: (u64, u64),
        column: ColumnParams,
        (first, capacity): (u64, u64),
        found: u32,
    ) -> Self {
        let room = capacity.saturating_sub(first);
        Self { outputs, mix, column, first, count: if room < found as u64 { room as u32 } else { found } }
    }

    /// Writes the rows of a thread as groups, for a bin whose keys are all distinct. `key_of`
    /// returns the mixed key of a row.
    #[inline(always)]
    pub fn write_distinct(&self, thread: u32, state: &Thread<K, V::Word>, key_of: impl Fn(u32, K) -> K) {
        let (outputs, first) = (self.outputs, self.first + thread as u64);
        let keys = outputs.keys.offset(first);
        for i in 0..HELD {
            if row(thread, i) < self.count {
                let key = key_of(row(thread, i), state.keys[i]);
                keys.store(row(0, i) as u64, key.unmixed_by(self.mix.0, self.mix.1));
            }
        }
        if !outputs.counts.is_null() {
            let counts = outputs.counts.offset(first);
            for i in 0..HELD {
                if row(thread, i) < self.count {
                    counts.store(row(0, i) as u64, 1);
                }
            }
        }
        if V::VALUE_BITS == 0 {
            return;
        }
        if !outputs.sums.is_null() {
            let sums = outputs.sums.offset(first);
            for i in 0..HELD {
                if row(thread, i) < self.count {
                    sums.store(row(0, i) as u64, self.column.widened(state.values[i]));
                }
            }
        }
        let write_values = |to: Global<V::Word>| {
            let to = to.offset(first);
            for i in 0..HELD {
                if row(thread, i) < self.count {
                    to.store(row(0, i) as u64, state.values[i]);
                }
            }
        };
        if !outputs.minima.is_null() {
            write_values(outputs.minima);
        }
        if !outputs.maxima.is_null() {
            write_values(outputs.maxima);
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
        let (outputs, column) = (self.outputs, self.column);
        block.each(threads, |thread, state| {
            let thread = opaque(thread);
            for i in 0..HELD {
                if let Some(group) = self.written(state.groups[i]) {
                    let key = key_of(row(thread, i), state.keys[i]);
                    outputs.keys.store(group, key.unmixed_by(self.mix.0, self.mix.1));
                }
            }
        });
        if !outputs.counts.is_null() {
            self.fold(
                block,
                threads,
                memory,
                |at, _| {
                    memory.fetch_add(at, 1);
                },
                |at, group| outputs.counts.store(group, memory.get(at)),
            );
        }
        if V::VALUE_BITS == 0 {
            return;
        }
        if !outputs.sums.is_null() {
            let high = |at: u32| CHAINED_ROWS + at;
            self.fold(
                block,
                threads,
                memory,
                |at, value| {
                    // The sum has two halves, since a GPU adds 64 bits in shared memory by
                    // compare-and-exchange, which takes longer.
                    let wide = column.widened(value);
                    let was = memory.fetch_add(at, wide as u32);
                    let carry = (was.wrapping_add(wide as u32) < wide as u32) as u32;
                    let above = ((wide >> 32) as u32).wrapping_add(carry);
                    if above != 0 {
                        memory.fetch_add(high(at), above);
                    }
                },
                |at, group| {
                    outputs.sums.store(group, memory.get(at) as u64 | (memory.get(high(at)) as u64) << 32);
                },
            );
        }
        let words = memory.cast::<V::Word>();
        if !outputs.minima.is_null() {
            self.fold(
                block,
                threads,
                memory,
                |at, value| {
                    words.fetch_max(at, column.min_rank(value));
                },
                |at, group| outputs.minima.store(group, column.of_min_rank(words.get(at))),
            );
        }
        if !outputs.maxima.is_null() {
            self.fold(
                block,
                threads,
                memory,
                |at, value| {
                    words.fetch_max(at, column.max_rank(value));
                },
                |at, group| outputs.maxima.store(group, column.of_max_rank(words.get(at))),
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
        add: impl Fn(u32, WordOf<V>) + Sync,
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
                    add(if group >= GROUP { row(thread, i) } else { group }, state.values[i]);
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
