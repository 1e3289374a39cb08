//! Buffers: arrays in a device's memory.

use crate::runtime::allocation::{ALIGNMENT, Allocation, Tracked};
use crate::runtime::capture;
use crate::runtime::device::Device;
use crate::runtime::engine::Engine;
use crate::runtime::stream::Stream;
use crate::{Error, InputError, Result};
use gpu_kernels::plain::Plain;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::Arc;

/// The fewest bytes of an allocation.
const MIN_BYTES: usize = 16;

/// An array of a plain type in a device's memory.
///
/// A buffer records the events of its last reads and of its last write. Work on any stream that
/// uses the buffer waits for the earlier work on which it depends. Memory is reused only after that
/// work. So safe code on several streams can neither race nor free memory too early.
///
/// [`Buffer::slice`] and [`Buffer::slice_mut`] return a part of a buffer, which can be passed
/// wherever a buffer can. Functions that write a buffer of a given length take a
/// [`BufferSlice`](crate::BufferSlice). Both `&mut buffer` and a mutable view can be passed as a
/// slice.
#[repr(C)]
pub struct Buffer<T, Tail: ?Sized = [(); 0]> {
    /// The memory. Views copy the pointer without counting it, so the buffer is the only owner.
    allocation: Arc<Allocation>,
    address: usize,
    /// The size in bytes of the buffer's memory, which begins at the address.
    capacity: usize,
    length: usize,
    elements: PhantomData<T>,
    /// An empty array, or an empty unsized slice. A buffer of a known size can be exchanged for
    /// another buffer, and a [`BufferSlice`](crate::BufferSlice), whose tail is unsized, cannot.
    tail: Tail,
}

impl<T> Tracked for Buffer<T> {
    fn allocation(&self) -> &Arc<Allocation> {
        &self.allocation
    }
}

impl<T: Plain> Buffer<T> {
    /// Returns an array of `length` elements with unspecified contents, which are zeros on the CPU
    /// engine.
    pub(crate) fn uninitialized(device: &Device, length: usize) -> Result<Self> {
        Self::allocated(device.engine(), device.default_stream(), length)
    }

    fn allocated(engine: &Arc<dyn Engine>, stream: &Stream, length: usize) -> Result<Self> {
        let too_large = || {
            let (free, total) = engine.memory().map_or((0, 0), |memory| (memory.free, memory.total));
            Error::OutOfMemory { asked: u64::MAX, free, total, device: engine.name().to_owned() }
        };
        let bytes = length.checked_mul(size_of::<T>()).ok_or_else(too_large)?;
        // An empty buffer still has an address.
        let bytes = bytes.max(MIN_BYTES);
        Ok(Self::from_allocation(Allocation::take(engine, bytes, stream.id())?, length))
    }

    /// Makes the buffer an array of `length` elements with unspecified contents. Allocates memory
    /// only if the length changes.
    pub(crate) fn fit(&mut self, device: &Device, length: usize) -> Result<()> {
        if self.length != length {
            capture::refuse("allocates memory")?;
            if self.capacity > MIN_BYTES {
                // The old memory is freed first: both together may be more than there is.
                *self = Self::uninitialized(device, 0)?;
            }
            *self = Self::uninitialized(device, length)?;
        }
        Ok(())
    }

    /// Returns another buffer with the same elements, copied on `stream`.
    pub(crate) fn duplicate(&self, stream: &Stream, device: &Device) -> Result<Self> {
        self.duplicate_front(stream, device, self.length)
    }

    /// Returns another buffer with the first `length` elements, copied on `stream`.
    pub(crate) fn duplicate_front(&self, stream: &Stream, device: &Device, length: usize) -> Result<Self> {
        let copy = Self::uninitialized(device, length.min(self.length))?;
        if copy.length > 0 {
            stream.batch(|batch| batch.copy(self, 0..copy.bytes(), &copy))?;
        }
        Ok(copy)
    }

    /// Returns a copy in memory of `length` elements, or `None` if the buffer's memory is no
    /// larger.
    pub(crate) fn shrunk(&self, stream: &Stream, device: &Device, length: usize) -> Result<Option<Self>> {
        let fits = self.capacity <= (length * size_of::<T>()).max(MIN_BYTES);
        if fits { Ok(None) } else { self.duplicate_front(stream, device, length).map(Some) }
    }

    /// Makes the buffer an array of at least `length` elements with unspecified contents, and sets
    /// its length to its capacity. Allocates memory only if the capacity is smaller than `length`.
    pub(crate) fn fit_at_least(&mut self, device: &Device, length: usize) -> Result<()> {
        if self.capacity() < length {
            self.fit(device, length)?;
        }
        self.length = self.capacity();
        Ok(())
    }

    /// Sets the length, which must not exceed the capacity.
    pub(crate) fn set_length(&mut self, length: usize) {
        assert!(length <= self.capacity(), "{length} elements in memory for {}", self.capacity());
        self.length = length;
    }

    /// Sets the length to 0; the memory stays.
    pub(crate) fn empty(&mut self) {
        self.length = 0;
    }

    /// Returns the buffer, and leaves an empty buffer in its place. The empty one allocates
    /// nothing, because it shares the memory with a capacity of 0.
    pub(crate) fn take(&mut self) -> Self {
        let Self { allocation, address, .. } = self;
        let empty = Self {
            allocation: allocation.clone(),
            address: *address,
            capacity: 0,
            length: 0,
            elements: PhantomData,
            tail: [],
        };
        std::mem::replace(self, empty)
    }

    pub(crate) fn from_allocation(allocation: Allocation, length: usize) -> Self {
        let (address, capacity) = (allocation.address(), allocation.bytes());
        Self { allocation: Arc::new(allocation), address, capacity, length, elements: PhantomData, tail: [] }
    }

    /// Returns an array of `length` zeros.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn zeroed(device: &Device, length: usize) -> Result<Self> {
        let mut buffer = Self::uninitialized(device, length)?;
        if !device.engine().allocates_zeros() {
            buffer.set_bytes(device.default_stream(), 0)?;
        }
        Ok(buffer)
    }

    /// Returns a copy of `elements`, and waits for the copy.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn from_slice(device: &Device, elements: &[T]) -> Result<Self> {
        let mut buffer = Self::uninitialized(device, elements.len())?;
        buffer.upload(device.default_stream(), elements)?;
        Ok(buffer)
    }

    /// Makes the buffer `length` elements long. Old elements keep their values, and new elements
    /// are zeros.
    ///
    /// No memory is released, so a buffer whose length varies from call to call soon stops
    /// allocating. An allocation takes a quarter more memory than requested if enough memory is
    /// free. Both the old and the new memory are held until the elements are copied. If the
    /// allocation fails, the buffer stays as it was.
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
        self.reserve(stream, length)?;
        let new = (length.saturating_sub(self.length)) * size_of::<T>();
        if new > 0 {
            // A graph would set the elements later.
            capture::refuse("makes a buffer longer")?;
            let end = self.bytes();
            stream.batch(|batch| batch.fill_bytes(self, end..end + new, 0))?;
        }
        self.length = length;
        Ok(())
    }

    /// Allocates memory for `length` elements, as [`Buffer::resize`] does, and keeps the length.
    pub(crate) fn reserve(&mut self, stream: &Stream, length: usize) -> Result<()> {
        if length > self.capacity() {
            let engine = self.engine();
            let mut grown = match Self::allocated(engine, stream, length.saturating_add(length / 4)) {
                Err(Error::OutOfMemory { .. }) => Self::allocated(engine, stream, length)?,
                grown => grown?,
            };
            grown.length = self.length;
            grown.copy_from(stream, self)?;
            *self = grown;
        }
        Ok(())
    }

    /// Returns the largest length to which [`Buffer::resize`] can go without allocating memory.
    pub fn capacity(&self) -> usize {
        self.capacity / size_of::<T>().max(1)
    }

    /// Returns the size of the elements in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.length * size_of::<T>()
    }
}

impl<T, Tail: ?Sized> Buffer<T, Tail> {
    /// Returns the buffer, or the part of a buffer, for reading.
    pub(super) fn whole(&self) -> &Buffer<T> {
        // SAFETY: the tail has no bytes, so the layout does not depend on its type.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    /// Returns the part of the buffer with the elements `range`, for as long as the buffer lives.
    pub(super) fn part(&self, range: &Range<usize>) -> ManuallyDrop<Buffer<T>> {
        assert!(range.start <= range.end && range.end <= self.length, "{range:?} of {} elements", self.length);
        // SAFETY: the copy is never dropped, and its users keep the buffer borrowed.
        let allocation = unsafe { std::ptr::read(&self.allocation) };
        let (address, length) = (self.address + range.start * size_of::<T>(), range.len());
        let capacity = length * size_of::<T>();
        ManuallyDrop::new(Buffer { allocation, address, capacity, length, elements: PhantomData, tail: [] })
    }
}

impl<T> Buffer<T> {
    /// Returns the count of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns whether the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Fails unless the buffer is on `device`.
    pub(crate) fn check_device(&self, what: &'static str, device: &Device) -> Result<()> {
        crate::runtime::engine::same_device(what, self.allocation.engine(), device.engine())
    }

    /// Fails unless kernels on `device` can take the buffer. An operation checks all its arguments
    /// before it changes anything.
    pub(crate) fn check_argument(&self, what: &'static str, device: &Device) -> Result<()> {
        self.check_device(what, device)?;
        self.check_alignment()
    }

    /// Fails unless the elements have the alignment that kernels need.
    pub(crate) fn check_alignment(&self) -> Result<()> {
        let address = self.at();
        if address.is_multiple_of(ALIGNMENT) || self.is_empty() {
            return Ok(());
        }
        Err(Error::Input(InputError::Misaligned { address: address as u64, alignment: ALIGNMENT as u64 }))
    }

    /// Returns the address of the first element. It is aligned to 256 bytes, or to 16 bytes in
    /// memory of another library. A view begins at the address of its first element. Kernels get
    /// the pointers that a launch returns ([`Stream::launch`]).
    ///
    /// Code that is told the address may use the memory while the buffer lives. Nothing records
    /// what it does. So the memory is used again only when the host has waited for all work of the
    /// device, which it does when there is no other memory to be taken.
    pub fn address(&self) -> usize {
        self.allocation.make_known();
        self.address
    }

    /// Returns the address, for work that the buffer records.
    pub(crate) fn at(&self) -> usize {
        self.address
    }

    /// Returns the engine of the buffer's device.
    pub(crate) fn engine(&self) -> &Arc<dyn Engine> {
        self.allocation.engine()
    }

    /// Returns the same memory as elements of another type.
    ///
    /// # Safety
    /// Every element must be a valid value of the other type, which has the same size.
    pub(crate) unsafe fn reinterpreted<U>(self) -> Buffer<U> {
        let Self { allocation, address, capacity, length, .. } = self;
        Buffer { allocation, address, capacity, length, elements: PhantomData, tail: [] }
    }

    /// Returns the same buffer with elements of another type.
    ///
    /// # Safety
    /// Every element must be a valid value of the other type, which has the same size.
    pub(crate) unsafe fn as_type<U>(&self) -> &Buffer<U> {
        // SAFETY: the layout of a buffer does not depend on the type of its elements, and the
        // elements are valid, as the caller promises.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    /// Returns whether nothing but this buffer owns the memory.
    #[cfg(any(feature = "cust", feature = "cudarc"))]
    pub(crate) fn is_owner(&self) -> bool {
        Arc::strong_count(&self.allocation) == 1 && self.allocation.is_of_engine()
    }

    /// Returns whether a graph may use the memory.
    pub(crate) fn is_captured(&self) -> bool {
        self.allocation.is_captured()
    }

    /// Returns the memory of the buffer, which is its only owner.
    #[cfg(any(feature = "cust", feature = "cudarc"))]
    pub(crate) fn into_allocation(self) -> Allocation {
        Arc::into_inner(self.allocation).expect("nothing but the buffer counts as an owner")
    }

    /// Returns the address of a range of bytes.
    ///
    /// # Panics
    /// Unless all of them are in the buffer's memory.
    pub(super) fn address_of(&self, bytes: &Range<usize>) -> usize {
        let held = self.capacity;
        assert!(bytes.start <= bytes.end && bytes.end <= held, "bytes {bytes:?} of a buffer of {held}");
        self.address + bytes.start
    }
}

impl<T, Tail: ?Sized> fmt::Debug for Buffer<T, Tail> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} × {} on {})", self.length, std::any::type_name::<T>(), self.allocation.engine().name())
    }
}

/// Returns the value whose bytes are all 0.
pub(crate) fn zero<T: Plain>() -> T {
    const { _ = T::PROOF };
    // SAFETY: zeros are a value of a plain type.
    unsafe { std::mem::zeroed() }
}
