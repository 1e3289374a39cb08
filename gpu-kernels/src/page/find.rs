//! Looking up many keys.

use super::form::{Form, equal, filter, tag_number, tags_in, with_form};
use super::pairs::AT_ONCE;
use super::{BUCKET_WORDS, Layout, Table};
use crate::seam::{Block, Global, IN_STEP, Tile, Word, Work, equal_of_four, in_turn, vectorized};
use crate::table::lookup::Lookup;
use crate::types::{Key, Payload, Scalar, WordOf};
use core::marker::PhantomData;

/// The scalar arguments of [`Find`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FindParams {
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
    /// Answers query `i` by thread `i`: `values[i]` is the value or 0, and bit `i mod 32` of
    /// `found[i / 32]` says which.
    ///
    /// `values` may be null. `words` are those of the buckets.
    Find<K: Key, V: Payload>, "page_find", threads 256;
    { queries: Global<K>, words: Global<u64>, values: Global<WordOf<V>>, found: Global<u32>, plan: FindParams }
}

impl<K: Key, V: Payload> Find<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let FindParams { layout, queries: count } = args.plan;
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

/// The queries of a lookup from number `first` to `end`, to be answered where threads do not run in
/// step.
///
/// First the home buckets of some of them are computed, which a CPU does for several at once. Then
/// they are answered one after the other.
struct InTurn<F, K: Key, V: Payload> {
    lookup: Lookup<K, V::Word>,
    words: Global<K::PackedWord<V>>,
    layout: Layout,
    first: u64,
    end: u64,
    form: PhantomData<F>,
}

/// The homes of the queries that share a word of found-bits, and their tags at home and beside it.
#[derive(Clone, Copy, Default)]
struct Sought<W> {
    homes: [u32; AT_ONCE],
    tags: [[W; AT_ONCE]; 2],
}

impl<F: Form, K: Key, V: Payload> Work for InTurn<F, K, V> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let (mut even, mut odd) = (Sought::default(), Sought::default());
        let (mut first, step) = (self.first, AT_ONCE as u64);
        if !self.lookup.values.is_null() {
            self.seek(first, &mut even);
            // While some queries are answered, the buckets of the next ones are being fetched.
            while first + 2 * step <= self.end {
                self.seek(first + step, &mut odd);
                self.answer::<true>(first, &even);
                self.seek(first + 2 * step, &mut even);
                self.answer::<true>(first + step, &odd);
                first += 2 * step;
            }
        }
        while first < self.end {
            self.seek(first, &mut even);
            self.answer::<false>(first, &even);
            first += step;
        }
    }
}

impl<F: Form, K: Key, V: Payload> InTurn<F, K, V> {
    /// Computes the homes of the queries from number `first` on, and prefetches these buckets.
    #[inline(always)]
    fn seek(&self, first: u64, sought: &mut Sought<K::PackedWord<V>>) {
        let here = self.end.saturating_sub(first).min(AT_ONCE as u64) as usize;
        // A whole group has a loop of its own, so that its length is constant.
        if here == AT_ONCE {
            for i in 0..AT_ONCE {
                self.seek_one(first, i, sought);
            }
        } else {
            for i in 0..here {
                self.seek_one(first, i, sought);
            }
        }
        if self.layout.buckets() > MAX_NEAR_BUCKETS {
            for home in sought.homes {
                self.words.prefetch(home as u64 * BUCKET_WORDS as u64);
            }
        }
    }

    #[inline(always)]
    fn seek_one(&self, first: u64, i: usize, sought: &mut Sought<K::PackedWord<V>>) {
        let layout = &self.layout;
        let mixed = self.lookup.queries.load_streaming(first + i as u64).mixed(layout.a, layout.b);
        let remainder = layout.remainder(mixed);
        sought.homes[i] = mixed.scaled(layout.buckets());
        (sought.tags[0][i], sought.tags[1][i]) = (layout.tag(remainder, 0), layout.tag(remainder, 1));
    }

    /// Answers the queries from number `first` on. With `WHOLE` there are as many as share a word,
    /// and values are to be written.
    #[inline(always)]
    fn answer<const WHOLE: bool>(&self, first: u64, sought: &Sought<K::PackedWord<V>>) {
        let Self { lookup, words, ref layout, .. } = *self;
        let (homes, tags) = (&sought.homes, &sought.tags);
        let values = lookup.values.offset(first);
        let here = if WHOLE { AT_ONCE } else { AT_ONCE.min((self.end - first) as usize) };
        // Queries whose keys are at home, or beside it, come first: nearly all are.
        let mut missed = 0;
        for i in 0..here {
            let home = homes[i] as u64 * BUCKET_WORDS as u64;
            let equal = near::<F, _>(words, home, [tags[0][i], tags[1][i]], one_line::<F, K, V>());
            if equal == 0 {
                missed |= 1 << i;
            } else if WHOLE || !lookup.values.is_null() {
                values.store_streaming(i as u64, answer_at::<F, K, V>(words, home, equal));
            }
        }
        let mut found = !missed & u32::MAX >> (AT_ONCE - here);
        while missed != 0 {
            let i = missed.trailing_zeros() as usize;
            missed &= missed - 1;
            let answer = beyond_line::<F, K, V>(words, layout, homes[i], tags[0][i]);
            found |= (answer.is_some() as u32) << i;
            if WHOLE || !lookup.values.is_null() {
                values.store_streaming(i as u64, answer.unwrap_or_default());
            }
        }
        lookup.found.store(first / AT_ONCE as u64, found);
    }
}

/// The most buckets of a table that is in a CPU's nearer caches already.
pub(super) const MAX_NEAR_BUCKETS: u32 = 1 << 13;

/// The result of a probe of one bucket.
struct Look<W> {
    answer: Option<W>,
    /// Whether the bucket has an empty slot.
    free: bool,
    /// Whether the filter bit of the key's class is set.
    filtered: bool,
}

/// The value of the key with this mixed key.
#[inline(always)]
pub(super) fn get<F: Form, K: Key, V: Payload>(
    words: Global<K::PackedWord<V>>,
    layout: &Layout,
    mixed: K,
) -> Option<V::Word> {
    let home = mixed.scaled(layout.buckets());
    let remainder = layout.remainder::<K, K::PackedWord<V>>(mixed);
    if !IN_STEP {
        let (first, tag) = (home as u64 * BUCKET_WORDS as u64, layout.tag(remainder, 0));
        let equal = near::<F, _>(words, first, [tag, layout.tag(remainder, 1)], one_line::<F, K, V>());
        if equal != 0 {
            return Some(answer_at::<F, K, V>(words, first, equal));
        }
        return beyond_line::<F, K, V>(words, layout, home, tag);
    }
    let at_home = look::<F, K, V>(words, home, remainder, layout.tag(remainder, 0));
    if at_home.answer.is_some() || !at_home.filtered {
        return at_home.answer;
    }
    // A key of this class had to leave: it is in the first of its candidates that was not full.
    // This is rare, so the loop should not be unrolled.
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

/// The value of a key that [`near`] did not find, given its home and its tag there.
#[inline(always)]
fn beyond_line<F: Form, K: Key, V: Payload>(
    words: Global<K::PackedWord<V>>,
    layout: &Layout,
    home: u32,
    tag: K::PackedWord<V>,
) -> Option<V::Word> {
    let remainder = tag.minus(Scalar::from_u64(1));
    let (filter_word, filter_bit) = filter::<F, K::PackedWord<V>>(remainder);
    let held = words.load_read_only(home as u64 * BUCKET_WORDS as u64 + filter_word as u64);
    if held & filter_bit == Scalar::from_u64(0) {
        return None;
    }
    far::<F, K, V>(words, layout, home, remainder)
}

/// The value of a key that [`near`] did not find, and of whose class some had to leave home. It is
/// a function of its own, so that queries that do not need it are not slowed down.
#[cold]
#[inline(never)]
fn far<F: Form, K: Key, V: Payload>(
    words: Global<K::PackedWord<V>>,
    layout: &Layout,
    home: u32,
    remainder: K::PackedWord<V>,
) -> Option<V::Word> {
    let home_in_page = if layout.page_bits == 0 { home } else { home % layout.page_buckets };
    // The candidates that [`near`] has probed are skipped.
    for number in if one_line::<F, K, V>() { 2 } else { 1 }..layout.candidates {
        let bucket = home - home_in_page + layout.candidate(home_in_page, remainder, number);
        let first = bucket as u64 * BUCKET_WORDS as u64;
        let equal = equal_tags::<F, _>(words, first, layout.tag(remainder, number)) as u64;
        if equal != 0 {
            return Some(answer_at::<F, K, V>(words, first, equal));
        }
        // The first candidates are not checked for empty slots: a key that is asked for is present,
        // most often.
        if number > 2 && equal_tags::<F, _>(words, first, Scalar::from_u64(0)) != 0 {
            return None;
        }
    }
    None
}

/// The slots of a pair at home, and beside it if `beside` is set, in the form that [`answer_at`]
/// takes; 0 if the pair is not there.
///
/// The home begins at word `first`. `tags` are those that the pair has at home and beside it. Where
/// threads do not run in step, work that few queries need is better left to those queries.
#[inline(always)]
pub(super) fn near<F: Form, W: Scalar>(words: Global<W>, first: u64, tags: [W; 2], beside: bool) -> u64 {
    let equal = equal_tags::<F, _>(words, first, tags[0]) as u64;
    if !beside {
        return equal;
    }
    equal | (equal_tags::<F, _>(words, first ^ BUCKET_WORDS as u64, tags[1]) as u64) << 32
}

/// Whether two buckets are a line of a CPU's cache, so that probing both is cheap.
#[inline(always)]
const fn one_line<F: Form, K: Key, V: Payload>() -> bool {
    <K::PackedWord<V> as Scalar>::BITS == 32 && F::TAG_WORDS <= 4
}

/// The value in the slot of the lowest bit of `equal`.
///
/// `equal` is [`equal_tags`] of the bucket from word `first` on, and from bit 32 on that of the
/// bucket beside it.
#[inline(always)]
fn answer_at<F: Form, K: Key, V: Payload>(words: Global<K::PackedWord<V>>, first: u64, equal: u64) -> V::Word {
    if !F::VALUES {
        return Default::default();
    }
    Scalar::from_u64(words.load_read_only(value_at::<F>(first, equal)).to_u64())
}

/// The number of the value's word for [`answer_at`].
#[inline(always)]
pub(super) fn value_at<F: Form>(first: u64, equal: u64) -> u64 {
    // Buckets begin at multiples of eight words, and have at most eight slots with values, so there
    // is no carry.
    (first ^ (equal.trailing_zeros() / 4) as u64) + F::TAG_WORDS as u64
}

/// The number of the word of a key's value, if the key is there. The kernel may change values
/// meanwhile.
#[inline(always)]
pub(super) fn locate<F: Form, K: Key, V: Payload>(
    words: Global<K::PackedWord<V>>,
    layout: &Layout,
    mixed: K,
) -> Option<u64> {
    let (home, remainder) = (layout.home_in_page(mixed), layout.remainder(mixed));
    let page_first = mixed.scaled(layout.buckets()) - home;
    for number in 0..layout.candidates {
        let first = (page_first + layout.candidate(home, remainder, number)) as u64 * BUCKET_WORDS as u64;
        let equal = equal_tags::<F, _>(words, first, layout.tag(remainder, number));
        if equal != 0 {
            return Some(value_at::<F>(first, equal as u64));
        }
    }
    None
}

/// The slots of the bucket from word `first` on that have this tag: if they have values, some of
/// the four bits from `4 · slot` on.
#[inline(always)]
pub(super) fn equal_tags<F: Form, W: Scalar>(words: Global<W>, first: u64, tag: W) -> u32 {
    let mut slots = 0;
    if F::TAGS == 1 {
        let tag_bits = Scalar::from_u64((1 << F::tag_bits::<W>()) - 1);
        for four in 0..F::TAG_WORDS / 4 {
            let held = words.load_four_read_only(first + four as u64 * 4);
            slots |= equal_of_four(held, tag_bits, tag) << (16 * four);
        }
    } else {
        for word in 0..F::TAG_WORDS {
            let equal = equal::<F, W>(words.load_read_only(first + word as u64), word, tag);
            // Tags above the lowest equal one may be reported, too.
            if !F::VALUES {
                slots |= (equal != Scalar::from_u64(0)) as u32;
            } else if equal != Scalar::from_u64(0) {
                slots |= 1 << (4 * (word * F::TAGS + tag_number::<F, W>(equal)));
            }
        }
    }
    slots
}

/// Looks for the pair with `tag` in `bucket`, and for the filter bit of `remainder`.
#[inline(always)]
fn look<F: Form, K: Key, V: Payload>(
    words: Global<K::PackedWord<V>>,
    bucket: u32,
    remainder: K::PackedWord<V>,
    tag: K::PackedWord<V>,
) -> Look<V::Word> {
    let first = bucket as u64 * BUCKET_WORDS as u64;
    // A bucket of one sector of 32 bytes is read at once. Of a bucket of two, the second is read
    // only for tags or for a value.
    let whole = <K::PackedWord<V> as Scalar>::BITS == 32 || F::TAG_WORDS > 4;
    let tags = words.load_four_read_only(first);
    let rest = if whole { words.load_four_read_only(first + 4) } else { Default::default() };

    let (filter_word, filter_bit) = filter::<F, K::PackedWord<V>>(remainder);
    let mut look = Look { answer: None, free: false, filtered: false };
    for word in 0..F::TAG_WORDS {
        let held = if word < 4 { tags[word as usize] } else { rest[word as usize - 4] };
        let count = tags_in::<F>(word);
        let equal_tags = equal::<F, K::PackedWord<V>>(held, word, tag);
        look.free |= equal::<F, K::PackedWord<V>>(held, word, Scalar::from_u64(0)) != Scalar::from_u64(0);
        look.filtered |= word == filter_word && held & filter_bit != Scalar::from_u64(0);
        if !F::VALUES {
            if equal_tags != Scalar::from_u64(0) {
                look.answer = Some(Default::default());
            }
            continue;
        }
        // The lowest equal tag comes last: it is right.
        for back in 0..count {
            let number = count - 1 - back;
            let top = F::tag_bits::<K::PackedWord<V>>() * (number + 1) - 1;
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
