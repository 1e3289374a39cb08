//! Removing a batch from the pages of a table, each in the shared memory of one block.

use super::pull_back::{pull_back, pull_back_in_turn};
use crate::page::build::copy::{first_word, load_page, write_page};
use crate::page::build::lists::{INSERTED, LENGTHS, OVER_WORDS};
use crate::page::build::pages::BuildParams;
use crate::page::build::probe::Page;
use crate::page::build::source::{MAX_READ_AHEAD, Source, Sources, THREADS, read};
use crate::page::form::{BUCKET_WORDS, Form, PAGE_MEMORY, header, with_form};
use crate::seam::{Block, Global, Shared};
use crate::split;
use crate::split::pairs::AT_ONCE;
use crate::types::{KeyWord, Nothing, Payload, Scalar};

kernel! {
    /// Removes the keys of a batch from every page, with a block for each page, and moves pairs to
    /// earlier candidates with free slots. The keys come from a split, or all belong to the only
    /// page. The header's [`header::LENGTH`] counts the keys that were found.
    ///
    /// If a split has lost keys, nothing is done. [`header::HOLES`] counts the pages in which holes
    /// remain because too many pairs are displaced.
    RemoveFromPages<K: KeyWord, V: Payload>, "page_remove", threads 384, resident 4, cpu cores,
        shared page_memory: u64 = PAGE_MEMORY, shared over: u64 = OVER_WORDS, shared lengths: u32 = LENGTHS;
    {
        keys: Global<K>, counts: Global<u32>, words: Global<<K as KeyWord>::PackedWord<V>>, header: Global<u64>, plan: BuildParams,
    }
}

/// The index, among the lengths, of the length of the list of keys that are not in their home
/// bucket.
const ELSEWHERE: u32 = 0;

/// The state of a thread.
struct Thread<K> {
    /// The keys that the thread removes next.
    keys: [K; MAX_READ_AHEAD],
    /// The count of keys that it has removed.
    removed: u32,
}

impl<K: KeyWord, V: Payload> RemoveFromPages<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, page_memory: B::Shared<u64>, over: B::Shared<u64>, lengths: B::Shared<u32>) {
        let args = self;
        let list = (over.cast::<u32>(), 2 * OVER_WORDS as u32);
        with_form!(args.plan.layout.slots, K, V, F => args.remove::<F, _>(block, page_memory, list, lengths));
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, page_memory: B::Shared<u64>, _: B::Shared<u64>, _: B::Shared<u32>) {
        let (args, number) = (self, block.index());
        with_form!(args.plan.layout.slots, K, V, F => args.remove_in_turn::<F>(number, page_memory));
    }

    #[inline(always)]
    fn remove<F: Form, B: Block>(
        self,
        block: &mut B,
        page_memory: impl Shared<u64>,
        (list, most): (impl Shared<u32>, u32),
        lengths: impl Shared<u32>,
    ) {
        let BuildParams { layout, page_capacity, pairs, split, .. } = self.plan;
        let Self { keys, counts, header, .. } = self;
        // SAFETY: keys alone have no values, and the sources of counted pages need no starts.
        let (values, starts) = unsafe { (Global::null(), Global::null()) };
        let sources =
            Sources::<K, Nothing> { keys, values, counts, starts, page_capacity, pairs, layout, split: split != 0 };
        let number = block.index();
        let source = sources.page(number as u64);
        let in_place = self.words.offset(first_word(number, layout.page_buckets));
        let page = Page::<F, K::PackedWord<V>, _>::new(page_memory.cast::<K::PackedWord<V>>(), &layout);
        let mut threads = block.local(|thread| Thread { keys: source.load_first::<false>(thread).0, removed: 0 });
        if split::overflowed(header) || source.pairs == 0 && layout.holes == 0 {
            return;
        }
        block.phase(&mut threads, |thread, _| {
            load_page::<true, F, _>(thread, page, in_place);
            if thread == 0 {
                for word in 0..LENGTHS as u32 {
                    lengths.set(word, 0);
                }
            }
        });
        block.phase(&mut threads, |thread, state| {
            remove_at_home(thread, state, &source, page, (list, most), lengths);
        });
        let listed = lengths.get(ELSEWHERE);
        if listed != 0 {
            // If the list cannot contain all keys that are not in their home bucket, all keys are
            // searched again.
            let (count, all) = if listed <= most { (listed, false) } else { (source.pairs, true) };
            block.phase(&mut threads, |thread, state| {
                let mut entry = thread;
                while entry < count {
                    let pair = if all { entry } else { list.get(entry) };
                    let mixed = source.entry::<false>(pair).mixed;
                    let (home, remainder) = (layout.home_in_page(mixed), layout.remainder(mixed));
                    state.removed += page.remove_from(home, remainder, 0) as u32;
                    entry += THREADS as u32;
                }
            });
        }
        let whole = pull_back::<F, _, B>(block, page, (list, most), lengths);
        block.phase(&mut threads, |thread, state| {
            write_page::<false, F, K, V>(thread, page, in_place, |_, word| word);
            if state.removed != 0 {
                lengths.fetch_add(INSERTED, state.removed);
            }
        });
        block.each(&mut threads, |thread, _| {
            if thread == 0 {
                header.atomic(header::LENGTH).fetch_add(lengths.get(INSERTED) as u64);
                if !whole {
                    header.atomic(header::HOLES).fetch_add(1);
                }
            }
        });
    }

    /// Removes all keys of a page by one thread, in the table's own memory.
    #[inline(always)]
    fn remove_in_turn<F: Form>(self, number: u32, page_memory: impl Shared<u64>) {
        let BuildParams { layout, page_capacity, pairs, split, .. } = self.plan;
        let Self { keys, counts, .. } = self;
        // SAFETY: as in `remove`.
        let (values, starts) = unsafe { (Global::null(), Global::null()) };
        let sources =
            Sources::<K, Nothing> { keys, values, counts, starts, page_capacity, pairs, layout, split: split != 0 };
        let source = sources.page(number as u64);
        if split::overflowed(self.header) || source.pairs == 0 && layout.holes == 0 {
            return;
        }
        let in_place = self.words.offset(first_word(number, layout.page_buckets));
        let words = page_memory.cast::<K::PackedWord<V>>().staged(in_place, layout.page_buckets * BUCKET_WORDS);
        let page = Page::<F, K::PackedWord<V>, _>::new(words, &layout);
        let (mut first, mut removed) = (0, 0);
        while first < source.pairs {
            let (mixed, _) = source.load_mixed::<false>(first);
            for &mixed in &mixed[..AT_ONCE.min((source.pairs - first) as usize)] {
                let (home, remainder) = (layout.home_in_page(mixed), layout.remainder(mixed));
                removed += page.remove_from(home, remainder, 0) as u64;
            }
            first += AT_ONCE as u32;
        }
        pull_back_in_turn(page);
        self.header.atomic(header::LENGTH).fetch_add(removed);
    }
}

/// Removes keys that are in their home bucket. Lists the keys that may be in other candidates.
#[inline(always)]
fn remove_at_home<F: Form, K: KeyWord, W: Scalar>(
    thread: u32,
    state: &mut Thread<K>,
    source: &Source<'_, K, Nothing>,
    page: Page<'_, F, W, impl Shared<W>>,
    (list, most): (impl Shared<u32>, u32),
    lengths: impl Shared<u32>,
) {
    let mut first = thread;
    while first < source.pairs {
        // While these keys are removed, the next keys are being loaded.
        let some = state.keys;
        state.keys = source.load::<false>(first + (read::<K, Nothing>() * THREADS) as u32).0;
        for i in 0..read::<K, Nothing>() {
            let pair = first + (i * THREADS) as u32;
            if pair < source.pairs {
                let mixed = source.mixed(some[i]);
                let (home, remainder) = (page.layout.home_in_page(mixed), page.layout.remainder(mixed));
                match page.remove_candidate(home, remainder, 0) {
                    Ok(_) => state.removed += 1,
                    Err(false) => (),
                    Err(true) => {
                        let position = lengths.fetch_add(ELSEWHERE, 1);
                        if position < most {
                            list.set(position, pair);
                        }
                    }
                }
            }
        }
        first += (read::<K, Nothing>() * THREADS) as u32;
    }
}
