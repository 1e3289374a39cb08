//! The buckets in which a table's pairs may be stored: home, remainder, candidates, and how they
//! give the key.

use super::bucket::{Choice, choices};
use super::sizes::{MAX_CANDIDATES, MIN_BUCKETS, MIN_CANDIDATES};
use crate::hash::Divisor;
use crate::seam::opaque;
use crate::types::{KeyWord, Payload, Scalar};

/// The layout of a table's pages and the constants of its hash.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Layout {
    /// The first constant of the mix.
    pub a: u64,
    /// The second constant of the mix.
    pub b: u64,
    /// The count of bits of a page's index: there are 2^`page_bits` pages.
    pub page_bits: u32,
    /// The count of buckets in a page.
    pub page_buckets: u32,
    /// The count of slots in a bucket, which determines the form. It is 6, 5 or 4, or for keys
    /// alone 24, 15 or 8.
    pub slots: u32,
    /// The count of buckets in which a pair may be stored: [`MIN_CANDIDATES`] to
    /// [`MAX_CANDIDATES`].
    pub candidates: u32,
    /// The count of remainders; every remainder is below this.
    pub remainders: u64,
    /// 1 if pairs may have been removed from full buckets. In that case a bucket with an empty slot
    /// does not end a search.
    pub holes: u32,
    /// An unused field, which fills the struct up.
    pub padding: u32,
}

impl Layout {
    /// Returns the layout of 2^`page_bits` pages of `page_buckets` buckets for the given types.
    /// There must be at least [`MIN_BUCKETS`] buckets.
    pub fn new<K: KeyWord, V: Payload>(a: u64, b: u64, page_bits: u32, page_buckets: u32) -> Self {
        let buckets = (page_buckets as u64) << page_bits;
        let (slots, candidates) = Self::form_for::<K, V>(buckets);
        Self {
            a,
            b,
            page_bits,
            page_buckets,
            slots,
            candidates,
            remainders: remainders::<K, K::PackedWord<V>>(buckets),
            holes: 0,
            padding: 0,
        }
    }

    /// Returns the count of slots of a bucket, and the count of candidates of a pair, for a table
    /// of `buckets` buckets.
    ///
    /// The form has the most slots whose tags are long enough for [`MIN_CANDIDATES`]. A pair has as
    /// many candidates as its tags can distinguish, up to [`MAX_CANDIDATES`].
    pub fn form_for<K: KeyWord, V: Payload>(buckets: u64) -> (u32, u32) {
        let [short @ .., whole] = choices::<K, V>();
        for choice in short {
            let numbered = ((1 << choice.tag_bits) - 1) / remainders::<K, K::PackedWord<V>>(buckets);
            if <K::PackedWord<V> as Scalar>::BITS == 32 && numbered >= MIN_CANDIDATES as u64 {
                return (choice.slots, numbered.min(MAX_CANDIDATES as u64) as u32);
            }
        }
        (whole.slots, MAX_CANDIDATES)
    }

    /// Returns the forms of a table in descending order of their slots. For each form this is the
    /// count of slots per bucket, and the minimal count of buckets of a table with the form.
    pub fn forms<K: KeyWord, V: Payload>() -> [(u32, u64); 3] {
        let [short @ .., whole] = choices::<K, V>();
        let of_short = |choice: Choice| {
            let wide = <K::PackedWord<V> as Scalar>::BITS != 32;
            let remainders = ((1 << choice.tag_bits) - 1) / MIN_CANDIDATES as u64;
            (choice.slots, if wide { u64::MAX } else { K::ALL_ONES.to_u64() / remainders + 1 })
        };
        let [most, middle] = short.map(of_short);
        [most, middle, (whole.slots, MIN_BUCKETS as u64)]
    }

    /// Returns the count of buckets.
    #[inline(always)]
    pub fn buckets(&self) -> u32 {
        self.page_buckets << self.page_bits
    }

    /// Returns the count of pages.
    #[inline(always)]
    pub fn pages(&self) -> u32 {
        1 << self.page_bits
    }

    /// Returns the home bucket of a mixed key, counted within its page.
    #[inline(always)]
    pub fn home_in_page<K: KeyWord>(&self, mixed: K) -> u32 {
        // This is the home bucket minus the page's first bucket, since there are 2^page_bits pages.
        (mixed << self.page_bits).scaled(self.page_buckets)
    }

    /// Returns the remainder of a mixed key.
    #[inline(always)]
    pub fn remainder<K: KeyWord, W: Scalar>(&self, mixed: K) -> W {
        if W::BITS == 32 {
            // From one key of a bucket to the next, the position within the bucket's part of the
            // range grows by the count of buckets. This count times `remainders` is at least the
            // range, so the keys get different remainders.
            let within = mixed.within_part(self.buckets());
            W::from_u64(within.scaled_wide(K::from_u64(self.remainders)).to_u64())
        } else {
            // Tags are long enough for the low bits of the mixed key, which are cheaper to compute.
            W::from_u64(mixed.to_u64() & (self.remainders - 1))
        }
    }

    /// Returns the tag of a pair with `remainder` in its candidate `number`. It is never 0, the tag
    /// of an empty slot.
    #[inline(always)]
    pub fn tag<W: Scalar>(&self, remainder: W, number: u32) -> W {
        W::from_u64(remainder.to_u64() + number as u64 * self.remainders + 1)
    }

    /// Returns the remainder and the index of the candidate of a pair with this tag. The tag must
    /// be one that [`Layout::tag`] returns; [`CheckTags`](crate::page::CheckTags) counts other
    /// tags.
    #[inline(always)]
    pub fn untag<W: Scalar>(&self, tag: W) -> (W, u32) {
        let remainders = W::from_u64(self.remainders);
        let (mut remainder, mut number) = (tag.minus(W::from_u64(1)), 0);
        // At most seven steps. Repeated subtraction costs less than a division.
        while remainder >= remainders && number < opaque(MAX_CANDIDATES) {
            remainder = remainder.minus(remainders);
            number += 1;
        }
        (remainder, number)
    }

    /// Returns the index in the page of the bucket that is candidate `number` of a pair with home
    /// bucket `home` and `remainder`. For each candidate and remainder this is a permutation of the
    /// page's buckets.
    #[inline(always)]
    pub fn candidate<W: Scalar>(&self, home: u32, remainder: W, number: u32) -> u32 {
        match number {
            0 => home,
            1 => home ^ 1,
            _ => {
                let bucket = home + self.distance(remainder, number);
                if bucket < self.page_buckets { bucket } else { bucket - self.page_buckets }
            }
        }
    }

    /// Returns the distance of candidate `number`, at least 2, from the home bucket: between 2 and
    /// the count of the page's buckets minus 1.
    #[inline(always)]
    fn distance<W: Scalar>(&self, remainder: W, number: u32) -> u32 {
        let mut x = remainder.bits_from(0).wrapping_mul(0x9e37_79b1).wrapping_add(number.wrapping_mul(0x85eb_ca77));
        x = (x ^ x >> 15).wrapping_mul(0x21f0_aaad);
        2 + (x ^ x >> 16).scaled(self.page_buckets - 2)
    }

    /// Returns the index in the page of the home bucket of a pair that is in `bucket` as candidate
    /// `number`. This is the inverse of [`Layout::candidate`].
    #[inline(always)]
    pub fn home_of<W: Scalar>(&self, bucket: u32, remainder: W, number: u32) -> u32 {
        match number {
            0 => bucket,
            1 => bucket ^ 1,
            _ => {
                let distance = self.distance(remainder, number);
                if bucket >= distance { bucket - distance } else { bucket + self.page_buckets - distance }
            }
        }
    }

    /// Returns the words by which the first mixed key of each home bucket is computed.
    #[inline(always)]
    pub fn homes<K: KeyWord>(&self) -> Homes {
        let (most, buckets) = (K::ALL_ONES.to_u64(), self.buckets() as u64);
        Homes { quotient: most / buckets, rest: most % buckets + 1, buckets: Divisor::new(self.buckets()) }
    }

    /// Returns the mixed key with home bucket `home`, counted over the whole table, and
    /// `remainder`.
    pub fn mixed_of<K: KeyWord, W: Scalar>(&self, home: u32, remainder: u64) -> K {
        self.mixed_in::<K, W>(&self.homes::<K>(), home, remainder)
    }

    /// Returns the result of [`Layout::mixed_of`], computed with the table's [`Layout::homes`].
    #[inline(always)]
    pub(in crate::page) fn mixed_in<K: KeyWord, W: Scalar>(
        &self,
        homes: &impl FirstMixed,
        home: u32,
        remainder: u64,
    ) -> K {
        let first = homes.first(home);
        if W::BITS > 32 {
            return K::from_u64(first.wrapping_add(remainder.wrapping_sub(first) & (self.remainders - 1)));
        }
        // A key's remainder is its index in the bucket, or that index plus 1 (docs/page-map.md).
        let mixed = K::from_u64(first.wrapping_add(remainder));
        if mixed.scaled(self.buckets()) == home && self.remainder::<K, W>(mixed).to_u64() == remainder {
            mixed
        } else {
            K::from_u64(mixed.to_u64().wrapping_sub(1))
        }
    }
}

/// The words by which the first mixed key of each home bucket is computed. They are the same for
/// all keys of a table, and computing them takes divisions.
#[derive(Clone, Copy, Debug)]
pub struct Homes {
    quotient: u64,
    rest: u64,
    buckets: Divisor,
}

/// The first mixed keys of home buckets.
pub(crate) trait FirstMixed {
    /// Returns the first mixed key of home bucket `home`.
    fn first(&self, home: u32) -> u64;
}

impl FirstMixed for Homes {
    #[inline(always)]
    fn first(&self, home: u32) -> u64 {
        // It is 2^BITS · home / buckets, rounded up.
        let (whole, part) = self.buckets.divided(home as u64 * self.rest);
        home as u64 * self.quotient + whole + (part != 0) as u64
    }
}

/// The first mixed key of a home bucket, for code that needs no other home bucket.
impl FirstMixed for u64 {
    #[inline(always)]
    fn first(&self, _: u32) -> u64 {
        *self
    }
}

/// Returns the count of remainders of the keys of a bucket. It is the average count of mixed keys
/// per bucket, rounded up, or rounded up to a power of two if words `W` are wide.
fn remainders<K: KeyWord, W: Scalar>(buckets: u64) -> u64 {
    if W::BITS == 32 { K::ALL_ONES.to_u64() / buckets + 1 } else { 1 << (K::BITS - buckets.ilog2()) }
}
