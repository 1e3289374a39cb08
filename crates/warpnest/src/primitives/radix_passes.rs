//! The passes of radix sorts.

use super::pairs::{Pairs, Storage};
use crate::runtime::machine::Machine;
use crate::runtime::stream::Batch;
use crate::{Buffer, Result};
use gpu_kernels::hash::HashFunctions;
use gpu_kernels::primitives::radix::{
    self, Digit, DigitOf, Histogram, HistogramParams, MAX_BITS, MAX_BITS_IN_TURN, PORTION, Partition, PartitionParams,
};
use gpu_kernels::primitives::scan::{Scan, ScanParams};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Payload};

/// Returns the count of blocks of the histogram kernel. It is enough to fill the device, but so low
/// that adding up each block's counters costs little.
pub(super) fn histogram_blocks(machine: Machine, items: u64) -> u64 {
    match machine.cores() {
        None => items.div_ceil(8 * 256).min(1024),
        Some(cores) => items.div_ceil(MIN_TILE).clamp(1, cores as u64),
    }
}

/// Returns the count of pairs of a block. A CPU has one block per core, because two cores write to
/// the same cache line where the pairs of two blocks meet, once for each digit.
fn tile_on<K: KeyWord, V: Payload>(machine: Machine, items: u64) -> u64 {
    let tile = radix::tile::<K, V>();
    match machine.cores() {
        None => tile,
        Some(cores) => items.div_ceil(cores as u64).clamp(MIN_TILE, PORTION),
    }
}

/// The fewest pairs of a block on a CPU. One core would move fewer pairs before another core has
/// woken up.
const MIN_TILE: u64 = 1 << 16;

/// The most bits of a pass on a GPU, if there are several passes. With 9 bits or more, a tile has
/// few pairs for each digit, so its runs of writes are too short for the memory (docs/primitives.md
/// has the times).
const FEW_BITS: u32 = 8;

/// Least-significant-digit passes over pairs, and the layout of their scratch. The scratch contains
/// the counts, the state of the scan, the state of each pass, and the digit starts of later
/// portions. Counts and state must be 0 before the first step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RadixPasses<K, V> {
    first: Digit,
    digits: u32,
    /// The count of bits of the last digit, which may be less than the count of the other digits.
    last_bits: u32,
    pub(super) items: u64,
    /// The count of pairs of a block.
    tile: u64,
    machine: Machine,
    types: std::marker::PhantomData<(K, V)>,
}

impl<K: KeyWord, V: Payload> RadixPasses<K, V> {
    /// Returns the passes by the lowest `bits` bits above `first.shift`. Each digit has as many
    /// bits as `first`, except the last digit, which has the remaining bits.
    pub(crate) fn new(first: Digit, bits: u32, items: u64, machine: Machine) -> Self {
        let digits = bits.div_ceil(first.bits);
        let last_bits = bits - (digits.max(1) - 1) * first.bits;
        let tile = tile_on::<K, V>(machine, items);
        Self { first, digits, last_bits, items, tile, machine, types: std::marker::PhantomData }
    }

    /// Returns the passes that order pairs by all bits of the word from which `of` takes digits.
    ///
    /// On a CPU a pass by many bits costs no more than a pass by few bits. But its counters take
    /// memory, so it is used only if the scratch is then no larger than on a GPU.
    pub(crate) fn by_all_bits(of: Digit, items: u64, machine: Machine) -> Self {
        let of_bits = |bits, machine| Self::new(Digit { shift: 0, bits, ..of }, K::BITS, items, machine);
        let (few, many) = (of_bits(FEW_BITS, machine), of_bits(MAX_BITS_IN_TURN, machine));
        let fits = machine.runs_in_order() && many.words() <= of_bits(FEW_BITS, Machine::UNKNOWN).words();
        if fits { many } else { few }
    }

    /// Returns the passes that order pairs by the bucket of their keys. The first of `functions`
    /// computes the bucket's index, which has `bits` bits. There are no passes if there is only one
    /// bucket.
    pub(crate) fn by_bucket(functions: HashFunctions, bits: u32, items: u64, machine: Machine) -> Self {
        Self::by(functions, DigitOf::Bucket, (0, bits), items, machine)
    }

    /// Returns the passes that order pairs by the upper `bits` bits of their mixed keys. The first
    /// of `functions` mixes the keys, and the mixed keys are written.
    pub(crate) fn by_mixed_key(functions: HashFunctions, bits: u32, items: u64, machine: Machine) -> Self {
        Self::by(functions, DigitOf::MixedKey, (K::BITS - bits, bits), items, machine)
    }

    fn by(functions: HashFunctions, of: DigitOf, (shift, bits): (u32, u32), items: u64, machine: Machine) -> Self {
        // One pass is used if it can sort all bits, because each pass costs a launch. Otherwise
        // several passes of few bits cost less than fewer passes of many bits.
        let passes = if bits <= MAX_BITS { 1 } else { bits.div_ceil(FEW_BITS) };
        let bits_each = bits.div_ceil(passes).max(1);
        let digit = Digit { functions, of: of as u32, shift, bits: bits_each, padding: 0 };
        Self::new(digit, bits, items, machine)
    }

    /// Returns the count of passes.
    pub(crate) fn digits(&self) -> u32 {
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

    /// Returns the count of words in which the tiles of one portion publish.
    fn state_words(&self, items: u64) -> u64 {
        match items.div_ceil(self.tile) {
            // On a CPU a single tile publishes nothing, but still takes a ticket.
            0 | 1 if self.machine.runs_in_order() => 2,
            tiles => radix::state_words_of_tiles(tiles, self.first.bits).next_multiple_of(2),
        }
    }

    fn portions(&self) -> u64 {
        self.items.div_ceil(PORTION).max(1)
    }

    /// Returns the count of words in which the tiles of one pass publish.
    fn pass_words(&self) -> u64 {
        (0..self.portions()).map(|portion| self.state_words((self.items - portion * PORTION).min(PORTION))).sum()
    }

    /// Returns the count of words that must be 0 before the first step. On a CPU each pass clears
    /// its own words, so all passes publish in the same words.
    fn zeros(&self) -> u64 {
        let of_passes = if self.machine.runs_in_order() { 0 } else { self.digits as u64 * self.pass_words() };
        self.passes_at() + of_passes
    }

    /// Returns the offset of the words in which passes publish.
    fn passes_at(&self) -> u64 {
        self.counts_words() + self.scan_words()
    }

    /// Returns the offset of the digit starts of later portions.
    fn later_starts_at(&self) -> u64 {
        self.passes_at() + self.pass_words() * if self.machine.runs_in_order() { 1 } else { self.digits as u64 }
    }

    /// Returns the count of all words.
    pub(crate) fn words(&self) -> u64 {
        self.later_starts_at() + self.portions() * self.later_starts_words()
    }

    fn later_starts_words(&self) -> u64 {
        (1u64 << self.first.bits).div_ceil(4) * 2
    }

    /// Sets all words to 0 that must be 0. This is the first step.
    pub(crate) fn clear<'b>(&self, batch: &Batch<'b>, work: &'b Buffer<u64>) -> Result<()> {
        batch.zero(work, self.zeros() as usize)
    }

    /// Counts the digits of `keys`.
    ///
    /// # Safety
    /// There are `items` keys, which were obtained from the batch. `work` begins with
    /// [`RadixPasses::words`] words, which were cleared.
    pub(crate) unsafe fn count<'b>(&self, batch: &Batch<'b>, work: &'b Buffer<u64>, keys: Global<K>) -> Result<()> {
        let plan = HistogramParams { digit: self.first, items: self.items, digits: self.digits, padding: 0 };
        let histogram = Histogram { keys, counts: batch.write(work).cast(), plan };
        // SAFETY: the caller guarantees the conditions.
        unsafe { batch.launch_blocks(&histogram, histogram_blocks(self.machine, self.items)) }
    }

    /// Replaces the counts by the offsets at which each digit's pairs start.
    ///
    /// # Safety
    /// As for [`RadixPasses::count`], which was queued before.
    pub(crate) unsafe fn scan<'b>(&self, batch: &Batch<'b>, work: &'b Buffer<u64>) -> Result<()> {
        let work = batch.write(work);
        let counts = work.cast::<u32>();
        let scan = Scan::<u32> {
            input: counts,
            output: counts,
            // SAFETY: the kernel's documentation allows `total` to be null.
            total: unsafe { Global::null() },
            state: work.offset(self.counts_words()),
            plan: ScanParams { items: self.counters() },
        };
        // SAFETY: the caller guarantees the conditions.
        unsafe { batch.launch_blocks(&scan, self.counters().div_ceil(gpu_kernels::primitives::scan::tile::<u32>())) }
    }

    /// Returns a mask of the digits in which keys differ, after they were counted. Passes by the
    /// other digits would move nothing. While a device is still counting, the mask contains all
    /// digits.
    ///
    /// # Safety
    /// As for [`RadixPasses::scan`], which is queued after this step.
    pub(crate) unsafe fn differing<'b>(&self, batch: &Batch<'b>, work: &'b Buffer<u64>) -> Result<u32> {
        let all = (1 << self.digits) - 1;
        let Some(counts) = batch.peek(work, self.counts_words())? else { return Ok(all) };
        let counts: &[u32] = bytemuck::cast_slice(&counts);
        let of_digit = counts.chunks(1 << self.first.bits).take(self.digits as usize);
        let differs = of_digit.map(|counts| !counts.contains(&(self.items as u32)));
        Ok(differs.enumerate().map(|(digit, differs)| (differs as u32) << digit).sum())
    }

    /// Moves the pairs to `to`, ordered by the `differing` digits, and overwrites the pairs in
    /// `other`. If `in_place`, `from` and `to` are the same memory.
    ///
    /// # Safety
    /// The conditions of [`RadixPasses::pass`] hold, where `to` and `other` alternate as the
    /// output.
    pub(crate) unsafe fn order<'b>(
        &self,
        batch: &Batch<'b>,
        work: &'b Buffer<u64>,
        differing: u32,
        (from, in_place): (Pairs<K, V>, bool),
        (to, other): (&Storage<K, V>, &Storage<K, V>),
    ) -> Result<()> {
        let mut moves: Vec<Option<u32>> =
            (0..self.digits).filter(|digit| differing >> digit & 1 != 0).map(Some).collect();
        // A pass without a digit only copies.
        if (in_place && moves.len() % 2 == 1) || (!in_place && moves.is_empty()) {
            moves.push(None);
        }
        let mut from = from;
        for (number, &digit) in moves.iter().enumerate() {
            let next = match moves.len() - 1 - number {
                0 => to.pairs(self.items),
                left if left % 2 == 0 => to.between_passes(self.items, self.machine),
                _ => other.between_passes(self.items, self.machine),
            };
            // SAFETY: the caller guarantees the conditions.
            unsafe { self.pass_by(batch, work, (digit, number == 0), from, next)? };
            from = next;
        }
        Ok(())
    }

    /// Moves the pairs to their offsets by digit `pass`. The passes by the lower digits have been
    /// queued.
    ///
    /// # Safety
    /// As for [`RadixPasses::scan`], which was queued before. `from` and `to` have `items` pairs
    /// each and do not overlap. Both are from the batch, `to` for writing.
    pub(crate) unsafe fn pass<'b>(
        &self,
        batch: &Batch<'b>,
        work: &'b Buffer<u64>,
        pass: u32,
        from: Pairs<K, V>,
        to: Pairs<K, V>,
    ) -> Result<()> {
        // SAFETY: the caller guarantees the conditions.
        unsafe { self.pass_by(batch, work, (Some(pass), pass == 0), from, to) }
    }

    /// Queues one pass, by a digit or, if `digit` is `None`, as a copy. If keys are to be mixed,
    /// the `first` pass mixes them.
    ///
    /// # Safety
    /// The conditions of [`RadixPasses::pass`] hold. On a GPU `digit` is given.
    unsafe fn pass_by<'b>(
        &self,
        batch: &Batch<'b>,
        work: &'b Buffer<u64>,
        (digit, first): (Option<u32>, bool),
        from: Pairs<K, V>,
        to: Pairs<K, V>,
    ) -> Result<()> {
        let pass = digit.unwrap_or(0);
        let mut state = self.passes_at();
        if self.machine.runs_in_order() {
            batch.zero_range(work, state as usize..(state + self.pass_words()) as usize)?;
        } else {
            state += pass as u64 * self.pass_words();
        }
        let work = batch.write(work);
        let bits = match digit {
            None => 0,
            Some(pass) if pass + 1 == self.digits => self.last_bits,
            Some(_) => self.first.bits,
        };
        let mixed = self.first.of == DigitOf::MixedKey as u32;
        let of = if mixed && !first { DigitOf::Key as u32 } else { self.first.of };
        let digit = Digit { of, shift: self.first.shift + pass * self.first.bits, bits, ..self.first };
        let mut digit_starts = work.cast::<u32>().offset((pass as u64) << self.first.bits);
        let mut base = (pass as u64 * self.items) as u32;
        for portion in 0..self.portions() {
            let first = portion * PORTION;
            let end = self.items.min(first + PORTION);
            let next_starts = work.offset(self.later_starts_at() + portion * self.later_starts_words()).cast();
            let partition = Partition::<K, V> {
                keys: from.keys,
                values: from.values,
                keys_out: to.keys,
                values_out: to.values,
                digit_starts,
                next_starts,
                state: work.offset(state),
                plan: PartitionParams { digit, first, end, base, in_turn: self.tile as u32 },
            };
            let blocks = (end - first).div_ceil(self.tile);
            // SAFETY: the caller guarantees the arrays; no other pass or portion uses these words.
            unsafe { batch.launch_blocks(&partition, blocks)? };
            state += self.state_words(end - first);
            (digit_starts, base) = (next_starts, 0);
        }
        Ok(())
    }
}
