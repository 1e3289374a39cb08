//! The build of a page by one thread, in the table's own memory and in the order of the pairs.

use super::copy::first_word;
use super::fill_in_turn::FillInTurn;
use super::lists::{List, Lists};
use super::one_page::Job;
use super::probe::{Counts, InsertResult, Page, PageIn};
use super::repeat_list::Listing;
use super::source::{Entry, Source};
use crate::page::form::{BUCKET_WORDS, Form, header};
use crate::seam::{Global, Shared, vectorized};
use crate::split;
use crate::types::{KeyWord, Payload};
use core::marker::PhantomData;

/// The build of a page: its pairs, its words in the table's memory, and the block's memory `M`. The
/// lengths of lists are in `N`.
struct PageInTurn<'b, const REPEATS: bool, F, K: KeyWord, V: Payload, M: Shared<u64>, N, L> {
    source: Source<'b, K, V>,
    in_place: Global<K::PackedWord<V>>,
    page: PageIn<'b, F, K, V, M>,
    counts: Counts<M::As<u32>>,
    lists: Lists<V, M, N, L>,
}

/// Builds page `number`.
#[inline(always)]
pub(super) fn build_in_turn<const REPEATS: bool, F: Form, K: KeyWord, V: Payload, M: Shared<u64>, L>(
    number: u32,
    job: &Job<K, V>,
    (page_memory, lists): (M, Lists<V, M, impl Shared<u32>, L>),
) where
    L: Listing<K::PackedWord<V>>,
{
    if split::overflowed(job.header) {
        return;
    }
    let Lists { over, left, repeats: listing } = lists;
    let layout = &job.sources.layout;
    let page_words = layout.page_buckets * BUCKET_WORDS;
    let in_place = job.words_out.offset(first_word(number, layout.page_buckets));
    let words = page_memory.cast::<K::PackedWord<V>>().staged(in_place, page_words);
    let build = PageInTurn::<REPEATS, F, K, V, M, _, L> {
        source: job.sources.page(number as u64),
        in_place,
        page: Page::new(words, layout),
        counts: Counts { words: page_memory.cast(), first: 0 },
        lists,
    };
    if !job.zeroed {
        words.clear(0, page_words);
    }
    build.counts.words.clear(0, layout.page_buckets);
    lists.clear();
    if listing.overflowed() {
        return;
    }
    let mut inserted = vectorized(FillInTurn::<REPEATS, F, _, _, _, _, _, _> {
        source: build.source,
        layout,
        words: in_place,
        counts: build.counts.words,
        over,
        listing,
        form: PhantomData,
    });
    let spilled = over.length();
    if spilled != 0 {
        build.search_all(spilled, &mut inserted);
        let count = left.length();
        if count != 0 {
            job.header.atomic(header::LEFT).fetch_add(count as u64);
            let left = (left, count);
            if evict_in_turn::<REPEATS, F, K, V>(&build.source, build.page, left, listing, &mut inserted) {
                job.header.atomic(header::FAILED).fetch_add(1);
            }
        }
    }
    job.header.atomic(header::LENGTH).fetch_add(inserted as u64);
    listing.end();
}

impl<const REPEATS: bool, F, K, V, M, N, L> PageInTurn<'_, REPEATS, F, K, V, M, N, L>
where
    F: Form,
    K: KeyWord,
    V: Payload,
    M: Shared<u64>,
    N: Shared<u32>,
    L: Listing<K::PackedWord<V>>,
{
    /// Searches slots for the `spilled` pairs, or for all pairs if the list cannot contain these.
    #[inline(always)]
    fn search_all(&self, spilled: u32, inserted: &mut u32) {
        let Lists { over, left, .. } = self.lists;
        let mut listed = spilled <= over.most;
        if !REPEATS && !L::LISTS && listed {
            self.search::<true>(Some(spilled), inserted);
            listed = left.length() <= left.most;
            if !listed {
                // Keys that have many copies in spite of the promise may fill all of their
                // candidates. A search by the tags then finds the copies.
                left.lengths.set(left.number, 0);
            }
        }
        if REPEATS || L::LISTS || !listed {
            self.search::<false>(listed.then_some(spilled), inserted);
        }
    }

    /// Searches slots for the spilled pairs, or for all pairs if `spilled` is `None`. With `COUNT`
    /// their keys are unique, and the counts tell which buckets have free slots.
    #[inline(always)]
    fn search<const COUNT: bool>(&self, spilled: Option<u32>, inserted: &mut u32) {
        let Self { source, in_place, page, counts, lists: Lists { over, left, repeats: listing } } = *self;
        let entry_of = |entry_index: u32| match spilled {
            Some(_) => source.unpacked_in_turn::<REPEATS>(over.entries.get(entry_index)),
            None => source.entry_in_turn::<REPEATS>(entry_index),
        };
        let (mut entry_index, count) = (0, spilled.unwrap_or(source.pairs));
        // If the list of unplaced pairs has overflowed, the search has failed and ends early.
        while entry_index < count && !left.overflowed() {
            let entry = entry_of(entry_index);
            match page.search_in_turn::<COUNT, K>(&entry, spilled.is_some(), in_place, counts) {
                (InsertResult::New, _) => *inserted = inserted.wrapping_add(1),
                // The later value replaces the earlier one, except if keys are repeated in spite of
                // the promise.
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
    }
}

/// Evicts pairs to store the unplaced pairs, one after the other. Returns whether that failed.
#[inline(always)]
pub(in crate::page) fn evict_in_turn<const REPEATS: bool, F: Form, K: KeyWord, V: Payload>(
    source: &Source<'_, K, V>,
    page: Page<'_, F, K::PackedWord<V>, impl Shared<K::PackedWord<V>>>,
    (left, count): (List<impl Shared<V::PackedEntry>, impl Shared<u32>>, u32),
    listing: impl Listing<K::PackedWord<V>>,
    inserted: &mut u32,
) -> bool {
    if count > left.most {
        return true;
    }
    for entry_index in 0..count {
        let Entry { mixed, value_word, .. } = source.unpacked_in_turn::<REPEATS>(left.entries.get(entry_index));
        let (home, remainder) = (page.layout.home_in_page(mixed), page.layout.remainder(mixed));
        let Some(eviction) = page.first_eviction(home, remainder) else { return true };
        let is_new = page.go_in(home, remainder, eviction, value_word);
        *inserted = inserted.wrapping_add(is_new as u32);
        if !is_new {
            listing.push(home, remainder);
        }
    }
    false
}
