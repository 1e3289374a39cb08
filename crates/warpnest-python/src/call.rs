//! A call from Python, with its device, its stream and its arrays.

use crate::error::to_python;
use crate::forked;
use crate::streams::{self, CPU, Own, device, is_legacy, lock, own_stream};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, TryLockError};
use warpnest::low_level::advise_huge_pages;
use warpnest::primitives::Scratch;
use warpnest::types::Plain;
use warpnest::{Buffer, BufferSlice, Device, Result, Stream};

/// The target of a call. The first field is the ordinal of a GPU or [`CPU`]. The second is the
/// caller's stream as a `CUstream`, if the arrays are in the GPU's memory. The third says whether
/// the call waits for its work, because the caller's next stream is unknown.
#[derive(Clone, Copy, FromPyObject)]
pub struct Target(i32, Option<usize>, bool);

/// An array of the caller, which an object of the Python part describes. That object keeps the
/// array alive, and the call's arguments keep the object alive.
#[derive(Clone, Copy, FromPyObject)]
pub struct Column {
    /// The address, the count of elements, and whether the array is in host memory instead of the
    /// memory of the call's device.
    raw: (usize, usize, bool),
}

impl Column {
    pub fn len(&self) -> usize {
        self.raw.1
    }

    /// Returns the elements of an array in host memory.
    ///
    /// # Safety
    /// The call must be running, and nobody may write the elements.
    pub unsafe fn elements<'a, T: Plain>(&self) -> &'a [T] {
        let (address, length, _) = self.raw;
        if length == 0 {
            return &[];
        }
        // SAFETY: the array is kept alive during the call, and has `length` elements, which are
        // plain.
        unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(address), length) }
    }

    /// Returns the elements of an array in host memory that was made for this call.
    ///
    /// # Safety
    /// The call must be running, and nothing else may access the elements.
    pub unsafe fn elements_mut<'a, T: Plain>(&self) -> &'a mut [T] {
        let (address, length, _) = self.raw;
        if length == 0 {
            return &mut [];
        }
        // SAFETY: the array is kept alive during the call, and has `length` elements, which are
        // plain.
        let elements =
            unsafe { std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(address), length) };
        // NumPy itself requests huge pages for new arrays, but torch does not.
        advise_huge_pages(elements);
        elements
    }
}

/// The array for flags, and whether there is a bit for each, and not a byte.
#[derive(Clone, Copy, FromPyObject)]
pub struct FlagColumn(Column, bool);

impl FlagColumn {
    /// Returns the array if it is for bits.
    pub fn of_bits(self) -> Option<Column> {
        self.1.then_some(self.0)
    }

    /// Returns the array if it is for bytes.
    pub fn of_bytes(self) -> Option<Column> {
        (!self.1).then_some(self.0)
    }

    /// Returns the arrays of the host that flags are wanted in: one for bits and one for bytes, of
    /// which one is empty.
    ///
    /// # Safety
    /// As for [`Column::elements_mut`].
    pub unsafe fn elements_mut<'a>(&self) -> (&'a mut [u32], &'a mut [u8]) {
        // SAFETY: as the caller promises.
        unsafe {
            match self {
                Self(bits, true) => (bits.elements_mut(), &mut []),
                Self(bytes, false) => (&mut [], bytes.elements_mut()),
            }
        }
    }
}

/// A running call. All of its work is queued on one stream: on the caller's stream if that is
/// CUDA's legacy default stream, as it mostly is, and else on a stream of this library. That one
/// waits for the work that is queued on the caller's stream, and then the caller's stream waits for
/// it.
pub struct Call {
    pub ordinal: i32,
    /// The device, whose default stream is the call's.
    pub device: Device,
    pub stream: Arc<Stream>,
    own: Arc<Own>,
}

/// The most buffers for bits that a stream keeps: one for each thread that looks up.
const KEPT_BITS: usize = 8;

/// The most bytes of scratch memory that a stream keeps for its next call, on the CPU and on small
/// GPUs. Allocating this much memory takes longer than a call that needs no more.
const KEPT: usize = 256 << 20;
/// The divisor of a GPU's memory that gives the limit on larger GPUs. Keeping its scratch made
/// `unique` of 2^27 rows a fifth faster.
const KEPT_ONE_IN: u64 = 16;

/// Runs `work` without the interpreter's lock.
///
/// A forked process has neither the threads of the CPU engine nor the context of a GPU, so work
/// that waits for them would wait forever. Such a process gets an error.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    if forked::was_forked() {
        return Err(PyRuntimeError::new_err(
            "warpnest was used before this process was forked, which leaves its threads and its GPU behind: start processes by \
             `multiprocessing.get_context(\"spawn\")` or \"forkserver\", or use warpnest in the new process alone",
        ));
    }
    py.detach(work).map_err(to_python)
}

/// Runs the work of a call on its device, in order with the caller's stream.
pub fn run<T: Send>(
    py: Python<'_>,
    Target(ordinal, theirs, must_wait): Target,
    work: impl FnOnce(&Call) -> Result<T> + Send,
) -> PyResult<T> {
    detached(py, || {
        let own = own_stream(ordinal, theirs)?;
        let call = Call { ordinal, device: own.stream.device(), stream: own.stream.clone(), own };
        let stream = call.stream.clone();
        // The call may allocate and wait, whatever other threads capture.
        stream.beside_captures(|| run_in_order(&call, theirs, must_wait, work))
    })
}

/// Runs the work of a call in order with the caller's stream, or adds it to the graph into which
/// that stream is captured.
fn run_in_order<T>(
    call: &Call,
    theirs: Option<usize>,
    must_wait: bool,
    work: impl FnOnce(&Call) -> Result<T>,
) -> Result<T> {
    // The legacy stream is the call's own.
    let theirs = theirs.filter(|&handle| !is_legacy(handle));
    let mut work = Some(work);
    let mut working = || (work.take().expect("the work is done once"))(call);
    if let Some(handle) = theirs {
        let handle = handle as *mut c_void;
        // SAFETY: the Python part got the handle of the current stream from the library of the
        // arrays, and that library keeps its streams alive. docs/graphs.md says what has to live as
        // long as the graph.
        if let Some(result) = unsafe { call.stream.join_capture(handle, &mut working)? } {
            return Ok(result);
        }
        // SAFETY: as above.
        unsafe { call.stream.wait_for_foreign(handle)? };
    }
    let end = End { stream: &call.stream, theirs };
    let result = working();
    let ended = end.now();
    let ended = if must_wait { ended.and(call.stream.synchronize()) } else { ended };
    result.and_then(|result| ended.map(|()| result))
}

/// The end of a call, which comes even if its work fails or panics, because queued work may still
/// read the caller's arrays.
struct End<'c> {
    stream: &'c Stream,
    theirs: Option<usize>,
}

impl End<'_> {
    fn now(self) -> Result<()> {
        let ended = self.at();
        std::mem::forget(self);
        ended
    }

    fn at(&self) -> Result<()> {
        let ended = self.stream.end_call();
        match self.theirs {
            // SAFETY: as for the wait at the call's begin.
            Some(handle) => unsafe { self.stream.release_to_foreign(handle as *mut c_void) }.and(ended),
            None => ended,
        }
    }
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        // The panic says more than an error here.
        let _ = self.at();
    }
}

impl Call {
    /// Returns an array of the caller for reading. It is the caller's memory if the device can read
    /// that and the array begins at a multiple of 16 bytes. Otherwise it is a copy.
    pub fn read<T: Plain>(&self, column: Column) -> Result<Lent<'_, T>> {
        if self.is_shared(column) {
            let (address, length, _) = column.raw;
            // SAFETY: the Python part keeps the array alive while the call runs, and its elements
            // are plain. The documentation requires users not to write it meanwhile.
            let buffer = unsafe { Buffer::from_foreign(&self.device, address, length)? };
            return Ok(Lent { buffer: Some(buffer), stream: &self.stream, is_foreign: true });
        }
        // SAFETY: as above, and an array that is not shared is in host memory.
        let buffer = Buffer::from_slice(&self.device, unsafe { column.elements() })?;
        Ok(Lent { buffer: Some(buffer), stream: &self.stream, is_foreign: false })
    }

    /// Returns a new array of the caller for writing: the caller's memory as in [`Call::read`], or
    /// else a buffer that [`Lent::finish`] copies there.
    pub fn write<T: Plain>(&self, column: Column) -> Result<Lent<'_, T>> {
        if self.is_shared(column) {
            return self.read(column);
        }
        let buffer = Buffer::zeroed(&self.device, column.len())?;
        Ok(Lent { buffer: Some(buffer), stream: &self.stream, is_foreign: false })
    }

    /// Returns memory of the stream for bits that the caller does not get.
    pub fn own_bits(&self, words: usize) -> Result<Lent<'_, u32>> {
        let kept = lock(&self.own.bits).pop();
        let mut buffer = kept.map_or_else(|| Buffer::zeroed(&self.device, 0), Ok)?;
        buffer.resize(&self.stream, words)?;
        Ok(Lent { buffer: Some(buffer), stream: &self.stream, is_foreign: false })
    }

    /// Keeps memory for bits, unless it is the caller's, for the next call on the stream.
    pub fn keep_bits(&self, mut bits: Lent<'_, u32>) {
        let mut kept = lock(&self.own.bits);
        if !bits.is_foreign && kept.len() < KEPT_BITS {
            kept.extend(bits.buffer.take());
        }
    }

    /// Returns whether a GPU is asked with arrays that are all the host's.
    pub fn is_of_host<const N: usize>(&self, columns: [Column; N], flags: Option<FlagColumn>) -> bool {
        let flags = flags.map(|flags| flags.0);
        self.ordinal != CPU && columns.into_iter().chain(flags).all(|column| column.raw.2)
    }

    fn is_shared(&self, Column { raw: (address, _, on_host) }: Column) -> bool {
        !on_host || self.ordinal == CPU && address.is_multiple_of(16)
    }

    /// Runs a query whose answers are bits or bytes, and gives it the caller's array for them.
    pub fn flags(
        &self,
        to: FlagColumn,
        query: impl FnOnce(Option<&mut BufferSlice<u32>>, Option<&mut BufferSlice<u8>>) -> Result<()>,
    ) -> Result<()> {
        match to {
            FlagColumn(to, true) => {
                let mut bits = self.write(to)?;
                query(Some(&mut *bits), None)?;
                bits.finish(to)
            }
            FlagColumn(to, false) => {
                let mut bytes = self.write(to)?;
                query(None, Some(&mut *bytes))?;
                bytes.finish(to)
            }
        }
    }

    /// Returns the most bytes of scratch memory that the stream keeps.
    fn kept_bytes(&self) -> usize {
        let total = if self.ordinal == CPU { 0 } else { self.device.memory().map_or(0, |memory| memory.total) };
        KEPT.max((total / KEPT_ONE_IN) as usize)
    }

    /// Runs `work` with the scratch memory of the stream, or with new scratch memory if another
    /// call is using it.
    pub fn with_scratch<R>(&self, work: impl FnOnce(&mut Scratch) -> Result<R>) -> Result<R> {
        let mut scratch = match self.own.scratch.try_lock() {
            Ok(scratch) => scratch,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return work(&mut Scratch::new(&self.device)),
        };
        let done = work(&mut scratch);
        if scratch.memory_bytes() > KEPT && scratch.memory_bytes() > self.kept_bytes() {
            scratch.release();
        }
        done
    }
}

/// The reason why a [`Lent`] always contains a buffer when it is used.
const HELD: &str = "the buffer is taken only at the end";

/// An array of the caller, or a copy of it on the device.
pub struct Lent<'c, T: Plain> {
    /// The buffer, which is missing only at the end.
    buffer: Option<Buffer<T>>,
    stream: &'c Stream,
    is_foreign: bool,
}

impl<T: Plain> Lent<'_, T> {
    /// Copies the written elements to the caller's array, unless they are already in it.
    pub fn finish(self, column: Column) -> Result<()> {
        if self.is_foreign || column.len() == 0 {
            return Ok(());
        }
        // SAFETY: the array was made for this call, and nothing else has it.
        self.download_into(self.stream, unsafe { column.elements_mut() })
    }
}

impl<T: Plain> Deref for Lent<'_, T> {
    type Target = Buffer<T>;
    fn deref(&self) -> &Buffer<T> {
        self.buffer.as_ref().expect(HELD)
    }
}

impl<T: Plain> DerefMut for Lent<'_, T> {
    fn deref_mut(&mut self) -> &mut Buffer<T> {
        self.buffer.as_mut().expect(HELD)
    }
}

impl<T: Plain> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        // A buffer that owns its memory is dropped after this, and that drop waits for its uses.
        if let Some(buffer) = self.buffer.take_if(|_| self.is_foreign) {
            // The stream waits for the uses of the array. If that fails, the buffer's own drop has
            // waited.
            let _ = buffer.hand_back(self.stream);
        }
    }
}

/// Returns the name of a device.
#[pyfunction]
pub fn device_name(py: Python<'_>, ordinal: i32) -> PyResult<String> {
    detached(py, || device(ordinal).map(|device| device.name().to_owned()))
}

/// Returns the reason why the first GPU cannot be used, or `None` if it can be used.
#[pyfunction]
pub fn gpu_error(py: Python<'_>) -> PyResult<Option<String>> {
    detached(py, || Ok(device(0).err().map(|error| error.to_string())))
}

/// Releases the scratch memory that streams keep for their next calls, and the memory that devices
/// keep from dropped results.
#[pyfunction]
pub fn release_memory(py: Python<'_>) -> PyResult<()> {
    detached(py, || {
        for own in streams::all() {
            lock(&own.scratch).release();
            lock(&own.bits).clear();
            own.stream.device().trim_pool();
        }
        Ok(())
    })
}
