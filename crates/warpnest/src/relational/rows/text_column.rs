//! Columns of texts on a device.

use crate::primitives::{Scratch, check_items};
use crate::relational::columns::Words;
use crate::strings::Strings;
use crate::{Buffer, Device, InputError, Result, Stream, Value};
use gpu_kernels::relational::rows::{CheckOffsets, CheckOffsetsParams};
use gpu_kernels::types::Scalar;
use std::fmt;

/// The element type of a column's bytes: eight bytes of its texts.
pub(super) type Eight = [u8; 8];

/// A column of texts on a device: each row is a byte string of any length.
///
/// ```
/// use warpnest::Device;
/// use warpnest::relational::TextColumn;
///
/// let device = Device::best()?;
/// let names = TextColumn::new(&device, &["Ada", "", "Grace"])?;
/// assert_eq!(names.len(), 3);
/// assert_eq!(names.download(device.default_stream())?, [&b"Ada"[..], b"", b"Grace"]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// - **Layout**: the same as in string columns of Arrow. The bytes of all texts are concatenated,
///   and row `i` has the bytes from `offsets[i]` to `offsets[i + 1]`.
/// - **Bytes**: texts need not be UTF-8, may be empty, and may contain zero bytes. Two texts are
///   equal if they have the same length and the same bytes.
/// - **Memory**: the bytes, and 4 bytes per row, or 8 if there are 2^32 bytes or more.
///
/// A column never changes, so its offsets are checked only once, when the column is made.
pub struct TextColumn {
    /// The offsets, one more than rows, or none. They ascend, and none is beyond the bytes.
    offsets: Words,
    bytes: Buffer<Eight>,
}

mod sealed {
    pub trait Sealed {
        /// The greatest offset of the type.
        const MAX: u64;
    }
}

/// A type of text offsets: `u32` or `u64`, or `i32` or `i64` as in Arrow.
pub trait TextOffset: Value + sealed::Sealed {}

macro_rules! offsets {
    ($($offset:ty),+) => {$(
        impl sealed::Sealed for $offset {
            const MAX: u64 = <$offset>::MAX as u64;
        }
        impl TextOffset for $offset {}
    )+};
}
offsets!(u32, u64, i32, i64);

impl TextColumn {
    /// Returns a column of texts in host memory: slices, arrays and vectors of byte strings, or a
    /// [`StringColumn`](crate::strings::StringColumn). All texts are copied.
    ///
    /// # Errors
    /// [`InputError::TooManyItems`] for 2^32 texts or more;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn new<S: Strings + ?Sized>(device: &Device, texts: &S) -> Result<Self> {
        check_items(texts.rows())?;
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(texts.rows() + 1));
        ends.push(0u64);
        for row in 0..texts.rows() {
            bytes.extend_from_slice(texts.row(row));
            ends.push(bytes.len() as u64);
        }
        let narrow = || ends.iter().map(|&end| u32::try_from(end).ok()).collect::<Option<Vec<u32>>>();
        let offsets = match narrow() {
            Some(ends) => Words::Narrow(Buffer::from_slice(device, &ends)?),
            None => Words::Wide(Buffer::from_slice(device, &ends)?),
        };
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        Ok(Self { offsets, bytes: Buffer::from_slice(device, bytes.as_chunks().0)? })
    }

    /// Returns a column of texts that are on the device, from their bytes, of which each element
    /// has eight, and their offsets in bytes. There is one more offset than rows, or there are no
    /// offsets. Bytes after the last text are ignored. Nothing is copied; waits until the offsets
    /// are checked.
    ///
    /// ```
    /// use warpnest::primitives::Scratch;
    /// use warpnest::relational::TextColumn;
    /// use warpnest::{Buffer, Device};
    ///
    /// let device = Device::best()?;
    /// let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
    /// let bytes = Buffer::from_slice(&device, &[*b"tobeorno", *b"t       "])?;
    /// let offsets = Buffer::from_slice(&device, &[0i32, 2, 4, 6, 9])?;
    /// let words = TextColumn::from_buffers(stream, &mut scratch, offsets, bytes)?;
    /// assert_eq!(words.download(stream)?, [&b"to"[..], b"be", b"or", b"not"]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InputError::Offsets`] if an offset is less than the one before it, or beyond the bytes;
    /// [`InputError::TooManyItems`] for 2^32 texts or more;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn from_buffers<O: TextOffset>(
        stream: &Stream,
        scratch: &mut Scratch,
        offsets: Buffer<O>,
        bytes: Buffer<Eight>,
    ) -> Result<Self> {
        stream.check_device(scratch.device())?;
        offsets.check_device("the buffer of offsets", scratch.device())?;
        bytes.check_device("the buffer of bytes", scratch.device())?;
        check_items(offsets.len().saturating_sub(1))?;
        let offsets = Words::of(offsets.into_words());
        let held = 8 * bytes.len() as u64;
        let limit = held.min(<O as sealed::Sealed>::MAX);
        let first_wrong = match &offsets {
            Words::Narrow(offsets) => first_wrong(stream, scratch, offsets, limit)?,
            Words::Wide(offsets) => first_wrong(stream, scratch, offsets, limit)?,
        };
        match first_wrong {
            Some(number) => Err(InputError::Offsets { number, bytes: held }.into()),
            None => Ok(Self { offsets, bytes }),
        }
    }

    /// Returns the count of rows.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes on the device.
    pub fn memory_bytes(&self) -> usize {
        let offsets = match &self.offsets {
            Words::Narrow(offsets) => 4 * offsets.len(),
            Words::Wide(offsets) => 8 * offsets.len(),
        };
        offsets + 8 * self.bytes.len()
    }

    /// Copies the texts to the host; returns when the copy is complete.
    ///
    /// # Errors
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn download(&self, stream: &Stream) -> Result<Vec<Vec<u8>>> {
        let bytes = self.bytes.download(stream)?;
        let bytes = bytes.as_flattened();
        let text = |start: u64, end: u64| bytes[start as usize..end as usize].to_vec();
        Ok(match &self.offsets {
            Words::Narrow(offsets) => {
                offsets.download(stream)?.windows(2).map(|pair| text(pair[0].into(), pair[1].into())).collect()
            }
            Words::Wide(offsets) => offsets.download(stream)?.windows(2).map(|pair| text(pair[0], pair[1])).collect(),
        })
    }

    /// Returns the offsets and the bytes; fails unless the column is on `device`.
    pub(super) fn parts(&self, device: &Device) -> Result<(&Words, &Buffer<Eight>)> {
        self.bytes.check_device("the column of texts", device)?;
        Ok((&self.offsets, &self.bytes))
    }
}

/// Returns the index of the first offset that is less than the one before it, or greater than the
/// limit.
fn first_wrong<O: Scalar>(
    stream: &Stream,
    scratch: &mut Scratch,
    offsets: &Buffer<O>,
    limit: u64,
) -> Result<Option<u64>> {
    if offsets.is_empty() {
        return Ok(None);
    }
    let header = scratch.lend::<u64>(1)?;
    let plan = CheckOffsetsParams { offsets: offsets.len() as u64, limit };
    stream.batch(|batch| {
        batch.zero(&header, 1)?;
        let check = CheckOffsets { offsets: batch.read(offsets), header: batch.write(&header), plan };
        // SAFETY: there are `plan.offsets` offsets, and the header is 0.
        unsafe { batch.launch(&check, plan.offsets) }
    })?;
    let found = header.download_at(stream, 0)?;
    scratch.give_back(header);
    Ok((found != 0).then(|| u64::MAX - found))
}

impl fmt::Debug for TextColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = 8 * self.bytes.len();
        f.debug_struct("TextColumn").field("rows", &self.len()).field("bytes", &bytes).finish_non_exhaustive()
    }
}
