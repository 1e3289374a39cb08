//! The lookups of a multimap, which consists of sorted pairs and an id table: finding and gathering
//! the values of keys. The id table is a page table ([`crate::page`]) or a cuckoo table.

use crate::cuckoo;
use crate::page::{self, Layout};
use crate::seam::{Block, Global, Shared};
use crate::table::slots::{Slot, cell};
use crate::types::{KeyWord, Scalar};

/// The arguments of a lookup of runs.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RunsParams {
    /// The layout of the table of keys, whose values are the indices of their runs.
    pub layout: Layout,
    /// The count of queries.
    pub queries: u64,
}

/// The arrays of a lookup of runs. The runs are adjacent, and the last index of run `r` is
/// `lasts[r]`.
struct Lookup<K> {
    queries: Global<K>,
    count: u64,
    lasts: Global<u32>,
    /// The starts of the queries' runs, and then their counts of values in two widths. Each of the
    /// three arrays may be null.
    starts: Global<u32>,
    counts: Global<u32>,
    wide_counts: Global<u64>,
}

/// Answers query `i` by thread `i` of the grid. `run_of` returns the index of a key's run.
#[inline(always)]
fn answer<K: KeyWord, B: Block>(block: &mut B, lookup: &Lookup<K>, run_of: impl Fn(K) -> Option<u32> + Sync) {
    block.each_item(lookup.count, |index| {
        let (mut start, mut count) = (0, 0);
        if let Some(run) = run_of(lookup.queries.load_streaming(index)) {
            start = if run == 0 { 0 } else { lookup.lasts.load_read_only(run as u64 - 1) + 1 };
            count = lookup.lasts.load_read_only(run as u64) + 1 - start;
        }
        if !lookup.starts.is_null() {
            lookup.starts.store_streaming(index, start);
        }
        if !lookup.counts.is_null() {
            lookup.counts.store_streaming(index, count);
        }
        if !lookup.wide_counts.is_null() {
            lookup.wide_counts.store_streaming(index, count as u64);
        }
    });
}

kernel! {
    /// Finds the run of the values of query `i` by thread `i`. The run begins at `starts[i]`, and
    /// `counts[i]` and `wide_counts[i]` are its count of values; all are 0 if the key is absent.
    /// Each of the three arrays may be null. The runs are adjacent, and the last index of run `r`
    /// is `lasts[r]`.
    Runs<K: KeyWord>, "multi_runs", threads 256;
    {
        queries: Global<K>, words: Global<u64>, lasts: Global<u32>, starts: Global<u32>, counts: Global<u32>,
        wide_counts: Global<u64>, plan: RunsParams,
    }
}

impl<K: KeyWord> Runs<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let RunsParams { layout, queries: count } = args.plan;
        let table = page::Table::<K, u32>::new(args.words.cast(), layout);
        let (queries, lasts, starts) = (args.queries, args.lasts, args.starts);
        let lookup = Lookup { queries, count, lasts, starts, counts: args.counts, wide_counts: args.wide_counts };
        answer(block, &lookup, |key| table.get(key));
    }
}

kernel! {
    /// Finds runs as [`Runs`] does, in a cuckoo table.
    RunsOfCuckoo<K: KeyWord>, "multi_runs_of_cuckoo", threads 256;
    {
        queries: Global<K>, words: Global<Slot<K, u32>>, header: Global<u64>, lasts: Global<u32>, starts: Global<u32>,
        counts: Global<u32>, wide_counts: Global<u64>, plan: cuckoo::FindParams,
    }
}

impl<K: KeyWord> RunsOfCuckoo<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let cuckoo::FindParams { functions, queries: count } = args.plan;
        let table = cuckoo::Table::<K, u32>::new(args.words, functions);
        let (queries, lasts, starts) = (args.queries, args.lasts, args.starts);
        let lookup = Lookup { queries, count, lasts, starts, counts: args.counts, wide_counts: args.wide_counts };
        answer(block, &lookup, |key| if key == K::ALL_ONES { cell::value(args.header) } else { table.get(key) });
    }
}

/// The arguments of [`Gather`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct GatherParams {
    /// The count of queries.
    pub queries: u64,
    /// The count of values of all queries together.
    pub total: u64,
}

kernel! {
    /// Writes the values of query `i` to `output`, from `offsets[i]` up to `offsets[i + 1]`, or up
    /// to `total` for the last query. The values are read starting at `values[starts[i]]`. There is
    /// one thread for each of the `total` values, whatever their distribution over the queries.
    Gather<T: Scalar>, "multi_gather", threads 256, shared bounds: u64 = 2;
    { values: Global<T>, starts: Global<u32>, offsets: Global<u64>, output: Global<T>, plan: GatherParams }
}

impl<T: Scalar> Gather<T> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, bounds: B::Shared<u64>) {
        let args = self;
        let GatherParams { queries, total } = args.plan;
        // Returns the last query in `low..high` whose output begins at or before `output_index`.
        let query_of = |output_index: u64, mut low: u64, mut high: u64| {
            // At most 64 steps: each halves the range.
            while high - low > 1 {
                let middle = low.midpoint(high);
                if args.offsets.load_read_only(middle) <= output_index {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            low
        };
        let first = block.first_thread();
        let last_thread = block.threads() - 1;
        let mut nothing = block.local(|_| ());
        // The queries of the block's first and last values are found first; the queries of its
        // other values are between these two.
        block.phase(&mut nothing, |thread, _| {
            if thread == 0 || thread == last_thread {
                let output_index = (first + thread as u64).min(total - 1);
                bounds.set((thread != 0) as u32, query_of(output_index, 0, queries));
            }
        });
        block.each(&mut nothing, |thread, _| {
            let output_index = first + thread as u64;
            if output_index < total {
                let query = query_of(output_index, bounds.get(0), bounds.get(1) + 1);
                let from =
                    args.starts.load_read_only(query) as u64 + (output_index - args.offsets.load_read_only(query));
                args.output.store_streaming(output_index, args.values.load_read_only(from));
            }
        });
    }
}
