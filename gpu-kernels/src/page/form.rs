//! How a bucket packs its pairs: three forms, from many slots with short tags to few with long ones.

use crate::types::Scalar;

/// How a bucket of eight words divides them: first words of tags, then a value for each slot.
///
/// A tag is [`Layout::tag`](super::Layout::tag), and 0 in an empty slot. Above the tags of a word are filter bits.
pub trait Form {
    /// Words of tags.
    const TAG_WORDS: u32;
    /// Slots, and so values.
    const SLOTS: u32;
    /// Tags in a word; the last word has those that are left.
    const TAGS: u32;
    /// Classes of remainders that have a filter bit each.
    const CLASSES: u32;
    /// Bits of a tag.
    fn tag_bits<W: Scalar>() -> u32;
    /// The filter bit of class `class`: its word, and its place there.
    fn filter<W: Scalar>(class: u32) -> (u32, u32);
}

/// Six slots with tags of 10 bits, for 32-bit keys in at least 21,053,762 buckets.
///
/// ```text
/// word     31 30 29       20 19       10 9         0
/// 0        f1 f0 |  tag 2   |  tag 1    |  tag 0   |
/// 1        f3 f2 |  tag 5   |  tag 4    |  tag 3   |
/// 2 … 7    values 0 … 5
/// ```
pub struct Six;

/// Five slots with tags of 16 bits, for 32-bit keys in at least 327,686 buckets.
///
/// ```text
/// word     31        16 15         0
/// 0        |  tag 1    |  tag 0    |
/// 1        |  tag 3    |  tag 2    |
/// 2        | f15 … f0  |  tag 4    |
/// 3 … 7    values 0 … 4
/// ```
pub struct Five;

/// Four slots with tags of a word but one bit: for every width and every number of buckets from 2^4 on.
///
/// ```text
/// word     31 (63)  30 (62)        0
/// 0 … 3    f0 … f3  |  tags 0 … 3  |
/// 4 … 7    values 0 … 3
/// ```
pub struct Four;

impl Form for Six {
    const TAG_WORDS: u32 = 2;
    const SLOTS: u32 = 6;
    const TAGS: u32 = 3;
    const CLASSES: u32 = 4;
    #[inline(always)]
    fn tag_bits<W: Scalar>() -> u32 {
        10
    }
    #[inline(always)]
    fn filter<W: Scalar>(class: u32) -> (u32, u32) {
        (class / 2, 30 + class % 2)
    }
}

impl Form for Five {
    const TAG_WORDS: u32 = 3;
    const SLOTS: u32 = 5;
    const TAGS: u32 = 2;
    const CLASSES: u32 = 16;
    #[inline(always)]
    fn tag_bits<W: Scalar>() -> u32 {
        16
    }
    #[inline(always)]
    fn filter<W: Scalar>(class: u32) -> (u32, u32) {
        (2, 16 + class)
    }
}

impl Form for Four {
    const TAG_WORDS: u32 = 4;
    const SLOTS: u32 = 4;
    const TAGS: u32 = 1;
    const CLASSES: u32 = 4;
    #[inline(always)]
    fn tag_bits<W: Scalar>() -> u32 {
        W::BITS - 1
    }
    #[inline(always)]
    fn filter<W: Scalar>(class: u32) -> (u32, u32) {
        (class, W::BITS - 1)
    }
}

/// Runs `$run` with `$form` as the form of buckets of `$slots` slots, of words of type `$word`: wide words have one form only.
macro_rules! with_form {
    ($slots:expr, $word:ty, $form:ident => $run:expr) => {{
        use crate::page::form::{Five, Form, Four, Six};
        if <$word as crate::types::Scalar>::BITS > 32 || $slots == Four::SLOTS {
            type $form = Four;
            $run
        } else if $slots == Six::SLOTS {
            type $form = Six;
            $run
        } else {
            type $form = Five;
            $run
        }
    }};
}
pub(super) use with_form;

/// The filter bit for a remainder: the number of its word, and the bit in it.
#[inline(always)]
pub fn filter<F: Form, W: Scalar>(remainder: W) -> (u32, W) {
    let (word, bit) = F::filter::<W>(remainder.bits_from(0) % F::CLASSES);
    (word, W::from_u64(1) << bit)
}

/// `unit` once for each of the first `tags` tags of a word. Written out: the compiler should see a constant.
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

/// Tags in tag word `word`.
#[inline(always)]
pub const fn tags_in<F: Form>(word: u32) -> u32 {
    if word + 1 < F::TAG_WORDS { F::TAGS } else { F::SLOTS - (F::TAG_WORDS - 1) * F::TAGS }
}

/// The highest bit of each tag of `held`, which is tag word `word`, that is equal to `tag`. Tags above the lowest equal one may
/// be named too: the lowest one is right.
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

/// The number, in its word, of the lowest tag that `equal` names.
#[inline(always)]
pub fn tag_number<F: Form, W: Scalar>(equal: W) -> u32 {
    equal.low_zeros() / F::tag_bits::<W>()
}
