//! Storing the pairs of a page in slots by one thread, in the order of the pairs.

use super::lists::List;
use super::repeat_list::Listing;
use super::source::{Entry, Source};
use crate::page::form::{BUCKET_WORDS, Form, Layout, filter};
use crate::page::lookup::table::{MAX_NEAR_BUCKETS, near, value_at};
use crate::seam::{Global, Shared, Word, Work};
use crate::split::pairs::AT_ONCE;
use crate::types::{KeyWord, Payload, Scalar};
use core::marker::PhantomData;

/// The insertion of a page's pairs by one thread. It assigns pairs by counting to slots of their
/// home bucket, or of the other bucket of the line, until these are full. It spills the other pairs
/// to the list.
///
/// If a key has a slot already, the later value replaces the earlier one, and the key is listed.
/// The output is the count of keys inserted.
pub struct FillInTurn<'s, const REPEATS: bool, F, K: KeyWord, V: Payload, Counters, PackedEntry, Lengths, L> {
    pub source: Source<'s, K, V>,
    pub layout: &'s Layout,
    /// The page, which is built in the table's own memory.
    pub words: Global<K::PackedWord<V>>,
    /// The count of slots of each bucket that pairs have requested.
    pub counts: Counters,
    pub over: List<PackedEntry, Lengths>,
    pub listing: L,
    pub form: PhantomData<F>,
}

/// A group of pairs, with what can be computed for all of them at once.
#[derive(Clone, Copy, Default)]
struct Prepared<K, V, W> {
    mixed: [K; AT_ONCE],
    values: [V; AT_ONCE],
    homes: [u32; AT_ONCE],
    /// The tags that the pairs have in the home bucket, and in the other bucket of the line.
    tags: [[W; AT_ONCE]; 2],
}

impl<const REPEATS: bool, F, K, V, Counters, PackedEntry, Lengths, L> Work
    for FillInTurn<'_, REPEATS, F, K, V, Counters, PackedEntry, Lengths, L>
where
    F: Form,
    K: KeyWord,
    V: Payload,
    Counters: Shared<u32>,
    PackedEntry: Shared<V::PackedEntry>,
    Lengths: Shared<u32>,
    L: Listing<K::PackedWord<V>>,
{
    type Output = u32;

    #[inline(always)]
    fn run(self) -> u32 {
        let (mut even, mut odd) = (Prepared::default(), Prepared::default());
        let (mut first, mut others, step) = (0, 0, AT_ONCE as u32);
        self.prepare(first, &mut even);
        // While some pairs are stored, the buckets of the next pairs are being fetched.
        while first < self.source.pairs {
            let (second, third) = (first.saturating_add(step), first.saturating_add(2 * step));
            self.prepare(second, &mut odd);
            others += self.insert(&even, first);
            self.prepare(third, &mut even);
            others += self.insert(&odd, second);
            first = third;
        }
        self.source.pairs - others
    }
}

impl<const REPEATS: bool, F, K, V, Counters, PackedEntry, Lengths, L>
    FillInTurn<'_, REPEATS, F, K, V, Counters, PackedEntry, Lengths, L>
where
    F: Form,
    K: KeyWord,
    V: Payload,
    Counters: Shared<u32>,
    PackedEntry: Shared<V::PackedEntry>,
    Lengths: Shared<u32>,
    L: Listing<K::PackedWord<V>>,
{
    /// Prepares the pairs starting at index `first`, and prefetches their buckets. Elements after
    /// the last pair are unspecified.
    #[inline(always)]
    fn prepare(&self, first: u32, pairs: &mut Prepared<K, V::Word, K::PackedWord<V>>) {
        let layout = *self.layout;
        (pairs.mixed, pairs.values) = self.source.load_mixed::<REPEATS>(first);
        for i in 0..AT_ONCE {
            pairs.homes[i] = layout.home_in_page(pairs.mixed[i]);
            let remainder = layout.remainder(pairs.mixed[i]);
            (pairs.tags[0][i], pairs.tags[1][i]) = (layout.tag(remainder, 0), layout.tag(remainder, 1));
        }
        if layout.page_buckets > MAX_NEAR_BUCKETS {
            for home in pairs.homes {
                self.words.prefetch((home * BUCKET_WORDS) as u64);
            }
        }
    }

    /// Stores the pairs starting at index `first`. Returns the count of pairs that got no slot
    /// here: they were spilled, or their key has a slot already.
    #[inline(always)]
    fn insert(&self, pairs: &Prepared<K, V::Word, K::PackedWord<V>>, first: u32) -> u32 {
        let Self { source, words, counts, over, listing, .. } = *self;
        let mut others = 0;
        for i in 0..AT_ONCE.min(source.pairs.saturating_sub(first) as usize) {
            let (home, tags) = (pairs.homes[i], [pairs.tags[0][i], pairs.tags[1][i]]);
            let value_word = Scalar::from_u64(pairs.values[i].to_u64());
            let home_at = (home * BUCKET_WORDS) as u64;
            if REPEATS || L::LISTS {
                let equal = near::<F, _>(words, home_at, tags, true);
                if equal != 0 {
                    if F::VALUES {
                        words.store(value_at::<F>(home_at, equal), value_word);
                    }
                    listing.push(home, tags[0].minus(Scalar::from_u64(1)));
                    others += 1;
                    continue;
                }
            }
            // It cannot be predicted whether the home is full, so no branch depends on it.
            let full = counts.get(home) >= F::SLOTS;
            let (filter_word, filter_bit) = filter::<F, K::PackedWord<V>>(tags[0].minus(Scalar::from_u64(1)));
            let filter_bit = if full { filter_bit } else { Scalar::from_u64(0) };
            add_bits(words, home_at + filter_word as u64, filter_bit);
            let tag = if full { tags[1] } else { tags[0] };
            let bucket = home ^ full as u32;
            let slot = counts.fetch_add(bucket, 1);
            if slot < F::SLOTS {
                let at = (bucket * BUCKET_WORDS) as u64;
                add_bits(
                    words,
                    at + (slot / F::TAGS) as u64,
                    tag << (slot % F::TAGS * F::tag_bits::<K::PackedWord<V>>()),
                );
                if F::VALUES {
                    words.store(at + (F::TAG_WORDS + slot) as u64, value_word);
                }
            } else {
                over.push(Entry { pair: first + i as u32, mixed: pairs.mixed[i], value_word }.packed::<V>());
                others += 1;
            }
        }
        others
    }
}

/// Sets `bits` in a word that no other thread writes.
#[inline(always)]
fn add_bits<W: Scalar>(words: Global<W>, at: u64, bits: W) {
    words.store(at, words.load(at) | bits);
}
