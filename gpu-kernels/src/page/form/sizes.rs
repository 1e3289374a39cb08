//! The sizes of pages, and the counts of candidates of a pair.

use super::bucket::BUCKET_WORDS;
use crate::seam::IN_STEP;
use crate::types::{KeyWord, Payload, Scalar};

/// The most buckets in which a pair may be stored: its home, the other bucket of the same line, and
/// five other buckets of the page.
pub const MAX_CANDIDATES: u32 = 7;
/// The fewest candidates of a pair. With fewer candidates, too many pairs would find all of them
/// full.
pub const MIN_CANDIDATES: u32 = 5;
/// The fewest buckets of a table. With fewer, the remainder and the candidate would not fit a tag
/// of 31 bits.
pub const MIN_BUCKETS: u32 = 16;

/// The count of 64-bit words of shared memory in which a page is built, including 16 bits per
/// bucket for counting.
const PAGE_SHARED_WORDS: usize = 5552;
/// The count of words of a block's memory for its page. The pages of a CPU are larger.
pub(in crate::page) const PAGE_MEMORY: usize = PAGE_SHARED_WORDS * if IN_STEP { 1 } else { 9 };

/// Returns the maximal count of buckets of a page.
pub const fn max_page_buckets<K: KeyWord, V: Payload>() -> u32 {
    let word_bits = <K::PackedWord<V> as Scalar>::BITS;
    let most = fit_page((PAGE_SHARED_WORDS * 64) as u32 / (BUCKET_WORDS * word_bits + 16) - PAGE_STEP + 1);
    if V::VALUE_BITS == 0 && most > MAX_BUCKETS_OF_KEYS { MAX_BUCKETS_OF_KEYS } else { most }
}

/// The most buckets of a page of keys alone. Such buckets have many slots, so a larger page would
/// have too many keys whose home is full.
const MAX_BUCKETS_OF_KEYS: u32 = fit_page(1024);

/// The granularity of page sizes: a page has 4 more buckets than a multiple of this.
const PAGE_STEP: u32 = 8;

/// Returns the smallest count of buckets, at least `buckets`, that a page may have.
///
/// It is even, since buckets come in lines of two. It also lets 32-bit words that are written out
/// together come from different banks of shared memory. (The distance between words of a bucket is
/// the page's count of buckets.)
pub const fn fit_page(buckets: u32) -> u32 {
    (buckets + 4).div_ceil(PAGE_STEP) * PAGE_STEP - 4
}
