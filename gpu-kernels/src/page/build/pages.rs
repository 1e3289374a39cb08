//! Building the pages, each in the shared memory of one block.

use super::copy::{first_word, write_page};
use super::fill::{Thread, count_inserted};
use super::lists::{IN_VAIN, LEFT_WORDS, LENGTHS, List, Lists, MAX_HOME_FULL, MAX_UNPLACED, OVER_WORDS};
use super::one_page::{Job, PageBuild};
use super::probe::{Counts, MAX_COUNTED, Page};
use super::repeat_list::{ListSizes, Listing, NoListing, RepeatList};
use super::source::{Entry, Sources};
use crate::page::form::{BUCKET_WORDS, Form, Layout, PAGE_MEMORY, with_form};
use crate::seam::{Block, Global, STAGED_TIMES, Shared};
use crate::split;
use crate::types::{KeyWord, Payload, Scalar, WordOf};
use core::marker::PhantomData;

/// The scalar arguments of [`BuildPages`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BuildParams {
    /// The table's layout.
    pub layout: Layout,
    /// The distance from the first pair of one page to that of the next, if their counts are known
    /// and not their starts. The pairs of page `p` begin at `p` times this.
    pub page_capacity: u64,
    /// The number of pairs, if there is one page and nothing else is known.
    pub pairs: u64,
    /// The flag of pairs from a [`Split`](crate::split::Split): 1 if they come from one.
    pub split: u32,
    /// The flag of a cleared table: 1 if all of its words are 0 already.
    pub zeroed: u32,
}

kernel! {
    /// Builds every page from its pairs, with a block for each page.
    ///
    /// The pairs of page `p` begin at `p` times the plan's page capacity, and there are `counts[p]`
    /// of them. If there are no counts, they are from `starts[p]` to `starts[p + 1]`. If there are
    /// neither, the page has all pairs.
    ///
    /// If a split has lost pairs, nothing is built. If a page cannot be built, the header says so,
    /// and that page is unfinished.
    ///
    /// With `REPEATS` keys may be repeated: of all pairs of a key, the last one wins. If `values`
    /// is null all values are 0, and the keys may come from a split of keys alone.
    BuildPages<K: KeyWord, V: Payload; const REPEATS: bool>, "page_build" | "page_build_in_order", threads 384, resident 4,
        shared page_memory: u64 = PAGE_MEMORY, shared over: u64 = OVER_WORDS, shared left: u64 = LEFT_WORDS,
        shared spilled: u32 = LENGTHS;
    {
        keys: Global<K>, values: Global<WordOf<V>>, counts: Global<u32>, starts: Global<u32>, words_out: Global<u64>,
        header: Global<u64>, plan: BuildParams,
    }
}

impl<K: KeyWord, V: Payload, const REPEATS: bool> BuildPages<K, V, REPEATS> {
    #[inline(always)]
    fn run<B: Block>(
        self,
        block: &mut B,
        page_memory: B::Shared<u64>,
        over: B::Shared<u64>,
        left: B::Shared<u64>,
        spilled: B::Shared<u32>,
    ) {
        let args = self;
        build_page(block.strided(), args, page_memory, over, left, spilled, NoListing);
    }
}

/// The scalar arguments of [`BuildPagesUnordered`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct UnorderedParams {
    /// The arguments of the build.
    pub build: BuildParams,
    /// The capacities of the list of repeated keys.
    pub sizes: ListSizes,
}

kernel! {
    /// Builds every page as [`BuildPages`] does if keys are unique, from pairs that are in no
    /// order, and finds out whether they are.
    ///
    /// Of the pairs of a repeated key one is inserted, and the key is listed in `repeats` for each
    /// of the others: its home bucket, and its remainder. Each page has a part of the list, and its
    /// length behind all entries; what does not fit goes to a common part. The header's
    /// [`LISTED`](crate::page::header::LISTED) and
    /// [`REPEATED`](crate::page::header::REPEATED) count them. Now and then a key is listed that is
    /// not repeated. Without values nothing is listed.
    ///
    /// Once the list has overflowed, pages stay unfinished.
    BuildPagesUnordered<K: KeyWord, V: Payload>, "page_build_unordered", threads 384, resident 4,
        shared page_memory: u64 = PAGE_MEMORY, shared over: u64 = OVER_WORDS, shared left: u64 = LEFT_WORDS,
        shared spilled: u32 = LENGTHS;
    {
        keys: Global<K>, values: Global<WordOf<V>>, counts: Global<u32>, starts: Global<u32>, words_out: Global<u64>,
        header: Global<u64>, repeats: Global<u64>, plan: UnorderedParams,
    }
}

impl<K: KeyWord, V: Payload> BuildPagesUnordered<K, V> {
    #[inline(always)]
    fn run<B: Block>(
        self,
        block: &mut B,
        page_memory: B::Shared<u64>,
        over: B::Shared<u64>,
        left: B::Shared<u64>,
        spilled: B::Shared<u32>,
    ) {
        let Self { keys, values, counts, starts, words_out, header, repeats: entries, plan } = self;
        let UnorderedParams { build: plan, sizes } = plan;
        let args = BuildPages::<K, V, false> { keys, values, counts, starts, words_out, header, plan };
        let page = block.index();
        let list = RepeatList::<V, _> {
            entries,
            header,
            sizes,
            page,
            first_bucket: page * plan.layout.page_buckets,
            lengths: spilled,
            payload: PhantomData,
        };
        build_page(block.strided(), args, page_memory, over, left, spilled, list);
    }
}

#[inline(always)]
fn build_page<K: KeyWord, V: Payload, const REPEATS: bool, B: Block>(
    block: &mut B,
    args: BuildPages<K, V, REPEATS>,
    page_memory: impl Shared<u64>,
    over: impl Shared<u64>,
    left: impl Shared<u64>,
    spilled: impl Shared<u32>,
    listing: impl Listing<K::PackedWord<V>>,
) {
    let in_word = 64 / <V::PackedEntry as Scalar>::BITS * if B::IN_TURN { STAGED_TIMES as u32 } else { 1 };
    let BuildPages { keys, values, counts, starts, words_out, header, plan } = args;
    let BuildParams { layout, page_capacity, pairs, split, zeroed } = plan;
    let job = Job {
        sources: Sources { keys, values, counts, starts, page_capacity, pairs, layout, split: split != 0 },
        words_out: words_out.cast(),
        header,
        zeroed: zeroed != 0,
    };
    let memory = Memory {
        words: page_memory.cast::<K::PackedWord<V>>(),
        counts: page_memory.cast::<u32>(),
        lists: Lists {
            over: List {
                entries: over.cast::<V::PackedEntry>(),
                lengths: spilled,
                number: 0,
                most: MAX_HOME_FULL as u32 * in_word,
            },
            left: List {
                entries: left.cast::<V::PackedEntry>(),
                lengths: spilled,
                number: 1,
                most: MAX_UNPLACED as u32 * in_word,
            },
            repeats: listing,
        },
    };
    with_form!(layout.slots, K, V, F => build::<REPEATS, F, K, V, _, _>(block, &job, memory));
}

/// The block's shared memory.
#[derive(Clone, Copy)]
struct Memory<Words, Counts, Over, Left, Repeats> {
    /// The page; the counts are behind it.
    words: Words,
    counts: Counts,
    lists: Lists<Over, Left, Repeats>,
}

#[inline(always)]
fn build<const REPEATS: bool, F: Form, K: KeyWord, V: Payload, B: Block, L: Listing<K::PackedWord<V>>>(
    block: &mut B,
    job: &Job<K, V>,
    memory: Memory<
        impl Shared<K::PackedWord<V>>,
        impl Shared<u32>,
        List<impl Shared<V::PackedEntry>, impl Shared<u32>>,
        List<impl Shared<V::PackedEntry>, impl Shared<u32>>,
        L,
    >,
) {
    let Memory { words, counts, lists } = memory;
    let layout = job.sources.layout;
    let page_words = layout.page_buckets * BUCKET_WORDS;
    let (in_place, words) = if B::IN_TURN {
        let in_place = job.words_out.offset(block.index() as u64 * page_words as u64);
        (in_place, words.staged(in_place, page_words))
    } else {
        (job.words_out, words)
    };
    let first = if B::IN_TURN { 0 } else { page_words * <K::PackedWord<V> as Scalar>::BITS / 32 };
    let number = block.index();
    let build = PageBuild::<REPEATS, F, K, V, _, _, _, _, _> {
        job,
        source: job.sources.page(number as u64),
        in_place,
        words,
        page: Page::<F, K::PackedWord<V>, _>::new(words, &layout),
        counts: Counts { words: counts, first },
        lists,
    };
    let mut threads = block.local(|thread| Thread {
        pairs: build.source.load_first::<REPEATS>(thread),
        seek: build.page.seek(0, Scalar::from_u64(0)),
        entry: Entry { pair: 0, mixed: K::default(), value_word: Scalar::from_u64(0) },
        inserted: 0,
    });
    // The header is read after the pairs, so that there is one wait for both.
    if split::overflowed(job.header) {
        return;
    }
    build.clear(block, &mut threads);
    let Lists { over, left, repeats: listing } = lists;
    if L::LISTS && left.lengths.get(IN_VAIN) != 0 {
        return;
    }
    // Most pairs get a slot of their home by counting, which is faster than searching.
    let counted = B::IN_TURN || build.source.pairs <= MAX_COUNTED;
    if counted {
        build.count(block, &mut threads);
    }
    // Then the others search. If more were spilled than the list holds, all pairs search: those
    // that have a slot find it.
    let spilled = if counted { over.lengths.get(over.number) } else { u32::MAX };
    if spilled != 0 {
        build.search(block, &mut threads, spilled);
        build.evict(block, &mut threads);
    }
    if !B::IN_TURN {
        let out = job.words_out.offset(first_word(number, layout.page_buckets));
        // The number of a pair is replaced by its value.
        let value_of = |_: u64, number: K::PackedWord<V>| match number.to_u64() {
            0 => number,
            number => Scalar::from_u64(build.source.value(number - 1).to_u64()),
        };
        block.phase(&mut threads, |thread, _| {
            write_page::<REPEATS, F, K, V, B>(thread, build.page, out, value_of);
        });
    }
    count_inserted(block, &mut threads, left.lengths, job.header);
    block.each(&mut threads, |thread, _| {
        if thread == 0 {
            listing.end();
        }
    });
}
