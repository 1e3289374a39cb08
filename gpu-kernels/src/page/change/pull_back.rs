//! Pulling pairs of a page back to earlier candidates in which slots have become free.

use crate::page::build::probe::Page;
use crate::page::build::source::THREADS;
use crate::page::form::{Form, tags_in};
use crate::seam::{Block, Shared};
use crate::types::Scalar;

/// The index, among the lengths, of the length of [`pull_back`]'s list of displaced pairs, which
/// are not in their home bucket.
const DISPLACED: u32 = 1;

/// Moves pairs to the first of their candidates that has a free slot, until no candidate before a
/// pair's own has one. Then sets the filter bits for the pairs that stay displaced, and clears all
/// others. So the page is as after a build. Begins and ends with a barrier.
///
/// If the list, of `most` words, cannot contain all displaced pairs, the page stays unchanged, and
/// the result is false.
#[inline(always)]
pub(in crate::page) fn pull_back<F: Form, W: Scalar, B: Block>(
    block: &mut B,
    page: Page<'_, F, W, impl Shared<W>>,
    (list, most): (impl Shared<u32>, u32),
    lengths: impl Shared<u32>,
) -> bool {
    let buckets = page.layout.page_buckets;
    // For the pair that a thread has just moved, it keeps the pair's old slot.
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
            bucket += THREADS as u32;
        }
    });
    let count = lengths.get(DISPLACED);
    if count > most {
        return false;
    }
    // A round moves pairs, and then frees their old slots, so no thread takes these in between.
    // At most six times as many rounds as pairs: a moved pair gets to a lower candidate, and its
    // tag names one of seven. (A file with another tag is refused.)
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
            first += THREADS as u32;
        }
        if moved == 0 {
            break;
        }
    }
    block.phase(threads, |thread, _| {
        let mut bucket = thread;
        while bucket < buckets {
            page.clear_filters(bucket);
            bucket += THREADS as u32;
        }
    });
    block.phase(threads, |thread, _| {
        let mut position = thread;
        while position < count {
            let at = list.get(position);
            page.set_filter(at / F::SLOTS, at % F::SLOTS);
            position += THREADS as u32;
        }
    });
    true
}

/// Does [`pull_back`] by one thread, which needs no list.
#[inline(always)]
pub(in crate::page) fn pull_back_in_turn<F: Form, W: Scalar>(page: Page<'_, F, W, impl Shared<W>>) {
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

/// Calls `work` with each slot of the bucket whose pair is not in its home bucket.
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
