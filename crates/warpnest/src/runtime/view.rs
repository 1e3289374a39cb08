//! Views, which are parts of buffers and can be passed like whole buffers.

use crate::runtime::allocation::{Allocation, Tracked};
use crate::runtime::buffer::Buffer;
use crate::{Error, InputError, Result};
use gpu_kernels::plain::Plain;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Bound, Deref, DerefMut, Range, RangeBounds};
use std::sync::Arc;

/// A buffer, or a part of a buffer, with a fixed length. Functions write their results to it.
///
/// A buffer slice is to a [`Buffer`] as `[T]` is to `Vec<T>`. Both `&mut buffer` and a mutable view
/// ([`Buffer::slice_mut`]) can be passed as a `&mut BufferSlice<T>`. Its elements can be written,
/// but it cannot be replaced by another array:
///
/// ```compile_fail,E0277
/// # use warpnest::{Buffer, Device};
/// # let device = Device::cpu();
/// # let mut keys = Buffer::<u32>::zeroed(&device, 8)?;
/// # let mut others = Buffer::<u32>::zeroed(&device, 8)?;
/// let (mut front, mut back) = (keys.slice_mut(..4)?, others.slice_mut(4..)?);
/// std::mem::swap(&mut *front, &mut *back);
/// # Ok::<(), warpnest::Error>(())
/// ```
pub type BufferSlice<T> = Buffer<T, [()]>;

/// Access to all functions that only read a buffer.
impl<T> Deref for BufferSlice<T> {
    type Target = Buffer<T>;
    fn deref(&self) -> &Buffer<T> {
        self.whole()
    }
}

/// A part of a buffer for reading, made by [`Buffer::slice`]. `&view` can be passed as a `&Buffer`,
/// and so can the temporary `&*buffer.slice(2..8)?`.
pub struct BufferView<'b, T> {
    /// The part. It is only lent by reference, so it lives no longer than the view.
    part: ManuallyDrop<Buffer<T>>,
    borrow: PhantomData<&'b Buffer<T>>,
}

/// A part of a buffer for reading and writing, made by [`Buffer::slice_mut`]. `&mut view` can be
/// passed as a `&mut BufferSlice`, and `&view` as a `&Buffer`.
pub struct BufferViewMut<'b, T> {
    /// The part. It is only lent as a [`BufferSlice`], which safe code can neither move nor
    /// exchange. So nothing else accesses its elements while this view lives.
    part: ManuallyDrop<Buffer<T>>,
    borrow: PhantomData<&'b mut Buffer<T>>,
}

/// Read-only parts of a buffer.
impl<T> Buffer<T> {
    /// Returns the part with the elements `range`, for reading, without a copy.
    ///
    /// The part can be copied and downloaded wherever it begins. Kernels, lookups and primitives
    /// take it only if it begins at a multiple of 16 bytes: at a multiple of 4 elements of `u32`,
    /// or of 2 elements of `u64`. Otherwise they fail with [`InputError::Misaligned`]. Other
    /// streams wait for work with a part as for work with the whole buffer.
    ///
    /// ```
    /// use warpnest::{Buffer, Device, PageMap};
    ///
    /// let device = Device::best()?;
    /// let stream = device.default_stream();
    /// let map = PageMap::build(&device, &[7, 8, 9], &[70, 80, 90])?;
    /// let queries = Buffer::from_slice(&device, &[1, 2, 3, 4, 9, 8])?;
    /// let answers = map.get_many_on(stream, &*queries.slice(4..)?)?;
    /// assert_eq!(answers.download(stream)?, [Some(90), Some(80)]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InputError::Range`] if the range is not within the buffer.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<BufferView<'_, T>> {
        Ok(BufferView { part: self.part(&within(&range, self.len())?), borrow: PhantomData })
    }
}

impl Buffer<u64> {
    /// Returns `length` elements of another type that begin at word `first`. They may be written,
    /// and contain the bytes of the words until then.
    ///
    /// # Panics
    /// Panics unless the buffer contains all of the elements.
    pub(crate) fn elements_at<T: Plain>(&self, first: u64, length: usize) -> BufferView<'_, T> {
        let words = length.checked_mul(size_of::<T>()).map(|bytes| bytes.div_ceil(8)).expect("an array in memory");
        let part = ManuallyDrop::into_inner(self.part(&(first as usize..first as usize + words)));
        // SAFETY: kernels write elements of the type to this memory before any element is read.
        let mut part = ManuallyDrop::new(unsafe { part.reinterpreted::<T>() });
        part.set_length(length);
        BufferView { part, borrow: PhantomData }
    }
}

/// Mutable parts of a buffer or part.
impl<T, Tail: ?Sized> Buffer<T, Tail> {
    /// Returns the part with the elements `range`, for reading and writing, without a copy. The
    /// alignment that kernels need is in [`Buffer::slice`].
    ///
    /// ```
    /// use warpnest::{Buffer, Device};
    ///
    /// let device = Device::best()?;
    /// let stream = device.default_stream();
    /// let mut keys = Buffer::from_slice(&device, &[1u32, 2, 3, 4])?;
    /// keys.slice_mut(1..3)?.upload(stream, &[20, 30])?;
    /// assert_eq!(keys.download(stream)?, [1, 20, 30, 4]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Buffer::slice`].
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<BufferViewMut<'_, T>> {
        let range = within(&range, self.whole().len())?;
        Ok(BufferViewMut { part: self.part(&range), borrow: PhantomData })
    }

    /// Returns the part before element `middle` and the part that begins there, both for writing.
    /// Work with the parts on two streams does not overlap, because both use the buffer's events.
    ///
    /// ```
    /// use warpnest::{Buffer, Device};
    ///
    /// let device = Device::best()?;
    /// let stream = device.default_stream();
    /// let mut keys = Buffer::from_slice(&device, &[1u32, 2, 3, 4])?;
    /// let (front, mut back) = keys.split_at_mut(2)?;
    /// back.copy_from(stream, &front)?;
    /// assert_eq!(keys.download(stream)?, [1, 2, 1, 2]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InputError::Range`] if the buffer has fewer elements than `middle`.
    pub fn split_at_mut(&mut self, middle: usize) -> Result<(BufferViewMut<'_, T>, BufferViewMut<'_, T>)> {
        let (front, back) = (within(&(..middle), self.whole().len())?, middle..self.whole().len());
        let view = |range| BufferViewMut { part: self.part(&range), borrow: PhantomData };
        Ok((view(front), view(back)))
    }
}

/// Returns the start and end of a range that a user gave, if an array of `length` elements contains
/// the range.
fn within(range: &impl RangeBounds<usize>, length: usize) -> Result<Range<usize>> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => length,
    };
    if start <= end && end <= length {
        return Ok(start..end);
    }
    Err(Error::Input(InputError::Range { start: start as u64, end: end as u64, length: length as u64 }))
}

impl<T> Deref for BufferView<'_, T> {
    type Target = Buffer<T>;
    fn deref(&self) -> &Buffer<T> {
        &self.part
    }
}

impl<T> Deref for BufferViewMut<'_, T> {
    type Target = BufferSlice<T>;
    fn deref(&self) -> &BufferSlice<T> {
        &*self.part
    }
}

impl<T> DerefMut for BufferViewMut<'_, T> {
    fn deref_mut(&mut self) -> &mut BufferSlice<T> {
        &mut *self.part
    }
}

impl<T> Tracked for BufferView<'_, T> {
    fn allocation(&self) -> &Arc<Allocation> {
        self.part.allocation()
    }
}

impl<T> Tracked for BufferViewMut<'_, T> {
    fn allocation(&self) -> &Arc<Allocation> {
        self.part.allocation()
    }
}

impl<T> fmt::Debug for BufferView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.part.fmt(f)
    }
}

impl<T> fmt::Debug for BufferViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.part.fmt(f)
    }
}
