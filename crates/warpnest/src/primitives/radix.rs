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

/// A field of bits of a key: `bits` bits that begin at bit `shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitField {
    /// The lowest bit.
    pub shift: u32,
    /// The count of bits: 1 to [`MAX_BITS`], of a [`histogram`] to [`MAX_HISTOGRAM_BITS`].
    pub bits: u32,
}

impl BitField {
    pub(crate) fn digit<K: KeyWord>(self) -> Result<Digit> {
        self.check::<K>(MAX_BITS)?;
        Ok(Digit::of_key(self.shift, self.bits))
    }

    /// Fails unless the field has 1 to `max_bits` bits, all of which a key has.
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

/// Queues counting the values of a bit field: `counts[v]` becomes the count of `keys` with value
/// `v`. Reads the keys once, takes no scratch and allocates nothing.
///
/// Fields of up to [`MAX_BITS`] bits are counted on chip. Of wider ones, up to
/// [`MAX_HISTOGRAM_BITS`], the frequent values of each 4,096 neighbouring keys are counted on chip,
/// and the others by an atomic addition to `counts` each. So the time depends on whether the counts
/// fit the cache, and little on the skew of the keys. On the CPU engine one thread counts wider
/// fields.
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
        // SAFETY: there are that many keys, and a count for each value.
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

/// The most blocks of a histogram with counts in memory.
const WIDE_BLOCKS: PerMachine<u64> = PerMachine { gpu: 2048, core: 1 };

/// Queues a stable partition: pairs are written to the outputs in the order of a bit field of their
/// keys, and among equal ones in their input order. `starts[v]` becomes the offset of the first
/// pair with value `v`, whether there is one or not.
///
/// Reads the keys twice and the values once, and writes each once. The scratch takes `2^(bits + 2)`
/// bytes for each 8,192 pairs of 32-bit keys and values, twice that for wider ones.
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
        // SAFETY: inputs and outputs have that many pairs, and `work` has the words that were asked
        // for. The scanned counts are its first words, as many as `starts` has.
        unsafe {
            passes.clear(batch, work)?;
            passes.count(batch, work, input.keys)?;
            passes.scan(batch, work)?;
            batch.copy(work, 0..size_of::<u32>() * starts.len(), starts)?;
            passes.pass(batch, work, 0, input, output)
        }
    })
}

/// A sort: its passes, and the words of scratch for them and for the pairs.
pub(crate) struct Sort<K, V: Payload> {
    passes: RadixPasses<K, V>,
    pub words: u64,
}

impl<K: KeyWord, V: Payload> Sort<K, V> {
    /// Returns a sort of `items` pairs by the number that `of` takes its digits from.
    pub(crate) fn new(of: Digit, items: u64, machine: Machine) -> Self {
        let passes = RadixPasses::<K, V>::by_all_bits(of, items, machine);
        Self { passes, words: passes.words() + Pairs::<K, V>::words(items) }
    }

    /// Queues the sort of `input` to `output`, which is the same if `in_place`.
    ///
    /// # Safety
    /// Both have as many pairs as are sorted, and `work` has the sort's words. The batch gave both,
    /// `output` to write.
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
        // SAFETY: as the caller promises; the spare pairs are behind the words of the passes.
        unsafe {
            passes.clear(batch, work)?;
            passes.count(batch, work, input.keys)?;
            let differing = passes.differing(batch, work)?;
            passes.scan(batch, work)?;
            passes.order(batch, work, differing, (input, in_place), (&Storage::Arrays(output), &Storage::Words(spare)))
        }
    }
}

/// Digits of the key itself; passes choose their bits.
pub(crate) const OF_KEY: Digit = Digit::of_key(0, 1);

/// Returns the bytes of scratch that [`sort_pairs`] takes.
pub(crate) fn sort_scratch_bytes<K: KeyWord, V: ValueWord>(items: u64) -> Result<u64> {
    Ok(8 * Sort::<K, V>::new(OF_KEY, items, Machine::UNKNOWN).words)
}

/// Queues a stable sort of pairs by key, in place.
///
/// There are four passes over 32-bit keys, eight over 64-bit ones. The scratch takes as much memory
/// as the pairs, and 1 KiB a pass for each 8,192 of them. With 64-bit keys or values it is 1 KiB a
/// pass for each 4,096.
///
/// On the CPU engine a pass takes up to 11 bits instead of 8, and digits in which all keys agree
/// take none, so small keys are sorted sooner.
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
        // SAFETY: both arrays have that many pairs, and `work` has the words that were asked for.
        unsafe { sort.queue(batch, work, own, own, true) }
    })
}

/// Queues a sort of `keys` in ascending order, in place.
///
/// There are as many passes as in [`sort_pairs`], which move 8 bytes for each 32-bit key instead of
/// 16 for a pair. The scratch takes as much memory as the keys, and 1 KiB a pass for each 8,192 of
/// them; with 64-bit keys 1 KiB a pass for each 4,096. On the CPU engine passes are as in
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
        // SAFETY: the array has that many keys, and `work` has the words that were asked for.
        unsafe { sort.queue(batch, work, own, own, true) }
    })
}

/// Queues a stable sort of as many pairs as there are keys, to separate outputs, by the keys mixed
/// with constants `a` and `b`. The keys are written mixed. Equal keys come together, and so do
/// those that a page table with these constants stores in one page. The scratch takes
/// [`sort_scratch_bytes`].
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
        // SAFETY: inputs and outputs have that many pairs, and `work` has the words that were asked
        // for.
        unsafe { sort.queue(batch, work, input, output, false) }
    })
}
