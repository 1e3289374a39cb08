//! Building the pages, each in the shared memory of one block.

use super::lists::{LEFT_WORDS, LENGTHS, Lists, OVER_WORDS};
use super::one_page::{Job, build};
use super::one_page_in_turn::build_in_turn;
use super::repeat_list::{ListSizes, NoListing, RepeatList};
use super::source::Sources;
use crate::page::form::{Layout, PAGE_MEMORY, with_form};
use crate::seam::{Block, Global, STAGED_TIMES};
use crate::types::{KeyWord, Payload, WordOf};

/// The scalar arguments of [`BuildPages`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BuildParams {
    /// The table's layout.
    pub layout: Layout,
    /// The distance between the first pairs of two adjacent pages, used if `counts` is given and
    /// `starts` is not. The pairs of page `p` begin at `p` times this.
    pub page_capacity: u64,
    /// The count of pairs, used if there is one page, without counts and starts.
    pub pairs: u64,
    /// 1 if the pairs come from a [`Split`](crate::split::Split), or 0.
    pub split: u32,
    /// 1 if all words of the table are 0 already, or 0.
    pub zeroed: u32,
}

kernel! {
    /// Builds every page from its pairs, with a block for each page.
    ///
    /// If `counts` is not null, page `p` has `counts[p]` pairs, which begin at `p` times the plan's
    /// page capacity. Otherwise, if `starts` is not null, its pairs are those from `starts[p]` to
    /// `starts[p + 1]`. If both are null, the only page has all pairs.
    ///
    /// If a split has lost pairs, no page is built. If a page cannot be built, the header counts it
    /// as failed, and the page is unfinished.
    ///
    /// With `REPEATS` keys may be repeated, and the last pair of a key wins. If `values` is null,
    /// all values are 0, and the keys may come from a split of keys alone.
    BuildPages<K: KeyWord, V: Payload; const REPEATS: bool>, "page_build" | "page_build_in_order", threads 384, resident 4, cpu cores,
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
        let job = self.job();
        let memory = (page_memory, Lists::new(over, left, spilled, 1, NoListing));
        with_form!(job.sources.layout.slots, K, V, F => build::<REPEATS, F, _, _, _, _, _>(block, &job, memory));
    }

    #[inline(always)]
    fn cores<B: Block>(
        self,
        block: &mut B,
        page_memory: B::Shared<u64>,
        over: B::Shared<u64>,
        left: B::Shared<u64>,
        spilled: B::Shared<u32>,
    ) {
        let (job, number) = (self.job(), block.index());
        let memory = (page_memory, Lists::new(over, left, spilled, STAGED_TIMES, NoListing));
        with_form!(job.sources.layout.slots, K, V, F => build_in_turn::<REPEATS, F, _, _, _, _>(number, &job, memory));
    }

    #[inline(always)]
    fn job(self) -> Job<K, V> {
        let Self { keys, values, counts, starts, words_out, header, plan } = self;
        let BuildParams { layout, page_capacity, pairs, split, zeroed } = plan;
        Job {
            sources: Sources { keys, values, counts, starts, page_capacity, pairs, layout, split: split != 0 },
            words_out: words_out.cast(),
            header,
            zeroed: zeroed != 0,
        }
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
    /// Builds every page from pairs that are in no order. It does so as [`BuildPages`] does for
    /// unique keys, and finds out whether keys are repeated.
    ///
    /// One pair of a repeated key is inserted. For each of its other pairs the key is listed in
    /// `repeats`, by its home bucket and its remainder. Each page has its own part of the list,
    /// whose length is stored after all entries. Further keys go to a common part. The header's
    /// [`LISTED`](crate::page::header::LISTED) and [`REPEATED`](crate::page::header::REPEATED)
    /// count the keys in both. Occasionally a key is listed that is not repeated. Without values no
    /// key is listed.
    ///
    /// After the list has overflowed, pages are left unfinished.
    BuildPagesUnordered<K: KeyWord, V: Payload>, "page_build_unordered", threads 384, resident 4, cpu cores,
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
        let (job, list) = (self.job(), self.list(block.index(), spilled));
        let memory = (page_memory, Lists::new(over, left, spilled, 1, list));
        with_form!(job.sources.layout.slots, K, V, F => build::<false, F, _, _, _, _, _>(block, &job, memory));
    }

    #[inline(always)]
    fn cores<B: Block>(
        self,
        block: &mut B,
        page_memory: B::Shared<u64>,
        over: B::Shared<u64>,
        left: B::Shared<u64>,
        spilled: B::Shared<u32>,
    ) {
        let (job, number) = (self.job(), block.index());
        let memory = (page_memory, Lists::new(over, left, spilled, STAGED_TIMES, self.list(number, spilled)));
        with_form!(job.sources.layout.slots, K, V, F => build_in_turn::<false, F, _, _, _, _>(number, &job, memory));
    }

    #[inline(always)]
    fn job(self) -> Job<K, V> {
        let Self { keys, values, counts, starts, words_out, header, plan: UnorderedParams { build: plan, .. }, .. } =
            self;
        BuildPages::<K, V, false> { keys, values, counts, starts, words_out, header, plan }.job()
    }

    #[inline(always)]
    fn list<S>(self, page: u32, lengths: S) -> RepeatList<V, S> {
        let Self { repeats: entries, header, plan: UnorderedParams { build, sizes }, .. } = self;
        RepeatList::new(entries, header, sizes, (page, build.layout.page_buckets), lengths)
    }
}
