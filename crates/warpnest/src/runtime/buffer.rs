//! Arrays in a device's memory.

use crate::runtime::allocation::{Allocation, Owner, Tracked};
use crate::runtime::device::Device;
use crate::runtime::engine::Engine;
use crate::runtime::stream::{Batch, Stream};
use crate::{Error, Result};
use gpu_kernels::plain::Plain;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// The fewest bytes of an allocation.
const MIN_BYTES: usize = 16;

/// An array of a plain type in a device's memory.
///
/// A buffer records the events of its last reads and of its last write. Work that any stream does
/// with it waits for what it depends on, and memory is freed only when no work uses it. So safe
/// code on several streams cannot race and cannot free too early. Dropping a buffer that is in use
/// therefore waits.
#[repr(C)]
pub struct Buffer<T> {
    pub(crate) allocation: Allocation,
    length: usize,
    elements: PhantomData<T>,
}

impl<T> Tracked for Buffer<T> {
    fn allocation(&self) -> &Allocation {
        &self.allocation
    }
}

impl<T: Plain> Buffer<T> {
    /// An array of `length` elements whose contents are whatever the memory held; on the CPU engine
    /// zeros.
    pub(crate) fn uninitialized(device: &Device, length: usize) -> Result<Self> {
        Self::allocated(device.engine(), length)
    }

    fn allocated(engine: &Arc<dyn Engine>, length: usize) -> Result<Self> {
        let too_large = || {
            let free = engine.memory().map_or(0, |memory| memory.free);
            Error::OutOfMemory { asked: u64::MAX, free, device: engine.name().to_owned() }
        };
        let bytes = length.checked_mul(size_of::<T>()).ok_or_else(too_large)?;
        // An empty buffer still has an address.
        let bytes = bytes.max(MIN_BYTES);
        let address = engine.allocate(bytes)?;
        Ok(Self::from_allocation(Allocation::new(engine.clone(), address, bytes, Owner::Engine), length))
    }

    /// Makes the buffer an array of `length` elements with unspecified contents. Allocates memory
    /// only if the length is another one.
    pub(crate) fn fit(&mut self, device: &Device, length: usize) -> Result<()> {
        if self.length != length {
            // The old memory is freed first: both together may be more than there is.
            *self = Self::uninitialized(device, 0)?;
            *self = Self::uninitialized(device, length)?;
        }
        Ok(())
    }

    /// Another buffer with the same elements, copied on `stream`.
    pub(crate) fn duplicate(&self, stream: &Stream, device: &Device) -> Result<Self> {
        self.duplicate_front(stream, device, self.length)
    }

    /// Another buffer with the first `length` elements, copied on `stream`.
    pub(crate) fn duplicate_front(&self, stream: &Stream, device: &Device, length: usize) -> Result<Self> {
        let copy = Self::uninitialized(device, length.min(self.length))?;
        if copy.length > 0 {
            stream.batch(|batch| batch.copy(self, 0..copy.bytes(), &copy))?;
        }
        Ok(copy)
    }

    /// The same in memory of that size, unless the buffer has no more already.
    pub(crate) fn shrunk(&self, stream: &Stream, device: &Device, length: usize) -> Result<Option<Self>> {
        let fits = self.allocation.bytes() <= (length * size_of::<T>()).max(MIN_BYTES);
        if fits { Ok(None) } else { self.duplicate_front(stream, device, length).map(Some) }
    }

    /// Sets the length to 0; the memory stays.
    pub(crate) fn empty(&mut self) {
        self.length = 0;
    }

    pub(crate) fn from_allocation(allocation: Allocation, length: usize) -> Self {
        Self { allocation, length, elements: PhantomData }
    }

    /// An array of `length` zeros.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn zeroed(device: &Device, length: usize) -> Result<Self> {
        let mut buffer = Self::uninitialized(device, length)?;
        buffer.set_bytes(device.default_stream(), 0)?;
        Ok(buffer)
    }

    /// A copy of `elements`; returns when it is made.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn from_slice(device: &Device, elements: &[T]) -> Result<Self> {
        let mut buffer = Self::uninitialized(device, elements.len())?;
        buffer.upload(device.default_stream(), elements)?;
        Ok(buffer)
    }

    /// Copies from the host, after the work that uses the buffer now; returns when it is done.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer), [`Error::WrongDevice`],
    /// [`Error::Driver`].
    pub fn upload(&mut self, stream: &Stream, elements: &[T]) -> Result<()> {
        crate::error::same_length(("the slice", elements.len()), ("the buffer", self.length))?;
        stream.batch(|batch| {
            batch.writes(self);
            // SAFETY: the buffer has as many bytes as the slice.
            unsafe { batch.queue()?.upload(bytes_of(elements), self.address()) }
        })
    }

    /// Copies to the host, after the work that writes the buffer now; returns when it is done.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::Driver`].
    pub fn download(&self, stream: &Stream) -> Result<Vec<T>> {
        self.download_front(stream, self.length)
    }

    /// Downloads the first `elements` elements, or all if there are fewer, as [`Buffer::download`]
    /// does.
    pub(crate) fn download_front(&self, stream: &Stream, elements: usize) -> Result<Vec<T>> {
        let mut elements = vec![zero::<T>(); elements.min(self.length)];
        stream.batch(|batch| {
            batch.reads(self);
            // SAFETY: the vector has no more bytes than the buffer.
            unsafe { batch.queue()?.download(self.address(), bytes_of_mut(&mut elements)) }
        })?;
        Ok(elements)
    }

    /// Runs `work` with the elements, after the work that writes them now. Where the host shares
    /// the device's memory, they are read in place, so no work that began after this may write them
    /// meanwhile.
    pub(crate) fn with_elements<R>(&self, stream: &Stream, work: impl FnOnce(&[T]) -> R) -> Result<R> {
        let in_place = self.allocation.engine().shares_memory_with_host()
            && self.allocation.address().is_multiple_of(align_of::<T>());
        if !in_place || self.length == 0 {
            return Ok(work(&self.download(stream)?));
        }
        stream.batch(|batch| {
            batch.reads(self);
            batch.queue()?.synchronize()
        })?;
        let first = std::ptr::with_exposed_provenance::<T>(self.allocation.address());
        // SAFETY: the memory is the host's and has so many elements. Safe code that writes them has
        // the buffer exclusively, and no work is in progress. They were initialized to zeros.
        Ok(work(unsafe { std::slice::from_raw_parts(first, self.length) }))
    }

    /// Copies one element to the host, after the work that writes the buffer now; returns when it
    /// is done.
    pub(crate) fn download_at(&self, stream: &Stream, index: usize) -> Result<T> {
        let mut element = [zero::<T>()];
        let address = self.allocation.address() + index * size_of::<T>();
        assert!(index < self.length, "the buffer has {} elements", self.length);
        stream.batch(|batch| {
            batch.reads(self);
            // SAFETY: the element is one of the buffer's.
            unsafe { batch.queue()?.download(address, bytes_of_mut(&mut element)) }
        })?;
        Ok(element[0])
    }

    /// Copies element `index` to the host, after the work that writes the buffer now; returns when
    /// it is done. `None` if the buffer has no such element.
    ///
    /// It costs the host a wait, some tens of microseconds on a GPU, whatever the buffer's length.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::Driver`].
    pub fn get(&self, stream: &Stream, index: usize) -> Result<Option<T>> {
        if index < self.length { self.download_at(stream, index).map(Some) } else { Ok(None) }
    }

    /// Makes the buffer `length` elements long. Those that it had before keep their values, others
    /// are zeros.
    ///
    /// No memory is given back, so a buffer whose length varies from call to call soon allocates
    /// nothing any more. An allocation takes a quarter more than is asked for, if there is as much.
    /// It holds the old memory until the elements are copied. If it fails, the buffer stays as it
    /// was.
    ///
    /// ```
    /// use warpnest::{Buffer, Device};
    ///
    /// let device = Device::best()?;
    /// let stream = device.default_stream();
    /// let mut keys = Buffer::from_slice(&device, &[5u32, 6, 7])?;
    /// keys.resize(stream, 1)?;
    /// keys.resize(stream, 4)?;
    /// assert_eq!(keys.download(stream)?, [5, 0, 0, 0]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::WrongDevice`], [`Error::Driver`].
    pub fn resize(&mut self, stream: &Stream, length: usize) -> Result<()> {
        if length > self.capacity() {
            let engine = self.allocation.engine();
            let mut grown = match Self::allocated(engine, length.saturating_add(length / 4)) {
                Err(Error::OutOfMemory { .. }) => Self::allocated(engine, length)?,
                grown => grown?,
            };
            grown.length = self.length;
            grown.copy_from(stream, self)?;
            *self = grown;
        }
        let new = (length.saturating_sub(self.length)) * size_of::<T>();
        if new > 0 {
            let end = self.bytes();
            stream.batch(|batch| batch.fill_bytes(self, end..end + new, 0))?;
        }
        self.length = length;
        Ok(())
    }

    /// The number of elements up to which [`Buffer::resize`] allocates no memory.
    pub fn capacity(&self) -> usize {
        self.allocation.bytes() / size_of::<T>().max(1)
    }

    /// Queues a copy of all of `source`.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer), [`Error::WrongDevice`],
    /// [`Error::Driver`].
    pub fn copy_from(&mut self, stream: &Stream, source: &Buffer<T>) -> Result<()> {
        crate::error::same_length(("the source", source.length), ("the buffer", self.length))?;
        stream.batch(|batch| batch.copy(source, 0..self.bytes(), self))
    }

    /// Queues filling every byte with `byte`, of types for which any bytes are a value:
    ///
    /// ```compile_fail,E0277
    /// use warpnest::{Buffer, Device};
    ///
    /// let device = Device::cpu();
    /// let mut letters = Buffer::from_slice(&device, &['a', 'b']).unwrap();
    /// letters.fill(device.default_stream(), 0xff).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::Driver`].
    pub fn fill(&mut self, stream: &Stream, byte: u8) -> Result<()>
    where
        T: bytemuck::AnyBitPattern,
    {
        self.set_bytes(stream, byte)
    }

    /// Does [`Buffer::fill`] for any type: of one that has not all bytes as values only with 0, or
    /// if the elements are not read before they are written.
    pub(crate) fn set_bytes(&mut self, stream: &Stream, byte: u8) -> Result<()> {
        stream.batch(|batch| batch.fill_bytes(self, 0..self.bytes(), byte))
    }

    fn bytes(&self) -> usize {
        self.length * size_of::<T>()
    }
}

impl<T> Buffer<T> {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Fails unless the buffer is on `device`.
    pub(crate) fn check_device(&self, what: &'static str, device: &Device) -> Result<()> {
        crate::runtime::engine::same_device(what, self.allocation.engine(), device.engine())
    }

    /// The address of the first element. It is aligned to 256 bytes; memory of another library to
    /// 16. Kernels get the pointers that a launch gives ([`Stream::launch`]).
    pub fn address(&self) -> usize {
        self.allocation.address()
    }
}

impl<'b> Batch<'b> {
    /// Sets the first `elements` elements of a buffer, or all if there are fewer, to 0.
    pub fn zero<T>(&self, buffer: &'b Buffer<T>, elements: usize) -> Result<()> {
        self.fill(buffer, elements, 0)
    }

    /// Sets all bytes of the first `elements` elements of a buffer, or of all if there are fewer.
    pub fn fill<T>(&self, buffer: &'b Buffer<T>, elements: usize, byte: u8) -> Result<()> {
        self.fill_bytes(buffer, 0..elements.min(buffer.len()) * size_of::<T>(), byte)
    }

    /// Sets some elements of a buffer to 0.
    pub fn zero_range<T>(&self, buffer: &'b Buffer<T>, elements: Range<usize>) -> Result<()> {
        let Range { start, end } = elements;
        self.fill_bytes(buffer, start * size_of::<T>()..end * size_of::<T>(), 0)
    }

    /// Sets some bytes of a buffer's memory.
    fn fill_bytes<T>(&self, buffer: &'b Buffer<T>, bytes: Range<usize>, byte: u8) -> Result<()> {
        let at = buffer.address_of(&bytes);
        self.writes(buffer);
        let queue = self.queue()?;
        // SAFETY: the bytes are the buffer's, as `address_of` checked, and the batch writes it.
        if bytes.is_empty() { Ok(()) } else { unsafe { queue.fill(at, byte, bytes.len()) } }
    }

    /// Copies some bytes of a buffer to the front of another one.
    pub fn copy<T, U>(&self, from: &'b Buffer<T>, bytes: Range<usize>, to: &'b Buffer<U>) -> Result<()> {
        let (from_at, to_at) = (from.address_of(&bytes), to.address_of(&(0..bytes.len())));
        self.reads(from);
        self.writes(to);
        let queue = self.queue()?;
        // SAFETY: both ranges are in their buffers, as `address_of` checked. The batch reads the
        // one and writes the other.
        if bytes.is_empty() { Ok(()) } else { unsafe { queue.copy(from_at, to_at, bytes.len()) } }
    }
}

impl<T> Buffer<T> {
    /// The address of a range of bytes.
    ///
    /// # Panics
    /// Unless all of them are in the buffer's memory.
    fn address_of(&self, bytes: &Range<usize>) -> usize {
        let held = self.allocation.bytes();
        assert!(bytes.start <= bytes.end && bytes.end <= held, "bytes {bytes:?} of a buffer of {held}");
        self.address() + bytes.start
    }
}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} × {} on {})", self.length, std::any::type_name::<T>(), self.allocation.engine().name())
    }
}

/// The value whose bytes are all 0.
pub(crate) fn zero<T: Plain>() -> T {
    const { _ = T::PROOF };
    // SAFETY: zeros are a value of a plain type.
    unsafe { std::mem::zeroed() }
}

fn bytes_of<T: Plain>(words: &[T]) -> &[u8] {
    const { _ = T::PROOF };
    // SAFETY: a plain type has no padding, and a byte needs no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

fn bytes_of_mut<T: Plain>(words: &mut [T]) -> &mut [u8] {
    const { _ = T::PROOF };
    // SAFETY: as in `bytes_of`. What is written comes from values of the type, or is 0.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}
