//! Memory and streams of other libraries, such as NumPy, PyTorch and CuPy, by address and handle.

use crate::runtime::allocation::{ALIGNMENT, Allocation, Owner, Tracked};
use crate::runtime::capture::{self, Captured};
use crate::{Buffer, Device, Error, InputError, Result, Stream};
use gpu_kernels::plain::Plain;
use std::ffi::c_void;

/// Use of other libraries' memory without a copy.
impl<T: Plain> Buffer<T> {
    /// Returns a buffer on memory that another library owns. The memory is neither copied nor freed
    /// here.
    ///
    /// `address` is an address in the device's memory, or in host memory for an engine that shares
    /// it, such as the CPU engine. Work with the buffer is ordered like work with any other buffer.
    /// To order it after the owner's earlier work, call [`Stream::wait_for_foreign`] on each stream
    /// before it first uses the buffer. To order the owner's later work after it, call
    /// [`Buffer::hand_back`] and [`Stream::release_to_foreign`]. The drop of the buffer waits, on
    /// the host, for the work that uses it.
    ///
    /// ```
    /// use warpnest::{Buffer, Device, PageMap};
    ///
    /// let device = Device::cpu();
    /// let stream = device.default_stream();
    /// let map = PageMap::build(&device, &[7u32, 8], &[70u32, 80])?;
    ///
    /// // The keys are in an array of another library, at a multiple of 16 bytes.
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
    /// [`InputError::Misaligned`] unless the address is a multiple of 16 bytes, because the kernels
    /// read 16 bytes at once. An empty buffer may have any address.
    ///
    /// # Safety
    /// The device must be able to read and write `length` elements at the address, and they must be
    /// valid values of the type. While the buffer lives, or a [`Graph`](crate::Graph) of work with
    /// it, and until the work is complete, nobody else may free or write the memory. If this
    /// library writes it, nobody else may read it. On a CUDA device it must be memory of the
    /// device's primary context, or memory that this context can access.
    pub unsafe fn from_foreign(device: &Device, address: usize, length: usize) -> Result<Self> {
        // SAFETY: as the caller promises.
        unsafe { Self::from_owner(device, address, length, Owner::Other) }
    }

    /// Returns a buffer on memory that is lent while the buffer lives, but no longer, so that no
    /// graph may use it.
    ///
    /// # Safety
    /// As for [`Buffer::from_foreign`], without a graph.
    pub(crate) unsafe fn from_lent(device: &Device, address: usize, length: usize) -> Result<Self> {
        // SAFETY: as the caller promises.
        unsafe { Self::from_owner(device, address, length, Owner::Lender) }
    }

    unsafe fn from_owner(device: &Device, address: usize, length: usize, owner: Owner) -> Result<Self> {
        let address = match length {
            // There is nothing to read, so any address that kernels accept will do.
            0 => ALIGNMENT,
            _ if address.is_multiple_of(ALIGNMENT) => address,
            _ => {
                let (address, alignment) = (address as u64, ALIGNMENT as u64);
                return Err(Error::Input(InputError::Misaligned { address, alignment }));
            }
        };
        let bytes = length * size_of::<T>();
        let allocation = Allocation::new(device.engine().clone(), address, bytes, owner);
        Ok(Self::from_allocation(allocation, length))
    }

    /// Ends the use of memory from [`Buffer::from_foreign`] without waiting on the host. Later work
    /// of `stream` waits, on the device, for all work that uses the buffer.
    ///
    /// The owner's next work with the memory must be ordered after that work. It must be queued on
    /// this stream or on a stream that waits for it ([`Stream::release_to_foreign`]), or the host
    /// must wait. The buffer is consumed without a wait. A buffer that owns its memory is dropped.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] if the stream is on another device than the buffer,
    /// [`Error::Driver`]. In both cases the host waits for the buffer's work, and the buffer is
    /// dropped.
    pub fn hand_back(self, stream: &Stream) -> Result<()> {
        stream.order_after_uses(&self)?;
        self.allocation().forget_uses_of_others();
        Ok(())
    }
}

/// Ordering with streams of other libraries.
impl Stream {
    /// Makes later work on this stream wait, on the device, for the work that is already queued on
    /// a stream of another library. The host does not wait.
    ///
    /// `handle` is a `CUstream`. Null and 1 stand for the legacy default stream, and 2 for this
    /// thread's default stream. An engine on host memory has no such streams, so this does nothing
    /// there.
    ///
    /// ```no_run
    /// use warpnest::{Buffer, Device, PageMap, Result};
    ///
    /// /// Looks up the keys of a PyTorch tensor, given its address and length, and the stream that
    /// /// wrote it.
    /// ///
    /// /// # Safety
    /// /// PyTorch must have returned them for a tensor on this device, which must be alive.
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
    ///     // PyTorch may write the tensor again after the lookup.
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
    /// On a CUDA device the handle must be a live stream of the device's primary context. No other
    /// thread may destroy the stream during the call.
    pub unsafe fn wait_for_foreign(&self, handle: *mut c_void) -> Result<()> {
        capture::refuse("waits for another stream")?;
        // SAFETY: as the caller promises.
        unsafe { self.queue().wait_for_foreign(handle) }
    }

    /// Makes later work on a stream of another library wait, on the device, for the work that is
    /// already queued on this stream. The host does not wait.
    ///
    /// `handle` is the same as for [`Stream::wait_for_foreign`]. On an engine on host memory, the
    /// work is complete when this returns.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// As for [`Stream::wait_for_foreign`].
    pub unsafe fn release_to_foreign(&self, handle: *mut c_void) -> Result<()> {
        capture::refuse("makes another stream wait")?;
        // SAFETY: as the caller promises.
        unsafe { self.queue().release_to_foreign(handle) }
    }

    /// Calls `work`, which may allocate and wait even while another library captures a stream in
    /// the mode that forbids this to all threads (CUDA's global mode).
    ///
    /// # Errors
    /// The errors of `work`, and [`Error::Driver`].
    pub fn beside_captures<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let (mut work, mut result) = (Some(work), None);
        self.queue().beside_captures(&mut || {
            result = work.take().map(|work| work()).transpose()?;
            Ok(())
        })?;
        Ok(result.expect("a queue calls the work once, or fails"))
    }

    /// Adds the work that `work` queues on this stream to the graph into which another library is
    /// capturing its stream, as `torch.cuda.graph` does. Returns `None`, and does not call `work`,
    /// if it is capturing none.
    ///
    /// What can be captured, and what is refused, is as for [`Stream::capture`]. The graph keeps
    /// the memory of the buffers and tables. The other library orders its launches with other work
    /// on them.
    ///
    /// # Errors
    /// As for [`Stream::capture`].
    ///
    /// # Safety
    /// As for [`Stream::wait_for_foreign`]. While the graph lives, memory from
    /// [`Buffer::from_foreign`] must live, too. Launches of the graph must be ordered with other
    /// work on the buffers, tables and scratch, and come before changes of the tables.
    pub unsafe fn join_capture<R>(&self, handle: *mut c_void, work: impl FnOnce() -> Result<R>) -> Result<Option<R>> {
        // SAFETY: as the caller promises.
        if !unsafe { self.queue().is_foreign_captured(handle)? } {
            return Ok(None);
        }
        self.beside_captures(|| {
            let (captured, result) = capture::capture(self.id(), work)?;
            let Captured { steps, memory, .. } = captured;
            // SAFETY: the calls vouched for the arguments, and the graph keeps the memory.
            unsafe { self.queue().join_capture(handle, &steps, Box::new(memory))? };
            Ok(Some(result))
        })
    }

    /// Makes later work on this stream wait for all uses of a buffer, and the buffer's later uses
    /// wait for this stream.
    pub(crate) fn order_after_uses<T>(&self, buffer: &Buffer<T>) -> Result<()> {
        self.batch(|batch| {
            batch.writes(buffer);
            Ok(())
        })
    }
}
