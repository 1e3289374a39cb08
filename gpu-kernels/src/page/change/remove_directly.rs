//! Removing single pairs in the table's own memory, for batches that are small beside the table.
//!
//! A compare-and-exchange clears the tag. If the bucket was full, it then has a hole: its free slot
//! does not imply that no pair of its probe sequence is in a later candidate.

use super::direct::page_at;
use crate::page::build::probe::Page;
use crate::page::form::{BUCKET_WORDS, Form, Layout, header, with_form};
use crate::seam::{Block, Global, Shared, Tile};
use crate::table::lookup::Lookup;
use crate::types::{KeyWord, Payload, Scalar, WordOf};

/// The scalar arguments of [`RemoveDirectly`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RemoveParams {
    /// The table's layout.
    pub layout: Layout,
    /// The count of keys.
    pub keys: u64,
}

/// A key that is being removed.
struct Removing<K, W> {
    mixed: K,
    /// The first bucket of the page.
    page_first: u32,
    home: u32,
    remainder: W,
    /// The candidate that is probed next, or [`ENDED`] after the search.
    number: u32,
    /// The index of the word of the pair's value, if this thread has removed the pair.
    at: Option<u32>,
    /// Whether the bucket of the removed pair was full.
    hole: bool,
}

const ENDED: u32 = u32::MAX;

kernel! {
    /// Removes key `i` by thread `i`. Of the threads with equal keys one removes the pair. Only one
    /// thread of a warp tries, or they would wait for each other.
    ///
    /// The header's [`header::LENGTH`] counts the removed pairs, and [`header::HOLES`] is set if
    /// one of them was in a full bucket. If `found` is not null, `found` and `values` get the
    /// answers of a lookup; `values` may be null.
    RemoveDirectly<K: KeyWord, V: Payload>, "page_remove_directly", threads 256;
    {
        keys: Global<K>, words: Global<u64>, values: Global<WordOf<V>>, found: Global<u32>, header: Global<u64>,
        plan: RemoveParams,
    }
}

impl<K: KeyWord, V: Payload> RemoveDirectly<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        with_form!(args.plan.layout.slots, K, V, F => args.remove::<F, B>(block));
    }

    #[inline(always)]
    fn remove<F: Form, B: Block>(self, block: &mut B) {
        let RemoveParams { layout, keys: count } = self.plan;
        let lookup = Lookup { queries: self.keys, count, values: self.values, found: self.found };
        let block_first = block.first_thread();
        let page = |page_first: u32| page_at::<F, K, V>(self.words, &layout, page_first);
        let mut keys = block.local(|thread| self.start::<F>(&layout, block_first + thread as u64));
        block.tiles_of(&mut keys, |warp, keys| {
            let mixed = |_, key: &Removing<K, _>| (key.number != ENDED).then(|| (key.mixed, key.mixed.bits_from(0)));
            warp.twins(keys, mixed, |lane, key, twin| key.number = if twin == lane { key.number } else { ENDED });
            // At most seven candidates a lane.
            while warp.ballot(keys, |_, key| key.number != ENDED) != 0 {
                warp.each(keys, |_, key| {
                    if key.number != ENDED {
                        self.step(&page(key.page_first), key);
                    }
                });
            }
            if !self.found.is_null() {
                // No thread writes values, so the values of removed pairs are unchanged.
                let value = |key: &Removing<K, K::PackedWord<V>>| {
                    let at = key.at?;
                    let word = if F::VALUES { page(key.page_first).words.get(at) } else { Scalar::from_u64(0) };
                    Some(Scalar::from_u64(word.to_u64()))
                };
                lookup.write(warp, keys, block_first + warp.first_thread() as u64, value);
            }
        });
        let removed = block.count(&mut keys, |_, key| key.at.is_some());
        let holes = block.count(&mut keys, |_, key| key.hole);
        block.each(&mut keys, |thread, _| {
            if thread == 0 && removed != 0 {
                self.header.atomic(header::LENGTH).fetch_add(removed as u64);
            }
            if thread == 0 && holes != 0 {
                self.header.atomic(header::HOLES).store(1);
            }
        });
    }

    #[inline(always)]
    fn start<F: Form>(&self, layout: &Layout, number: u64) -> Removing<K, K::PackedWord<V>> {
        let (mixed, remainder) = (K::default(), Scalar::from_u64(0));
        let mut key = Removing { mixed, page_first: 0, home: 0, remainder, number: ENDED, at: None, hole: false };
        if number < self.plan.keys {
            let mixed = self.keys.load_streaming(number).mixed(layout.a, layout.b);
            key.mixed = mixed;
            (key.home, key.remainder, key.number) = (layout.home_in_page(mixed), layout.remainder(mixed), 0);
            key.page_first = mixed.scaled(layout.buckets()) - key.home;
            let page = page_at::<F, K, V>(self.words, layout, key.page_first);
            page.words.0.prefetch((key.home * BUCKET_WORDS) as u64);
        }
        key
    }

    /// Probes one bucket. Other threads remove pairs concurrently, so a free slot does not end the
    /// search.
    #[inline(always)]
    fn step<F: Form, W: Scalar>(&self, page: &Page<'_, F, W, impl Shared<W>>, key: &mut Removing<K, W>) {
        match page.remove_candidate(key.home, key.remainder, key.number) {
            Ok((at, full)) => (key.at, key.number, key.hole) = (Some(at), ENDED, full),
            Err(filtered) => {
                let ends = key.number == 0 && !filtered || key.number + 1 == page.layout.candidates;
                key.number = if ends { ENDED } else { key.number + 1 };
            }
        }
    }
}
