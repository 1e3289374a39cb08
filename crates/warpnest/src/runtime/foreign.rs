//! Memory and streams of other libraries, by address and by handle: NumPy's, PyTorch's, CuPy's.

use crate::runtime::allocation::{ALIGNMENT, Allocation, Owner, Tracked};
use crate::{Buffer, Device, Error, InputError, Result, Stream};
use gpu_kernels::plain::Plain;
use std::ffi::c_void;

/// Memory of other libraries, without a copy.
impl<T: Plain> Buffer<T> {
    /// Returns a buffer on memory that somebody else owns: it is not copied, and never freed here.
    ///
    /// `address` is one of the device's memory; of the host's for an engine that shares that, as
    /// the CPU engine does. Work with the buffer is ordered as with any other. What the owner does
    /// with the memory is ordered by [`Stream::wait_for_foreign`] before, on each stream that uses
    /// the buffer first, and by [`Buffer::hand_back`] and [`Stream::release_to_foreign`] after. A
    /// drop of the buffer waits, on the host, for the work that uses it.
    ///
    /// ```
    /// use warpnest::{Buffer, Device, PageMap};
    ///
    /// let device = Device::cpu();
    /// let stream = device.default_stream();
    /// let map = PageMap::build(&device, &[7u32, 8], &[70u32, 80])?;
    ///
    /// // The keys of an array of another library, at a multiple of 16 bytes.
    /// let theirs: Vec<[u32; 4]> = vec![[5, 6, 7, 8]];
    /// let address = theirs.as_ptr().expose_provenance();
    /// // SAFETY: the memory has four keys, which nobody writes or frees while the buffer lives.
    /// let keys = unsafe { Buffer::<u32>::from_foreign(&device, address, 4)? };
    /// let answers = map.get_many_on(stream, &keys)?;
    /// keys.hand_back(stream)?;
    /// assert_eq!(answers.download(stream)?, [None, None, Some(70), Some(80)]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InputError::Misaligned`] unless the address is a multiple of 16 bytes: the kernels read as
    /// many at once. An empty buffer may have any address.
    ///
    /// # Safety
    /// The device can read and write `length` elements at the address, and they are values of the
    /// type. As long as the buffer lives, and until the work with it is done, the memory is not
    /// freed and nobody else writes it, nor reads it if this library writes it. On a CUDA device it
    /// is memory of the device's primary context, or memory that this can access.
    pub unsafe fn from_foreign(device: &Device, address: usize, length: usize) -> Result<Self> {
        let address = match length {
            // Nothing is there to be read, so the address only has to be one that kernels take.
            0 => ALIGNMENT,
            _ if address.is_multiple_of(ALIGNMENT) => address,
            _ => {
                let (address, alignment) = (address as u64, ALIGNMENT as u64);
                return Err(Error::Input(InputError::Misaligned { address, alignment }));
            }
        };
        let bytes = length * size_of::<T>();
        let allocation = Allocation::new(device.engine().clone(), address, bytes, Owner::Other);
        Ok(Self::from_allocation(allocation, length))
    }

    /// Ends the use of memory of [`Buffer::from_foreign`] without waiting on the host. Later work
    /// of `stream` waits, on the device, for all work that uses the buffer.
    ///
    /// What the owner does next with the memory must be ordered after that: it is on this stream,
    /// or on one that waits for it ([`Stream::release_to_foreign`]), or the host waits for it. The
    /// buffer is gone, and no drop waits. A buffer whose memory is this library's own is dropped.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] if the stream is on another device than the buffer,
    /// [`Error::Driver`]; the buffer is gone then, after the host has waited for its work.
    pub fn hand_back(self, stream: &Stream) -> Result<()> {
        stream.order_after_uses(&self)?;
        self.allocation().forget_uses_of_others();
        Ok(())
    }
}

/// Order with streams of other libraries.
impl Stream {
    /// Makes what is queued on this stream later wait, on the device, for what is queued so far on
    /// a stream of another library. The host does not wait.
    ///
    /// `handle` is a `CUstream`; null and 1 are the legacy default stream, 2 is this thread's own
    /// one. An engine of the host has no such streams, and this does nothing.
    ///
    /// ```no_run
    /// use warpnest::{Buffer, Device, PageMap, Result};
    ///
    /// /// Looks up the keys of a PyTorch tensor, by its address and length, which PyTorch tells,
    /// /// and the stream that wrote it.
    /// ///
    /// /// # Safety
    /// /// They are what PyTorch says of a tensor on this device, which lives.
    /// unsafe fn look_up(
    ///     map: &PageMap<u32, u32>,
    ///     device: &Device,
    ///     (address, length): (usize, usize),
    ///     theirs: *mut std::ffi::c_void,
    /// ) -> Result<Vec<Option<u32>>> {
    ///     let stream = device.default_stream();
    ///     // SAFETY: as the caller promises.
    ///     let keys = unsafe {
    ///         stream.wait_for_foreign(theirs)?;
    ///         Buffer::from_foreign(device, address, length)?
    ///     };
    ///     let answers = map.get_many_on(stream, &keys)?;
    ///     keys.hand_back(stream)?;
    ///     // PyTorch may write the tensor again behind the lookup.
    ///     // SAFETY: as the caller promises.
    ///     unsafe { stream.release_to_foreign(theirs)? };
    ///     answers.download(stream)
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// On a CUDA device the handle is a stream of the device's primary context, which lives. No
    /// other thread destroys it meanwhile.
    pub unsafe fn wait_for_foreign(&self, handle: *mut c_void) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.queue().wait_for_foreign(handle) }
    }

    /// Makes what is queued later on a stream of another library wait, on the device, for what is
    /// queued so far on this stream. The host does not wait.
    ///
    /// The handle is as for [`Stream::wait_for_foreign`]. On an engine of the host the work is done
    /// when this returns.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// As for [`Stream::wait_for_foreign`].
    pub unsafe fn release_to_foreign(&self, handle: *mut c_void) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.queue().release_to_foreign(handle) }
    }

    /// Makes this stream wait for all uses of a buffer, and the buffer's later uses for this
    /// stream.
    pub(crate) fn order_after_uses<T>(&self, buffer: &Buffer<T>) -> Result<()> {
        self.batch(|batch| {
            batch.writes(buffer);
            Ok(())
        })
    }
}
