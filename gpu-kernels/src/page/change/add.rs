//! Adding a batch to the pages of a table, each in the shared memory of one block.

use super::add_in_turn::{Adding, add_in_turn};
use super::pull_back::pull_back;
use crate::page::build::copy::{first_word, load_page, write_page};
use crate::page::build::evict::evict_for_unplaced;
use crate::page::build::fill::{Thread, ThreadOf, count_inserted};
use crate::page::build::lists::{IN_VAIN, LEFT_WORDS, LENGTHS, List, Lists, OVER_WORDS};
use crate::page::build::pages::{BuildParams, UnorderedParams};
use crate::page::build::probe::{InsertResult, Page, PageIn, Seek};
use crate::page::build::repeat_list::{BatchList, Listing, NoListing, RepeatList};
use crate::page::build::source::{Entry, Source, Sources, THREADS, read};
use crate::page::form::{BUCKET_WORDS, Form, PAGE_MEMORY, header, with_form};
use crate::seam::{Block, Global, Shared};
use crate::split;
use crate::split::pairs::in_order;
use crate::types::{KeyWord, Payload, Scalar, WordOf};

kernel! {
    /// Adds the pairs of a batch to every page, with a block for each page. The pairs come from a
    /// split, or all belong to the only page. The header's [`header::LENGTH`] counts the new keys.
    ///
    /// With `REPEATS` pairs are in the order of the batch, and a key's last pair wins. Without it
    /// any pair of a key may win. In that case a key with several pairs in the batch is listed in
    /// `repeats`, as by [`BuildPagesUnordered`](crate::page::BuildPagesUnordered), whose plan this
    /// kernel uses. If `repeats` is null no key is listed.
    ///
    /// If a split has lost pairs, nothing is done. A page without slots for its pairs stays
    /// unchanged, and [`header::FAILED`] counts it. If one thread changes such a page in the
    /// table's own memory, some of the pairs may have been added. After the list has overflowed,
    /// further pages stay unchanged, too.
    ///
    /// In a table with holes, pairs are first pulled back; if that is impossible, the page fails.
    /// On a GPU `REPEATS` requires a table without holes, unless there are keys alone.
    AddToPages<K: KeyWord, V: Payload; const REPEATS: bool>, "page_add" | "page_add_in_order", threads 384, resident 4, cpu cores,
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
        let list = args.list(block.index(), spilled);
        let memory = (page_memory, over, left, spilled);
        with_form!(args.plan.build.layout.slots, K, V, F => {
            // For keys without values no key is listed.
            if REPEATS || V::VALUE_BITS == 0 {
                args.add::<F, _, _, _>(block, memory, NoListing);
            } else {
                args.add::<F, _, _, _>(block, memory, list);
            }
        });
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
        let BuildParams { layout, page_capacity, pairs, split, .. } = self.plan.build;
        let Self { keys, values, counts, starts, header, .. } = self;
        let sources = Sources::<K, V> { keys, values, counts, starts, page_capacity, pairs, layout, split: split != 0 };
        let adding = Adding { sources, words: self.words.cast(), header, listed: !self.repeats.is_null() };
        let (number, memory) = (block.index(), (page_memory, over, left, spilled));
        with_form!(layout.slots, K, V, F => {
            if REPEATS || V::VALUE_BITS == 0 {
                add_in_turn::<F, _, _, REPEATS, _, _>(number, &adding, memory, NoListing);
            } else {
                add_in_turn::<F, _, _, REPEATS, _, _>(number, &adding, memory, self.list(number, spilled));
            }
        });
    }

    #[inline(always)]
    fn list<S>(&self, page: u32, lengths: S) -> RepeatList<V, S> {
        let UnorderedParams { build: BuildParams { layout, .. }, sizes } = self.plan;
        RepeatList::new(self.repeats, self.header, sizes, (page, layout.page_buckets), lengths)
    }

    #[inline(always)]
    fn add<F: Form, B: Block, M: Shared<u64>, L: Listing<K::PackedWord<V>>>(
        self,
        block: &mut B,
        (page_memory, over, left, lengths): (M, M, M, impl Shared<u32>),
        list: L,
    ) {
        let BuildParams { layout, page_capacity, pairs, split, .. } = self.plan.build;
        let Self { keys, values, counts, starts, header, .. } = self;
        let sources = Sources { keys, values, counts, starts, page_capacity, pairs, layout, split: split != 0 };
        let number = block.index();
        let page_words = layout.page_buckets * BUCKET_WORDS;
        let touched = BatchList {
            list,
            listed: !self.repeats.is_null(),
            touched: page_memory.cast::<u32>(),
            first: page_words * <K::PackedWord<V> as Scalar>::BITS / 32,
        };
        let add = PageAdd::<REPEATS, F, K, V, M, _, L> {
            source: sources.page(number as u64),
            in_place: self.words.cast().offset(first_word(number, layout.page_buckets)),
            page: Page::new(page_memory.cast(), &layout),
            lists: Lists::new(over, left, lengths, 1, touched),
        };
        let mut threads = block.local(|thread| Thread::new(add.source.load_first::<REPEATS>(thread)));
        if split::overflowed(header) {
            return;
        }
        let idle = add.source.pairs == 0 && layout.holes == 0;
        add.begin(block, &mut threads, idle);
        if L::LISTS && lengths.get(IN_VAIN) != 0 {
            return;
        }
        let mut failed = false;
        // Pairs can be moved only if the page contains values, not indices of pairs.
        if const { !in_order::<REPEATS, V>() } && !idle && layout.holes != 0 {
            let displaced = (over.cast::<u32>(), 2 * OVER_WORDS as u32);
            failed = !pull_back::<F, _, B>(block, add.page, displaced, lengths);
            block.phase(&mut threads, |thread, _| {
                if thread == 0 {
                    lengths.set(add.lists.left.number, 0);
                }
            });
        }
        if !idle && !failed {
            block.phase(&mut threads, |thread, state| {
                add_at_home::<REPEATS, F, K, V, _>(thread, state, &add.source, add.page, add.lists.over, touched);
            });
            failed = add.elsewhere(block, &mut threads);
            if !failed {
                failed = add.evict(block, &mut threads);
            }
        }
        if !idle && !failed {
            add.write(block, &mut threads);
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
}

/// The addition of a batch to a page: its pairs, the page in the table and on chip, and the lists
/// in the block's memory `M`. The lengths of lists are in `N`.
struct PageAdd<'b, const REPEATS: bool, F, K: KeyWord, V: Payload, M: Shared<u64>, N, L> {
    source: Source<'b, K, V>,
    in_place: Global<K::PackedWord<V>>,
    page: PageIn<'b, F, K, V, M>,
    lists: Lists<V, M, N, BatchList<L, M::As<u32>>>,
}

impl<const REPEATS: bool, F, K, V, M, N, L> PageAdd<'_, REPEATS, F, K, V, M, N, L>
where
    F: Form,
    K: KeyWord,
    V: Payload,
    M: Shared<u64>,
    N: Shared<u32>,
    L: Listing<K::PackedWord<V>>,
{
    /// Loads the page, and empties the lists.
    #[inline(always)]
    fn begin<B: Block>(&self, block: &mut B, threads: &mut B::Local<ThreadOf<K, V>>, idle: bool) {
        let Self { in_place, page, lists: Lists { left, repeats: touched, .. }, .. } = *self;
        let (lengths, page_words) = (left.lengths, page.layout.page_buckets * BUCKET_WORDS);
        block.phase(threads, |thread, _| {
            if !idle {
                if const { in_order::<REPEATS, V>() } {
                    load_page::<false, F, _>(thread, page, in_place);
                } else {
                    load_page::<true, F, _>(thread, page, in_place);
                }
            }
            if L::LISTS && !idle {
                let mut word = thread;
                while word < page_words.div_ceil(32) {
                    touched.touched.set(touched.first + word, 0);
                    word += THREADS as u32;
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
    }

    /// Searches slots for the pairs that [`add_at_home`] has spilled. Returns whether the page has
    /// no slots for them. Ends with a barrier.
    #[inline(always)]
    fn elsewhere<B: Block>(&self, block: &mut B, threads: &mut B::Local<ThreadOf<K, V>>) -> bool {
        let Self { source, page, lists, .. } = *self;
        let spilled = lists.over.length();
        let listed = spilled <= lists.over.most;
        if !listed && L::LISTS {
            // All pairs would have to search again, and would then be taken for repeated pairs.
            return true;
        }
        let (mut first, count) = (0, if listed { spilled } else { source.pairs });
        while first < count {
            block.each(threads, |thread, state| {
                let entry_index = first + thread;
                state.seek = Seek::ended(InsertResult::Repeated);
                if entry_index < count {
                    state.entry = if listed {
                        source.unpacked::<REPEATS>(lists.over.entries.get(entry_index))
                    } else {
                        // Pairs are taken from the last to the first, so that most copies of a key
                        // find a later copy.
                        source.entry::<REPEATS>(source.pairs - 1 - entry_index)
                    };
                    let mixed = state.entry.mixed;
                    state.seek = page.seek(page.layout.home_in_page(mixed), page.layout.remainder(mixed));
                }
            });
            // Threads probe their next buckets together, since otherwise the threads of a warp
            // would diverge. At most seven candidates a thread, and a probe is repeated only if
            // another thread took a slot of the bucket, or set a filter bit.
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
                if first + thread < count {
                    self.settle(state);
                }
            });
            first += THREADS as u32;
        }
        block.sync();
        false
    }

    /// Ends the search of a pair: stores its value, or lists it if it is unplaced or its key occurs
    /// again in the batch.
    #[inline(always)]
    fn settle(&self, state: &mut ThreadOf<K, V>) {
        let Self { page, lists, .. } = *self;
        if state.seek.inserted == Some(InsertResult::Left) {
            lists.left.push(state.entry.packed::<V>());
            return;
        }
        let Seek { inserted, at, home, remainder, .. } = state.seek;
        state.inserted = state.inserted.wrapping_add((inserted == Some(InsertResult::New)) as u32);
        let value_word = state.entry.value_word;
        if const { in_order::<REPEATS, V>() } {
            page.words.fetch_max(at, value_word);
        } else if lists.repeats.is_first(at) {
            if F::VALUES {
                page.words.set(at, value_word);
            }
        } else {
            lists.repeats.push(home, remainder);
        }
    }

    /// Evicts pairs to store the unplaced pairs. Returns whether some of them cannot be stored.
    #[inline(always)]
    fn evict<B: Block>(&self, block: &mut B, threads: &mut B::Local<ThreadOf<K, V>>) -> bool {
        let Self { source, in_place, page, lists: Lists { left, repeats: touched, .. } } = *self;
        let (count, buckets) = (left.length(), page.layout.page_buckets);
        if count == 0 {
            return false;
        }
        block.sync();
        // If the page contains indices of pairs, the values of old pairs are only in the table.
        // There the value of an evicted old pair is moved to its new slot, which was free.
        let moved = |from: u32, to: u32| {
            if const { in_order::<REPEATS, V>() } && page.words.get(to) == Scalar::from_u64(0) {
                let at = |word: u32| (word % buckets * BUCKET_WORDS + word / buckets) as u64;
                in_place.store(at(to), in_place.load(at(from)));
            }
        };
        evict_for_unplaced::<REPEATS, F, K, V, B>(block, threads, &source, page, (left, count), touched, moved)
    }

    /// Writes the page to the table.
    #[inline(always)]
    fn write<B: Block>(&self, block: &mut B, threads: &mut B::Local<ThreadOf<K, V>>) {
        let Self { source, in_place, page, .. } = *self;
        block.phase(threads, |thread, _| {
            // A pair that was in the page before has no index, and its value in the table stays.
            let value_of = |at: u64, number: K::PackedWord<V>| match number.to_u64() {
                0 => in_place.load(at),
                number => Scalar::from_u64(source.value(number - 1).to_u64()),
            };
            write_page::<REPEATS, F, K, V>(thread, page, in_place, value_of);
        });
    }
}

/// Adds pairs that find their key or a free slot in their home bucket. Spills the other pairs to
/// the list.
#[inline(always)]
fn add_at_home<const REPEATS: bool, F: Form, K: KeyWord, V: Payload, L: Listing<K::PackedWord<V>>>(
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
                let value_word = source.value_word::<REPEATS>(pair, state.pairs.1[i]);
                let (home, remainder) = (page.layout.home_in_page(mixed), page.layout.remainder(mixed));
                let added = page.add_at_home(home, remainder);
                let (is_new, at) = added.unwrap_or((false, 0));
                state.inserted = state.inserted.wrapping_add(is_new as u32);
                // A key that occurs again in the batch is listed later, when its pairs search.
                if added.is_some() && listing.is_first(at) {
                    if const { in_order::<REPEATS, V>() } {
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
