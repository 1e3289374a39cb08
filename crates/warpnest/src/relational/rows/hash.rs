//! Hashes of rows.

use super::on_device::{ColumnOn, KeysOn};
use super::text_column::Eight;
use super::wide_keys::WideKeys;
use crate::primitives::{Scratch, check_items};
use crate::relational::columns::{Words, WordsOf};
use crate::runtime::stream::Batch;
use crate::{Buffer, BufferSlice, Device, Result, Stream};
use gpu_kernels::relational::rows::{HashParams, HashTexts, HashWords, PRIME};
use gpu_kernels::types::Scalar;
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Returns a hash of each row, computed from all of its columns. Equal rows have equal hashes.
///
/// ```
/// use warpnest::Device;
/// use warpnest::relational::{TextColumn, WideKeys, hash_rows};
///
/// let device = Device::best()?;
/// let words = TextColumn::new(&device, &["to", "be", "to"])?;
/// let hashes = hash_rows(&device, &WideKeys::of_text(&words), 7)?;
/// assert!(hashes[0] == hashes[2] && hashes[0] != hashes[1]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// - **Collisions.** A row is hashed as a sequence of numbers: one for a word of 4 bytes, two for a
///   word of 8 bytes, and for a text one plus two for each started 8 bytes. The hashes of two
///   different rows of at most n numbers are equal with a probability of at most n / (2^61 - 1)
///   over all seeds. For texts of 64 bytes this is below 2^-56. The rows must be chosen without
///   knowledge of the seed.
/// - **The same seed** gives the same hashes on every device. Use a random seed if untrusted people
///   choose the rows.
/// - **Complexity.** There is one launch for each column, which reads it once; each thread hashes a
///   row. A warp waits for the longest of its texts.
///
/// Equal hashes do not prove that two rows are equal;
/// [`retain_equal_rows`](super::retain_equal_rows) compares the rows.
///
/// Source: the polynomial over a prime field, evaluated at a random point (Carter 1979). The
/// Mersenne prime, and the hashed lengths of strings, are from (Thorup 2020).
///
/// # Errors
/// As for [`hash_rows_into`].
pub fn hash_rows(device: &Device, keys: &WideKeys<'_>, seed: u64) -> Result<Vec<u64>> {
    let stream = device.default_stream();
    hash_rows_on(stream, &mut Scratch::new(device), keys, seed)?.download(stream)
}

/// Returns the result of [`hash_rows`] on the device, computed on `stream`; does not wait.
///
/// # Errors
/// As for [`hash_rows_into`].
pub fn hash_rows_on(stream: &Stream, scratch: &mut Scratch, keys: &WideKeys<'_>, seed: u64) -> Result<Buffer<u64>> {
    check_items(keys.len())?;
    let mut hashes = Buffer::uninitialized(scratch.device(), keys.len())?;
    hash_rows_into(stream, scratch, keys, seed, &mut hashes)?;
    Ok(hashes)
}

/// Writes the result of [`hash_rows_on`] to existing words. Allocates nothing if the columns are on
/// the device.
///
/// # Errors
/// [`InputError::ColumnLength`](crate::InputError::ColumnLength) unless all columns have equally
/// many rows; [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless `hashes` has a
/// word for each row; [`InputError::TooManyItems`](crate::InputError::TooManyItems) for 2^32 rows
/// or more; [`Error::OutOfMemory`](crate::Error::OutOfMemory),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn hash_rows_into(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &WideKeys<'_>,
    seed: u64,
    hashes: &mut BufferSlice<u64>,
) -> Result<()> {
    stream.check_device(scratch.device())?;
    crate::error::same_length(("the keys", keys.len()), ("the hashes", hashes.len()))?;
    let keys = keys.on_device(scratch.device())?;
    queue_hashes(stream, &keys, &RowHash::new(seed, u64::MAX), hashes)
}

/// The hash function of a seed.
pub(super) struct RowHash {
    /// The arguments for a column that is neither the first nor the last column.
    middle: HashParams,
}

impl RowHash {
    /// Returns the function of a seed. `mask` selects the bits of a hash that are kept.
    pub(super) fn new(seed: u64, mask: u64) -> Self {
        let mut random = Xoshiro256StarStar::seed_from_u64(seed);
        let point = loop {
            let point = random.next_u64() >> 3;
            if point < PRIME {
                break point;
            }
        };
        let square = (point as u128 * point as u128 % PRIME as u128) as u64;
        let (a, b) = (random.next_u64(), random.next_u64());
        Self { middle: HashParams { rows: 0, point, square, a, b, mask, is_first: 0, is_last: 0 } }
    }

    fn column(&self, keys: &KeysOn<'_>, number: usize) -> HashParams {
        let is_last = (number + 1 == keys.columns.len()) as u32;
        HashParams { rows: keys.rows, is_first: (number == 0) as u32, is_last, ..self.middle }
    }
}

/// Queues hashing the rows of keys to `hashes`, which has a word for each row.
pub(super) fn queue_hashes(stream: &Stream, keys: &KeysOn<'_>, hash: &RowHash, hashes: &Buffer<u64>) -> Result<()> {
    stream.batch(|batch| {
        batch.writes(hashes);
        for (number, column) in keys.columns.iter().enumerate() {
            let plan = hash.column(keys, number);
            // SAFETY: there is a word for each row, and all columns have equally many rows.
            unsafe {
                match column {
                    ColumnOn::Words(WordsOf::Narrow(words)) => queue_words(batch, words, hashes, plan)?,
                    ColumnOn::Words(WordsOf::Wide(words)) => queue_words(batch, words, hashes, plan)?,
                    ColumnOn::Texts { offsets: Words::Narrow(offsets), bytes } => {
                        queue_texts(batch, (offsets, bytes), hashes, plan)?;
                    }
                    ColumnOn::Texts { offsets: Words::Wide(offsets), bytes } => {
                        queue_texts(batch, (offsets, bytes), hashes, plan)?;
                    }
                }
            }
        }
        Ok(())
    })
}

/// Queues hashing a column of words.
///
/// # Safety
/// There are as many words and hashes as the plan says.
unsafe fn queue_words<'b, W: Scalar>(
    batch: &Batch<'b>,
    words: &'b Buffer<W>,
    hashes: &'b Buffer<u64>,
    plan: HashParams,
) -> Result<()> {
    let hash = HashWords { words: batch.read(words), hashes: batch.write(hashes), plan };
    // SAFETY: the caller guarantees the arrays.
    unsafe { batch.launch(&hash, plan.rows) }
}

/// Queues hashing a column of texts.
///
/// # Safety
/// There are as many texts and hashes as the plan says. The offsets are from a
/// [`TextColumn`](super::TextColumn), so they are in bounds.
unsafe fn queue_texts<'b, O: Scalar>(
    batch: &Batch<'b>,
    (offsets, bytes): (&'b Buffer<O>, &'b Buffer<Eight>),
    hashes: &'b Buffer<u64>,
    plan: HashParams,
) -> Result<()> {
    let (offsets, bytes) = (batch.read(offsets), batch.read(bytes).cast());
    let hash = HashTexts { offsets, bytes, hashes: batch.write(hashes), plan };
    // SAFETY: the caller guarantees the arrays.
    unsafe { batch.launch(&hash, plan.rows) }
}
