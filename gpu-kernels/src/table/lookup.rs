//! Looking up many keys: writing answers, and complete lookups in tables whose keys have a few
//! slots each.

use crate::hash::{MAX_FUNCTIONS, NO_SLOT};
use crate::seam::{Block, Global, Tile};
use crate::table::slots::{Slots, cell};
use crate::types::{KeyWord, Payload, Scalar, WordOf};

/// The arrays of a lookup by [`answer`].
#[derive(Clone, Copy, Debug)]
pub struct Lookup<K, V> {
    /// The keys to look up.
    pub queries: Global<K>,
    /// The count of queries.
    pub count: u64,
    /// The values of the queries, or 0. May be null.
    pub values: Global<V>,
    /// The found flags: bit `i mod 32` of word `i / 32` tells whether the key of query `i` was
    /// found.
    pub found: Global<u32>,
}

/// The arrays of a lookup in forms that other libraries have.
#[derive(Clone, Copy, Debug)]
pub struct Plain<V> {
    /// The values of the queries, or `absent`. May be null.
    pub values: Global<V>,
    /// The value of queries whose key was not found.
    pub absent: V,
    /// The found flags as in [`Lookup`]. May be null.
    pub found: Global<u32>,
    /// The found flags, a byte each. May be null.
    pub flags: Global<u8>,
}

/// The state of a query: the slots that have not been read yet, and its answer.
struct Query<K, V> {
    key: K,
    /// The slots that have not been read yet, in order, and [`NO_SLOT`] after them. Once the answer
    /// is known, the first is [`NO_SLOT`].
    slots: [u32; MAX_FUNCTIONS],
    answer: Option<V>,
}

/// Answers query `i` by thread `i` of the grid. `slots_of` returns the slots of a key in the order
/// in which they are read. `header` begins with the table's [`cell`].
#[inline(always)]
pub fn answer<K: KeyWord, V: Payload, B: Block>(
    block: &mut B,
    lookup: &Lookup<K, WordOf<V>>,
    slots: &Slots<K, V>,
    header: Global<u64>,
    slots_of: impl Fn(K) -> [u32; MAX_FUNCTIONS] + Sync,
) {
    let block_first = block.first_thread();
    block.tiles(|tile| {
        let first = block_first + tile.first_thread() as u64;
        let mut queries = tile.local(|lane| start(lookup, slots, header, first + lane as u64, &slots_of));
        // All lanes do one probe at a time. On the CPU, each lane's next slot is being fetched
        // while the other lanes probe. At most as many probes a lane as a key has slots.
        while tile.ballot(&queries, |_, query| query.slots[0] != NO_SLOT) != 0 {
            tile.each(&mut queries, |_, query| {
                if query.slots[0] != NO_SLOT {
                    step(slots, query);
                }
            });
        }
        lookup.write(tile, &mut queries, first, |query| query.answer);
    });
}

impl<K, V: Scalar> Lookup<K, V> {
    /// Writes the answers to the queries of a tile, whose first query has index `first`, a multiple
    /// of 32.
    #[inline(always)]
    pub fn write<T, L: Tile>(
        &self,
        tile: &mut L,
        queries: &mut L::Local<T>,
        first: u64,
        answer: impl Fn(&T) -> Option<V> + Sync,
    ) {
        // SAFETY: a null array is not accessed.
        let flags = unsafe { Global::null() };
        let plain = Plain { values: self.values, absent: V::default(), found: self.found, flags };
        plain.write_as::<false, _, _>(tile, queries, (first, self.count), answer);
    }
}

impl<V: Scalar> Plain<V> {
    /// Writes the answers to the queries of a tile, whose first query has index `first`, a multiple
    /// of 32, among `count` queries.
    #[inline(always)]
    pub fn write<T, L: Tile>(
        &self,
        tile: &mut L,
        queries: &mut L::Local<T>,
        rows: (u64, u64),
        answer: impl Fn(&T) -> Option<V> + Sync,
    ) {
        self.write_as::<true, _, _>(tile, queries, rows, answer);
    }

    /// Writes the answers. Unless they are `PLAIN`, `found` is not null, `flags` is null and
    /// `absent` 0.
    #[inline(always)]
    fn write_as<const PLAIN: bool, T, L: Tile>(
        &self,
        tile: &mut L,
        queries: &mut L::Local<T>,
        (first, count): (u64, u64),
        answer: impl Fn(&T) -> Option<V> + Sync,
    ) {
        let found = tile.ballot(queries, |_, query| answer(query).is_some());
        tile.each(queries, |lane, query| {
            let index = first + lane as u64;
            if index < count {
                if !self.values.is_null() {
                    let absent = if PLAIN { self.absent } else { V::default() };
                    self.values.store_streaming(index, answer(query).unwrap_or(absent));
                }
                if PLAIN && !self.flags.is_null() {
                    self.flags.store_byte(index, (found >> lane & 1) as u8);
                }
                if lane == 0 && !(PLAIN && self.found.is_null()) {
                    self.found.store(index / 32, found);
                }
            }
        });
    }
}

/// Reads query `index` and finds its slots.
#[inline(always)]
fn start<K: KeyWord, V: Payload>(
    lookup: &Lookup<K, WordOf<V>>,
    slots: &Slots<K, V>,
    header: Global<u64>,
    index: u64,
    slots_of: &impl Fn(K) -> [u32; MAX_FUNCTIONS],
) -> Query<K, WordOf<V>> {
    let mut query = Query { key: K::ALL_ONES, slots: [NO_SLOT; MAX_FUNCTIONS], answer: None };
    if index >= lookup.count {
        return query;
    }
    query.key = lookup.queries.load_streaming(index);
    if query.key == K::ALL_ONES {
        query.answer = cell::value(header);
        return query;
    }
    query.slots = slots_of(query.key);
    slots.prefetch(query.slots[0]);
    query
}

/// Reads the query's next slot.
#[inline(always)]
fn step<K: KeyWord, V: Payload>(slots: &Slots<K, V>, query: &mut Query<K, WordOf<V>>) {
    let [slot, rest @ ..] = query.slots;
    match slots.probe(slot, query.key) {
        Some(answer) => {
            query.answer = answer;
            query.slots[0] = NO_SLOT;
        }
        None => {
            // The array is shifted instead of indexed, since on the GPU a variable index would put
            // it into local memory.
            query.slots = [rest[0], rest[1], rest[2], rest[3], NO_SLOT];
            if query.slots[0] != NO_SLOT {
                slots.prefetch(query.slots[0]);
            }
        }
    }
}
