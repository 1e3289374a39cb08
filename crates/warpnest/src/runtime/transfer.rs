//! Copies of buffers: to and from the host, on a device, and between devices.

use crate::Result;
use crate::runtime::buffer::{Buffer, zero};
use crate::runtime::device::Device;
use crate::runtime::huge_pages::zeros;
use crate::runtime::stream::{Batch, Stream};
use gpu_kernels::plain::Plain;
use std::ops::Range;
use std::ptr::NonNull;

/// Copies of a buffer, or of a part of a buffer.
///
/// Copies of 8 MiB or more between a GPU and ordinary host memory are made by several threads,
/// through page-locked memory that the first such copy allocates. They are fastest to memory that
/// was written before, because the system must first clear new memory. The library requests huge
/// pages for new memory that it allocates.
impl<T: Plain> Buffer<T> {
    /// Copies the buffer to the host after the work that writes it, and waits for the copy.
    ///
    /// # Errors
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn download(&self, stream: &Stream) -> Result<Vec<T>> {
        self.download_front(stream, self.len())
    }

    /// Copies the buffer to `elements` after the work that writes it, and waits for the copy.
    /// Allocates nothing.
    ///
    /// ```
    /// use warpnest::{Buffer, Device};
    ///
    /// let device = Device::best()?;
    /// let keys = Buffer::from_slice(&device, &[5u32, 6, 7])?;
    /// let mut host = [0; 3];
    /// keys.download_into(device.default_stream(), &mut host)?;
    /// assert_eq!(host, [5, 6, 7]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn download_into(&self, stream: &Stream, elements: &mut [T]) -> Result<()> {
        crate::error::same_length(("the buffer", self.len()), ("the slice", elements.len()))?;
        stream.batch(|batch| {
            batch.reads(self);
            // SAFETY: the slice has as many bytes as the buffer.
            unsafe { batch.download(self.at(), bytes_of_mut(elements)) }
        })
    }

    /// Downloads the first `elements` elements, or all elements if there are fewer, as
    /// [`Buffer::download`] does.
    pub(crate) fn download_front(&self, stream: &Stream, elements: usize) -> Result<Vec<T>> {
        let elements = elements.min(self.len());
        let mut copied = zeros(elements);
        self.part(&(0..elements)).download_into(stream, &mut copied)?;
        Ok(copied)
    }

    /// Runs `work` with the elements, after the queued work that writes them. If the host shares
    /// the device's memory, the elements are read in place. Work that begins later must not write
    /// them while `work` runs.
    pub(crate) fn with_elements<R>(&self, stream: &Stream, work: impl FnOnce(&[T]) -> R) -> Result<R> {
        let Some(first) = self.in_place(stream)? else { return Ok(work(&self.download(stream)?)) };
        // SAFETY: the memory is host memory with `len` elements, which were initialized to zeros.
        // Safe code needs exclusive access to the buffer to write them, and no work is in progress.
        Ok(work(unsafe { std::slice::from_raw_parts(first.as_ptr(), self.len()) }))
    }

    /// Returns the address of the first element in host memory, after waiting for the work that
    /// writes the elements. Returns `None` if the host does not share the device's memory, or if
    /// there are no elements.
    pub(crate) fn in_place(&self, stream: &Stream) -> Result<Option<NonNull<T>>> {
        let is_shared = self.engine().shares_memory_with_host() && self.at().is_multiple_of(align_of::<T>());
        if !is_shared || self.is_empty() {
            return Ok(None);
        }
        stream.batch(|batch| {
            batch.reads(self);
            batch.queue()?.synchronize()
        })?;
        Ok(NonNull::new(std::ptr::with_exposed_provenance_mut(self.at())))
    }

    /// Copies one element to the host after the work that writes the buffer, and waits for the
    /// copy.
    pub(crate) fn download_at(&self, stream: &Stream, index: usize) -> Result<T> {
        let mut element = [zero::<T>()];
        let address = self.at() + index * size_of::<T>();
        assert!(index < self.len(), "the buffer has {} elements", self.len());
        stream.batch(|batch| {
            batch.reads(self);
            // SAFETY: the element is in the buffer, as asserted above.
            unsafe { batch.download(address, bytes_of_mut(&mut element)) }
        })?;
        Ok(element[0])
    }

    /// Copies element `index` to the host after the work that writes the buffer, and waits for the
    /// copy. Returns `None` if the buffer has no such element.
    ///
    /// The wait takes some tens of microseconds on a GPU, whatever the buffer's length.
    ///
    /// # Errors
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn get(&self, stream: &Stream, index: usize) -> Result<Option<T>> {
        if index < self.len() { self.download_at(stream, index).map(Some) } else { Ok(None) }
    }

    /// Copies the buffer to `device`, and waits for the copy. If `device` is the buffer's own
    /// device, only queues the copy. Between two devices, the elements pass through host memory.
    ///
    /// `stream` must be on the buffer's device.
    ///
    /// ```
    /// use warpnest::{Buffer, Device};
    ///
    /// let (gpu, cpu) = (Device::best()?, Device::cpu());
    /// let keys = Buffer::from_slice(&gpu, &[5u32, 6, 7])?;
    /// let copy = keys.to_device(gpu.default_stream(), &cpu)?;
    /// assert_eq!(copy.download(cpu.default_stream())?, [5, 6, 7]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn to_device(&self, stream: &Stream, device: &Device) -> Result<Self> {
        if self.check_device("the buffer", device).is_ok() {
            return self.duplicate(stream, device);
        }
        self.with_elements(stream, |elements| Self::from_slice(device, elements))?
    }
}

/// Functions that write a buffer, or a part of a buffer.
impl<T: Plain, Tail: ?Sized> Buffer<T, Tail> {
    /// Copies from the host after the work that uses the buffer, and waits for the copy.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn upload(&mut self, stream: &Stream, elements: &[T]) -> Result<()> {
        let buffer = self.whole();
        crate::error::same_length(("the slice", elements.len()), ("the buffer", buffer.len()))?;
        stream.batch(|batch| {
            batch.writes(buffer);
            // SAFETY: the buffer has as many bytes as the slice.
            unsafe { batch.upload(bytes_of(elements), buffer.at()) }
        })
    }

    /// Queues a copy of all of `source`.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn copy_from(&mut self, stream: &Stream, source: &Buffer<T>) -> Result<()> {
        let buffer = self.whole();
        crate::error::same_length(("the source", source.len()), ("the buffer", buffer.len()))?;
        stream.batch(|batch| batch.copy(source, 0..buffer.bytes(), buffer))
    }

    /// Queues an operation that sets every byte to `byte`. The type must allow any bytes as a
    /// value:
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
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn fill(&mut self, stream: &Stream, byte: u8) -> Result<()>
    where
        T: bytemuck::AnyBitPattern,
    {
        self.set_bytes(stream, byte)
    }

    /// Does the same as [`Buffer::fill`] for any type. If some bytes are not a valid value of the
    /// type, `byte` must be 0, or the elements must be written again before they are read.
    pub(crate) fn set_bytes(&mut self, stream: &Stream, byte: u8) -> Result<()> {
        let buffer = self.whole();
        stream.batch(|batch| batch.fill_bytes(buffer, 0..buffer.bytes(), byte))
    }
}

impl<'b> Batch<'b> {
    /// Sets the first `elements` elements of a buffer, or all elements if there are fewer, to 0.
    pub(crate) fn zero<T>(&self, buffer: &'b Buffer<T>, elements: usize) -> Result<()> {
        self.fill(buffer, elements, 0)
    }

    /// Sets all bytes of the first `elements` elements of a buffer, or of all elements if there are
    /// fewer.
    pub(crate) fn fill<T>(&self, buffer: &'b Buffer<T>, elements: usize, byte: u8) -> Result<()> {
        self.fill_bytes(buffer, 0..elements.min(buffer.len()) * size_of::<T>(), byte)
    }

    /// Sets a range of a buffer's elements to 0.
    pub(crate) fn zero_range<T>(&self, buffer: &'b Buffer<T>, elements: Range<usize>) -> Result<()> {
        let Range { start, end } = elements;
        self.fill_bytes(buffer, start * size_of::<T>()..end * size_of::<T>(), 0)
    }

    /// Returns the first `words` words of a buffer on a CPU, where queued work is already complete.
    /// Returns `None` on a GPU, where reading them would wait.
    pub(crate) fn peek(&self, buffer: &'b Buffer<u64>, words: u64) -> Result<Option<Vec<u64>>> {
        if !self.stream().machine().runs_in_order() {
            return Ok(None);
        }
        let mut read = vec![0; buffer.len().min(words as usize)];
        let at = buffer.address_of(&(0..size_of_val(&*read)));
        self.reads(buffer);
        // SAFETY: the buffer has these bytes, and the work that wrote them is complete.
        unsafe { self.download(at, bytemuck::cast_slice_mut(&mut read))? };
        Ok(Some(read))
    }

    /// Sets a range of bytes of a buffer's memory.
    pub(crate) fn fill_bytes<T>(&self, buffer: &'b Buffer<T>, bytes: Range<usize>, byte: u8) -> Result<()> {
        let at = buffer.address_of(&bytes);
        self.writes(buffer);
        let queue = self.queue()?;
        // SAFETY: `address_of` checked the bytes, and the batch records the write.
        if bytes.is_empty() { Ok(()) } else { unsafe { queue.fill(at, byte, bytes.len()) } }
    }

    /// Copies a range of a buffer's bytes to the front of another buffer.
    pub(crate) fn copy<T, U>(&self, from: &'b Buffer<T>, bytes: Range<usize>, to: &'b Buffer<U>) -> Result<()> {
        self.copy_to(from, bytes, to, 0)
    }

    /// Copies a range of a buffer's bytes to another buffer, starting at its byte `at`.
    pub(crate) fn copy_to<T, U>(
        &self,
        from: &'b Buffer<T>,
        bytes: Range<usize>,
        to: &'b Buffer<U>,
        at: usize,
    ) -> Result<()> {
        let (from_at, to_at) = (from.address_of(&bytes), to.address_of(&(at..at + bytes.len())));
        self.reads(from);
        self.writes(to);
        let queue = self.queue()?;
        // SAFETY: `address_of` checked both ranges, and the batch records the read and the write.
        if bytes.is_empty() { Ok(()) } else { unsafe { queue.copy(from_at, to_at, bytes.len()) } }
    }
}

fn bytes_of<T: Plain>(words: &[T]) -> &[u8] {
    const { _ = T::PROOF };
    // SAFETY: a plain type has no padding, and a byte needs no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

fn bytes_of_mut<T: Plain>(words: &mut [T]) -> &mut [u8] {
    const { _ = T::PROOF };
    // SAFETY: as in `bytes_of`. Written bytes come from values of the type, or are 0.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}
