//! One pass: a stable partition of pairs by one digit.

#![allow(clippy::needless_range_loop, reason = "loops by index unroll on the GPU, iterators over arrays may not")]

use super::{Digit, MOST_BITS};
use crate::look_back;
use crate::seam::{Atomic, Block, DeviceScope, Global, Shared, Tile, Word, pause, settled};
use crate::types::{Key, Value};

/// Threads of a block.
const THREADS: usize = 512;
const WARPS: u32 = THREADS as u32 / 32;
/// The most items of a thread.
const MOST_ITEMS: usize = 16;
/// The most items of one launch: a tile publishes sums of 30 bits.
pub const PORTION: u64 = 1 << 29;

/// Words of 64 bits for the warps' counters, and then for the items on their way out.
const ROOM: usize = 4096;
/// Counters of 16 bits: as many for each warp as a digit has values. They fill the room.
const _: () = assert!(ROOM * 4 == (WARPS as usize) << MOST_BITS);
/// The keys of a tile, or its values, fill it too.
const _: () = assert!(ROOM as u64 == tile::<u64, u64>() && ROOM as u64 * 2 == tile::<u32, u32>());

/// Items of a thread: fewer of the wide ones, so that they fit the registers.
const fn items<K: Key, V: Value>() -> usize {
    if K::BITS + V::BITS == 64 { MOST_ITEMS } else { MOST_ITEMS / 2 }
}

/// Items of a tile, which is what one block moves.
pub const fn tile<K: Key, V: Value>() -> u64 {
    (THREADS * items::<K, V>()) as u64
}

/// The number of words that a pass over `items` items (at most [`PORTION`]) publishes in; all must be 0.
pub const fn state_words<K: Key, V: Value>(items: u64, bits: u32) -> u64 {
    1 + items.div_ceil(tile::<K, V>()) * ((1 << bits) / 2)
}

/// What a pass is to do.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PartitionPlan {
    /// The digit that items are ordered by.
    pub digit: Digit,
    /// The first item of this launch.
    pub first: u64,
    /// The item behind its last one, at most [`PORTION`] further.
    pub end: u64,
    /// What is taken off `digit_starts`, modulo 2^32: a scan over the counts of several digits goes on from digit to digit.
    pub base: u32,
    /// Nothing.
    pub padding: u32,
}

/// What a thread holds: item `i` is of its warp's row `i`.
struct Held<K, V> {
    keys: [K; MOST_ITEMS],
    values: [V; MOST_ITEMS],
    /// The item's digit above its rank among the items of the warp with that digit; then the item's place in the tile.
    places: [u32; MOST_ITEMS],
    /// Where the items go in the output that this thread takes from the room.
    targets: [u32; MOST_ITEMS],
}

/// A rank is below the digit's bits.
const RANK_BITS: u32 = 16;
const RANK_MASK: u32 = (1 << RANK_BITS) - 1;

/// A tile publishes the sums of two neighbouring digits in one word: in each half 30 bits and the status above them.
const SUM: u64 = 0x4000_0000_4000_0000;
const PREFIX: u64 = 0x8000_0000_8000_0000;
const SUMS: u64 = 0x3fff_ffff_3fff_ffff;

kernel! {
    /// Moves the pairs `first..end` to the places of their digits: those with digit `d` begin at `digit_starts[d]`, less
    /// `base`, in the order of the input. `next_starts[d]` becomes where the next portion's pairs with digit `d` begin.
    /// One block a [`tile`]; `state` has [`state_words`].
    ///
    /// A warp ranks its items row by row ([`Tile::count_in_order`]), the block adds up its warps' counters, publishes each
    /// digit's sum, and while the tiles before it do the same puts its keys in order in shared memory: neighbours there go to
    /// neighbouring places, so that they can be written together. The values follow through the same room.
    ///
    /// The last tile is filled up with items of the last digit, which come after all others: only what is published and what
    /// goes out leaves them away.
    Partition<K: Key, V: Value>, "radix_partition", threads 512, resident 2,
        shared ticket: u64 = 1, shared room: u64 = ROOM, shared starts: u32 = 1 << MOST_BITS, shared sums: u32 = 16;
    {
        keys: Global<K>, values: Global<V>, keys_out: Global<K>, values_out: Global<V>, digit_starts: Global<u32>,
        next_starts: Global<u32>, state: Global<u64>, plan: PartitionPlan,
    }
    |args, block| {
        let digit = args.plan.digit;
        let pairs = digit.bins() / 2;
        let counters = room.cast::<u32>();
        let mut held = block.local(|_| Held::<K, V> {
            keys: [K::default(); MOST_ITEMS],
            values: [V::default(); MOST_ITEMS],
            places: [0; MOST_ITEMS],
            targets: [0; MOST_ITEMS],
        });
        // Two 16-bit counters a word: the counters of a warp take as many words as there are pairs of digits.
        block.each(&mut held, |thread, _| {
            let mut word = thread;
            while word < WARPS * pairs {
                counters.set(word, 0);
                word += THREADS as u32;
            }
        });
        look_back::take_ticket(block, ticket, args.state);

        block.tiles_of::<32, _>(&mut held, |warp, held| {
            let first_thread = warp.first_thread();
            warp.each(held, |lane, held| {
                let thread = first_thread + lane;
                let here = load_rows::<K, V, K>(args.keys, &args.plan, ticket.get(0), thread, &mut held.keys);
                held.places = digit.of_each(&held.keys);
                if here as u64 != tile::<K, V>() {
                    for row in 0..items::<K, V>() {
                        if place_of_row::<K, V>(thread, row) >= here {
                            held.places[row] = digit.bins() - 1;
                        }
                    }
                }
            });
            // Four rows at a time, so that they need not wait for each other.
            for group in 0..items::<K, V>() / 4 {
                warp.count_in_order::<_, 4>(
                    held,
                    counters,
                    first_thread / 32 * digit.bins(),
                    digit.bits,
                    |held, row| held.places[4 * group + row],
                    |held, row, rank| {
                        held.places[4 * group + row] = settled(held.places[4 * group + row] << RANK_BITS | rank);
                    },
                );
            }
        });
        block.sync();

        // What each pair of digits has in this tile.
        let mut sum = block.local(|_| DigitSums { tile: 0, start: 0 });
        block.each(&mut sum, |thread, sum| {
            if thread < pairs {
                let mut counts = 0;
                for warp in 0..WARPS {
                    counts += counters.get(warp * pairs + thread);
                }
                sum.tile = (counts & 0xffff) as u64 | (counts as u64 >> 16) << 32;
                if thread == pairs - 1 {
                    sum.tile -= (tile::<K, V>() - here::<K, V>(&args.plan, ticket.get(0)) as u64) << 32;
                }
                let status = if ticket.get(0) == 0 { PREFIX } else { SUM };
                published(args.state, pairs, thread, ticket.get(0) as u32).store(status | sum.tile);
            }
        });
        exclusive_sum(block, &mut sum, sums, pairs);
        // The counters become the places where each warp's items of each digit begin.
        block.phase(&mut sum, |thread, sum| {
            if thread < pairs {
                // First all the reads: they need not wait for the writes.
                let mut counts = [0; WARPS as usize];
                for warp in 0..WARPS {
                    counts[warp as usize] = counters.get(warp * pairs + thread);
                }
                let mut begins = sum.start | (sum.start + sum.tile as u32) << 16;
                for warp in 0..WARPS {
                    counters.set(warp * pairs + thread, begins);
                    begins += counts[warp as usize];
                }
            }
        });

        // Where each item belongs in the tile.
        block.phase(&mut held, |thread, held| {
            let counters_of_warp = thread / 32 * pairs;
            for row in 0..items::<K, V>() {
                let (digit, rank) = (held.places[row] >> RANK_BITS, held.places[row] & RANK_MASK);
                let begin = counters.get(counters_of_warp + digit / 2) >> (digit % 2 * 16) & 0xffff;
                held.places[row] = settled(begin + rank);
            }
            load_rows::<K, V, V>(args.values, &args.plan, ticket.get(0), thread, &mut held.values);
        });
        let staged_keys = room.cast::<K>();
        block.each(&mut held, |_, held| {
            for row in 0..items::<K, V>() {
                staged_keys.set(held.places[row], held.keys[row]);
            }
        });

        // Where the digits' items begin in the output, less where they begin in the tile.
        block.phase(&mut sum, |thread, sum| {
            if thread < pairs {
                let index = ticket.get(0);
                let before = sums_before(args.state, pairs, thread, index as u32);
                if index != 0 {
                    published(args.state, pairs, thread, index as u32).store(PREFIX | (before + sum.tile));
                }
                let last = args.plan.first + (index + 1) * tile::<K, V>() >= args.plan.end;
                let mut start = sum.start;
                for half in 0..2 {
                    let d = 2 * thread + half;
                    let own = (sum.tile >> (32 * half)) as u32;
                    let begin = args.digit_starts.load_read_only(d as u64).wrapping_sub(args.plan.base);
                    let begin = begin.wrapping_add((before >> (32 * half)) as u32);
                    starts.set(d, begin.wrapping_sub(start));
                    if last {
                        args.next_starts.store(d as u64, begin.wrapping_add(own));
                    }
                    start += own;
                }
            }
        });

        // Out: thread after thread, as the items stand in the room.
        block.phase(&mut held, |thread, held| {
            let here = here::<K, V>(&args.plan, ticket.get(0));
            for group in 0..items::<K, V>() / 4 {
                let place_of = |i: usize| thread + ((4 * group + i) * THREADS) as u32;
                let mut keys = [K::default(); 4];
                for i in 0..4 {
                    keys[i] = staged_keys.get(place_of(i));
                }
                let digits = digit.of_each(&keys);
                for i in 0..4 {
                    let target = starts.get(digits[i]).wrapping_add(place_of(i));
                    if place_of(i) < here {
                        args.keys_out.store(target as u64, keys[i]);
                    }
                    held.targets[4 * group + i] = target;
                }
            }
        });
        let staged_values = room.cast::<V>();
        block.phase(&mut held, |_, held| {
            for row in 0..items::<K, V>() {
                staged_values.set(held.places[row], held.values[row]);
            }
        });
        block.each(&mut held, |thread, held| {
            let here = here::<K, V>(&args.plan, ticket.get(0));
            for i in 0..items::<K, V>() {
                let place = thread + (i * THREADS) as u32;
                if place < here {
                    args.values_out.store(held.targets[i] as u64, staged_values.get(place));
                }
            }
        });
    }
}

/// What the thread of two digits knows of them.
struct DigitSums {
    /// How many items of the tile have them, one in each half.
    tile: u64,
    /// How many items of the tile have smaller digits.
    start: u32,
}

/// How many items a tile has.
#[inline(always)]
fn here<K: Key, V: Value>(plan: &PartitionPlan, tile_index: u64) -> u32 {
    let first = plan.first + tile_index * tile::<K, V>();
    settled(plan.end.saturating_sub(first).min(tile::<K, V>()) as u32)
}

/// Where in its tile item `row` of a thread stands.
#[inline(always)]
fn place_of_row<K: Key, V: Value>(thread: u32, row: usize) -> u32 {
    (thread & !31) * items::<K, V>() as u32 + row as u32 * 32 + thread % 32
}

/// Reads the items of a thread, as far as the tile has them; returns how many the tile has.
#[inline(always)]
fn load_rows<K: Key, V: Value, T: Word>(
    from: Global<T>,
    plan: &PartitionPlan,
    tile_index: u64,
    thread: u32,
    into: &mut [T; MOST_ITEMS],
) -> u32 {
    let from = from.offset(plan.first + tile_index * tile::<K, V>() + place_of_row::<K, V>(thread, 0) as u64);
    let here = here::<K, V>(plan, tile_index);
    if here as u64 == tile::<K, V>() {
        for row in 0..items::<K, V>() {
            into[row] = from.load_streaming(row as u64 * 32);
        }
    } else {
        for row in 0..items::<K, V>() {
            if place_of_row::<K, V>(thread, row) < here {
                into[row] = from.load_streaming(row as u64 * 32);
            }
        }
    }
    here
}

/// The word in which `tile` publishes its sums for pair of digits `pair`. Numbers of words fit 32 bits.
#[inline(always)]
fn published(state: Global<u64>, pairs: u32, pair: u32, tile: u32) -> Atomic<u64, DeviceScope> {
    state.atomic((1 + tile * pairs + pair) as u64)
}

/// The sums of the tiles before `tile`: see [`look_back`](crate::look_back), here by one thread for two digits.
#[inline(always)]
fn sums_before(state: Global<u64>, pairs: u32, pair: u32, tile: u32) -> u64 {
    let mut sums = 0;
    let mut end = tile;
    let mut known = tile == 0;
    while !known {
        // Several at a time: what they published is read at once, and each step back takes as long as one read.
        let mut words = [PREFIX; WINDOW];
        for back in 0..WINDOW {
            if (back as u32) < end {
                words[back] = published(state, pairs, pair, end - 1 - back as u32).load();
            }
        }
        // No early exit: on the GPU the loop is to be unrolled. Both halves have the same status.
        let mut missing = false;
        for back in 0..WINDOW {
            let low = words[back] as u32;
            missing |= low < SUM as u32;
            if !missing && !known {
                sums += words[back] & SUMS;
                end = end.wrapping_sub(1);
                known = low >= PREFIX as u32;
            }
        }
        if missing && !known {
            pause();
        }
    }
    sums
}

/// Tiles that a step back reads.
const WINDOW: usize = 4;

/// Gives each thread the sum of what the threads before it have. There is no barrier at the end.
#[inline(always)]
fn exclusive_sum<B: Block>(block: &mut B, local: &mut B::Local<DigitSums>, sums: impl Shared<u32>, pairs: u32) {
    block.tiles_of::<32, _>(local, |warp, local| {
        let number = warp.first_thread() / 32;
        warp.exclusive_sum(
            local,
            |_, sum| sum.tile as u32 + (sum.tile >> 32) as u32,
            |lane, sum, before, total| {
                sum.start = before;
                if lane == 0 {
                    sums.set(number, total);
                }
            },
        );
    });
    block.sync();
    block.each(local, |thread, sum| {
        if thread < pairs {
            for warp in 0..WARPS {
                // All are read, so that the reads need not wait for each other.
                let earlier = sums.get(warp);
                sum.start += if warp < thread / 32 { earlier } else { 0 };
            }
        }
    });
}
