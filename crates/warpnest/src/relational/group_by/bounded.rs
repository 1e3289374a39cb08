//! Results in memory of a given capacity, whose count of rows only the device knows.

use crate::{Buffer, Device, Error, InputError, Result, Stream};
use std::fmt;

/// A result of at most a given count of rows, whose count stays on the device. It is computed
/// without a wait of the host.
///
/// ```
/// use warpnest::relational::Unique;
/// use warpnest::{Buffer, Device, primitives::Scratch};
///
/// let device = Device::best()?;
/// let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
/// let column = Buffer::from_slice(&device, &[7u32, 3, 7, 7])?;
/// let query = Unique::of(&column).counts();
///
/// let mut found = query.run_bounded(stream, &mut scratch, 100)?; // only queues work
/// assert_eq!(found.memory().keys.len(), 100);
/// assert_eq!(found.count().download(stream)?, [2]);
/// assert_eq!(found.finish(stream)?.keys.len(), 2); // waits
///
/// query.run_bounded_into(stream, &mut scratch, &mut found)?; // in the same memory
/// let found = found.into_result(stream)?;
/// assert_eq!(found.counts.download(stream)?.iter().sum::<u32>(), 4);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// [`Unique::run_bounded`](crate::relational::Unique::run_bounded),
/// [`GroupBy::run_bounded`](crate::relational::GroupBy::run_bounded) and
/// [`KeptSide::join_bounded`](crate::relational::KeptSide::join_bounded) return such results.
///
/// - **Shapes.** After a query the columns in [`Bounded::memory`] have `capacity` elements, of
///   which the first `count` are the result, and the others are unspecified. [`Bounded::finish`]
///   shortens the columns to the count. Only ids always have an element for each row of the input.
/// - **More rows than the capacity.** The count is then above the capacity, and all columns are
///   unspecified, but each element is a valid value. [`Bounded::finish`] returns an error, and the
///   memory can be used again.
/// - **No wait, no allocation.** The call that queues the next query into this memory does not
///   wait. It allocates nothing if the query before it had the same scratch and at least as many
///   rows. Columns should be buffers, because slices are first copied to a GPU.
pub struct Bounded<R> {
    memory: R,
    /// The count of rows: one word.
    count: Buffer<u64>,
    capacity: usize,
    /// Whether the last query was queued, so that `count` will be its count.
    is_queued: bool,
    of: Rows<R>,
}

/// What the rows of a bounded result are.
pub(in crate::relational) struct Rows<R> {
    /// The name of several rows in error messages.
    pub name: &'static str,
    /// Sets the count of rows, for which there is memory.
    pub set_length: fn(&mut R, usize),
}

/// The most rows of a result, and the memory for their count, which is one word.
#[derive(Clone, Copy, Debug)]
pub(in crate::relational) struct Bound<'b> {
    pub capacity: usize,
    pub count: &'b Buffer<u64>,
}

impl<R> Bounded<R> {
    /// Returns a result without rows. If it has keys, there is memory for the capacity, which is 0;
    /// other memory may still have to be allocated.
    pub(in crate::relational) fn new(device: &Device, capacity: usize, memory: R, of: Rows<R>) -> Result<Self> {
        Ok(Self { memory, count: Buffer::uninitialized(device, 1)?, capacity, is_queued: false, of })
    }

    /// Fails unless the memory is on `device`.
    pub(in crate::relational) fn check_device(&self, device: &Device) -> Result<()> {
        self.count.check_device("the memory of the result", device)
    }

    /// Replaces the result by what `queue` queues. After an error there are no rows.
    pub(in crate::relational) fn refill(&mut self, queue: impl FnOnce(&mut R, Bound<'_>) -> Result<()>) -> Result<()> {
        let Self { memory, count, capacity, is_queued, of } = self;
        let done = queue(memory, Bound { capacity: *capacity, count });
        *is_queued = done.is_ok();
        if done.is_err() {
            (of.set_length)(memory, 0);
        }
        done
    }

    /// Returns the most rows of the result.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the count of rows, one word on the device, or some number above the capacity if
    /// there are more rows than that. Later work on any stream can read it.
    pub fn count(&self) -> &Buffer<u64> {
        &self.count
    }

    /// Returns the memory of the result, of which the first [`Bounded::count`] rows are the result,
    /// unless that exceeds the capacity.
    pub fn memory(&self) -> &R {
        &self.memory
    }

    /// Waits for the count of rows, shortens the columns to it, and returns them. The memory stays
    /// here for the next query. After an error it is unchanged, and a query with fewer rows can use
    /// it.
    ///
    /// # Errors
    /// [`InputError::OverCapacity`] if there are more rows than the capacity;
    /// [`Error::WrongDevice`], [`Error::Driver`].
    pub fn finish(&mut self, stream: &Stream) -> Result<&R> {
        if self.is_queued {
            let (found, capacity) = (self.count.download_at(stream, 0)?, self.capacity as u64);
            if found > capacity {
                return Err(Error::Input(InputError::OverCapacity { what: self.of.name, found, capacity }));
            }
            (self.of.set_length)(&mut self.memory, found as usize);
        }
        Ok(&self.memory)
    }

    /// Returns the result as [`Bounded::finish`] does, with its memory. To keep the memory if there
    /// are too many rows, call that first.
    ///
    /// # Errors
    /// As for [`Bounded::finish`].
    pub fn into_result(mut self, stream: &Stream) -> Result<R> {
        self.finish(stream)?;
        Ok(self.memory)
    }
}

impl<R: fmt::Debug> fmt::Debug for Bounded<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory, capacity, .. } = self;
        f.debug_struct("Bounded").field("capacity", capacity).field("memory", memory).finish_non_exhaustive()
    }
}
