//! Adding a batch to a page by one thread, in the table's own memory and in the order of the batch.

use super::pull_back::pull_back_in_turn;
use crate::page::build::copy::first_word;
use crate::page::build::lists::{List, Lists};
use crate::page::build::one_page_in_turn::evict_in_turn;
use crate::page::build::probe::{InsertResult, Page};
use crate::page::build::repeat_list::{BatchList, Listing};
use crate::page::build::source::{Entry, Source, Sources};
use crate::page::form::{BUCKET_WORDS, Form, header};
use crate::seam::{Global, STAGED_TIMES, Shared};
use crate::split;
use crate::split::pairs::AT_ONCE;
use crate::types::{KeyWord, Payload, Scalar};

/// The arrays of a batch, and the table that it is added to.
pub(super) struct Adding<K: KeyWord, V: Payload> {
    pub sources: Sources<K, V>,
    pub words: Global<K::PackedWord<V>>,
    pub header: Global<u64>,
    /// Whether there is a list of repeated keys.
    pub listed: bool,
}

/// Adds the pairs of page `number`.
#[inline(always)]
pub(super) fn add_in_turn<F: Form, K: KeyWord, V: Payload, const REPEATS: bool, M: Shared<u64>, L>(
    number: u32,
    adding: &Adding<K, V>,
    (page_memory, over, left, lengths): (M, M, M, impl Shared<u32>),
    list: L,
) where
    L: Listing<K::PackedWord<V>>,
{
    let Adding { sources, words, header, listed } = adding;
    let layout = &sources.layout;
    let source = sources.page(number as u64);
    let page_words = layout.page_buckets * BUCKET_WORDS;
    let in_place = words.offset(first_word(number, layout.page_buckets));
    let page = Page::<F, K::PackedWord<V>, _>::new(page_memory.cast().staged(in_place, page_words), layout);
    if split::overflowed(*header) {
        return;
    }
    let touched = BatchList { list, listed: *listed, touched: page_memory.cast::<u32>(), first: 0 };
    let lists = Lists::<V, M, _, _>::new(over, left, lengths, STAGED_TIMES, touched);
    lists.clear();
    let idle = source.pairs == 0 && layout.holes == 0;
    if L::LISTS && !idle {
        touched.touched.clear(0, page_words.div_ceil(32));
    }
    if touched.overflowed() {
        return;
    }
    let mut failed = false;
    if !idle {
        if layout.holes != 0 {
            pull_back_in_turn(page);
        }
        let mut inserted = add_pairs::<REPEATS, F, K, V, L>(&source, in_place, page, lists.left, touched);
        let count = lists.left.length();
        if count != 0 {
            let left = (lists.left, count);
            failed = evict_in_turn::<REPEATS, F, K, V>(&source, page, left, touched, &mut inserted);
        }
        header.atomic(header::LENGTH).fetch_add(inserted as u64);
    }
    touched.end();
    if failed {
        header.atomic(header::FAILED).fetch_add(1);
    }
}

/// Adds pairs that find their key or a free slot, and lists the other pairs as unplaced. Returns
/// the count of new keys.
#[inline(always)]
fn add_pairs<const REPEATS: bool, F: Form, K: KeyWord, V: Payload, L: Listing<K::PackedWord<V>>>(
    source: &Source<'_, K, V>,
    in_place: Global<K::PackedWord<V>>,
    page: Page<'_, F, K::PackedWord<V>, impl Shared<K::PackedWord<V>>>,
    left: List<impl Shared<V::PackedEntry>, impl Shared<u32>>,
    touched: BatchList<L, impl Shared<u32>>,
) -> u32 {
    let (mut first, mut inserted) = (0, 0);
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
                left.push(Entry { pair: first + i as u32, mixed, value_word }.packed::<V>());
                continue;
            }
            inserted += (seek.inserted == Some(InsertResult::New)) as u32;
            if !touched.is_first(seek.at) {
                touched.push(seek.home, seek.remainder);
            }
            if F::VALUES {
                page.words.set(seek.at, value_word);
            }
        }
        first += AT_ONCE as u32;
    }
    inserted
}
