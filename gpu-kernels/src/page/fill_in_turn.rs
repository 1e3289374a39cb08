//! Giving the pairs of a page their slots by one thread, in the order of the pairs.

use super::BUCKET_WORDS;
use super::fill::List;
use super::find::{MOST_NEAR_BUCKETS, near, value_at};
use super::form::{Form, filter};
use super::place::{Counts, Page};
use super::source::{Entry, Source};
use crate::seam::{Global, Shared, Word, Work};
use crate::types::{Key, Payload, Scalar};

/// Pairs of which homes and tags are computed at once.
const AT_ONCE: usize = 32;

/// Gives pairs slots of their home, or of the bucket beside it, by counting, as long as these have
/// some; notes the others.
///
/// First where several pairs belong, which a CPU computes for some at once, then each of them. Of a
/// key that has a slot already, the later value takes the place of the earlier one. Comes to how many
/// keys it placed.
pub struct FillInTurn<'s, const REPEATS: bool, F, K: Key, V: Payload, Words: Shared<K::Joint<V>>, Room, Noted, Lengths>
{
    pub source: Source<'s, K, V>,
    /// The page, which is built in place, as device memory and as shared memory.
    pub in_place: Global<K::Joint<V>>,
    pub page: Page<'s, F, K::Joint<V>, Words>,
    pub counts: Counts<Room>,
    pub over: List<Noted, Lengths>,
}

impl<const REPEATS: bool, F, K, V, Words, Room, Noted, Lengths> Work
    for FillInTurn<'_, REPEATS, F, K, V, Words, Room, Noted, Lengths>
where
    F: Form,
    K: Key,
    V: Payload,
    Words: Shared<K::Joint<V>>,
    Room: Shared<u32>,
    Noted: Shared<V::Noted>,
    Lengths: Shared<u32>,
{
    type Output = u32;

    #[inline(always)]
    fn run(self) -> u32 {
        let (mut first, mut placed) = (0, 0);
        while first < self.source.pairs {
            placed += self.fill(first);
            first += AT_ONCE as u32;
        }
        placed
    }
}

impl<const REPEATS: bool, F, K, V, Words, Room, Noted, Lengths>
    FillInTurn<'_, REPEATS, F, K, V, Words, Room, Noted, Lengths>
where
    F: Form,
    K: Key,
    V: Payload,
    Words: Shared<K::Joint<V>>,
    Room: Shared<u32>,
    Noted: Shared<V::Noted>,
    Lengths: Shared<u32>,
{
    /// Does it for some pairs from number `first` on.
    #[inline(always)]
    fn fill(&self, first: u32) -> u32 {
        let Self { source, in_place, page, counts, over } = self;
        // A copy: values that are written might be this, for all that the compiler knows.
        let (layout, remainders) = (*page.layout, page.layout.remainders);
        let (mixed, values) = source.load_mixed::<REPEATS, AT_ONCE>(first);
        let (mut homes, mut tags) = ([0; AT_ONCE], [<K::Joint<V>>::default(); AT_ONCE]);
        for i in 0..AT_ONCE {
            homes[i] = layout.home_in_page(mixed[i]);
            tags[i] = layout.tag(layout.remainder(mixed[i]), 0);
        }
        if layout.page_buckets > MOST_NEAR_BUCKETS {
            for home in homes {
                in_place.prefetch((home * BUCKET_WORDS) as u64);
            }
        }
        let mut placed = 0;
        for i in 0..AT_ONCE.min((source.pairs - first) as usize) {
            let (home, mark) = (homes[i], Scalar::from_u64(values[i].to_u64()));
            if REPEATS {
                let first_word = (home * BUCKET_WORDS) as u64;
                let equal = near::<F, _>(*in_place, remainders, first_word, tags[i], true);
                if equal != 0 {
                    if F::VALUES {
                        page.words.set(value_at::<F>(first_word, equal) as u32, mark);
                    }
                    continue;
                }
            }
            // Whether the home is full is not to be foreseen: no branch depends on it.
            let full = counts.has(home) >= F::SLOTS;
            let bucket = home ^ full as u32;
            let slot = counts.add(bucket);
            let (filter_word, filter_bit) = filter::<F, K::Joint<V>>(tags[i].minus(Scalar::from_u64(1)));
            let filter_bit = if full { filter_bit } else { Scalar::from_u64(0) };
            page.words.fetch_or(page.at(filter_word, home), filter_bit);
            let tag = tags[i].plus(Scalar::from_u64(if full { remainders } else { 0 }));
            if slot < F::SLOTS {
                page.put(bucket, slot, tag, mark);
                placed += 1;
            } else {
                over.note(Entry { pair: first + i as u32, mixed: mixed[i], mark }.packed::<V>());
            }
        }
        placed
    }
}
