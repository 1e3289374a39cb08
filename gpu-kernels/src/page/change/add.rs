//! Adding a batch to the pages of a table, each in the shared memory of one block.

use super::pull_back::pull_back;
use crate::page::build::copy::{first_word, load_page, write_page};
use crate::page::build::fill::{PageInMemory, Thread, ThreadOf, count_inserted, evict_for_unplaced};
use crate::page::build::lists::{IN_VAIN, LEFT_WORDS, LENGTHS, List, Lists, MAX_HOME_FULL, MAX_UNPLACED, OVER_WORDS};
use crate::page::build::pages::{BuildParams, UnorderedParams};
use crate::page::build::probe::{InsertResult, Page, Seek};
use crate::page::build::repeat_list::{BatchList, Listing, NoListing, RepeatList};
use crate::page::build::source::{Entry, Source, Sources, THREADS, read, stride};
use crate::page::form::{BUCKET_WORDS, Form, PAGE_MEMORY, header, with_form};
use crate::seam::{Block, Global, STAGED_TIMES, Shared};
use crate::split;
use crate::split::pairs::{AT_ONCE, by_number};
use crate::types::{KeyWord, Payload, Scalar, WordOf};
use core::marker::PhantomData;

kernel! {
    /// Adds to every page its pairs of a batch, which come from a split or are all for the one page
    /// there is, with a block for each page. The header's [`header::LENGTH`] counts the keys that
    /// are new.
    ///
    /// With `REPEATS` pairs are in the order of the batch, and of those of a key the last one
    /// counts. Without it some pair counts. If another pair of the batch has the same key, it is
    /// listed in `repeats`, as by [`BuildPagesUnordered`](crate::page::BuildPagesUnordered), whose
    /// plan this is. If `repeats` is null nothing is listed.
    ///
    /// If a split has lost pairs, nothing is done. A page that cannot take its pairs stays as it
    /// is, and [`header::FAILED`] counts it. A page that one thread changes in the table's own
    /// memory may have got some of them. A page that comes after the list has overflowed stays as
    /// it is, too.
    ///
    /// In a table with holes pairs are pulled back first, or the page fails. On a GPU `REPEATS`
    /// needs a table without holes, unless there are keys alone.
    AddToPages<K: KeyWord, V: Payload; const REPEATS: bool>, "page_add" | "page_add_in_order", threads 384, resident 4,
        shared page_memory: u64 = PAGE_MEMORY, shared over: u64 = OVER_WORDS, shared left: u64 = LEFT_WORDS,
        shared spilled: u32 = LENGTHS;
    {
        keys: Global<K>, values: Global<WordOf<V>>, counts: Global<u32>, starts: Global<u32>, words: Global<u64>,
        header: Global<u64>, repeats: Global<u64>, plan: UnorderedParams,
    }
}

impl<K: KeyWord, V: Payload, const REPEATS: bool> AddToPages<K, V, REPEATS> {
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
        let UnorderedParams { build: BuildParams { layout, .. }, sizes } = args.plan;
        let page = block.index();
        let list = RepeatList::<V, _> {
            entries: args.repeats,
            header: args.header,
            sizes,
            page,
            first_bucket: page * layout.page_buckets,
            lengths: spilled,
            payload: PhantomData,
        };
        let memory = (page_memory, over, left, spilled);
        with_form!(layout.slots, K, V, F => {
            // Keys alone have nothing to list.
            if REPEATS || V::VALUE_BITS == 0 {
                args.add::<F, _, _>(block.strided(), memory, NoListing);
            } else {
                args.add::<F, _, _>(block.strided(), memory, list);
            }
        });
    }

    #[inline(always)]
    fn add<F: Form, B: Block, L: Listing<K::PackedWord<V>>>(
        self,
        block: &mut B,
        (page_memory, over, left, lengths): (impl Shared<u64>, impl Shared<u64>, impl Shared<u64>, impl Shared<u32>),
        list: L,
    ) {
        let BuildParams { layout, page_capacity, pairs, split, .. } = self.plan.build;
        let Self { keys, values, counts, starts, header, .. } = self;
        let sources = Sources { keys, values, counts, starts, page_capacity, pairs, layout, split: split != 0 };
        let number = block.index();
        let source = sources.page(number as u64);
        let page_words = layout.page_buckets * BUCKET_WORDS;
        let in_place = self.words.cast::<K::PackedWord<V>>().offset(first_word(number, layout.page_buckets));
        let staged = page_memory.cast::<K::PackedWord<V>>();
        let words = if B::IN_TURN { staged.staged(in_place, page_words) } else { staged };
        let page = Page::<F, K::PackedWord<V>, _>::new(words, &layout);
        let touched = BatchList {
            list,
            listed: !self.repeats.is_null(),
            touched: page_memory.cast::<u32>(),
            first: if B::IN_TURN { 0 } else { page_words * <K::PackedWord<V> as Scalar>::BITS / 32 },
        };
        let in_word = 64 / <V::PackedEntry as Scalar>::BITS * if B::IN_TURN { STAGED_TIMES as u32 } else { 1 };
        let (over_memory, most) = (over.cast::<V::PackedEntry>(), MAX_HOME_FULL as u32 * in_word);
        let lists = Lists {
            over: List { entries: over_memory, lengths, number: 0, most },
            left: List {
                entries: left.cast::<V::PackedEntry>(),
                lengths,
                number: 1,
                most: MAX_UNPLACED as u32 * in_word,
            },
            repeats: touched,
        };
        let mut threads = block.local(|thread| Thread {
            pairs: source.load_first::<REPEATS>(thread),
            seek: page.seek(0, Scalar::from_u64(0)),
            entry: Entry { pair: 0, mixed: K::default(), value_word: Scalar::from_u64(0) },
            inserted: 0,
        });
        if split::overflowed(header) {
            return;
        }
        let idle = source.pairs == 0 && layout.holes == 0;
        block.phase(&mut threads, |thread, _| {
            if !B::IN_TURN && !idle {
                if const { by_number::<REPEATS, V, B>() } {
                    load_page::<false, F, _, B>(thread, page, in_place);
                } else {
                    load_page::<true, F, _, B>(thread, page, in_place);
                }
            }
            if L::LISTS && !idle {
                let mut word = thread;
                while word < page_words.div_ceil(32) {
                    touched.touched.set(touched.first + word, 0);
                    word += const { stride::<B>() };
                }
            }
            if thread == 0 {
                for word in 0..LENGTHS as u32 {
                    lengths.set(word, 0);
                }
                if L::LISTS {
                    lengths.set(IN_VAIN, touched.overflowed() as u32);
                }
            }
        });
        if L::LISTS && lengths.get(IN_VAIN) != 0 {
            return;
        }
        let mut failed = false;
        // Numbers of pairs cannot be moved in the place of values.
        if const { !by_number::<REPEATS, V, B>() } && !idle && layout.holes != 0 {
            let displaced = (over.cast::<u32>(), 2 * OVER_WORDS as u32);
            failed = !pull_back::<F, _, B>(block, page, displaced, lengths);
            block.phase(&mut threads, |thread, _| {
                if thread == 0 {
                    lengths.set(lists.left.number, 0);
                }
            });
        }
        if !idle && !failed {
            failed = if B::IN_TURN {
                block.phase(&mut threads, |_, state| {
                    add_in_turn::<REPEATS, F, K, V, _>(state, &source, (in_place, page), lists);
                });
                false
            } else {
                block.phase(&mut threads, |thread, state| {
                    add_at_home::<REPEATS, F, K, V, B, _>(thread, state, &source, page, lists.over, touched);
                });
                self.add_elsewhere::<F, B, _>(block, &mut threads, &source, page, lists)
            };
            let count = lengths.get(lists.left.number);
            if count != 0 && !failed {
                block.sync();
                // Where numbers stand for values, the value of a pair that was there before is
                // moved in the table itself, to a slot that was free.
                let moved = |from: u32, to: u32| {
                    if const { by_number::<REPEATS, V, B>() } && words.get(to) == Scalar::from_u64(0) {
                        let at =
                            |word: u32| (word % layout.page_buckets * BUCKET_WORDS + word / layout.page_buckets) as u64;
                        in_place.store(at(to), in_place.load(at(from)));
                    }
                };
                failed = evict_for_unplaced::<REPEATS, F, K, V, B>(
                    block,
                    &mut threads,
                    &source,
                    page,
                    (lists.left, count),
                    touched,
                    moved,
                );
            }
        }
        if !idle && !failed && !B::IN_TURN {
            block.phase(&mut threads, |thread, _| {
                // A pair that was there before has no number, and its value stays.
                let value_of = |at: u64, number: K::PackedWord<V>| match number.to_u64() {
                    0 => in_place.load(at),
                    number => Scalar::from_u64(source.value(number - 1).to_u64()),
                };
                write_page::<REPEATS, F, K, V, B>(thread, page, in_place, value_of);
            });
        }
        if !idle && (!failed || B::IN_TURN) {
            count_inserted(block, &mut threads, lengths, header);
        }
        block.each(&mut threads, |thread, _| {
            if thread == 0 {
                touched.end();
                if failed {
                    header.atomic(header::FAILED).fetch_add(1);
                }
            }
        });
    }

    /// Lets the pairs search that [`add_at_home`] has spilled; returns whether the page cannot take
    /// them. Ends with a barrier.
    #[inline(always)]
    fn add_elsewhere<F: Form, B: Block, L: Listing<K::PackedWord<V>>>(
        &self,
        block: &mut B,
        threads: &mut B::Local<ThreadOf<K, V>>,
        source: &Source<'_, K, V>,
        page: Page<'_, F, K::PackedWord<V>, impl Shared<K::PackedWord<V>>>,
        lists: Lists<
            List<impl Shared<V::PackedEntry>, impl Shared<u32>>,
            List<impl Shared<V::PackedEntry>, impl Shared<u32>>,
            BatchList<L, impl Shared<u32>>,
        >,
    ) -> bool {
        let spilled = lists.over.lengths.get(lists.over.number);
        let listed = spilled <= lists.over.most;
        if !listed && L::LISTS {
            // All pairs would have to search again, and be taken for repeated ones.
            return true;
        }
        let (mut first, count) = (0, if listed { spilled } else { source.pairs });
        while first < count {
            block.each(threads, |thread, state| {
                let entry_index = first + thread;
                state.seek = Seek::ended(InsertResult::Repeated);
                if entry_index < count {
                    state.entry = if listed {
                        source.unpacked::<REPEATS, B>(lists.over.entries.get(entry_index))
                    } else {
                        // From the last to the first: most copies of a key then find a later one.
                        source.entry::<REPEATS, B>(source.pairs - 1 - entry_index)
                    };
                    let mixed = state.entry.mixed;
                    state.seek = page.seek(page.layout.home_in_page(mixed), page.layout.remainder(mixed));
                }
            });
            // Threads go bucket by bucket together, or those of a warp would diverge.
            // At most seven candidates a thread, and a probe is repeated only if another thread
            // took a slot of the bucket, or set a filter bit.
            loop {
                let pending = block.count(threads, |_, state| {
                    if state.seek.inserted.is_none() {
                        page.step(&mut state.seek);
                    }
                    state.seek.inserted.is_none()
                });
                if pending == 0 {
                    break;
                }
            }
            block.each(threads, |thread, state| {
                if first + thread >= count {
                } else if state.seek.inserted == Some(InsertResult::Left) {
                    lists.left.push(state.entry.packed::<V>());
                } else {
                    let Seek { inserted, at, home, remainder, .. } = state.seek;
                    state.inserted = state.inserted.wrapping_add((inserted == Some(InsertResult::New)) as u32);
                    let value_word = state.entry.value_word;
                    if const { by_number::<REPEATS, V, B>() } {
                        page.words.fetch_max(at, value_word);
                    } else if lists.repeats.is_first(at) {
                        if F::VALUES {
                            page.words.set(at, value_word);
                        }
                    } else {
                        lists.repeats.push(home, remainder);
                    }
                }
            });
            first += const { stride::<B>() };
        }
        block.sync();
        false
    }
}

/// Adds pairs as far as they find their key or a free slot at home; spills the others to the list.
#[inline(always)]
fn add_at_home<const REPEATS: bool, F: Form, K: KeyWord, V: Payload, B: Block, L: Listing<K::PackedWord<V>>>(
    thread: u32,
    state: &mut ThreadOf<K, V>,
    source: &Source<'_, K, V>,
    page: Page<'_, F, K::PackedWord<V>, impl Shared<K::PackedWord<V>>>,
    over: List<impl Shared<V::PackedEntry>, impl Shared<u32>>,
    listing: BatchList<L, impl Shared<u32>>,
) {
    let pairs = source.pairs;
    let mut first = thread;
    while first < pairs {
        for i in 0..read::<K, V>() {
            let pair = first + (i * THREADS) as u32;
            if pair < pairs {
                let mixed = source.mixed(state.pairs.0[i]);
                let value_word = source.value_word::<REPEATS, B>(pair, state.pairs.1[i]);
                let (home, remainder) = (page.layout.home_in_page(mixed), page.layout.remainder(mixed));
                let added = page.add_at_home(home, remainder);
                let (is_new, at) = added.unwrap_or((false, 0));
                state.inserted = state.inserted.wrapping_add(is_new as u32);
                // A key that comes again in the batch is listed later, where its pairs meet again.
                if added.is_some() && listing.is_first(at) {
                    if const { by_number::<REPEATS, V, B>() } {
                        page.words.fetch_max(at, value_word);
                    } else if F::VALUES {
                        page.words.set(at, value_word);
                    }
                } else {
                    over.push(Entry { pair, mixed, value_word }.packed::<V>());
                }
            }
        }
        first += (read::<K, V>() * THREADS) as u32;
        state.pairs = source.load::<REPEATS>(first);
    }
}

/// Adds all pairs by one thread, in the order of the batch, to a page in the table's own memory.
#[inline(always)]
fn add_in_turn<const REPEATS: bool, F: Form, K: KeyWord, V: Payload, L: Listing<K::PackedWord<V>>>(
    state: &mut ThreadOf<K, V>,
    source: &Source<'_, K, V>,
    (in_place, page): PageInMemory<'_, F, K::PackedWord<V>, impl Shared<K::PackedWord<V>>>,
    lists: Lists<
        List<impl Shared<V::PackedEntry>, impl Shared<u32>>,
        List<impl Shared<V::PackedEntry>, impl Shared<u32>>,
        BatchList<L, impl Shared<u32>>,
    >,
) {
    let mut first = 0;
    while first < source.pairs {
        let (mixed, values) = source.load_mixed::<REPEATS>(first);
        for mixed in mixed {
            in_place.prefetch((page.layout.home_in_page(mixed) * BUCKET_WORDS) as u64);
        }
        for i in 0..AT_ONCE.min((source.pairs - first) as usize) {
            let (mixed, value_word) = (mixed[i], Scalar::from_u64(values[i].to_u64()));
            let mut seek = page.seek(page.layout.home_in_page(mixed), page.layout.remainder(mixed));
            // At most seven candidates.
            while seek.inserted.is_none() {
                page.step(&mut seek);
            }
            if seek.inserted == Some(InsertResult::Left) {
                lists.left.push(Entry { pair: first + i as u32, mixed, value_word }.packed::<V>());
                continue;
            }
            let is_new = seek.inserted == Some(InsertResult::New);
            state.inserted = state.inserted.wrapping_add(is_new as u32);
            if !lists.repeats.is_first(seek.at) {
                lists.repeats.push(seek.home, seek.remainder);
            }
            if F::VALUES {
                page.words.set(seek.at, value_word);
            }
        }
        first += AT_ONCE as u32;
    }
}
