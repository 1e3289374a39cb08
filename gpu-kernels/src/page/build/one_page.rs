//! The steps of a page's build by one block.

use super::fill::{ThreadOf, count_slots, evict_for_unplaced, search_slots};
use super::fill_in_turn::FillInTurn;
use super::lists::{CHOSEN, IN_VAIN, INSERTED, List, Lists, OWN_LENGTH};
use super::probe::{Counts, Page};
use super::repeat_list::{Listing, NoListing};
use super::source::{Source, Sources, stride};
use crate::page::form::{BUCKET_WORDS, Form, header};
use crate::seam::{Block, Global, Shared, vectorized};
use crate::split::pairs::in_order;
use crate::types::{KeyWord, Payload, Scalar};
use core::marker::PhantomData;

/// The arguments of a block's build.
pub(super) struct Job<K: KeyWord, V: Payload> {
    pub sources: Sources<K, V>,
    pub words_out: Global<K::PackedWord<V>>,
    pub header: Global<u64>,
    pub zeroed: bool,
}

/// The build of a page: its pairs, where it becomes, and the block's memory.
pub(super) struct PageBuild<
    'b,
    const REPEATS: bool,
    F,
    K: KeyWord,
    V: Payload,
    W: Shared<K::PackedWord<V>>,
    C,
    Over,
    Left,
    L,
> {
    pub job: &'b Job<K, V>,
    pub source: Source<'b, K, V>,
    pub in_place: Global<K::PackedWord<V>>,
    pub words: W,
    pub page: Page<'b, F, K::PackedWord<V>, W>,
    pub counts: Counts<C>,
    pub lists: Lists<Over, Left, L>,
}

impl<const REPEATS: bool, F, K, V, W, C, O, OverLengths, E, LeftLengths, L>
    PageBuild<'_, REPEATS, F, K, V, W, C, List<O, OverLengths>, List<E, LeftLengths>, L>
where
    F: Form,
    K: KeyWord,
    V: Payload,
    W: Shared<K::PackedWord<V>>,
    C: Shared<u32>,
    O: Shared<V::PackedEntry>,
    OverLengths: Shared<u32>,
    E: Shared<V::PackedEntry>,
    LeftLengths: Shared<u32>,
    L: Listing<K::PackedWord<V>>,
{
    /// Empties page, counts and lists. Tags become empty; values become 0 only where something is
    /// to be compared with them.
    #[inline(always)]
    pub fn clear<B: Block>(&self, block: &mut B, threads: &mut B::Local<ThreadOf<K, V>>) {
        let Self { words, counts, lists: Lists { over, left, repeats: listing }, .. } = *self;
        let buckets = self.page.layout.page_buckets;
        block.phase(threads, |thread, _| {
            if B::IN_TURN {
                if !self.job.zeroed {
                    words.clear(0, buckets * BUCKET_WORDS);
                }
                counts.words.clear(counts.first, buckets);
            } else {
                let rows = if in_order::<REPEATS, V>() { BUCKET_WORDS } else { F::TAG_WORDS };
                let mut word = thread;
                while word < rows * buckets {
                    words.set(word, Scalar::from_u64(0));
                    word += const { stride::<B>() };
                }
                let mut word = thread;
                while word < buckets / 2 {
                    counts.words.set(counts.first + word, 0);
                    word += const { stride::<B>() };
                }
            }
            if thread == 0 {
                over.lengths.set(over.number, 0);
                left.lengths.set(left.number, 0);
                left.lengths.set(CHOSEN, 0);
                left.lengths.set(INSERTED, 0);
                if L::LISTS {
                    left.lengths.set(OWN_LENGTH, 0);
                    left.lengths.set(IN_VAIN, listing.overflowed() as u32);
                }
            }
        });
    }

    /// Gives pairs slots of their homes by counting, and lists those that find their home full.
    #[inline(always)]
    pub fn count<B: Block>(&self, block: &mut B, threads: &mut B::Local<ThreadOf<K, V>>) {
        let Self { source, page, counts, in_place, lists: Lists { over, repeats: listing, .. }, .. } = *self;
        if B::IN_TURN {
            block.phase(threads, |_, state| {
                let (words, counts, layout, form) = (in_place, counts.words, page.layout, PhantomData);
                state.inserted = vectorized(FillInTurn::<REPEATS, F, _, _, _, _, _, _> {
                    source,
                    layout,
                    words,
                    counts,
                    over,
                    listing,
                    form,
                });
            });
        } else {
            block.phase(threads, |thread, state| {
                count_slots::<REPEATS, F, K, V, B>(thread, state, &source, page, counts, over);
            });
        }
        if (REPEATS || L::LISTS) && !B::IN_TURN {
            block.phase(threads, |thread, state| {
                let mut bucket = thread;
                while bucket < page.layout.page_buckets {
                    state.inserted = state.inserted.wrapping_sub(page.unite_repeats(bucket, listing));
                    bucket += const { stride::<B>() };
                }
            });
        }
    }

    /// Has the spilled pairs, of which there are so many, search a slot, or all pairs if the list
    /// does not hold them.
    #[inline(always)]
    pub fn search<B: Block>(&self, block: &mut B, threads: &mut B::Local<ThreadOf<K, V>>, spilled: u32) {
        let Self { source, page, counts, in_place, lists, .. } = *self;
        let Lists { over, left, .. } = lists;
        let mut listed = spilled <= over.most;
        if !REPEATS && !L::LISTS && listed {
            search_slots::<true, false, F, K, V, B>(
                block,
                threads,
                &source,
                (in_place, page),
                counts,
                Lists { over, left, repeats: NoListing },
                Some(spilled),
            );
            listed = left.lengths.get(left.number) <= left.most;
            if !listed {
                // If keys have many copies in spite of the promise, these take all slots of their
                // candidates. A search by the tags finds the copies.
                block.sync();
                block.phase(threads, |thread, _| {
                    if thread == 0 {
                        left.lengths.set(left.number, 0);
                    }
                });
            }
        }
        if REPEATS || L::LISTS || !listed {
            let spilled = if listed { Some(spilled) } else { None };
            let page = (in_place, page);
            search_slots::<false, REPEATS, F, K, V, B>(block, threads, &source, page, counts, lists, spilled);
        }
    }

    /// Evicts pairs for those that have found no slot. The header has their number, and counts the
    /// page as failed if there is none for them.
    #[inline(always)]
    pub fn evict<B: Block>(&self, block: &mut B, threads: &mut B::Local<ThreadOf<K, V>>) {
        let Self { source, page, lists: Lists { left, repeats: listing, .. }, .. } = *self;
        let (header, count) = (self.job.header, left.lengths.get(left.number));
        if count == 0 {
            return;
        }
        block.sync();
        let moved = |_, _| ();
        let failed =
            evict_for_unplaced::<REPEATS, F, K, V, B>(block, threads, &source, page, (left, count), listing, moved);
        block.each(threads, |thread, _| {
            if thread == 0 {
                header.atomic(header::LEFT).fetch_add(count as u64);
                if failed {
                    header.atomic(header::FAILED).fetch_add(1);
                }
            }
        });
    }
}
