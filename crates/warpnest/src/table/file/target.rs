//! The target of a section that is read.

use crate::runtime::allocation::Tracked;
use crate::{Buffer, Device, Error, Result, Stream};
use gpu_kernels::plain::Plain;
use std::sync::{Mutex, PoisonError};

/// A target for the bytes of a section.
pub trait Target: Sync {
    /// Makes capacity for the first `bytes` bytes of the section. Bytes that were put before stay.
    fn reserve(&mut self, bytes: u64) -> Result<()>;

    /// Copies bytes to offset `at` of the section, where the capacity was reserved; returns when
    /// the copy is complete. Several threads may put bytes at different offsets.
    fn put(&self, stream: &Stream, at: u64, bytes: &[u8]) -> Result<()>;
}

/// A buffer that is being loaded.
pub(crate) struct Loading<T> {
    device: Device,
    buffer: Buffer<T>,
    /// The count of elements that are loaded. `length` is the count of elements that the buffer has
    /// when all are loaded.
    loaded: u64,
    length: u64,
}

impl<T: Plain> Loading<T> {
    /// Returns the target of a section of `loaded` elements.
    pub(crate) fn new(device: &Device, loaded: u64) -> Result<Self> {
        Self::with_length(device, loaded, loaded)
    }

    /// Returns the target of a section of `loaded` elements, which begins a buffer of `length`
    /// elements.
    pub(crate) fn with_length(device: &Device, loaded: u64, length: u64) -> Result<Self> {
        Ok(Self { device: device.clone(), buffer: Buffer::uninitialized(device, 0)?, loaded, length })
    }

    /// Returns the count of bytes to load.
    pub(crate) fn bytes(&self) -> u64 {
        // If the product is too large for `u64`, no file has a section of that length.
        self.loaded.saturating_mul(size_of::<T>() as u64)
    }

    /// Returns the buffer, after the whole section has been put.
    pub(crate) fn done(mut self) -> Result<Buffer<T>> {
        // For an empty section, `reserve` has not been called before.
        self.reserve(self.bytes())?;
        Ok(self.buffer)
    }
}

impl<T: Plain> Target for Loading<T> {
    fn reserve(&mut self, bytes: u64) -> Result<()> {
        // The bytes may end within an element.
        let wanted = bytes.div_ceil(size_of::<T>() as u64);
        let length = if wanted >= self.loaded { self.length } else { wanted };
        if length <= self.buffer.len() as u64 {
            return Ok(());
        }
        let grown = Buffer::<T>::uninitialized(&self.device, length as usize)?;
        let (stream, kept) = (self.device.default_stream(), self.buffer.len() * size_of::<T>());
        if kept != 0 {
            stream.batch(|batch| batch.copy(&self.buffer, 0..kept, &grown))?;
            // Other threads put bytes on streams that do not wait for this copy.
            stream.synchronize()?;
        }
        // Those streams do not wait for earlier uses of the memory either.
        grown.allocation().quiesce()?;
        self.buffer = grown;
        Ok(())
    }

    fn put(&self, stream: &Stream, at: u64, bytes: &[u8]) -> Result<()> {
        let capacity = self.buffer.len() as u64 * size_of::<T>() as u64;
        assert!(at + bytes.len() as u64 <= capacity, "the buffer has {capacity} bytes");
        // SAFETY: the buffer contains these bytes, no other work uses it yet, and other threads
        // write to other offsets.
        unsafe { stream.queue().upload(bytes, self.buffer.at() + at as usize) }
    }
}

/// The words of a section, kept in host memory.
pub(crate) struct Collected<T>(Mutex<Vec<T>>);

impl<T> Default for Collected<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Collected<T> {
    /// Returns the words.
    pub(crate) fn words(self) -> Vec<T> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: bytemuck::Pod + Send> Target for Collected<T> {
    fn reserve(&mut self, bytes: u64) -> Result<()> {
        let held = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let words = (bytes / size_of::<T>() as u64) as usize;
        let out_of_memory = |_| Error::OutOfMemory { asked: bytes, free: 0, total: 0, device: "the host".to_owned() };
        held.try_reserve_exact(words.saturating_sub(held.len())).map_err(out_of_memory)?;
        held.resize(words, T::zeroed());
        Ok(())
    }

    fn put(&self, _stream: &Stream, at: u64, bytes: &[u8]) -> Result<()> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bytemuck::cast_slice_mut(&mut held)[at as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}
