//! The list of the keys that occur again, in a build that does not know whether keys are unique.

use super::lists::OWN_LENGTH;
use crate::page::form::header;
use crate::seam::{Global, Shared};
use crate::types::{Payload, Scalar};
use core::marker::PhantomData;

/// The reaction of a page to a pair whose key has a slot already, if keys are neither promised to
/// be unique nor in order.
pub(in crate::page) trait Listing<W>: Copy + Sync {
    /// Whether repeated keys are listed at all.
    const LISTS: bool;
    /// Returns whether the list has overflowed, so that it is useless to build more pages. Other
    /// blocks may make it overflow concurrently.
    fn overflowed(self) -> bool;
    /// Lists the key with this remainder and this home bucket within the page.
    fn push(self, home: u32, remainder: W);
    /// Ends the page's list and stores its length. One thread calls this, after a barrier.
    fn end(self);
}

/// The absence of a list, since keys are unique or their pairs are in order.
#[derive(Clone, Copy)]
pub(in crate::page) struct NoListing;

impl<W> Listing<W> for NoListing {
    const LISTS: bool = false;
    #[inline(always)]
    fn overflowed(self) -> bool {
        false
    }
    #[inline(always)]
    fn push(self, _: u32, _: W) {}
    #[inline(always)]
    fn end(self) {}
}

/// The list of repeated keys of all pages. An entry has two words, the home bucket and the
/// remainder.
///
/// Every page has its own part, whose length is in shared memory, since additions to one word of
/// global memory would be the bottleneck. After these parts is a common part for pages with more
/// keys.
///
/// For keys without values there is nothing to resolve, so no key is listed.
#[derive(Clone, Copy)]
pub(in crate::page) struct RepeatList<V, S> {
    entries: Global<u64>,
    header: Global<u64>,
    sizes: ListSizes,
    /// The index of the page.
    page: u32,
    /// The first bucket of the page.
    first_bucket: u32,
    /// The shared memory that contains the length of the page's part in word [`OWN_LENGTH`].
    lengths: S,
    payload: PhantomData<fn() -> V>,
}

/// The capacities of the list of repeated keys.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ListSizes {
    /// The count of pages.
    pub pages: u32,
    /// The capacity of each page's own part.
    pub own: u32,
    /// The capacity of the common part.
    pub common: u32,
    /// An unused field, which fills the struct up.
    pub padding: u32,
}

impl ListSizes {
    /// Returns the count of entries of all parts.
    #[inline(always)]
    pub fn entries(&self) -> u64 {
        self.pages as u64 * self.own as u64 + self.common as u64
    }
}

impl<W: Scalar, V: Payload, S: Shared<u32>> Listing<W> for RepeatList<V, S> {
    const LISTS: bool = true;
    #[inline(always)]
    fn overflowed(self) -> bool {
        V::VALUE_BITS != 0 && self.header.atomic(header::REPEATED).load() > self.sizes.common as u64
    }
    #[inline(always)]
    fn push(self, home: u32, remainder: W) {
        if V::VALUE_BITS == 0 {
            return;
        }
        let ListSizes { pages, own, common, .. } = self.sizes;
        let number = self.lengths.fetch_add(OWN_LENGTH, 1);
        let entry = if number < own {
            self.page * own + number
        } else {
            // After the list has overflowed no thread waits for an addition to its common length.
            if <Self as Listing<W>>::overflowed(self) {
                return;
            }
            let number = self.header.atomic(header::REPEATED).fetch_add(1);
            if number >= common as u64 {
                return;
            }
            pages * own + number as u32
        };
        let words = [(self.first_bucket + home) as u64, remainder.to_u64()];
        self.entries.store_pair(REPEAT_WORDS * entry as u64, words);
    }
    #[inline(always)]
    fn end(self) {
        let own = self.sizes.own;
        if V::VALUE_BITS != 0 {
            let length = self.lengths.get(OWN_LENGTH).min(own);
            self.lengths_out().store(self.page as u64, length);
            if length != 0 {
                self.header.atomic(header::LISTED).fetch_add(length as u64);
            }
        }
    }
}

impl<V, S> RepeatList<V, S> {
    /// Returns the list of a page. The pair of arguments is the page's index and the count of
    /// buckets of a page.
    #[inline(always)]
    pub fn new(
        entries: Global<u64>,
        header: Global<u64>,
        sizes: ListSizes,
        (page, page_buckets): (u32, u32),
        lengths: S,
    ) -> Self {
        Self { entries, header, sizes, page, first_bucket: page * page_buckets, lengths, payload: PhantomData }
    }

    /// Returns the array of the lengths of the pages' own parts, which is after the entries.
    #[inline(always)]
    fn lengths_out(&self) -> Global<u32> {
        self.entries.offset(REPEAT_WORDS * self.sizes.entries()).cast()
    }
}

/// The list of the repeated keys of a batch that is added to pages with pairs. A key that was in
/// its page before the batch is repeated only if the batch contains the key twice.
#[derive(Clone, Copy)]
pub(in crate::page) struct BatchList<L, S> {
    pub list: L,
    /// Whether there is a list. There is none if keys are promised to be unique.
    pub listed: bool,
    /// A bit for each word of the page, starting at word `first`: whether the word contains the
    /// value of a pair of the batch. All bits are 0 at first.
    pub touched: S,
    pub first: u32,
}

impl<L, S: Shared<u32>> BatchList<L, S> {
    /// Records that a pair of the batch has the slot whose value is in word `at`. Returns whether
    /// it is the first such pair.
    #[inline(always)]
    pub fn is_first<W>(&self, at: u32) -> bool
    where
        L: Listing<W>,
    {
        let bit = 1 << (at % 32);
        // The first pair to set the bit may be another pair than the one that took the slot.
        !L::LISTS || self.touched.fetch_or(self.first + at / 32, bit) & bit == 0
    }
}

impl<W, L: Listing<W>, S: Shared<u32>> Listing<W> for BatchList<L, S> {
    const LISTS: bool = L::LISTS;
    #[inline(always)]
    fn overflowed(self) -> bool {
        self.listed && self.list.overflowed()
    }
    #[inline(always)]
    fn push(self, home: u32, remainder: W) {
        if self.listed {
            self.list.push(home, remainder);
        }
    }
    #[inline(always)]
    fn end(self) {
        if self.listed {
            self.list.end();
        }
    }
}

/// The count of 64-bit words of an entry of the list.
pub const REPEAT_WORDS: u64 = 2;
