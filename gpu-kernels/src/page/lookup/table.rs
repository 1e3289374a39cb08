//! A table as an argument of kernels, and the search for a key in it.

use crate::page::form::{BUCKET_WORDS, Form, Layout, equal, filter, tag_number, tags_in, with_form};
use crate::seam::{Global, IN_STEP, Word, equal_of_four};
use crate::types::{KeyWord, Payload, Scalar};

/// The most buckets of a table that a CPU is expected to have in its nearer caches.
pub(in crate::page) const MAX_NEAR_BUCKETS: u32 = 1 << 13;

/// A table as an argument of kernels.
#[derive(Clone, Copy, Debug)]
pub struct Table<K: KeyWord, V: Payload> {
    pub(in crate::page) words: Global<K::PackedWord<V>>,
    layout: Layout,
}

impl<K: KeyWord, V: Payload> Table<K, V> {
    /// Returns the table whose buckets are at `words`.
    #[inline(always)]
    pub fn new(words: Global<K::PackedWord<V>>, layout: Layout) -> Self {
        Self { words, layout }
    }

    /// Prefetches the home bucket of a key, given by its mixed key, for a lookup that follows soon.
    #[inline(always)]
    pub fn prefetch(&self, mixed: K) {
        self.words.prefetch(mixed.scaled(self.layout.buckets()) as u64 * BUCKET_WORDS as u64);
    }

    /// Returns the value of `key` if it is present. For keys alone the value is an unspecified
    /// word.
    ///
    /// Nearly always one bucket is read, and seldom more than the two buckets of a line. No thread
    /// of the launch may change the table.
    #[inline(always)]
    pub fn get(&self, key: K) -> Option<V::Word> {
        self.get_mixed(key.mixed(self.layout.a, self.layout.b))
    }

    /// Returns the value of the key with this mixed key.
    #[inline(always)]
    pub fn get_mixed(&self, mixed: K) -> Option<V::Word> {
        with_form!(self.layout.slots, K, V, F => get::<F, K, V>(self.words, &self.layout, mixed))
    }
}

/// The result of a probe of one bucket.
struct Look<W> {
    answer: Option<W>,
    /// Whether the bucket has an empty slot.
    free: bool,
    /// Whether the filter bit of the key's class is set.
    filtered: bool,
}

/// Returns the value of the key with this mixed key.
#[inline(always)]
fn get<F: Form, K: KeyWord, V: Payload>(words: Global<K::PackedWord<V>>, layout: &Layout, mixed: K) -> Option<V::Word> {
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
    // A key of this class had to leave its home. It is in the first of its candidates that was not
    // full. This is rare, so the loop should not be unrolled.
    let home_in_page = layout.home_in_page(mixed);
    let page_first = home - home_in_page;
    let mut number = 1;
    while number < layout.candidates {
        let bucket = page_first + layout.candidate(home_in_page, remainder, number);
        let there = look::<F, K, V>(words, bucket, remainder, layout.tag(remainder, number));
        if there.answer.is_some() || there.free && layout.holes == 0 {
            return there.answer;
        }
        number += 1;
    }
    None
}

/// Returns the value of a key that [`near`] did not find, given its home and its tag in the home
/// bucket.
#[inline(always)]
pub(in crate::page) fn beyond_line<F: Form, K: KeyWord, V: Payload>(
    words: Global<K::PackedWord<V>>,
    layout: &Layout,
    home: u32,
    tag: K::PackedWord<V>,
) -> Option<V::Word> {
    if !filtered::<F, _>(words, home as u64 * BUCKET_WORDS as u64, tag) {
        return None;
    }
    far::<F, K, V>(words, layout, home, tag.minus(Scalar::from_u64(1)))
}

/// Returns whether the filter bit is set for the class of a key with `tag`, in the key's home
/// bucket, which begins at word `first`.
#[inline(always)]
pub(in crate::page) fn filtered<F: Form, W: Scalar>(words: Global<W>, first: u64, tag: W) -> bool {
    let (filter_word, filter_bit) = filter::<F, W>(tag.minus(Scalar::from_u64(1)));
    words.load_read_only(first + filter_word as u64) & filter_bit != Scalar::from_u64(0)
}

/// Returns the value of a key that [`near`] did not find and whose filter bit is set. It is a
/// separate function, so that it does not slow down the other queries.
#[cold]
#[inline(never)]
fn far<F: Form, K: KeyWord, V: Payload>(
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
        // The first candidates are not checked for empty slots, since a key that gets here is
        // usually present.
        if layout.holes == 0 && number > 2 && equal_tags::<F, _>(words, first, Scalar::from_u64(0)) != 0 {
            return None;
        }
    }
    None
}

/// Returns the slots of a pair in its home bucket, and also in the other bucket of the line if
/// `beside` is set, in the form that [`answer_at`] takes. Returns 0 if the pair is in neither
/// bucket.
///
/// The home begins at word `first`. `tags` are the pair's tags in the two buckets. On a CPU, work
/// that few queries need is left to these queries.
#[inline(always)]
pub(in crate::page) fn near<F: Form, W: Scalar>(words: Global<W>, first: u64, tags: [W; 2], beside: bool) -> u64 {
    let equal = equal_tags::<F, _>(words, first, tags[0]) as u64;
    if !beside {
        return equal;
    }
    equal | (equal_tags::<F, _>(words, first ^ BUCKET_WORDS as u64, tags[1]) as u64) << 32
}

/// Returns whether the two buckets of a line share a CPU's cache line, so that probing both is
/// cheap.
#[inline(always)]
pub(in crate::page) const fn one_line<F: Form, K: KeyWord, V: Payload>() -> bool {
    <K::PackedWord<V> as Scalar>::BITS == 32 && F::TAG_WORDS <= 4
}

/// Returns the value in the slot of the lowest set bit of `equal`.
///
/// `equal` contains, in its lower half, the [`equal_tags`] of the bucket that begins at word
/// `first`, and in its upper half the [`equal_tags`] of the other bucket of the line.
#[inline(always)]
pub(in crate::page) fn answer_at<F: Form, K: KeyWord, V: Payload>(
    words: Global<K::PackedWord<V>>,
    first: u64,
    equal: u64,
) -> V::Word {
    if !F::VALUES {
        return Default::default();
    }
    Scalar::from_u64(words.load_read_only(value_at::<F>(first, equal)).to_u64())
}

/// Returns the index of the word that [`answer_at`] reads.
#[inline(always)]
pub(in crate::page) fn value_at<F: Form>(first: u64, equal: u64) -> u64 {
    // Buckets begin at multiples of eight words, and have at most eight slots with values, so there
    // is no carry.
    (first ^ (equal.trailing_zeros() / 4) as u64) + F::TAG_WORDS as u64
}

/// Returns the index of the word of a key's value, if the key is present. The kernel may be
/// changing values.
#[inline(always)]
pub(in crate::page) fn locate<F: Form, K: KeyWord, V: Payload>(
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

/// Returns the slots of the bucket that begins at word `first` whose tag is `tag`. For such a slot
/// with a value, some of the four bits from `4 · slot` to `4 · slot + 3` are set.
#[inline(always)]
pub(in crate::page) fn equal_tags<F: Form, W: Scalar>(words: Global<W>, first: u64, tag: W) -> u32 {
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
            // Tags above the lowest equal tag may be reported falsely.
            if !F::VALUES {
                slots |= (equal != Scalar::from_u64(0)) as u32;
            } else if equal != Scalar::from_u64(0) {
                slots |= 1 << (4 * (word * F::TAGS + tag_number::<F, W>(equal)));
            }
        }
    }
    slots
}

/// Searches the pair with `tag` in `bucket`, and reads the filter bit of `remainder`.
#[inline(always)]
fn look<F: Form, K: KeyWord, V: Payload>(
    words: Global<K::PackedWord<V>>,
    bucket: u32,
    remainder: K::PackedWord<V>,
    tag: K::PackedWord<V>,
) -> Look<V::Word> {
    let first = bucket as u64 * BUCKET_WORDS as u64;
    // A bucket of one 32-byte sector is read as a whole. Of a bucket of two sectors, the second
    // sector is read only for tags or for a value.
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
        // The lowest equal tag is processed last, since only the lowest is always right.
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
