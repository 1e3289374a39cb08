//! The passes of radix sorts, and the arrays of pairs that they read and write.

use crate::runtime::stream::Batch;
use crate::{Buffer, Result};
use gpu_kernels::hash::HashFunctions;
use gpu_kernels::primitives::radix::{
    self, Digit, DigitOf, Histogram, HistogramParams, MAX_BITS, PORTION, Partition, PartitionParams,
};
use gpu_kernels::primitives::scan::{Scan, ScanParams};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Payload, WordOf};

/// The arrays of keys and of their values.
#[derive(Debug)]
pub(crate) struct Pairs<K, V: Payload> {
    pub keys: Global<K>,
    pub values: Global<WordOf<V>>,
}

impl<K, V: Payload> Clone for Pairs<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K, V: Payload> Copy for Pairs<K, V> {}

impl<K: KeyWord, V: Payload> Pairs<K, V> {
    /// The most words of [`Pairs::words`] that are there for alignment alone.
    pub const MAX_PADDING: u64 = 4;

    /// Returns the number of 64-bit words that `items` pairs take: each array is aligned to two of
    /// them.
    pub fn words(items: u64) -> u64 {
        Self::keys_words(items) + (items * V::VALUE_BITS as u64).div_ceil(128) * 2
    }

    fn keys_words(items: u64) -> u64 {
        (items * K::BITS as u64).div_ceil(128) * 2
    }

    /// Returns the arrays for `items` pairs in the memory from `words` on, which must be aligned to
    /// 16 bytes.
    pub fn at(words: Global<u64>, items: u64) -> Self {
        Self { keys: words.cast(), values: words.offset(Self::keys_words(items)).cast() }
    }
}

/// Returns the number of threads that count: enough to fill a large device, and few enough that
/// adding up each block's counters pays off.
pub(super) fn histogram_threads(items: u64) -> u64 {
    items.div_ceil(8).min(1024 * 256)
}

/// The most bits of a pass if there are several. From 9 bits on a tile has few pairs for each
/// digit, and writes them in runs that are too short for the memory (docs/primitives.md has the
/// times).
const FEW_BITS: u32 = 8;

/// Least-significant-digit passes over pairs, and the layout of their scratch. It has the counts,
/// the words that the scan publishes in, those that each pass publishes in, and the starts of the
/// digits of later portions. Counts and published words must be 0 at first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RadixPasses<K, V> {
    first: Digit,
    digits: u32,
    /// The number of bits of the last digit, which may be fewer than those of the others.
    last_bits: u32,
    pub(super) items: u64,
    types: std::marker::PhantomData<(K, V)>,
}

impl<K: KeyWord, V: Payload> RadixPasses<K, V> {
    /// Returns the passes by the lowest `bits` bits above `first.shift`, with as many digits as
    /// that takes. Each digit has the bits of `first`, the last one those that are left.
    pub fn new(first: Digit, bits: u32, items: u64) -> Self {
        let digits = bits.div_ceil(first.bits);
        let last_bits = bits - (digits.max(1) - 1) * first.bits;
        Self { first, digits, last_bits, items, types: std::marker::PhantomData }
    }

    /// Returns the passes that order pairs by the bucket that the first of `functions` gives their
    /// keys, a number of `bits` bits. There are none if there is one bucket.
    pub fn by_bucket(functions: HashFunctions, bits: u32, items: u64) -> Self {
        // One pass is taken if that is enough, since each costs a launch. Otherwise passes of few
        // bits cost less than fewer passes of many bits.
        let passes = if bits <= MAX_BITS { 1 } else { bits.div_ceil(FEW_BITS) };
        let bits_each = bits.div_ceil(passes).max(1);
        let digit = Digit { functions, of: DigitOf::Bucket as u32, shift: 0, bits: bits_each, padding: 0 };
        Self::new(digit, bits, items)
    }

    /// Returns the number of passes.
    pub fn digits(&self) -> u32 {
        self.digits
    }

    fn counters(&self) -> u64 {
        (self.digits as u64) << self.first.bits
    }

    fn counts_words(&self) -> u64 {
        self.counters().div_ceil(4) * 2
    }

    fn scan_words(&self) -> u64 {
        gpu_kernels::primitives::scan::state_words::<u32>(self.counters()).next_multiple_of(2)
    }

    /// Returns the number of words that one portion publishes in.
    fn state_words(&self, items: u64) -> u64 {
        radix::state_words::<K, V>(items, self.first.bits).next_multiple_of(2)
    }

    fn portions(&self) -> u64 {
        self.items.div_ceil(PORTION).max(1)
    }

    /// Returns the number of words that one pass publishes in.
    fn pass_words(&self) -> u64 {
        (0..self.portions()).map(|portion| self.state_words((self.items - portion * PORTION).min(PORTION))).sum()
    }

    /// Returns the number of words that must be 0 before the first step.
    fn zeros(&self) -> u64 {
        self.counts_words() + self.scan_words() + self.digits as u64 * self.pass_words()
    }

    /// Returns the number of all words.
    pub fn words(&self) -> u64 {
        self.zeros() + self.portions() * self.later_starts_words()
    }

    fn later_starts_words(&self) -> u64 {
        (1u64 << self.first.bits).div_ceil(4) * 2
    }

    /// Sets the words to 0 that must be 0: the first step.
    pub fn clear<'b>(&self, batch: &Batch<'b>, work: &'b Buffer<u64>) -> Result<()> {
        batch.zero(work, self.zeros() as usize)
    }

    /// Counts the digits of `keys`.
    ///
    /// # Safety
    /// There are `items` keys, which the batch gave. `work` begins with the words that were asked
    /// for, cleared.
    pub unsafe fn count<'b>(&self, batch: &Batch<'b>, work: &'b Buffer<u64>, keys: Global<K>) -> Result<()> {
        let plan = HistogramParams { digit: self.first, items: self.items, digits: self.digits, padding: 0 };
        let histogram = Histogram { keys, counts: batch.write(work).cast(), plan };
        // SAFETY: the caller keeps the contract of this method, which is the kernel's.
        unsafe { batch.launch(&histogram, histogram_threads(self.items)) }
    }

    /// Replaces the counts by the offsets where each digit's pairs start.
    ///
    /// # Safety
    /// As for [`RadixPasses::count`], which comes before.
    pub unsafe fn scan<'b>(&self, batch: &Batch<'b>, work: &'b Buffer<u64>) -> Result<()> {
        let work = batch.write(work);
        let counts = work.cast::<u32>();
        let scan = Scan::<u32> {
            input: counts,
            output: counts,
            // SAFETY: the kernel's documentation allows no total.
            total: unsafe { Global::null() },
            state: work.offset(self.counts_words()),
            plan: ScanParams { items: self.counters() },
        };
        // SAFETY: the caller keeps the contract of this method, which is the kernel's.
        unsafe { batch.launch_blocks(&scan, self.counters().div_ceil(gpu_kernels::primitives::scan::tile::<u32>())) }
    }

    /// Moves the pairs to their offsets by digit `pass`.
    ///
    /// # Safety
    /// As for [`RadixPasses::scan`], which comes before; `from` and `to` have `items` pairs each
    /// and do not overlap. The batch gave both, `to` to write.
    pub unsafe fn pass<'b>(
        &self,
        batch: &Batch<'b>,
        work: &'b Buffer<u64>,
        pass: u32,
        from: Pairs<K, V>,
        to: Pairs<K, V>,
    ) -> Result<()> {
        let work = batch.write(work);
        let bits = if pass + 1 == self.digits { self.last_bits } else { self.first.bits };
        // The first pass has mixed the keys, if they are to be mixed.
        let of =
            if self.first.of == DigitOf::MixedKey as u32 && pass != 0 { DigitOf::Key as u32 } else { self.first.of };
        let digit = Digit { of, shift: self.first.shift + pass * self.first.bits, bits, ..self.first };
        let mut state = self.counts_words() + self.scan_words() + pass as u64 * self.pass_words();
        let mut digit_starts = work.cast::<u32>().offset((pass as u64) << self.first.bits);
        let mut base = (pass as u64 * self.items) as u32;
        for portion in 0..self.portions() {
            let first = portion * PORTION;
            let end = self.items.min(first + PORTION);
            let next_starts = work.offset(self.zeros() + portion * self.later_starts_words()).cast();
            let partition = Partition::<K, V> {
                keys: from.keys,
                values: from.values,
                keys_out: to.keys,
                values_out: to.values,
                digit_starts,
                next_starts,
                state: work.offset(state),
                plan: PartitionParams { digit, first, end, base, padding: 0 },
            };
            let blocks = (end - first).div_ceil(radix::tile::<K, V>());
            // SAFETY: as the caller promises; the words of this pass and portion are its own.
            unsafe { batch.launch_blocks(&partition, blocks)? };
            state += self.state_words(end - first);
            (digit_starts, base) = (next_starts, 0);
        }
        Ok(())
    }
}
