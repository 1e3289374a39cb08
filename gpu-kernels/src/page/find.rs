//! Looking up many keys.

use super::form::{Form, equal, filter, tag_number, tags_in, with_form};
use super::{BUCKET_WORDS, Layout, Table};
use crate::lookup::Lookup;
use crate::seam::{Block, Global, IN_STEP, Tile, Word, Work, equal_of_four, vectorized};
use crate::types::{Key, Payload, Scalar, WordOf};
use core::marker::PhantomData;

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
        if in_turn(block) {
            with_form!(layout.slots, K, V, F => {
                let (first, end) = (block.first_thread(), block.first_thread() + block.threads() as u64);
                let end = end.min(count);
                vectorized(InTurn::<F, K, V> { lookup, words: table.words, layout, first, end, form: PhantomData });
            });
            return;
        }
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

/// [`Block::IN_TURN`] of a block's type.
#[inline(always)]
fn in_turn<B: Block>(_: &B) -> bool {
    B::IN_TURN
}

/// The queries from number `first` to `end` of a lookup, to be answered where threads do not run in
/// step: first where some of them have to look, which a CPU computes for several at once, then
/// their answers one after the other.
struct InTurn<F, K: Key, V: Payload> {
    lookup: Lookup<K, V::Word>,
    words: Global<K::Joint<V>>,
    layout: Layout,
    first: u64,
    end: u64,
    form: PhantomData<F>,
}

/// Queries that share a word of found-bits.
const AT_ONCE: usize = 32;

impl<F: Form, K: Key, V: Payload> Work for InTurn<F, K, V> {
    #[inline(always)]
    fn run(self) {
        let mut first = self.first;
        while first < self.end {
            // What nearly all are, without tests of each query.
            if first + AT_ONCE as u64 <= self.end && !self.lookup.values.is_null() {
                self.answer::<true>(first);
            } else {
                self.answer::<false>(first);
            }
            first += AT_ONCE as u64;
        }
    }
}

impl<F: Form, K: Key, V: Payload> InTurn<F, K, V> {
    /// Answers the queries from number `first` on; with `WHOLE` there are as many as are answered
    /// at once, and values are to be written.
    #[inline(always)]
    fn answer<const WHOLE: bool>(&self, first: u64) {
        let Self { lookup, words, ref layout, .. } = *self;
        let (keys, values) = (lookup.queries.offset(first), lookup.values.offset(first));
        let here = if WHOLE { AT_ONCE } else { AT_ONCE.min((self.end - first) as usize) };
        let mut queries = [Sought::<K::Joint<V>> { home: 0, tag: Scalar::from_u64(0) }; AT_ONCE];
        for i in 0..here {
            let mixed = keys.load_streaming(i as u64).mixed(layout.a, layout.b);
            queries[i] = Sought { home: mixed.scaled(layout.buckets()), tag: layout.tag(layout.remainder(mixed), 0) };
        }
        if layout.buckets() > MOST_NEAR_BUCKETS {
            for i in 0..here {
                words.prefetch(queries[i].home as u64 * BUCKET_WORDS as u64);
            }
        }
        let mut found = 0;
        for i in 0..here {
            let answer = get_sought::<F, K, V>(words, layout, queries[i]);
            if WHOLE || !lookup.values.is_null() {
                values.store_streaming(i as u64, answer.unwrap_or_default());
            }
            found |= (answer.is_some() as u32) << i;
        }
        lookup.found.store(first / AT_ONCE as u64, found);
    }
}

/// Tables of so few buckets are in a CPU's cache already.
const MOST_NEAR_BUCKETS: u32 = 1 << 14;

/// Where a query has to look.
#[derive(Clone, Copy)]
struct Sought<W> {
    home: u32,
    /// The tag of the key at home.
    tag: W,
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
    if !IN_STEP {
        return get_sought::<F, K, V>(words, layout, Sought { home, tag: layout.tag(remainder, 0) });
    }
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

/// [`get`] where threads do not run in step: in the order of how many queries it takes to ask.
#[inline(always)]
fn get_sought<F: Form, K: Key, V: Payload>(
    words: Global<K::Joint<V>>,
    layout: &Layout,
    sought: Sought<K::Joint<V>>,
) -> Option<V::Word> {
    let Sought { home, tag } = sought;
    if let Some(answer) = near::<F, K, V>(words, layout, home, tag) {
        return Some(answer);
    }
    let remainder = tag.minus(Scalar::from_u64(1));
    let (filter_word, filter_bit) = filter::<F, K::Joint<V>>(remainder);
    let held = words.load_read_only(home as u64 * BUCKET_WORDS as u64 + filter_word as u64);
    if held & filter_bit == Scalar::from_u64(0) {
        return None;
    }
    far::<F, K, V>(words, layout, home, remainder)
}

/// The value of a key of whose class some had to leave home, by which [`near`] did not find it: out
/// of the way of the queries that do not come to it.
#[cold]
#[inline(never)]
fn far<F: Form, K: Key, V: Payload>(
    words: Global<K::Joint<V>>,
    layout: &Layout,
    home: u32,
    remainder: K::Joint<V>,
) -> Option<V::Word> {
    let home_in_page = if layout.page_bits == 0 { home } else { home % layout.page_buckets };
    for number in 1..layout.candidates {
        let bucket = home - home_in_page + layout.candidate(home_in_page, remainder, number);
        let first = bucket as u64 * BUCKET_WORDS as u64;
        let equal = equal_tags::<F, K, V>(words, first, layout.tag(remainder, number)) as u64;
        if equal != 0 {
            return Some(answer_at::<F, K, V>(words, first, equal));
        }
        if equal_tags::<F, K, V>(words, first, Scalar::from_u64(0)) != 0 {
            return None;
        }
    }
    None
}

/// The value of the pair whose home, and tag there, these are, if it is at home; or beside it, if
/// that is in the same line of a CPU's cache. Nothing else: where threads do not run in step, what
/// few queries want to know is better left for them.
#[inline(always)]
fn near<F: Form, K: Key, V: Payload>(
    words: Global<K::Joint<V>>,
    layout: &Layout,
    home: u32,
    tag: K::Joint<V>,
) -> Option<V::Word> {
    let first = home as u64 * BUCKET_WORDS as u64;
    let mut equal = equal_tags::<F, K, V>(words, first, tag) as u64;
    if <K::Joint<V> as Scalar>::BITS == 32 && F::TAG_WORDS <= 4 {
        let beside_tag = tag.plus(Scalar::from_u64(layout.remainders));
        let beside = equal_tags::<F, K, V>(words, first ^ BUCKET_WORDS as u64, beside_tag);
        equal |= (beside as u64) << 32;
    }
    if equal == 0 { None } else { Some(answer_at::<F, K, V>(words, first, equal)) }
}

/// The value in the slot of the lowest bit of `equal`, which is [`equal_tags`] of the bucket from
/// word `first` on, and from bit 32 on of the bucket beside it.
#[inline(always)]
fn answer_at<F: Form, K: Key, V: Payload>(words: Global<K::Joint<V>>, first: u64, equal: u64) -> V::Word {
    if !F::VALUES {
        return Default::default();
    }
    // Buckets begin at multiples of eight words, and have at most eight slots with values: nothing
    // is carried.
    let at = (first ^ (equal.trailing_zeros() / 4) as u64) + F::TAG_WORDS as u64;
    Scalar::from_u64(words.load_read_only(at).to_u64())
}

/// Which slots of the bucket from word `first` on have this tag: if they have values, some of the
/// four bits from `4 · slot` on.
#[inline(always)]
fn equal_tags<F: Form, K: Key, V: Payload>(words: Global<K::Joint<V>>, first: u64, tag: K::Joint<V>) -> u32 {
    let mut slots = 0;
    if F::TAGS == 1 {
        let tag_bits = Scalar::from_u64((1 << F::tag_bits::<K::Joint<V>>()) - 1);
        for four in 0..F::TAG_WORDS / 4 {
            let held = words.load_four_read_only(first + four as u64 * 4);
            slots |= equal_of_four(held, tag_bits, tag) << (16 * four);
        }
    } else {
        for word in 0..F::TAG_WORDS {
            let equal = equal::<F, K::Joint<V>>(words.load_read_only(first + word as u64), word, tag);
            // Tags above the lowest equal one may be named, too.
            if !F::VALUES {
                slots |= (equal != Scalar::from_u64(0)) as u32;
            } else if equal != Scalar::from_u64(0) {
                slots |= 1 << (4 * (word * F::TAGS + tag_number::<F, K::Joint<V>>(equal)));
            }
        }
    }
    slots
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
