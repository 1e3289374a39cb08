//! Giving the pairs of a page their slots.

use super::evict::Eviction;
use super::lists::{CHOSEN, INSERTED, List, Lists};
use super::probe::{Counts, InsertResult, Page, Seek};
use super::repeat_list::Listing;
use super::source::{Entry, MAX_READ_AHEAD, Source, THREADS, read, stride};
use crate::page::form::{Form, MAX_CANDIDATES, header};
use crate::seam::{Block, Global, Shared, Tile};
use crate::split::pairs::in_order;
use crate::types::{KeyWord, Payload, WordOf};

/// The state of a thread.
pub struct Thread<K, V, W> {
    /// The pairs that the thread inserts next.
    pub pairs: ([K; MAX_READ_AHEAD], [V; MAX_READ_AHEAD]),
    pub seek: Seek<W>,
    pub entry: Entry<K, W>,
    /// The number of keys that the thread inserted, less those that it removed again. It is modulo
    /// 2^32, since a thread also removes keys that others inserted.
    pub inserted: u32,
}

/// The state of a thread that inserts keys with this payload.
pub type ThreadOf<K, V> = Thread<K, WordOf<V>, <K as KeyWord>::PackedWord<V>>;

/// Gives pairs slots of their home by counting, as long as it has some; spills the others to the
/// list.
#[inline(always)]
pub fn count_slots<const REPEATS: bool, F: Form, K: KeyWord, V: Payload, B: Block>(
    thread: u32,
    state: &mut ThreadOf<K, V>,
    source: &Source<'_, K, V>,
    page: Page<'_, F, K::PackedWord<V>, impl Shared<K::PackedWord<V>>>,
    counts: Counts<impl Shared<u32>>,
    over: List<impl Shared<V::PackedEntry>, impl Shared<u32>>,
) {
    let pairs = source.pairs;
    let mut first = thread;
    while first < pairs {
        // While these pairs get their slots, the next ones are being loaded.
        let some = state.pairs;
        state.pairs = source.load::<REPEATS>(first + (read::<K, V>() * THREADS) as u32);
        for i in 0..read::<K, V>() {
            let pair = first + (i * THREADS) as u32;
            if pair < pairs {
                let mixed = source.mixed(some.0[i]);
                let value_word = source.value_word::<REPEATS, B>(pair, some.1[i]);
                let home = page.layout.home_in_page(mixed);
                let slot = counts.add(home);
                if slot < F::SLOTS {
                    page.put(home, slot, page.layout.tag(page.layout.remainder(mixed), 0), value_word);
                    state.inserted = state.inserted.wrapping_add(1);
                } else {
                    over.push(Entry { pair, mixed, value_word }.packed::<V>());
                }
            }
        }
        first += (read::<K, V>() * THREADS) as u32;
    }
}

/// A page, and the device memory that it is built in if that is the table's own.
pub type PageInMemory<'l, F, W, S> = (Global<W>, Page<'l, F, W, S>);

/// Lets the spilled pairs search for slots, or all pairs if `spilled` is none. Ends with a barrier.
///
/// With `COUNT` the pairs are those whose home is full, their keys are unique, and the counts say
/// which buckets have slots. Without it, the words of tags say that.
#[inline(always)]
pub fn search_slots<const COUNT: bool, const REPEATS: bool, F: Form, K: KeyWord, V: Payload, B: Block>(
    block: &mut B,
    threads: &mut B::Local<ThreadOf<K, V>>,
    source: &Source<'_, K, V>,
    (in_place, page): PageInMemory<'_, F, K::PackedWord<V>, impl Shared<K::PackedWord<V>>>,
    counts: Counts<impl Shared<u32>>,
    lists: Lists<
        List<impl Shared<V::PackedEntry>, impl Shared<u32>>,
        List<impl Shared<V::PackedEntry>, impl Shared<u32>>,
        impl Listing<K::PackedWord<V>>,
    >,
    spilled: Option<u32>,
) {
    let Lists { over, left, repeats: listing } = lists;
    let count = spilled.unwrap_or(source.pairs);
    if B::IN_TURN {
        let entry_of = |entry_index: u32| match spilled {
            Some(_) => source.unpacked::<REPEATS, B>(over.entries.get(entry_index)),
            None => source.entry::<REPEATS, B>(entry_index),
        };
        block.phase(threads, |_, thread| {
            let mut entry_index = 0;
            // If the list of left pairs has overflowed, this search has failed and ends early.
            while entry_index < count && !left.overflowed() {
                let entry = entry_of(entry_index);
                match page.search_in_turn::<COUNT, K>(&entry, spilled.is_some(), in_place, counts) {
                    (InsertResult::New, _) => thread.inserted = thread.inserted.wrapping_add(1),
                    // The later value replaces the earlier one; if keys are repeated in spite of
                    // the promise, it does not.
                    (InsertResult::Repeated, at) => {
                        if F::VALUES && REPEATS {
                            page.words.set(at, entry.value_word);
                        }
                        let mixed = entry.mixed;
                        listing.push(page.layout.home_in_page(mixed), page.layout.remainder(mixed));
                    }
                    (InsertResult::Left, _) => left.push(entry.packed::<V>()),
                }
                entry_index += 1;
            }
        });
        return;
    }
    // Pairs are taken from the last to the first: of a key with many pairs, most then find a later
    // one there already.
    let entry_of = |entry_index: u32| {
        if spilled.is_some() {
            source.unpacked::<REPEATS, B>(over.entries.get(entry_index))
        } else {
            source.entry::<REPEATS, B>(source.pairs - 1 - entry_index)
        }
    };
    block.tiles_of::<32, _>(threads, |warp, threads| {
        let mut first = warp.first_thread();
        // If the list of left pairs has overflowed, this search has failed and ends early.
        while first < count && warp.ballot(threads, |_, _| left.overflowed()) == 0 {
            warp.each(threads, |lane, thread| {
                thread.seek.inserted = Some(InsertResult::Left);
                if first + lane < count {
                    thread.entry = entry_of(first + lane);
                    let mixed = thread.entry.mixed;
                    thread.seek = page.seek(page.layout.home_in_page(mixed), page.layout.remainder(mixed));
                    if COUNT {
                        page.go_on(&mut thread.seek);
                    }
                }
            });
            // All lanes go bucket by bucket together: those that are done must not run ahead, or
            // the lanes would diverge.
            // At most seven candidates a lane, and a probe is repeated only if another thread took
            // a slot of the bucket, or set a filter bit.
            while warp.ballot(threads, |_, thread| thread.seek.inserted.is_none()) != 0 {
                warp.each(threads, |_, thread| {
                    if thread.seek.inserted.is_some() {
                        return;
                    }
                    if COUNT {
                        page.take(&mut thread.seek, counts, thread.entry.value_word);
                    } else {
                        page.step(&mut thread.seek);
                    }
                });
            }
            warp.each(threads, |lane, thread| {
                if first + lane >= count {
                    return;
                }
                if thread.seek.inserted == Some(InsertResult::Left) {
                    left.push(thread.entry.packed::<V>());
                    return;
                }
                let is_new = thread.seek.inserted == Some(InsertResult::New);
                thread.inserted = thread.inserted.wrapping_add(is_new as u32);
                if !is_new {
                    listing.push(thread.seek.home, thread.seek.remainder);
                }
                let at = thread.seek.at;
                if COUNT || !F::VALUES {
                    return;
                }
                if !in_order::<REPEATS, V>() {
                    // If a key is repeated in spite of the promise, each slot keeps the value of
                    // the pair that took it. So no two slots have the value of one pair.
                    if is_new {
                        page.words.set(at, thread.entry.value_word);
                    }
                } else if page.words.load_relaxed(at) < thread.entry.value_word {
                    page.words.fetch_max(at, thread.entry.value_word);
                }
            });
            first += THREADS as u32;
        }
    });
    block.sync();
}

/// Adds the keys that the threads have inserted to the header's count.
#[inline(always)]
pub fn count_inserted<K, V, W, B: Block>(
    block: &mut B,
    threads: &mut B::Local<Thread<K, V, W>>,
    lengths: impl Shared<u32>,
    header: Global<u64>,
) {
    // There is one addition per block: a word takes about one per nanosecond, and one from each
    // warp would be a tenth of the time of all pages.
    block.tiles_of::<32, _>(threads, |warp, threads| {
        warp.exclusive_sum(
            threads,
            |_, thread| thread.inserted,
            |lane, _, _, total| {
                if lane == 0 {
                    // A warp may have removed more than it inserted: the sum over the block is
                    // right, modulo 2^32.
                    lengths.fetch_add(INSERTED, total);
                }
            },
        );
    });
    block.sync();
    block.each(threads, |thread, _| {
        if thread == 0 {
            header.atomic(header::LENGTH).fetch_add(lengths.get(INSERTED) as u64);
        }
    });
}

/// An eviction for a pair that is left, in one word: the larger word is better, and 0 is none.
#[derive(Clone, Copy)]
struct EvictionChoice(u32);

impl EvictionChoice {
    /// Returns the choice if the key is in slot `reached` already.
    #[inline(always)]
    fn repeated(reached: u32) -> Self {
        Self(u32::MAX << 16 | reached)
    }

    /// Returns the choice that the pair in slot `reached` goes on to candidate `later`. A lower
    /// `later` is better, since then all candidates that the pair passes over are full.
    #[inline(always)]
    fn moving(reached: u32, later: u32) -> Self {
        Self((MAX_CANDIDATES - later + 1) << 16 | reached)
    }

    #[inline(always)]
    fn reached(self) -> u32 {
        self.0 & 0xffff
    }

    /// Returns the candidate that the pair in the slot goes on to, if there is one.
    #[inline(always)]
    fn later(self) -> Option<u32> {
        let above = self.0 >> 16;
        if above <= MAX_CANDIDATES { Some(MAX_CANDIDATES + 1 - above) } else { None }
    }
}

/// Evicts pairs for those that are left, one after the other; returns whether that failed. Ends
/// with a barrier. Unless threads run in turn, `moved` is told the words for the value of a pair
/// that was evicted: the one that it had, which by then is another pair's, and the one that it has.
#[inline(always)]
pub fn evict_for_unplaced<const REPEATS: bool, F: Form, K: KeyWord, V: Payload, B: Block>(
    block: &mut B,
    threads: &mut B::Local<ThreadOf<K, V>>,
    source: &Source<'_, K, V>,
    page: Page<'_, F, K::PackedWord<V>, impl Shared<K::PackedWord<V>>>,
    (left, count): (List<impl Shared<V::PackedEntry>, impl Shared<u32>>, u32),
    listing: impl Listing<K::PackedWord<V>>,
    moved: impl Fn(u32, u32) + Sync,
) -> bool {
    if count > left.most {
        return true;
    }
    let sought = |entry_index: u32| {
        let entry = source.unpacked::<REPEATS, B>(left.entries.get(entry_index));
        (
            page.layout.home_in_page(entry.mixed),
            page.layout.remainder::<K, K::PackedWord<V>>(entry.mixed),
            entry.value_word,
        )
    };
    if B::IN_TURN {
        let mut failed = false;
        for entry_index in 0..count {
            let (home, remainder, value_word) = sought(entry_index);
            let Some(eviction) = page.first_eviction(home, remainder) else {
                failed = true;
                break;
            };
            block.each(threads, |_, thread| {
                let is_new = page.go_in(home, remainder, eviction, value_word);
                thread.inserted = thread.inserted.wrapping_add(is_new as u32);
                if !is_new {
                    listing.push(home, remainder);
                }
            });
        }
        return failed;
    }
    let choices = left.lengths;
    let (slots, laters) = (page.reach(), page.layout.candidates - 1);
    let mut entry_index = 0;
    while entry_index < count {
        let choice_at = CHOSEN + entry_index % 2;
        // There is a thread for each slot within reach and each candidate that its pair could go on
        // to.
        block.phase(threads, |thread, _| {
            let (home, remainder, _) = sought(entry_index);
            let mut number = thread;
            while number < slots * laters {
                let (reached, later) = (number % slots, 1 + number / slots);
                let eviction = match page.evictable(home, remainder, reached, later) {
                    Some(Eviction::Repeated) => EvictionChoice::repeated(reached),
                    Some(Eviction::Movable) => EvictionChoice::moving(reached, later),
                    None => EvictionChoice(0),
                };
                if eviction.0 != 0 {
                    choices.fetch_max(choice_at, eviction.0);
                }
                number += const { stride::<B>() };
            }
        });
        let eviction = EvictionChoice(choices.get(choice_at));
        if eviction.0 == 0 {
            return true;
        }
        block.phase(threads, |thread, state| {
            if thread != 0 {
                return;
            }
            choices.set(CHOSEN + (entry_index + 1) % 2, 0);
            let (home, remainder, value_word) = sought(entry_index);
            if let Some(later) = eviction.later() {
                let to = page.evict(home, remainder, eviction.reached(), later);
                moved(page.value_of(home, remainder, eviction.reached()), to);
                state.inserted = state.inserted.wrapping_add(1);
            } else {
                listing.push(home, remainder);
            }
            if !F::VALUES {
                return;
            }
            let at = page.value_of(home, remainder, eviction.reached());
            if in_order::<REPEATS, V>() {
                page.words.fetch_max(at, value_word);
            } else {
                page.words.set(at, value_word);
            }
        });
        entry_index += 1;
    }
    false
}
