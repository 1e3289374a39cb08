//! What a join is asked for.

use super::columns::Columns;
use super::joined::{JoinKind, JoinMethod, Joined};
use super::run::{run, scratch_bytes};
use super::sides::{Sides, Table};
use crate::hash::random_seed;
use crate::primitives::Scratch;
use crate::relational::columns::{Column, KeyColumns};
use crate::{Device, Key, Result, Stream};
use gpu_kernels::plain::PlainHalf;
use std::fmt;

/// A join of two tables: the numbers of those rows of a left and of a right table whose keys are
/// equal.
///
/// ```
/// use warpnest::Device;
/// use warpnest::relational::{Join, JoinKind, NO_ROW};
///
/// let device = Device::best()?;
/// let orders = [30u32, 10, 99, 10]; // the customer of each order
/// let customers = [10u32, 20, 30];
///
/// let joined = Join::new(&orders, &customers).kind(JoinKind::Left).run(&device)?;
/// let stream = device.default_stream();
/// let left = joined.left_rows().download(stream)?;
/// let right = joined.right_rows().download(stream)?;
/// let mut pairs: Vec<_> = left.into_iter().zip(right).collect();
/// pairs.sort();
/// assert_eq!(pairs, [(0, 2), (1, 0), (2, NO_ROW), (3, 0)]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// - **Columns** are slices or buffers, and every call reads them anew. What stands beside the keys
///   is gathered by row number ([`gather`](crate::primitives::gather)).
/// - **Keys** are equal if their words are: those of a floating-point type of your own by their
///   bits, so a NaN meets the same NaN. Any number of rows may have one key, on both sides. A null
///   key meets none ([`Join::left_valid`]).
/// - **Order.** Pairs come in any order, which may differ from run to run. Sorting them is up to
///   you.
/// - **Complexity.** Rows are read three times and written twice if the smaller side is large
///   ([`JoinMethod::Split`]); otherwise probe rows are read once. If some keys have many rows, one
///   or both sides are split again or sorted
///   ([`JoinReport::overflowed`](super::JoinReport::overflowed)), which takes up to three quarters
///   as long again. On a GPU, work on a key with many rows is divided
///   among blocks. Semi and anti joins are content with the first row that a row meets.
/// - **Memory.** [`Join::scratch_bytes`] tells the most that the scratch takes: 12 to 20 bytes for
///   each row of both sides with 32-bit keys, and 20 to 30 with 64-bit ones, if rows are split; a
///   hash table 16 to 32 bytes a build row, or 32 to 64. The result takes 8 bytes a pair. It is
///   written into memory for as many pairs as there are if each row meets one at most. If there are
///   more, memory for all is allocated, and the last step made again; [`Join::run_into`] uses the
///   memory of an earlier result. Pairs that are more than there is memory for are given in chunks
///   ([`Join::run_in_chunks`]). Where keys may be null, those that are not are compacted first:
///   that takes 8 bytes a row of such a side, or 12.
/// - **Guarantee beside concurrent operations.** As of every operation that takes a stream: the
///   columns are read when their writers are done, and the result is there when the call returns.
///
/// Source: the partitioned hash join (Sioulas 2019), with a counting sort in place of chains.
pub struct Join<'q, K> {
    left: Table<'q, K>,
    right: Table<'q, K>,
    kind: JoinKind,
    method: JoinMethod,
    seed: Option<u64>,
    light_rows: Option<u32>,
}

impl<'q, K: Key> Join<'q, K> {
    /// Returns an inner join of the rows of a left and of a right table, by these keys.
    pub fn new(left: impl Into<Column<'q, K>>, right: impl Into<Column<'q, K>>) -> Self {
        Self::of(KeyColumns::One(left.into()), KeyColumns::One(right.into()))
    }

    fn of(left: KeyColumns<'q, K>, right: KeyColumns<'q, K>) -> Self {
        let [left, right] = [left, right].map(|keys| Table { keys, valid: None });
        Self { left, right, kind: JoinKind::Inner, method: JoinMethod::Auto, seed: None, light_rows: None }
    }

    /// Sets which rows the join gives; [`JoinKind::Inner`] if this is not called.
    pub fn kind(&mut self, kind: JoinKind) -> &mut Self {
        self.kind = kind;
        self
    }

    /// Sets which left rows have a key: those `i` whose bit `i % 32` of word `i / 32` is set, as in
    /// a validity bitmap of Arrow. The key of each other row is null, whatever its word: it is
    /// equal to no key, as in SQL. So an inner or semi join leaves the row out, and a left, full or
    /// anti join has it alone.
    ///
    /// ```
    /// use warpnest::Device;
    /// use warpnest::relational::{Join, JoinKind, NO_ROW};
    ///
    /// let device = Device::best()?;
    /// let (left, right) = ([1u32, 2, 0], [0u32, 2]); // the last left key is null
    /// let mut join = Join::new(&left, &right);
    /// let joined = join.left_valid(&[0b011]).kind(JoinKind::Left).run(&device)?;
    /// let stream = device.default_stream();
    /// let left = joined.left_rows().download(stream)?;
    /// let right = joined.right_rows().download(stream)?;
    /// let mut pairs: Vec<_> = left.into_iter().zip(right).collect();
    /// pairs.sort();
    /// assert_eq!(pairs, [(0, NO_ROW), (1, 1), (2, NO_ROW)]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// Where nulls are to meet nulls, the validity is a column of the key: with
    /// [`WideJoin`](super::super::WideJoin), and the same word in all rows whose key is null.
    pub fn left_valid(&mut self, bits: impl Into<Column<'q, u32>>) -> &mut Self {
        self.left.valid = Some(bits.into());
        self
    }

    /// Sets which right rows have a key, as [`Join::left_valid`] does for left ones. A right or
    /// full join has the others alone.
    pub fn right_valid(&mut self, bits: impl Into<Column<'q, u32>>) -> &mut Self {
        self.right.valid = Some(bits.into());
        self
    }

    /// Sets which rows of both sides have a key.
    pub(in crate::relational) fn valid(&mut self, [left, right]: [Option<Column<'q, u32>>; 2]) -> &mut Self {
        (self.left.valid, self.right.valid) = (left, right);
        self
    }

    /// Sets how the join is computed; [`JoinMethod::Auto`] if this is not called. The report says
    /// what was done.
    pub fn method(&mut self, method: JoinMethod) -> &mut Self {
        self.method = method;
        self
    }

    /// Sets the seed of the hash constants, which are random if this is not called.
    pub fn seed(&mut self, seed: u64) -> &mut Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the most build rows of a bin that is not heavy, so that tests meet heavy bins.
    #[doc(hidden)]
    pub fn light_rows(&mut self, rows: u32) -> &mut Self {
        self.light_rows = Some(rows);
        self
    }

    /// Returns the pairs, when they are there.
    ///
    /// # Errors
    /// As for [`Join::run_on`].
    pub fn run(&self, device: &Device) -> Result<Joined> {
        self.run_on(device.default_stream(), &mut Scratch::new(device))
    }

    /// Returns the pairs, computed on `stream`; waits until they are there. The scratch is best
    /// kept for the next call.
    ///
    /// # Errors
    /// [`InputError::TooManyItems`](crate::InputError::TooManyItems) for 2^32 rows or more of a
    /// side; [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless both key
    /// columns of a table have as many rows, and a bit of its validity;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), also if the pairs are more than there is
    /// memory for; [`Error::WrongDevice`](crate::Error::WrongDevice),
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn run_on(&self, stream: &Stream, scratch: &mut Scratch) -> Result<Joined> {
        let mut joined = Joined::new(scratch.device())?;
        self.run_into(stream, scratch, &mut joined)?;
        Ok(joined)
    }

    /// Computes the pairs as [`Join::run_on`] does, in the memory of an earlier result, which grows
    /// as needed. After an error there are no pairs, unless the result is of another device: then
    /// it stays as it is.
    ///
    /// # Errors
    /// As for [`Join::run_on`].
    pub fn run_into(&self, stream: &Stream, scratch: &mut Scratch, joined: &mut Joined) -> Result<()> {
        joined.left.check_device("the joined rows", scratch.device())?;
        let Joined { left, right, report } = joined;
        let done = self.run_with(stream, scratch, |sides, scratch| {
            let besides = sides.null_rows();
            let columns = Columns { most: u64::MAX, besides, left: &mut *left, right: &mut *right, keys: None };
            (_, *report) = run(stream, scratch, sides.input(), None, Some(columns))?;
            sides.finish(stream, scratch, report.method, [&mut *left, &mut *right])
        });
        if done.is_err() {
            joined.left.empty();
            joined.right.empty();
        }
        done
    }

    /// Returns the most bytes that the scratch takes for this join on `device`, whatever the keys.
    /// The result takes 8 bytes a pair ([`Join::size`]), those of semi and anti joins 4; a slice on
    /// a GPU takes its size, and two columns of keys take 8 bytes a row.
    ///
    /// # Errors
    /// [`InputError::TooManyItems`](crate::InputError::TooManyItems) and
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer), as for [`Join::run_on`].
    pub fn scratch_bytes(&self, device: &Device) -> Result<usize> {
        let Self { left, right, kind, method, .. } = self;
        let rows = [left.rows()?, right.rows()?];
        let of_join = scratch_bytes::<K::Word>(device.default_stream(), rows, *kind, *method);
        Ok((of_join + left.scratch_bytes()? + right.scratch_bytes()?) as usize)
    }

    /// Returns the number of pairs, when it is known. No memory for pairs is allocated.
    ///
    /// # Errors
    /// As for [`Join::run_on`].
    pub fn size(&self, device: &Device) -> Result<u64> {
        self.size_on(device.default_stream(), &mut Scratch::new(device))
    }

    /// Returns the number of pairs, counted on `stream`; waits until it is known.
    ///
    /// # Errors
    /// As for [`Join::run_on`].
    pub fn size_on(&self, stream: &Stream, scratch: &mut Scratch) -> Result<u64> {
        self.run_with(stream, scratch, |sides, scratch| {
            let (pairs, _) = run(stream, scratch, sides.input(), None, None)?;
            Ok(pairs + sides.null_rows())
        })
    }

    /// Brings the tables to the device, and runs a join of them.
    pub(super) fn run_with<T>(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        run: impl FnOnce(&Sides<'_, K::Word>, &mut Scratch) -> Result<T>,
    ) -> Result<T> {
        let Self { left, right, kind, method, seed, light_rows } = self;
        stream.check_device(scratch.device())?;
        let (left, right) = (left.on_device(stream, scratch)?, right.on_device(stream, scratch)?);
        let seed = seed.unwrap_or_else(random_seed);
        let sides = Sides { left, right, kind: *kind, method: *method, seed, light_rows: *light_rows };
        let done = run(&sides, scratch)?;
        sides.give_back(scratch);
        Ok(done)
    }
}

impl<'q, A, B> Join<'q, (A, B)>
where
    A: Key<Word = u32> + PlainHalf,
    B: Key<Word = u32> + PlainHalf,
{
    /// Returns an inner join of the rows that are equal in two columns of 32-bit keys: the first
    /// and second column of the left table, and those of the right one.
    ///
    /// ```
    /// use warpnest::Device;
    /// use warpnest::relational::Join;
    ///
    /// let device = Device::best()?;
    /// let (years, months) = ([2024u32, 2023], [5u32, 1]);
    /// let joined = Join::by_two((&years, &months), (&[2023u32], &[1u32])).run(&device)?;
    /// assert_eq!(joined.left_rows().download(device.default_stream())?, [1]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    pub fn by_two(
        left: (impl Into<Column<'q, A>>, impl Into<Column<'q, B>>),
        right: (impl Into<Column<'q, A>>, impl Into<Column<'q, B>>),
    ) -> Self {
        Self::of(
            KeyColumns::Two(Box::new((left.0.into(), left.1.into()))),
            KeyColumns::Two(Box::new((right.0.into(), right.1.into()))),
        )
    }
}

impl<K> fmt::Debug for Join<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Join").field("kind", &self.kind).field("method", &self.method).finish_non_exhaustive()
    }
}
