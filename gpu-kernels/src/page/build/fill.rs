//! Storing the pairs of a page in slots.

use super::lists::{INSERTED, List, Lists};
use super::probe::{Counts, InsertResult, Page, Seek};
use super::repeat_list::Listing;
use super::source::{Entry, MAX_READ_AHEAD, Source, THREADS, read};
use crate::page::form::{Form, header};
use crate::seam::{Block, Global, Shared, Tile};
use crate::split::pairs::in_order;
use crate::types::{KeyWord, Payload, Scalar, WordOf};

/// The state of a thread.
pub struct Thread<K, V, W> {
    /// The pairs that the thread inserts next.
    pub pairs: ([K; MAX_READ_AHEAD], [V; MAX_READ_AHEAD]),
    pub seek: Seek<W>,
    pub entry: Entry<K, W>,
    /// The count of keys that the thread inserted minus the count of keys that it removed again. It
    /// is modulo 2^32, since a thread also removes keys that other threads inserted.
    pub inserted: u32,
}

/// The state of a thread that inserts keys with this payload.
pub type ThreadOf<K, V> = Thread<K, WordOf<V>, <K as KeyWord>::PackedWord<V>>;

impl<K: KeyWord, V: Scalar, W: Scalar> Thread<K, V, W> {
    /// Returns the state of a thread that will insert `pairs` next.
    #[inline(always)]
    pub fn new(pairs: ([K; MAX_READ_AHEAD], [V; MAX_READ_AHEAD])) -> Self {
        let entry = Entry { pair: 0, mixed: K::default(), value_word: W::from_u64(0) };
        Self { pairs, seek: Seek::ended(InsertResult::Left), entry, inserted: 0 }
    }
}

/// Assigns pairs to slots of their home buckets by counting, until a bucket is full. Spills the
/// other pairs to the list.
#[inline(always)]
pub fn count_slots<const REPEATS: bool, F: Form, K: KeyWord, V: Payload>(
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
        // While these pairs are stored, the next pairs are being loaded.
        let some = state.pairs;
        state.pairs = source.load::<REPEATS>(first + (read::<K, V>() * THREADS) as u32);
        for i in 0..read::<K, V>() {
            let pair = first + (i * THREADS) as u32;
            if pair < pairs {
                let mixed = source.mixed(some.0[i]);
                let value_word = source.value_word::<REPEATS>(pair, some.1[i]);
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

/// Searches slots for the spilled pairs, or for all pairs if `spilled` is `None`. Ends with a
/// barrier.
///
/// With `COUNT` the homes of the pairs are full, their keys are unique, and the counts tell which
/// buckets have free slots. Without `COUNT` the words of tags tell that.
#[inline(always)]
pub fn search_slots<
    const COUNT: bool,
    const REPEATS: bool,
    F: Form,
    K: KeyWord,
    V: Payload,
    B: Block,
    M: Shared<u64>,
>(
    block: &mut B,
    threads: &mut B::Local<ThreadOf<K, V>>,
    source: &Source<'_, K, V>,
    page: Page<'_, F, K::PackedWord<V>, impl Shared<K::PackedWord<V>>>,
    counts: Counts<impl Shared<u32>>,
    lists: Lists<V, M, impl Shared<u32>, impl Listing<K::PackedWord<V>>>,
    spilled: Option<u32>,
) {
    let Lists { over, left, repeats: listing } = lists;
    let count = spilled.unwrap_or(source.pairs);
    // Pairs are taken from the last to the first, so that most pairs of a frequent key find a later
    // pair of the key in the page already.
    let entry_of = |entry_index: u32| {
        if spilled.is_some() {
            source.unpacked::<REPEATS>(over.entries.get(entry_index))
        } else {
            source.entry::<REPEATS>(source.pairs - 1 - entry_index)
        }
    };
    block.tiles_of(threads, |warp, threads| {
        let mut first = warp.first_thread();
        // If the list of unplaced pairs has overflowed, the search has failed and ends early.
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
            // All lanes probe their next buckets together. Lanes that are done must not run ahead,
            // since then the lanes would diverge. At most seven candidates a lane, and a probe is
            // repeated only if another thread took a slot of the bucket, or set a filter bit.
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
                if first + lane < count {
                    settle::<COUNT, REPEATS, F, K, V>(thread, page, left, listing);
                }
            });
            first += THREADS as u32;
        }
    });
    block.sync();
}

/// Ends the search of a pair: counts it, stores its value, and lists it if it is unplaced or its
/// key is repeated.
#[inline(always)]
fn settle<const COUNT: bool, const REPEATS: bool, F: Form, K: KeyWord, V: Payload>(
    thread: &mut ThreadOf<K, V>,
    page: Page<'_, F, K::PackedWord<V>, impl Shared<K::PackedWord<V>>>,
    left: List<impl Shared<V::PackedEntry>, impl Shared<u32>>,
    listing: impl Listing<K::PackedWord<V>>,
) {
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
        // If a key is repeated in spite of the promise, each slot keeps the value of the pair that
        // took the slot. So no two slots have the value of the same pair.
        if is_new {
            page.words.set(at, thread.entry.value_word);
        }
    } else if page.words.load_relaxed(at) < thread.entry.value_word {
        page.words.fetch_max(at, thread.entry.value_word);
    }
}

/// Adds the keys that the threads have inserted to the header's count.
#[inline(always)]
pub fn count_inserted<K, V, W, B: Block>(
    block: &mut B,
    threads: &mut B::Local<Thread<K, V, W>>,
    lengths: impl Shared<u32>,
    header: Global<u64>,
) {
    // There is one addition per block: a word takes about one addition per nanosecond, so one per
    // warp would take a tenth of the time of all pages.
    block.tiles_of(threads, |warp, threads| {
        warp.exclusive_sum(
            threads,
            |_, thread| thread.inserted,
            |lane, _, _, total| {
                if lane == 0 {
                    // A warp may have removed more keys than it inserted. The sum over the block is
                    // still right, modulo 2^32.
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
