//! Rewriting a page that has pairs already: its way into shared memory and out again, and pulling
//! pairs back to earlier candidates.

use super::form::{BUCKET_WORDS, Form, tags_in};
use super::probe::Page;
use super::source::stride;
use crate::seam::{Block, Global, Shared};
use crate::split::pairs::by_number;
use crate::types::{KeyWord, Payload, Scalar};

/// Loads a page from the table's memory, where it begins at `from`. With `VALUES` that are false,
/// words for values become 0.
#[inline(always)]
pub(super) fn load_page<const VALUES: bool, F: Form, W: Scalar, B: Block>(
    thread: u32,
    page: Page<'_, F, W, impl Shared<W>>,
    from: Global<W>,
) {
    let (mut first, halves) = (thread, 2 * page.layout.page_buckets);
    while first < halves {
        // Several loads are under way at once.
        let mut fours = [[W::default(); 4]; LOADS];
        for i in 0..LOADS {
            let half = first + i as u32 * const { stride::<B>() };
            if half < halves {
                fours[i] = from.load_four(half as u64 * 4);
            }
        }
        for i in 0..LOADS {
            let half = first + i as u32 * const { stride::<B>() };
            if half < halves {
                let (bucket, first_row) = (half / 2, half % 2 * 4);
                for j in 0..4 {
                    let row = first_row + j as u32;
                    let kept = VALUES || row < F::TAG_WORDS;
                    page.words.set(page.at(row, bucket), if kept { fours[i][j] } else { W::default() });
                }
            }
        }
        first += LOADS as u32 * const { stride::<B>() };
    }
}

/// The number of parts of a page that a thread loads at once.
const LOADS: usize = 2;

/// Writes a page to the table's memory, half a bucket per thread. If words for values are the
/// numbers of pairs, `value_of` turns them into values; it is told the number of the word, too.
#[inline(always)]
pub(super) fn write_page<const REPEATS: bool, F: Form, K: KeyWord, V: Payload, B: Block>(
    thread: u32,
    page: Page<'_, F, K::PackedWord<V>, impl Shared<K::PackedWord<V>>>,
    to: Global<K::PackedWord<V>>,
    value_of: impl Fn(u64, K::PackedWord<V>) -> K::PackedWord<V>,
) {
    let mut half = thread;
    while half < 2 * page.layout.page_buckets {
        let (bucket, first_row) = (half / 2, half % 2 * 4);
        let mut out = [<K::PackedWord<V>>::default(); 4];
        for i in 0..4 {
            let row = first_row + i as u32;
            out[i] = page.words.get(page.at(row, bucket));
            if const { by_number::<REPEATS, V, B>() } && row >= F::TAG_WORDS {
                out[i] = value_of(half as u64 * 4 + i as u64, out[i]);
            }
        }
        to.store_four_streaming(half as u64 * 4, out);
        half += const { stride::<B>() };
    }
}

/// The number of displaced pairs in a page, in the list of [`pull_back`]: the position of its
/// length among the lengths.
const DISPLACED: u32 = 1;

/// Pulls pairs back to the first of their candidates that has a free slot, until none has one
/// earlier than its own, and makes the filter bits those of the pairs that stay displaced. So the
/// page is as after a build. Begins and ends with a barrier.
///
/// If the list, of `most` words, cannot hold all displaced pairs, none of this is done, and the
/// result is false.
#[inline(always)]
pub(super) fn pull_back<F: Form, W: Scalar, B: Block>(
    block: &mut B,
    page: Page<'_, F, W, impl Shared<W>>,
    (list, most): (impl Shared<u32>, u32),
    lengths: impl Shared<u32>,
) -> bool {
    let buckets = page.layout.page_buckets;
    if B::IN_TURN {
        pull_back_in_turn(page);
        return true;
    }
    // A thread keeps where the pair was that it has just moved.
    let mut vacated = block.local(|_| None::<u32>);
    let threads = &mut vacated;
    block.phase(threads, |thread, _| {
        if thread == 0 {
            lengths.set(DISPLACED, 0);
        }
    });
    block.phase(threads, |thread, _| {
        let mut bucket = thread;
        while bucket < buckets {
            each_displaced(page, bucket, |slot| {
                let position = lengths.fetch_add(DISPLACED, 1);
                if position < most {
                    list.set(position, bucket * F::SLOTS + slot);
                }
            });
            bucket += const { stride::<B>() };
        }
    });
    let count = lengths.get(DISPLACED);
    if count > most {
        return false;
    }
    // A round moves pairs, and then frees the slots that they had: until then nobody takes those.
    // At most six times as many rounds as pairs: one that moves comes to a lower candidate, since
    // its tag names one of seven. (A file with another tag is refused.)
    loop {
        let (mut first, mut moved) = (0, 0);
        while first < count {
            moved += block.count(threads, |thread, vacated| {
                *vacated = None;
                let position = first + thread;
                if position >= count {
                    return false;
                }
                let from = list.get(position);
                let Some(to) = page.move_back(from / F::SLOTS, from % F::SLOTS) else { return false };
                list.set(position, to);
                *vacated = Some(from);
                true
            });
            block.phase(threads, |_, vacated| {
                if let Some(from) = *vacated {
                    page.vacate(from / F::SLOTS, from % F::SLOTS);
                }
            });
            first += const { stride::<B>() };
        }
        if moved == 0 {
            break;
        }
    }
    block.phase(threads, |thread, _| {
        let mut bucket = thread;
        while bucket < buckets {
            page.clear_filters(bucket);
            bucket += const { stride::<B>() };
        }
    });
    block.phase(threads, |thread, _| {
        let mut position = thread;
        while position < count {
            let at = list.get(position);
            page.set_filter(at / F::SLOTS, at % F::SLOTS);
            position += const { stride::<B>() };
        }
    });
    true
}

/// Does [`pull_back`] by one thread, which needs no list.
#[inline(always)]
fn pull_back_in_turn<F: Form, W: Scalar>(page: Page<'_, F, W, impl Shared<W>>) {
    let buckets = page.layout.page_buckets;
    // At most six times as many rounds as pairs, as in `pull_back`.
    loop {
        let mut moved = false;
        for bucket in 0..buckets {
            each_displaced(page, bucket, |slot| {
                if page.move_back(bucket, slot).is_some() {
                    page.vacate(bucket, slot);
                    moved = true;
                }
            });
        }
        if !moved {
            break;
        }
    }
    for bucket in 0..buckets {
        page.clear_filters(bucket);
    }
    for bucket in 0..buckets {
        each_displaced(page, bucket, |slot| page.set_filter(bucket, slot));
    }
}

/// Calls `work` with each slot of the bucket that has a pair that is not at home.
#[inline(always)]
fn each_displaced<F: Form, W: Scalar>(page: Page<'_, F, W, impl Shared<W>>, bucket: u32, mut work: impl FnMut(u32)) {
    let mask = (W::from_u64(1) << F::tag_bits::<W>()).minus(W::from_u64(1));
    for word in 0..F::TAG_WORDS {
        let held = page.words.get(page.at(word, bucket));
        for number in 0..tags_in::<F>(word) {
            let tag = held >> (number * F::tag_bits::<W>()) & mask;
            if tag.to_u64() > page.layout.remainders {
                work(word * F::TAGS + number);
            }
        }
    }
}

/// Returns the number of the first word of a page in the table's memory.
#[inline(always)]
pub(super) fn first_word(page: u32, page_buckets: u32) -> u64 {
    page as u64 * (page_buckets * BUCKET_WORDS) as u64
}
