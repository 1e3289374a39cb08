//! Copying a page from the table's memory to shared memory, and back.

use super::probe::Page;
use super::source::THREADS;
use crate::page::form::{BUCKET_WORDS, Form};
use crate::seam::{Global, Shared};
use crate::split::pairs::in_order;
use crate::types::{KeyWord, Payload, Scalar};

/// Loads a page from the table's memory, where it begins at `from`. If `VALUES` is false, the words
/// of values become 0 instead.
#[inline(always)]
pub(in crate::page) fn load_page<const VALUES: bool, F: Form, W: Scalar>(
    thread: u32,
    page: Page<'_, F, W, impl Shared<W>>,
    from: Global<W>,
) {
    let (mut first, halves) = (thread, 2 * page.layout.page_buckets);
    while first < halves {
        // Several loads are issued before the first of them is used.
        let mut fours = [[W::default(); 4]; LOADS];
        for i in 0..LOADS {
            let half = first + i as u32 * THREADS as u32;
            if half < halves {
                fours[i] = from.load_four(half as u64 * 4);
            }
        }
        for i in 0..LOADS {
            let half = first + i as u32 * THREADS as u32;
            if half < halves {
                let (bucket, first_row) = (half / 2, half % 2 * 4);
                for j in 0..4 {
                    let row = first_row + j as u32;
                    let kept = VALUES || row < F::TAG_WORDS;
                    page.words.set(page.at(row, bucket), if kept { fours[i][j] } else { W::default() });
                }
            }
        }
        first += LOADS as u32 * THREADS as u32;
    }
}

/// The count of half buckets that a thread loads at a time.
const LOADS: usize = 2;

/// Writes a page to the table's memory, half a bucket per thread. If the words of values contain
/// indices of pairs, `value_of` converts them to values; its first argument is the word's index in
/// the table's page.
#[inline(always)]
pub(in crate::page) fn write_page<const REPEATS: bool, F: Form, K: KeyWord, V: Payload>(
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
            if const { in_order::<REPEATS, V>() } && row >= F::TAG_WORDS {
                out[i] = value_of(half as u64 * 4 + i as u64, out[i]);
            }
        }
        to.store_four_streaming(half as u64 * 4, out);
        half += THREADS as u32;
    }
}

/// Returns the index of the first word of a page in the table's memory.
#[inline(always)]
pub(in crate::page) fn first_word(page: u32, page_buckets: u32) -> u64 {
    page as u64 * (page_buckets * BUCKET_WORDS) as u64
}
