//! The build of a page by the threads of a block, in shared memory.

use super::copy::{first_word, write_page};
use super::evict::evict_for_unplaced;
use super::fill::{Thread, ThreadOf, count_inserted, count_slots, search_slots};
use super::lists::{CHOSEN, IN_VAIN, INSERTED, Lists, OWN_LENGTH};
use super::probe::{Counts, MAX_COUNTED, Page, PageIn};
use super::repeat_list::{Listing, NoListing};
use super::source::{Source, Sources, THREADS};
use crate::page::form::{BUCKET_WORDS, Form, header};
use crate::seam::{Block, Global, Shared};
use crate::split;
use crate::split::pairs::in_order;
use crate::types::{KeyWord, Payload, Scalar};

/// The kernel's arguments for building a page.
pub(super) struct Job<K: KeyWord, V: Payload> {
    pub sources: Sources<K, V>,
    pub words_out: Global<K::PackedWord<V>>,
    pub header: Global<u64>,
    pub zeroed: bool,
}

/// The build of a page: its pairs, and the block's memory `M`. The lengths of lists are in `N`.
struct PageBuild<'b, const REPEATS: bool, F, K: KeyWord, V: Payload, M: Shared<u64>, N, L> {
    job: &'b Job<K, V>,
    source: Source<'b, K, V>,
    page: PageIn<'b, F, K, V, M>,
    /// The counts of slots, which are after the page in the block's memory.
    counts: Counts<M::As<u32>>,
    lists: Lists<V, M, N, L>,
}

/// Builds the block's page.
#[inline(always)]
pub(super) fn build<const REPEATS: bool, F: Form, K: KeyWord, V: Payload, B: Block, M: Shared<u64>, L>(
    block: &mut B,
    job: &Job<K, V>,
    (page_memory, lists): (M, Lists<V, M, impl Shared<u32>, L>),
) where
    L: Listing<K::PackedWord<V>>,
{
    let layout = &job.sources.layout;
    let page_words = layout.page_buckets * BUCKET_WORDS;
    let number = block.index();
    let build = PageBuild::<REPEATS, F, K, V, M, _, L> {
        job,
        source: job.sources.page(number as u64),
        page: Page::new(page_memory.cast(), layout),
        counts: Counts { words: page_memory.cast(), first: page_words * <K::PackedWord<V> as Scalar>::BITS / 32 },
        lists,
    };
    let mut threads = block.local(|thread| Thread::new(build.source.load_first::<REPEATS>(thread)));
    // The header is read after the pairs are requested, so that there is only one wait for both.
    if split::overflowed(job.header) {
        return;
    }
    build.clear(block, &mut threads);
    let Lists { over, left, repeats: listing } = lists;
    if L::LISTS && left.lengths.get(IN_VAIN) != 0 {
        return;
    }
    // Most pairs get a slot of their home bucket by counting, which is faster than searching.
    let counted = build.source.pairs <= MAX_COUNTED;
    if counted {
        build.count(block, &mut threads);
    }
    // Then the other pairs search. If more pairs were spilled than the list can contain, all pairs
    // search, and pairs with a slot find it.
    let spilled = if counted { over.length() } else { u32::MAX };
    if spilled != 0 {
        build.search(block, &mut threads, spilled);
        build.evict(block, &mut threads);
    }
    let out = job.words_out.offset(first_word(number, layout.page_buckets));
    // The index of a pair is replaced by its value.
    let value_of = |_: u64, number: K::PackedWord<V>| match number.to_u64() {
        0 => number,
        number => Scalar::from_u64(build.source.value(number - 1).to_u64()),
    };
    block.phase(&mut threads, |thread, _| {
        write_page::<REPEATS, F, K, V>(thread, build.page, out, value_of);
    });
    count_inserted(block, &mut threads, left.lengths, job.header);
    block.each(&mut threads, |thread, _| {
        if thread == 0 {
            listing.end();
        }
    });
}

impl<const REPEATS: bool, F, K, V, M, N, L> PageBuild<'_, REPEATS, F, K, V, M, N, L>
where
    F: Form,
    K: KeyWord,
    V: Payload,
    M: Shared<u64>,
    N: Shared<u32>,
    L: Listing<K::PackedWord<V>>,
{
    /// Empties the page, the counts and the lists. All tags become 0. Values become 0 only if
    /// values will be compared with them.
    #[inline(always)]
    fn clear<B: Block>(&self, block: &mut B, threads: &mut B::Local<ThreadOf<K, V>>) {
        let Self { page, counts, lists: Lists { over, left, repeats: listing }, .. } = *self;
        let buckets = page.layout.page_buckets;
        block.phase(threads, |thread, _| {
            let rows = if in_order::<REPEATS, V>() { BUCKET_WORDS } else { F::TAG_WORDS };
            let mut word = thread;
            while word < rows * buckets {
                page.words.set(word, Scalar::from_u64(0));
                word += THREADS as u32;
            }
            let mut word = thread;
            while word < buckets / 2 {
                counts.words.set(counts.first + word, 0);
                word += THREADS as u32;
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

    /// Assigns pairs to slots of their home buckets by counting, and lists the pairs whose home is
    /// full.
    #[inline(always)]
    fn count<B: Block>(&self, block: &mut B, threads: &mut B::Local<ThreadOf<K, V>>) {
        let Self { source, page, counts, lists: Lists { over, repeats: listing, .. }, .. } = *self;
        block.phase(threads, |thread, state| {
            count_slots::<REPEATS, F, K, V>(thread, state, &source, page, counts, over);
        });
        if REPEATS || L::LISTS {
            block.phase(threads, |thread, state| {
                let mut bucket = thread;
                while bucket < page.layout.page_buckets {
                    state.inserted = state.inserted.wrapping_sub(page.unite_repeats(bucket, listing));
                    bucket += THREADS as u32;
                }
            });
        }
    }

    /// Searches slots for the `spilled` pairs, or for all pairs if the list cannot contain these.
    #[inline(always)]
    fn search<B: Block>(&self, block: &mut B, threads: &mut B::Local<ThreadOf<K, V>>, spilled: u32) {
        let Self { source, page, counts, lists, .. } = *self;
        let Lists { over, left, .. } = lists;
        let mut listed = spilled <= over.most;
        if !REPEATS && !L::LISTS && listed {
            let lists = Lists::<V, M, N, _> { over, left, repeats: NoListing };
            search_slots::<true, false, F, K, V, B, M>(block, threads, &source, page, counts, lists, Some(spilled));
            listed = left.length() <= left.most;
            if !listed {
                // Keys that have many copies in spite of the promise may fill all of their
                // candidates. A search by the tags then finds the copies.
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
            search_slots::<false, REPEATS, F, K, V, B, M>(block, threads, &source, page, counts, lists, spilled);
        }
    }

    /// Evicts pairs to store the unplaced pairs. The header counts the unplaced pairs, and counts
    /// the page as failed if some of them cannot be stored.
    #[inline(always)]
    fn evict<B: Block>(&self, block: &mut B, threads: &mut B::Local<ThreadOf<K, V>>) {
        let Self { source, page, lists: Lists { left, repeats: listing, .. }, .. } = *self;
        let (header, count) = (self.job.header, left.length());
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
