//! Looking up many keys.

use super::form::{Form, equal, filter, tags_in};
use super::{BUCKET_WORDS, Layout, Table};
use crate::lookup::Lookup;
use crate::seam::{Global, Tile};
use crate::types::{Key, Payload, Scalar, WordOf};

/// What a lookup is to do.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FindPlan {
    /// The table's layout.
    pub layout: Layout,
    /// The number of queries.
    pub queries: u64,
}

/// A query and its answer.
struct Query<K, W> {
    mixed: K,
    answer: Option<W>,
}

kernel! {
    /// Answers query `i` by thread `i`: `values[i]` is the value or 0, and bit `i mod 32` of `found[i / 32]` says which. `values`
    /// may be null. `words` are those of the buckets.
    Find<K: Key, V: Payload>, "page_find", threads 256;
    { queries: Global<K>, words: Global<u64>, values: Global<WordOf<V>>, found: Global<u32>, plan: FindPlan }
    |args, block| {
        let FindPlan { layout, queries: count } = args.plan;
        let table = Table::<K, V>::new(args.words.cast(), layout);
        let lookup = Lookup { queries: args.queries, count, values: args.values, found: args.found };
        let block_first = block.first_thread();
        block.tiles::<32>(|tile| {
            let first = block_first + tile.first_thread() as u64;
            let mut queries = tile.local(|lane| {
                let index = first + lane as u64;
                let mut query = Query::<K, V::Word> { mixed: K::default(), answer: None };
                if index < count {
                    query.mixed = args.queries.load_streaming(index).mixed(layout.a, layout.b);
                    table.prefetch(query.mixed);
                }
                query
            });
            tile.each(&mut queries, |lane, query| {
                if first + (lane as u64) < count {
                    query.answer = table.get_mixed(query.mixed);
                }
            });
            lookup.write(tile, &mut queries, first, |query| query.answer);
        });
    }
}

/// What a look into one bucket says.
struct Look<W> {
    answer: Option<W>,
    /// Whether the bucket has an empty slot.
    free: bool,
    /// Whether the filter bit of the key's class is set.
    filtered: bool,
}

/// The value of the key whose mixed key this is.
#[inline(always)]
pub(super) fn get<F: Form, K: Key, V: Payload>(
    words: Global<K::Joint<V>>,
    layout: &Layout,
    mixed: K,
) -> Option<V::Word> {
    let home = mixed.scaled(layout.buckets());
    let remainder = layout.remainder::<K, K::Joint<V>>(mixed);
    let at_home = look::<F, K, V>(words, home, remainder, layout.tag(remainder, 0));
    if at_home.answer.is_some() || !at_home.filtered {
        return at_home.answer;
    }
    // A key of this class had to leave: it is in the first of its candidates that was not full. Rare: not to be unrolled.
    let home_in_page = layout.home_in_page(mixed);
    let page_first = home - home_in_page;
    let mut number = 1;
    while number < layout.candidates {
        let bucket = page_first + layout.candidate(home_in_page, remainder, number);
        let there = look::<F, K, V>(words, bucket, remainder, layout.tag(remainder, number));
        if there.answer.is_some() || there.free {
            return there.answer;
        }
        number += 1;
    }
    None
}

/// Looks for the pair with `tag` in `bucket`, and for the filter bit of `remainder`.
#[inline(always)]
fn look<F: Form, K: Key, V: Payload>(
    words: Global<K::Joint<V>>,
    bucket: u32,
    remainder: K::Joint<V>,
    tag: K::Joint<V>,
) -> Look<V::Word> {
    let first = bucket as u64 * BUCKET_WORDS as u64;
    // At once if the bucket is one sector of 32 bytes; if it is two, the second one only for tags, or for a value.
    let whole = <K::Joint<V> as Scalar>::BITS == 32 || F::TAG_WORDS > 4;
    let tags = words.load_four_read_only(first);
    let rest = if whole { words.load_four_read_only(first + 4) } else { Default::default() };

    let (filter_word, filter_bit) = filter::<F, K::Joint<V>>(remainder);
    let mut look = Look { answer: None, free: false, filtered: false };
    for word in 0..F::TAG_WORDS {
        let held = if word < 4 { tags[word as usize] } else { rest[word as usize - 4] };
        let count = tags_in::<F>(word);
        let equal_tags = equal::<F, K::Joint<V>>(held, word, tag);
        look.free |= equal::<F, K::Joint<V>>(held, word, Scalar::from_u64(0)) != Scalar::from_u64(0);
        look.filtered |= word == filter_word && held & filter_bit != Scalar::from_u64(0);
        if !F::VALUES {
            if equal_tags != Scalar::from_u64(0) {
                look.answer = Some(Default::default());
            }
            continue;
        }
        // The lowest equal one last: it is right.
        for back in 0..count {
            let number = count - 1 - back;
            let top = F::tag_bits::<K::Joint<V>>() * (number + 1) - 1;
            if equal_tags & Scalar::from_u64(1 << top) != Scalar::from_u64(0) {
                let at = F::TAG_WORDS + word * F::TAGS + number;
                let value = if !whole {
                    words.load_read_only(first + at as u64)
                } else if at < 4 {
                    tags[at as usize]
                } else {
                    rest[at as usize - 4]
                };
                look.answer = Some(Scalar::from_u64(value.to_u64()));
            }
        }
    }
    look
}
