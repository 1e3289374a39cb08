//! Adding single pairs in the table's own memory, for batches that are small beside the table.
//!
//! A pair takes the first free slot of its candidates by a compare-and-exchange of the word of
//! tags. No thread of the launch removes pairs, so a full bucket stays full. Therefore all pairs of
//! one key follow the same probe sequence and meet in the slot that the first of them took.
//!
//! The last pair of equal keys wins. An index of the batch's keys, which is small enough for the L2
//! cache, tells which keys are repeated; [`StoreRepeated`] stores the last values of these.

use super::in_memory::InMemory;
use crate::page::build::evict::evict_for_unplaced;
use crate::page::build::fill::Thread;
use crate::page::build::lists::{CHOSEN, LENGTHS, List};
use crate::page::build::probe::{InsertResult, Page, Seek};
use crate::page::build::repeat_list::NoListing;
use crate::page::build::source::{MAX_READ_AHEAD, Sources};
use crate::page::form::{BUCKET_WORDS, Form, Layout, header, with_form};
use crate::page::lookup::table::locate;
use crate::seam::{Block, Global, Shared, Tile};
use crate::types::{KeyWord, Payload, Scalar, WordOf};

/// The most pairs of a batch whose candidates are all full. The limit is small because such pairs
/// of one page are inserted one by one.
pub const MAX_LEFT: u32 = 1024;

/// The bit of a cell of the index that is set once the cell is in the list of repeated keys.
const LISTED: u32 = 1 << 31;

/// The scalar arguments of [`AddDirectly`] and [`EvictLeft`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AddParams {
    /// The table's layout.
    pub layout: Layout,
    /// The count of pairs, less than 2^31.
    pub pairs: u64,
    /// The count of bits of a cell's position. The index has 2^`index_bits` cells, of which at most
    /// half are used.
    pub index_bits: u32,
    /// An unused field, which fills the struct up.
    pub padding: u32,
}

/// A pair that is being added.
struct Adding<K, V, W> {
    key: K,
    /// Whether this lane adds the pair: there is a pair, and no other lane or first pair with the
    /// same key replaces it.
    wanted: bool,
    value: V,
    /// The first bucket of the page.
    page_first: u32,
    seek: Seek<W>,
    /// The position in the index of a cell that this lane has to list, plus 1; 0 if there is none.
    /// The cell contains an earlier pair with an equal key.
    repeated: u32,
    /// The position of that cell in the list of repeated keys, relative to the first position of
    /// the warp.
    position: u32,
}

kernel! {
    /// Adds pair `i` by thread `i`. The header's [`header::LENGTH`] counts the new keys. Among
    /// equal keys of a warp only the last pair is added, and among equal keys in the index only the
    /// first pair. Otherwise these threads would wait for each other.
    ///
    /// `index` and the header are 0 at first. A cell of the index is 0, or 1 plus the index of a
    /// pair. For equal keys it contains the last pair and the bit `LISTED`. `index` may be null if
    /// keys are unique. `repeated` gets the cell of each repeated key once, and
    /// [`header::REPEATED`] counts these. It must have space for all pairs.
    ///
    /// `left` gets the indices of unplaced pairs, whose candidates are all full, up to
    /// [`MAX_LEFT`]. [`header::LEFT`] counts these pairs.
    AddDirectly<K: KeyWord, V: Payload>, "page_add_directly", threads 256;
    {
        keys: Global<K>, values: Global<WordOf<V>>, words: Global<u64>, index: Global<u32>, repeated: Global<u32>,
        left: Global<u32>, header: Global<u64>, plan: AddParams,
    }
}

impl<K: KeyWord, V: Payload> AddDirectly<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        with_form!(args.plan.layout.slots, K, V, F => args.add::<F, B>(block));
    }

    #[inline(always)]
    fn add<F: Form, B: Block>(self, block: &mut B) {
        let layout = self.plan.layout;
        let block_first = block.first_thread();
        let page = |page_first: u32| page_at::<F, K, V>(self.words, &layout, page_first);
        let mut pairs = block.local(|thread| self.read(block_first + thread as u64));
        block.tiles_of(&mut pairs, |warp, pairs| {
            let first = block_first + warp.first_thread() as u64;
            let class = |key: K| key.mixed(layout.a, layout.b).bits_from(0);
            let key = |_, pair: &Adding<K, _, _>| pair.wanted.then(|| (pair.key, class(pair.key)));
            warp.twins(pairs, key, |lane, pair, twin| pair.wanted &= twin == lane);
            warp.each(pairs, |lane, pair| {
                if pair.wanted {
                    self.start::<F>(&layout, first + lane as u64, pair);
                }
            });
            // At most seven candidates a lane, and a probe is repeated only if another thread took
            // a slot of the bucket, or set a filter bit.
            while warp.ballot(pairs, |_, pair| pair.seek.inserted.is_none()) != 0 {
                warp.each(pairs, |_, pair| {
                    if pair.seek.inserted.is_none() {
                        page(pair.page_first).step(&mut pair.seek);
                    }
                });
            }
            warp.each(pairs, |lane, pair| {
                let number = first + lane as u64;
                if !pair.wanted {
                    return;
                }
                if pair.seek.inserted == Some(InsertResult::Left) {
                    let position = self.header.atomic(header::LEFT).fetch_add(1);
                    if position < MAX_LEFT as u64 {
                        self.left.store(position, number as u32);
                    }
                } else if F::VALUES {
                    page(pair.page_first).words.set(pair.seek.at, Scalar::from_u64(pair.value.to_u64()));
                }
            });
            if !F::VALUES || warp.ballot(pairs, |_, pair| pair.repeated != 0) == 0 {
                return;
            }
            // A warp makes only one addition, since additions to the same word are slow.
            warp.exclusive_sum(
                pairs,
                |_, pair| (pair.repeated != 0) as u32,
                |lane, pair, before, total| {
                    pair.position = before;
                    if lane == 0 {
                        pair.page_first = self.header.atomic(header::REPEATED).fetch_add(total as u64) as u32;
                    }
                },
            );
            let start = warp.pick(pairs, 0, |pair| pair.page_first);
            warp.each(pairs, |_, pair| {
                if pair.repeated != 0 {
                    self.repeated.store((start + pair.position) as u64, pair.repeated - 1);
                }
            });
        });
        let new = block.count(&mut pairs, |_, pair| pair.seek.inserted == Some(InsertResult::New));
        block.each(&mut pairs, |thread, _| {
            if thread == 0 && new != 0 {
                self.header.atomic(header::LENGTH).fetch_add(new as u64);
            }
        });
    }

    /// Reads the key of a pair, if there is a pair with this index.
    #[inline(always)]
    fn read(&self, number: u64) -> Adding<K, V::Word, K::PackedWord<V>> {
        let (seek, wanted) = (Seek::ended(InsertResult::Left), number < self.plan.pairs);
        let key = if wanted { self.keys.load_streaming(number) } else { K::default() };
        Adding { key, wanted, value: Default::default(), page_first: 0, seek, repeated: 0, position: 0 }
    }

    /// Starts the addition of a pair: reads its value, and first looks for an earlier pair of its
    /// key.
    #[inline(always)]
    fn start<F: Form>(&self, layout: &Layout, number: u64, pair: &mut Adding<K, V::Word, K::PackedWord<V>>) {
        let mixed = pair.key.mixed(layout.a, layout.b);
        let (bucket, home, remainder) =
            (mixed.scaled(layout.buckets()), layout.home_in_page(mixed), layout.remainder(mixed));
        pair.page_first = bucket - home;
        let page = page_at::<F, K, V>(self.words, layout, pair.page_first);
        page.words.0.prefetch((home * BUCKET_WORDS) as u64);
        if F::VALUES {
            pair.value = self.values.load_streaming(number);
            if !self.index.is_null()
                && let Some(cell) = self.enter(pair.key, mixed, number as u32)
            {
                (pair.repeated, pair.wanted) = (cell, false);
                return;
            }
        }
        pair.seek = page.seek(home, remainder);
        // The key itself may be stored after a hole in its probe sequence.
        if layout.holes != 0
            && page.filtered(home, remainder)
            && let Some(found) = page.find(home, remainder)
        {
            (pair.seek.at, pair.seek.inserted) = (found.at, Some(InsertResult::Repeated));
        }
    }

    /// Enters a pair in the index. Returns `None` if its key was not in the index. Otherwise
    /// returns the position of the key's cell plus 1 if this pair is the first that finds the key
    /// there, or 0.
    #[inline(always)]
    fn enter(&self, key: K, mixed: K, number: u32) -> Option<u32> {
        let mask = (1 << self.plan.index_bits) - 1;
        let mut cell = mixed.bits_from(0).wrapping_mul(0x9e37_79b1) >> (32 - self.plan.index_bits);
        // At most as many steps as cells, half of which are empty: an empty one ends the loop.
        loop {
            let at = self.index.atomic(cell as u64);
            // Most copies of a frequent key need no exchange, and exchanges of one word are slow.
            let mut there = at.load();
            if there == 0 {
                there = at.compare_exchange(0, number + 1);
                if there == 0 {
                    return None;
                }
            }
            if self.keys.load_read_only((there & !LISTED) as u64 - 1) == key {
                // Without the bit the cell contains the first pair's index, which may be the
                // greater one.
                if there < LISTED {
                    let was = at.compare_exchange(there, LISTED | there.max(number + 1));
                    if was == there {
                        return Some(cell + 1);
                    }
                    // The exchange failed, which means that another thread has set the bit.
                    there = was;
                }
                let listed = LISTED | (number + 1);
                if there < listed {
                    at.fetch_max(listed);
                }
                return Some(0);
            }
            cell = (cell + 1) & mask;
        }
    }
}

/// Returns the page whose first bucket is `page_first`, in the table's own memory.
#[inline(always)]
pub(in crate::page) fn page_at<F: Form, K: KeyWord, V: Payload>(
    words: Global<u64>,
    layout: &Layout,
    page_first: u32,
) -> Page<'_, F, K::PackedWord<V>, InMemory<K::PackedWord<V>>> {
    let words = words.cast::<K::PackedWord<V>>().offset(page_first as u64 * BUCKET_WORDS as u64);
    Page::new(InMemory(words), layout)
}

kernel! {
    /// Evicts pairs to store the unplaced pairs of [`AddDirectly`], at most [`MAX_LEFT`]. Each page
    /// belongs to one block, which inserts the pairs of the page one after the other.
    ///
    /// The header's [`header::LENGTH`] counts the new keys. [`header::FAILED`] is not 0 if some
    /// pair could not be stored.
    EvictLeft<K: KeyWord, V: Payload>, "page_evict_left", threads 384,
        shared entry: u64 = 1, shared lengths: u32 = LENGTHS, shared own: u32 = MAX_LEFT as usize;
    {
        keys: Global<K>, values: Global<WordOf<V>>, words: Global<u64>, left: Global<u32>, header: Global<u64>,
        plan: AddParams,
    }
}

impl<K: KeyWord, V: Payload> EvictLeft<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, entry: B::Shared<u64>, lengths: B::Shared<u32>, own: B::Shared<u32>) {
        let args = self;
        with_form!(args.plan.layout.slots, K, V, F => args.evict::<F, _>(block.strided(), entry, lengths, own));
    }

    #[inline(always)]
    fn evict<F: Form, B: Block>(
        self,
        block: &mut B,
        entry: impl Shared<u64>,
        lengths: impl Shared<u32>,
        own: impl Shared<u32>,
    ) {
        let AddParams { layout, pairs, .. } = self.plan;
        let sources = Sources::<K, V> {
            keys: self.keys,
            values: self.values,
            // SAFETY: the sources of a single page need neither counts nor starts.
            counts: unsafe { Global::null() },
            // SAFETY: as above.
            starts: unsafe { Global::null() },
            page_capacity: 0,
            pairs,
            layout,
            split: false,
        };
        let source = sources.page(0);
        let list = List { entries: entry.cast::<V::PackedEntry>(), lengths, number: 1, most: 1 };
        let mut threads =
            block.local(|_| Thread::new(([K::default(); MAX_READ_AHEAD], [<V::Word>::default(); MAX_READ_AHEAD])));
        let left = self.header.atomic(header::LEFT).load().min(MAX_LEFT as u64) as u32;
        let page_of = |mixed: K| mixed.scaled(layout.buckets()) / layout.page_buckets;
        let (index, grid, stride) = (block.index(), block.grid(), block.threads());
        block.phase(&mut threads, |thread, _| {
            if thread == 0 {
                lengths.set(0, 0);
            }
        });
        block.phase(&mut threads, |thread, _| {
            let mut position = thread;
            while position < left {
                let pair = self.left.load_read_only(position as u64);
                let mixed = self.keys.load_read_only(pair as u64).mixed(layout.a, layout.b);
                if page_of(mixed) % grid == index {
                    own.set(lengths.fetch_add(0, 1), pair);
                }
                position += stride;
            }
        });
        let count = lengths.get(0);
        let (mut number, mut failed) = (0, false);
        while number < count && !failed {
            let left = source.entry::<false>(own.get(number));
            block.phase(&mut threads, |thread, _| {
                if thread == 0 {
                    list.entries.set(0, left.packed::<V>());
                    lengths.set(CHOSEN, 0);
                    lengths.set(CHOSEN + 1, 0);
                }
            });
            let page_first = left.mixed.scaled(layout.buckets()) - layout.home_in_page(left.mixed);
            let page = page_at::<F, K, V>(self.words, &layout, page_first);
            failed = evict_for_unplaced::<false, F, K, V, B>(
                block,
                &mut threads,
                &source,
                page,
                (list, 1),
                NoListing,
                |_, _| (),
            );
            number += 1;
        }
        block.each(&mut threads, |_, thread| {
            // A pair whose key an earlier eviction has inserted is not counted. The total is small.
            if thread.inserted != 0 {
                self.header.atomic(header::LENGTH).fetch_add(thread.inserted as u64);
            }
        });
        block.each(&mut threads, |thread, _| {
            if thread == 0 && failed {
                self.header.atomic(header::FAILED).fetch_add(1);
            }
        });
    }
}

/// The scalar arguments of [`StoreRepeated`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StoreRepeatedParams {
    /// The table's layout.
    pub layout: Layout,
    /// The count of cells in the list.
    pub repeated: u64,
}

kernel! {
    /// Stores the last value of the key in each listed cell of [`AddDirectly`]'s index, with one
    /// thread for each cell.
    StoreRepeated<K: KeyWord, V: Payload>, "page_store_repeated", threads 256;
    {
        keys: Global<K>, values: Global<WordOf<V>>, words: Global<u64>, index: Global<u32>, repeated: Global<u32>,
        plan: StoreRepeatedParams,
    }
}

impl<K: KeyWord, V: Payload> StoreRepeated<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let StoreRepeatedParams { layout, repeated } = args.plan;
        block.each_item(repeated, |entry| {
            let cell = args.repeated.load_read_only(entry);
            let last = (args.index.load_read_only(cell as u64) & !LISTED) as u64 - 1;
            let mixed = args.keys.load_read_only(last).mixed(layout.a, layout.b);
            let words = args.words.cast::<K::PackedWord<V>>();
            let at = with_form!(layout.slots, K, V, F => locate::<F, K, V>(words, &layout, mixed));
            if let Some(at) = at {
                words.store(at, Scalar::from_u64(args.values.load_read_only(last).to_u64()));
            }
        });
    }
}
