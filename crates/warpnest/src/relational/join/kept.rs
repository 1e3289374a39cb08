//! Right sides that are kept for many joins.

use super::columns::Columns;
use super::joined::{JoinKind, JoinMethod, JoinReport, Joined};
use super::query::JoinResult;
use super::run::{Arranged, Input, arrange, run, run_bounded};
use crate::hash::random_seed;
use crate::primitives::{Scratch, check_items};
use crate::relational::columns::{Column, IntoColumn, OnDevice};
use crate::relational::group_by::bounded::{Bounded, Rows};
use crate::{Buffer, Device, InputError, Key, Result, Stream};
use gpu_kernels::types::KeyWord;
use std::fmt;

/// A right table whose rows are arranged by their keys once, for joins with many batches of left
/// rows. Further rows can be added at any time.
///
/// ```
/// use warpnest::relational::{JoinKind, KeptSide};
/// use warpnest::{Device, primitives::Scratch};
///
/// let device = Device::best()?;
/// let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
/// let mut customers = KeptSide::new(&device, &[10u32, 20])?;
///
/// let joined = customers.join(JoinKind::Inner, &[20u32, 30])?;
/// assert_eq!(joined.left_rows().download(stream)?, [0]);
/// assert_eq!(joined.right_rows().download(stream)?, [1]);
///
/// customers.extend_on(stream, &mut scratch, &[30u32])?; // row 2
/// let joined = customers.join(JoinKind::Inner, &[30u32])?;
/// assert_eq!(joined.right_rows().download(stream)?, [2]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// - **Keys, order of pairs, concurrent operations**: as in a [`Join`](super::Join). Joins on
///   several streams run one after the other.
/// - **Complexity.** The rows are arranged as in a [`Join`](super::Join) with as many left rows:
///   unchanged for joins on chip, as a hash table, or as bins. From bins, each batch of left rows
///   reads all kept rows. Adding rows arranges all rows again, so add many at a time.
/// - **Memory.** [`KeptSide::bytes`] returns it. Besides the keys, a hash table takes 16 to 32
///   bytes per row, and bins take up to 20 bytes; with 64-bit keys these are 32 to 64 bytes, or up
///   to 30 bytes. While further rows are arranged, the old memory exists, too, and the scratch
///   takes as much again.
pub struct KeptSide<K: Key> {
    device: Device,
    keys: Buffer<K::Word>,
    /// An empty left side.
    nothing: Buffer<K::Word>,
    method: JoinMethod,
    seed: u64,
    arranged: Arranged,
}

impl<K: Key> KeptSide<K> {
    /// Returns a side of the rows with these keys; row indices start at 0.
    ///
    /// # Errors
    /// As for [`KeptSide::new_on`].
    pub fn new<'q>(device: &Device, keys: impl IntoColumn<'q, K>) -> Result<Self> {
        Self::new_on(device.default_stream(), &mut Scratch::new(device), keys, JoinMethod::Auto)
    }

    /// Returns a side of the rows with these keys, arranged on `stream` for `method`; waits for it.
    /// Row indices start at 0.
    ///
    /// # Errors
    /// [`InputError::TooManyItems`] for 2^32 rows or more;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn new_on<'q>(
        stream: &Stream,
        scratch: &mut Scratch,
        keys: impl IntoColumn<'q, K>,
        method: JoinMethod,
    ) -> Result<Self> {
        let device = scratch.device().clone();
        stream.check_device(&device)?;
        let column = keys.into_column().on_device(&device)?;
        check_items(column.len())?;
        let (keys, nothing) = (column.duplicate(stream, &device)?, Buffer::uninitialized(&device, 0)?);
        let seed = random_seed();
        let arranged = arranged(stream, scratch, [&nothing, &keys], method, seed)?;
        Ok(Self { device, keys, nothing, method, seed, arranged })
    }

    /// Adds rows with these keys, whose indices follow the indices of the existing rows; waits
    /// until they are added. After an error the side has the same rows as before.
    ///
    /// # Errors
    /// As for [`KeptSide::new_on`].
    pub fn extend_on<'q>(
        &mut self,
        stream: &Stream,
        scratch: &mut Scratch,
        keys: impl IntoColumn<'q, K>,
    ) -> Result<()> {
        let device = scratch.device().clone();
        stream.check_device(&device)?;
        self.keys.check_device("the kept rows", &device)?;
        let (column, rows) = (keys.into_column().on_device(&device)?, self.keys.len());
        check_items(rows.saturating_add(column.len()))?;
        let done = self.extend_keys(stream, &column).and_then(|()| {
            // The old memory is freed only after the new memory is complete.
            self.arranged = arranged(stream, scratch, [&self.nothing, &self.keys], self.method, self.seed)?;
            Ok(())
        });
        if done.is_err() {
            self.keys.set_length(rows);
        }
        done
    }

    fn extend_keys(&mut self, stream: &Stream, column: &Buffer<K::Word>) -> Result<()> {
        let rows = self.keys.len();
        self.keys.resize(stream, rows + column.len())?;
        self.keys.slice_mut(rows..)?.copy_from(stream, column)
    }

    /// Returns the pairs of a join of left rows that have the given keys; waits for the pairs.
    ///
    /// # Errors
    /// As for [`KeptSide::join_into`].
    pub fn join<'q>(&self, kind: JoinKind, keys: impl IntoColumn<'q, K>) -> Result<Joined> {
        let mut joined = Joined::new(&self.device)?;
        self.join_into(kind, self.device.default_stream(), &mut Scratch::new(&self.device), keys, &mut joined)?;
        Ok(joined)
    }

    /// Computes the pairs of a join of left rows with these keys, in the memory of an earlier
    /// result, which grows as needed; waits for the pairs. After an error `joined` is empty, unless
    /// it is on another device; then it is unchanged.
    ///
    /// # Errors
    /// [`InputError::KeptJoin`] for right and full joins, because one batch cannot tell which kept
    /// rows are unmatched; and the errors of [`Join::run_on`](super::Join::run_on).
    pub fn join_into<'q>(
        &self,
        kind: JoinKind,
        stream: &Stream,
        scratch: &mut Scratch,
        keys: impl IntoColumn<'q, K>,
        joined: &mut Joined,
    ) -> Result<()> {
        joined.left.check_device("the joined rows", scratch.device())?;
        let Joined { left, right, .. } = joined;
        let columns = Columns { most: u64::MAX, besides: 0, left, right, keys: None };
        let done = self.run_with(kind, stream, scratch, keys.into_column(), Some(columns));
        match &done {
            Ok((_, report)) => joined.report = *report,
            Err(_) => joined.empty(),
        }
        done.map(drop)
    }

    /// Queues a join of left rows with these keys into memory for at most `capacity` pairs, without
    /// waiting for their count, which stays on the device ([`Bounded`]). The scratch should be kept
    /// for later calls.
    ///
    /// ```
    /// use warpnest::relational::{JoinKind, KeptSide};
    /// use warpnest::{Buffer, Device, primitives::Scratch};
    ///
    /// let device = Device::best()?;
    /// let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
    /// let customers = KeptSide::new(&device, &[10u32, 20, 20])?;
    /// let orders = Buffer::from_slice(&device, &[20u32, 30])?;
    ///
    /// let kind = JoinKind::Inner;
    /// let mut pairs = customers.join_bounded(kind, stream, &mut scratch, &orders, 100)?;
    /// assert_eq!(pairs.count().download(stream)?, [2]);
    /// assert_eq!(pairs.finish(stream)?.left_rows().download(stream)?, [0, 0]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// If there are more pairs than the capacity, the count is right.
    ///
    /// # Errors
    /// [`InputError::NotBounded`] if the rows of this side are joined by [`JoinMethod::Split`]
    /// ([`KeptSide::method`]); and the errors of [`KeptSide::join_into`]. More pairs than the
    /// capacity are an error only when [`Bounded::finish`] waits for their count.
    pub fn join_bounded<'q>(
        &self,
        kind: JoinKind,
        stream: &Stream,
        scratch: &mut Scratch,
        keys: impl IntoColumn<'q, K>,
        capacity: usize,
    ) -> Result<Bounded<Joined>> {
        let device = scratch.device().clone();
        let rows = Rows { name: "pairs", set_length: Joined::set_length };
        let mut joined = Bounded::new(&device, capacity, Joined::new(&device)?, rows)?;
        self.join_bounded_into(kind, stream, scratch, keys, &mut joined)?;
        Ok(joined)
    }

    /// Queues a join as [`KeptSide::join_bounded`] does, in the memory of an earlier result, with
    /// its capacity. If that and the scratch are large enough, no memory is allocated. If an input
    /// is refused, `joined` is unchanged; after any other error it has no pairs.
    ///
    /// # Errors
    /// As for [`KeptSide::join_bounded`].
    pub fn join_bounded_into<'q>(
        &self,
        kind: JoinKind,
        stream: &Stream,
        scratch: &mut Scratch,
        keys: impl IntoColumn<'q, K>,
        joined: &mut Bounded<Joined>,
    ) -> Result<()> {
        if self.method() == JoinMethod::Split {
            return Err(InputError::NotBounded { what: "a kept side that is split into bins" }.into());
        }
        joined.check_device(scratch.device())?;
        let left = self.left_on(kind, stream, scratch.device(), keys.into_column())?;
        joined.refill(|joined, bound| {
            let report = JoinReport { method: self.method(), overflowed: false, further_items: 0 };
            let Joined { left: left_out, right, .. } = joined;
            let most = bound.capacity as u64;
            let mut columns = Columns { most, besides: 0, left: left_out, right, keys: None };
            columns.reserve(scratch.device(), kind, most)?;
            columns.set_length(kind, bound.capacity);
            let to = (columns.outputs(kind), bound.count);
            run_bounded(stream, scratch, self.input(kind, &left), &self.arranged, to)?;
            joined.report = report;
            Ok(())
        })
    }

    /// Returns the count of pairs of a join of left rows with these keys, without allocating memory
    /// for pairs; waits for the count.
    ///
    /// # Errors
    /// As for [`KeptSide::join_into`].
    pub fn size_on<'q>(
        &self,
        kind: JoinKind,
        stream: &Stream,
        scratch: &mut Scratch,
        keys: impl IntoColumn<'q, K>,
    ) -> Result<u64> {
        self.run_with(kind, stream, scratch, keys.into_column(), None).map(|(pairs, _)| pairs)
    }

    fn run_with(
        &self,
        kind: JoinKind,
        stream: &Stream,
        scratch: &mut Scratch,
        keys: Column<'_, K>,
        columns: Option<Columns<'_, K::Word>>,
    ) -> Result<(u64, JoinReport)> {
        let left = self.left_on(kind, stream, scratch.device(), keys)?;
        run(stream, scratch, self.input(kind, &left), Some(&self.arranged), columns)
    }

    /// Returns the keys of left rows on `device`, if they can be joined there.
    fn left_on<'q>(
        &self,
        kind: JoinKind,
        stream: &Stream,
        device: &Device,
        keys: Column<'q, K>,
    ) -> Result<OnDevice<'q, K::Word>> {
        match kind {
            JoinKind::Right => return Err(InputError::KeptJoin { kind: "right" }.into()),
            JoinKind::Full => return Err(InputError::KeptJoin { kind: "full" }.into()),
            _ => {}
        }
        stream.check_device(device)?;
        self.keys.check_device("the kept rows", device)?;
        let left = keys.on_device(device)?;
        check_items(left.len())?;
        Ok(left)
    }

    fn input<'i>(&'i self, kind: JoinKind, left: &'i Buffer<K::Word>) -> Input<'i, K::Word> {
        let Self { method, seed, .. } = *self;
        Input { keys: [left, &self.keys], values: [None; 2], kind, method, seed, light_rows: None }
    }

    /// Returns the count of rows.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the bytes of memory that the side keeps.
    pub fn bytes(&self) -> u64 {
        (self.keys.capacity() * size_of::<K::Word>() + self.arranged.memory.capacity() * 8) as u64
    }

    /// Returns the method by which left rows will be joined, which is never [`JoinMethod::Auto`].
    pub fn method(&self) -> JoinMethod {
        self.arranged.plan.method
    }
}

fn arranged<W: KeyWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: [&Buffer<W>; 2],
    method: JoinMethod,
    seed: u64,
) -> Result<Arranged> {
    arrange(stream, scratch, Input { keys, values: [None; 2], kind: JoinKind::Left, method, seed, light_rows: None })
}

impl<K: Key> fmt::Debug for KeptSide<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptSide").field("rows", &self.len()).field("method", &self.method()).finish()
    }
}
