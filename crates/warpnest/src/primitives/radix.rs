//! Radix partition and sort.

use super::pairs::{Pairs, Storage};
use super::radix_passes::{RadixPasses, histogram_blocks};
use super::{Scratch, check_items};
use crate::runtime::machine::{Machine, PerMachine};
use crate::runtime::stream::Batch;
use crate::{Buffer, BufferSlice, ConfigError, Error, Result, Stream};
use gpu_kernels::hash::{Formula, HashFunctions};
use gpu_kernels::primitives::radix::{Digit, DigitOf, Histogram, HistogramParams};
use gpu_kernels::primitives::wide_histogram::{TILE, WideHistogram, WideHistogramParams};
use gpu_kernels::types::{KeyWord, Nothing, Payload, ValueWord};

pub use gpu_kernels::primitives::radix::MAX_BITS;

/// A bit field of a key: `bits` bits, starting at bit `shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitField {
    /// The index of the lowest bit.
    pub shift: u32,
    /// The count of bits: from 1 to [`MAX_BITS`], or to [`MAX_HISTOGRAM_BITS`] for a [`histogram`].
    pub bits: u32,
}

impl BitField {
    pub(crate) fn digit<K: KeyWord>(self) -> Result<Digit> {
        self.check::<K>(MAX_BITS)?;
        Ok(Digit::of_key(self.shift, self.bits))
    }

    /// Fails unless the field has 1 to `max_bits` bits and lies within a key.
    fn check<K: KeyWord>(self, max_bits: u32) -> Result<()> {
        let Self { shift, bits } = self;
        if !(1..=max_bits).contains(&bits) || shift.saturating_add(bits) > K::BITS {
            return Err(Error::Config(ConfigError::BitField { shift, bits, key_bits: K::BITS, max_bits }));
        }
        Ok(())
    }

    fn values(self) -> usize {
        1 << self.bits
    }
}

/// The most bits of the field of a [`histogram`].
pub const MAX_HISTOGRAM_BITS: u32 = 32;

/// Queues counting the values of a bit field: `counts[v]` becomes the count of keys whose field has
/// the value `v`. Reads the keys once, takes no scratch and allocates nothing.
///
/// Fields of up to [`MAX_BITS`] bits are counted in on-chip memory. For wider fields, up to
/// [`MAX_HISTOGRAM_BITS`], only the frequent values of each 4,096 neighbouring keys are counted on
/// chip, and each other key takes an atomic addition to `counts`. So the time depends on whether
/// the counts fit into the cache, and little on skew. On the CPU engine, one thread counts these
/// wider fields.
///
/// ```
/// use warpnest::primitives::{BitField, histogram};
/// use warpnest::{Buffer, Device};
///
/// let device = Device::best()?;
/// let stream = device.default_stream();
/// let keys = Buffer::from_slice(&device, &[7u64 << 40, 7 << 40, 9 << 40, 1])?;
/// let mut counts = Buffer::zeroed(&device, 1 << 16)?;
/// histogram(stream, &keys, BitField { shift: 40, bits: 16 }, &mut counts)?;
/// let counts = counts.download(stream)?;
/// assert_eq!((counts[7], counts[9], counts[0]), (2, 1, 1));
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// # Errors
/// [`ConfigError::BitField`]; [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer)
/// unless `counts` has an element for each value of the field;
/// [`InputError::TooManyItems`](crate::InputError::TooManyItems), [`Error::WrongDevice`],
/// [`Error::Driver`].
pub fn histogram<K: KeyWord>(
    stream: &Stream,
    keys: &Buffer<K>,
    field: BitField,
    counts: &mut BufferSlice<u32>,
) -> Result<()> {
    field.check::<K>(MAX_HISTOGRAM_BITS)?;
    crate::error::same_length(("the values of the field", field.values()), ("the counts", counts.len()))?;
    let items = check_items(keys.len())?;
    let BitField { shift, bits } = field;
    stream.batch(|batch| {
        let (keys, counts_out) = (batch.read(keys), batch.write(counts));
        batch.zero(counts, counts.len())?;
        // SAFETY: there are `items` keys, and a count for each value of the field.
        unsafe {
            if bits <= MAX_BITS {
                let plan = HistogramParams { digit: Digit::of_key(shift, bits), items, digits: 1, padding: 0 };
                let histogram = Histogram::<K> { keys, counts: counts_out, plan };
                batch.launch_blocks(&histogram, histogram_blocks(stream.machine(), items))
            } else {
                let plan = WideHistogramParams { items, shift, bits };
                let histogram = WideHistogram::<K> { keys, counts: counts_out, plan };
                batch.launch_blocks(&histogram, items.div_ceil(TILE).min(stream.machine().pick(WIDE_BLOCKS)))
            }
        }
    })
}

/// The most blocks of a histogram whose counts are in memory.
const WIDE_BLOCKS: PerMachine<u64> = PerMachine { gpu: 2048, core: 1 };

/// Queues a stable partition: writes the pairs to the outputs ordered by a bit field of their keys.
/// Pairs with equal fields keep the order of the input. `starts[v]` becomes the count of pairs with
/// values below `v`, where the pairs with value `v` start.
///
/// Reads the keys twice and the values once, and writes keys and values once. The scratch takes
/// `2^(bits + 2)` bytes per 8,192 pairs of 32-bit keys and values, and twice as much for wider keys
/// or values.
///
/// # Errors
/// [`ConfigError::BitField`]; [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer)
/// unless keys, values and outputs are equally long, and `starts` has an element for each value of
/// the field; [`InputError::TooManyItems`](crate::InputError::TooManyItems),
/// [`Error::OutOfMemory`], [`Error::WrongDevice`], [`Error::Driver`].
pub fn partition_pairs<K: KeyWord, V: ValueWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    (keys, values): (&Buffer<K>, &Buffer<V>),
    field: BitField,
    (keys_out, values_out): (&mut BufferSlice<K>, &mut BufferSlice<V>),
    starts: &mut BufferSlice<u32>,
) -> Result<()> {
    let digit = field.digit::<K>()?;
    crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
    crate::error::same_length(("the keys", keys.len()), ("the keys' output", keys_out.len()))?;
    crate::error::same_length(("the keys", keys.len()), ("the values' output", values_out.len()))?;
    crate::error::same_length(("the values of the field", field.values()), ("the starts", starts.len()))?;
    let passes = RadixPasses::<K, V>::new(digit, field.bits, check_items(keys.len())?, stream.machine());
    let work = scratch.reserve(passes.words())?;
    stream.batch(|batch| {
        let input = Pairs { keys: batch.read(keys), values: batch.read(values) };
        let output = Pairs { keys: batch.write(keys_out), values: batch.write(values_out) };
        // SAFETY: inputs and outputs have as many pairs as the passes, and `work` has at least
        // `passes.words()` words. Its first words are the scanned counts, as many as `starts` has.
        unsafe {
            passes.clear(batch, work)?;
            passes.count(batch, work, input.keys)?;
            passes.scan(batch, work)?;
            batch.copy(work, 0..size_of::<u32>() * starts.len(), starts)?;
            passes.pass(batch, work, 0, input, output)
        }
    })
}

/// A sort: its passes, and the count of words of scratch for the passes and for the pairs.
pub(crate) struct Sort<K, V: Payload> {
    passes: RadixPasses<K, V>,
    pub words: u64,
}

impl<K: KeyWord, V: Payload> Sort<K, V> {
    /// Returns a sort of `items` pairs by the word from which `of` takes its digits.
    pub(crate) fn new(of: Digit, items: u64, machine: Machine) -> Self {
        let passes = RadixPasses::<K, V>::by_all_bits(of, items, machine);
        Self { passes, words: passes.words() + Pairs::<K, V>::words(items) }
    }

    /// Queues the sort of `input` to `output`. If `in_place`, `output` is the same as `input`.
    ///
    /// # Safety
    /// Both arrays have the sort's pairs, and `work` has its words. The arrays are from the batch,
    /// `output` for writing.
    pub(crate) unsafe fn queue<'b>(
        &self,
        batch: &Batch<'b>,
        work: &'b Buffer<u64>,
        input: Pairs<K, V>,
        output: Pairs<K, V>,
        in_place: bool,
    ) -> Result<()> {
        let Self { passes, .. } = self;
        let spare = batch.write(work).offset(passes.words());
        // SAFETY: the caller guarantees the arrays; the spare pairs follow the words of the passes.
        unsafe {
            passes.clear(batch, work)?;
            passes.count(batch, work, input.keys)?;
            let differing = passes.differing(batch, work)?;
            passes.scan(batch, work)?;
            passes.order(batch, work, differing, (input, in_place), (&Storage::Arrays(output), &Storage::Words(spare)))
        }
    }
}

/// Digits of the key itself; each pass replaces their bits.
pub(crate) const OF_KEY: Digit = Digit::of_key(0, 1);

/// Returns the bytes of scratch that [`sort_pairs`] takes.
pub(crate) fn sort_scratch_bytes<K: KeyWord, V: ValueWord>(items: u64) -> Result<u64> {
    Ok(8 * Sort::<K, V>::new(OF_KEY, items, Machine::UNKNOWN).words)
}

/// Queues a stable sort of pairs by key, in place.
///
/// A sort takes four passes over 32-bit keys, and eight passes over 64-bit keys. The scratch takes
/// as much memory as the pairs, and for each pass 1 KiB per 8,192 pairs. With 64-bit keys or
/// values, each pass takes 1 KiB per 4,096 pairs.
///
/// On the CPU engine a pass covers up to 11 bits instead of 8. If all keys have the same digit, its
/// pass is skipped, so small keys are sorted faster.
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
/// [`InputError::TooManyItems`](crate::InputError::TooManyItems), [`Error::OutOfMemory`],
/// [`Error::WrongDevice`], [`Error::Driver`].
pub fn sort_pairs<K: KeyWord, V: ValueWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &mut BufferSlice<K>,
    values: &mut BufferSlice<V>,
) -> Result<()> {
    crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
    let items = check_items(keys.len())?;
    let sort = Sort::<K, V>::new(OF_KEY, items, stream.machine());
    let work = scratch.reserve(sort.words)?;
    stream.batch(|batch| {
        let own = Pairs::<K, V> { keys: batch.write(keys), values: batch.write(values) };
        // SAFETY: both arrays have `items` pairs, and `work` has at least `sort.words` words.
        unsafe { sort.queue(batch, work, own, own, true) }
    })
}

/// Queues a sort of `keys` in ascending order, in place.
///
/// There are as many passes as in [`sort_pairs`]. A pass moves 8 bytes per 32-bit key, not 16 bytes
/// as for a pair. The scratch takes as much memory as the keys, and for each pass 1 KiB per 8,192
/// keys, or per 4,096 keys of 64 bits. On the CPU engine the passes are the same as in
/// [`sort_pairs`].
///
/// ```
/// use warpnest::primitives::{Scratch, sort_keys};
/// use warpnest::{Buffer, Device};
///
/// let device = Device::best()?;
/// let stream = device.default_stream();
/// let mut keys = Buffer::from_slice(&device, &[30u64, 10, 20, 10])?;
/// sort_keys(stream, &mut Scratch::new(&device), &mut keys)?;
/// assert_eq!(keys.download(stream)?, [10, 10, 20, 30]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// # Errors
/// [`InputError::TooManyItems`](crate::InputError::TooManyItems), [`Error::OutOfMemory`],
/// [`Error::WrongDevice`], [`Error::Driver`].
pub fn sort_keys<K: KeyWord>(stream: &Stream, scratch: &mut Scratch, keys: &mut BufferSlice<K>) -> Result<()> {
    let items = check_items(keys.len())?;
    let sort = Sort::<K, Nothing>::new(OF_KEY, items, stream.machine());
    let work = scratch.reserve(sort.words)?;
    stream.batch(|batch| {
        let keys = batch.write(keys);
        // Passes over keys alone do not use the array of values.
        let own = Pairs::<K, Nothing> { keys, values: keys.cast() };
        // SAFETY: the array has `items` keys, and `work` has at least `sort.words` words.
        unsafe { sort.queue(batch, work, own, own, true) }
    })
}

/// Queues a stable sort of pairs by their mixed keys, to separate outputs. The constants of the mix
/// are `a` and `b`, and the mixed keys are written instead of the keys. Equal keys become
/// neighbours, and so do keys that a page table with these constants stores in one page. The
/// scratch takes [`sort_scratch_bytes`].
pub(crate) fn sort_pairs_by_mixed_key<K: KeyWord, V: ValueWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    [a, b]: [u64; 2],
    (keys, values): (&Buffer<K>, &Buffer<V>),
    (keys_out, values_out): (&mut Buffer<K>, &mut Buffer<V>),
) -> Result<()> {
    let items = check_items(keys.len())?;
    let mut constants = [a, b].into_iter().cycle();
    let functions = HashFunctions::new(Formula::Mix, 1, 1, 0, K::BITS, || constants.next().unwrap_or_default());
    let digit = Digit { functions, of: DigitOf::MixedKey as u32, ..OF_KEY };
    let sort = Sort::<K, V>::new(digit, items, stream.machine());
    let work = scratch.reserve(sort.words)?;
    stream.batch(|batch| {
        let input = Pairs::<K, V> { keys: batch.read(keys), values: batch.read(values) };
        let output = Pairs::<K, V> { keys: batch.write(keys_out), values: batch.write(values_out) };
        // SAFETY: inputs and outputs have `items` pairs, and `work` has at least `sort.words`
        // words.
        unsafe { sort.queue(batch, work, input, output, false) }
    })
}
