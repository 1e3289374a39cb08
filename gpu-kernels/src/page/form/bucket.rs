//! The forms in which a bucket packs pairs, or keys alone: three of each, from many slots with
//! short tags to few slots with long tags.

use crate::types::{KeyWord, Payload, Scalar};

/// The count of words in a bucket.
pub const BUCKET_WORDS: u32 = 8;

/// The division of a bucket's eight words. The first words contain tags, and the others a value for
/// each slot. Without values all words contain tags.
///
/// A tag is a [`Layout::tag`](super::Layout::tag), or 0 in an empty slot. Above the tags of a word
/// are filter bits.
pub trait Form {
    /// The count of words of tags.
    const TAG_WORDS: u32;
    /// The count of slots, which is also the count of values.
    const SLOTS: u32;
    /// The count of tags in a word. The last word may have fewer tags.
    const TAGS: u32;
    /// The count of classes of remainders. Each class has a filter bit.
    const CLASSES: u32;
    /// Whether the slots have values.
    const VALUES: bool = Self::TAG_WORDS < BUCKET_WORDS;
    /// Returns the count of bits in a tag.
    fn tag_bits<W: Scalar>() -> u32;
    /// Returns the index of the word with the filter bit of class `class`, and the bit's index in
    /// that word.
    fn filter<W: Scalar>(class: u32) -> (u32, u32);
}

/// The form with tags of 10 bits, three a word, in `WORDS` words: for 32-bit keys in at least
/// 21,053,762 buckets.
///
/// ```text
/// word     31 30 29       20 19       10 9         0
/// 0        f1 f0 |  tag 2   |  tag 1    |  tag 0   |
/// 1        f3 f2 |  tag 5   |  tag 4    |  tag 3   |
/// 2 … 7    values 0 … 5; or six more words of tags and filter bits
/// ```
pub struct Thirds<const WORDS: u32>;

/// The form with tags of 16 bits, two a word, in `WORDS` words: for 32-bit keys in at least 327,686
/// buckets.
///
/// ```text
/// word     31        16 15         0
/// 0        |  tag 1    |  tag 0    |
/// 1        |  tag 3    |  tag 2    |
/// 2        | f15 … f0  |  tag 4    |
/// 3 … 7    values 0 … 4; or tags 4 and 5 in word 2, and so on,
///          and the filter bits with tag 14 in word 7
/// ```
pub struct Halves<const WORDS: u32>;

/// The form with tags of all bits of a word except one, in `WORDS` words: for every width and for
/// 2^4 buckets or more.
///
/// ```text
/// word     31 (63)  30 (62)        0
/// 0 … 3    f0 … f3  |  tags 0 … 3  |
/// 4 … 7    values 0 … 3; or tags 4 … 7, and f4 … f7
/// ```
pub struct Wholes<const WORDS: u32>;

/// The form of six slots with values.
pub type Six = Thirds<2>;
/// The form of five slots with values.
pub type Five = Halves<3>;
/// The form of four slots with values.
pub type Four = Wholes<4>;
/// The form of 24 slots without values.
pub type TwentyFour = Thirds<BUCKET_WORDS>;
/// The form of 15 slots without values.
pub type Fifteen = Halves<BUCKET_WORDS>;
/// The form of eight slots without values.
pub type Eight = Wholes<BUCKET_WORDS>;

/// The most slots of a bucket.
pub const MAX_SLOTS: usize = TwentyFour::SLOTS as usize;

impl<const WORDS: u32> Form for Thirds<WORDS> {
    const TAG_WORDS: u32 = WORDS;
    const SLOTS: u32 = 3 * WORDS;
    const TAGS: u32 = 3;
    const CLASSES: u32 = 2 * WORDS;
    #[inline(always)]
    fn tag_bits<W: Scalar>() -> u32 {
        10
    }
    #[inline(always)]
    fn filter<W: Scalar>(class: u32) -> (u32, u32) {
        (class / 2, 30 + class % 2)
    }
}

impl<const WORDS: u32> Form for Halves<WORDS> {
    const TAG_WORDS: u32 = WORDS;
    const SLOTS: u32 = 2 * WORDS - 1;
    const TAGS: u32 = 2;
    const CLASSES: u32 = 16;
    #[inline(always)]
    fn tag_bits<W: Scalar>() -> u32 {
        16
    }
    #[inline(always)]
    fn filter<W: Scalar>(class: u32) -> (u32, u32) {
        (WORDS - 1, 16 + class)
    }
}

impl<const WORDS: u32> Form for Wholes<WORDS> {
    const TAG_WORDS: u32 = WORDS;
    const SLOTS: u32 = WORDS;
    const TAGS: u32 = 1;
    const CLASSES: u32 = WORDS;
    #[inline(always)]
    fn tag_bits<W: Scalar>() -> u32 {
        W::BITS - 1
    }
    #[inline(always)]
    fn filter<W: Scalar>(class: u32) -> (u32, u32) {
        (class, W::BITS - 1)
    }
}

/// The properties of a form by which a table chooses it.
#[derive(Clone, Copy)]
pub(in crate::page) struct Choice {
    pub slots: u32,
    pub tag_bits: u32,
}

/// Returns the forms that buckets may have, in descending order of their slots. If words have 64
/// bits, only the last form is possible.
pub(in crate::page) fn choices<K: KeyWord, V: Payload>() -> [Choice; 3] {
    fn of<F: Form, W: Scalar>() -> Choice {
        Choice { slots: F::SLOTS, tag_bits: F::tag_bits::<W>() }
    }
    if V::VALUE_BITS == 0 {
        [of::<TwentyFour, K::PackedWord<V>>(), of::<Fifteen, K::PackedWord<V>>(), of::<Eight, K::PackedWord<V>>()]
    } else {
        [of::<Six, K::PackedWord<V>>(), of::<Five, K::PackedWord<V>>(), of::<Four, K::PackedWord<V>>()]
    }
}

/// Runs `$run` with `$form` as the form of buckets of `$slots` slots, for these types. Wide words
/// have only one form.
macro_rules! with_form {
    ($slots:expr, $key:ty, $payload:ty, $form:ident => $run:expr) => {{
        use crate::page::form::{Eight, Fifteen, Five, Form, Four, Six, TwentyFour};
        if const { <$payload as crate::types::Payload>::VALUE_BITS == 0 } {
            with_form!(@ $slots, $key, $payload, $form, TwentyFour, Fifteen, Eight => $run)
        } else {
            with_form!(@ $slots, $key, $payload, $form, Six, Five, Four => $run)
        }
    }};
    (@ $slots:expr, $key:ty, $payload:ty, $form:ident, $most:ident, $middle:ident, $fewest:ident => $run:expr) => {{
        if const { <<$key as crate::types::KeyWord>::PackedWord<$payload> as crate::types::Scalar>::BITS > 32 }
            || $slots == $fewest::SLOTS {
            type $form = $fewest;
            $run
        } else if $slots == $most::SLOTS {
            type $form = $most;
            $run
        } else {
            type $form = $middle;
            $run
        }
    }};
}
pub(in crate::page) use with_form;

/// Returns the index of the word with the filter bit for a remainder, and a mask of that bit.
#[inline(always)]
pub fn filter<F: Form, W: Scalar>(remainder: W) -> (u32, W) {
    let (word, bit) = F::filter::<W>(remainder.bits_from(0) % F::CLASSES);
    (word, W::from_u64(1) << bit)
}

/// Returns a word with `unit` in each of its first `tags` tags. The function has no loop, so that
/// the compiler sees a constant.
#[inline(always)]
fn repeated<F: Form, W: Scalar>(unit: W, tags: u32) -> W {
    let bits = F::tag_bits::<W>();
    let mut all = unit;
    if tags > 1 {
        all = all | unit << bits;
    }
    if tags > 2 {
        all = all | unit << (2 * bits);
    }
    all
}

/// Returns the count of tags in tag word `word`.
#[inline(always)]
pub const fn tags_in<F: Form>(word: u32) -> u32 {
    if word + 1 < F::TAG_WORDS { F::TAGS } else { F::SLOTS - (F::TAG_WORDS - 1) * F::TAGS }
}

/// Returns the highest bit of each tag of `held` that equals `tag`, where `held` is tag word
/// `word`. Tags above the lowest equal tag may be reported falsely.
#[inline(always)]
pub fn equal<F: Form, W: Scalar>(held: W, word: u32, tag: W) -> W {
    let top = W::from_u64(1) << (F::tag_bits::<W>() - 1);
    let tops = if word + 1 < F::TAG_WORDS {
        repeated::<F, W>(top, F::TAGS)
    } else {
        repeated::<F, W>(top, tags_in::<F>(F::TAG_WORDS - 1))
    };
    let differences = held ^ repeated::<F, W>(tag, F::TAGS);
    differences.minus(repeated::<F, W>(W::from_u64(1), F::TAGS)) & !differences & tops
}

/// Returns the index, in its word, of the lowest tag that `equal` reports.
#[inline(always)]
pub fn tag_number<F: Form, W: Scalar>(equal: W) -> u32 {
    equal.low_zeros() / F::tag_bits::<W>()
}
