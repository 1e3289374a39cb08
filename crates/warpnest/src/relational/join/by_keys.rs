//! Joins by keys of one or two columns.

use super::columns::Columns;
use super::joined::Joined;
use super::query::{JoinOptions, JoinQuery, Joins, JoinsRows};
use super::run::{run, scratch_bytes};
use super::sides::{Sides, Table};
use crate::primitives::Scratch;
use crate::relational::columns::{IntoColumn, KeyColumns};
use crate::{Device, Key, Result, Stream};
use gpu_kernels::plain::PlainHalf;

/// A join of two tables. It returns the indices of the left and right rows whose keys are equal.
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
/// - **Columns** are slices or buffers, and every call reads them again. Other columns of the
///   tables can be gathered by the row indices ([`gather`](crate::primitives::gather)).
/// - **Keys** are equal if their words are equal. User-defined floating-point keys are compared by
///   their bits, so a NaN equals the same NaN. Keys may be repeated on both sides. A null key
///   equals no key ([`Join::left_valid`]).
/// - **Order.** Pairs are returned in any order, which may differ from run to run.
/// - **Complexity.** If the smaller side is large, rows are read three times and written twice
///   ([`JoinMethod::Split`](super::JoinMethod::Split)); otherwise probe rows are read once. If some
///   keys have many rows, one or both sides are split again or sorted
///   ([`JoinReport::overflowed`](super::JoinReport::overflowed)), which adds up to three quarters
///   of the time. On a GPU the work on a key with many rows is divided among blocks. Semi and anti
///   joins stop at the first match of a row.
/// - **Memory.** [`Join::scratch_bytes`] returns the most bytes that the scratch takes. If rows are
///   split, these are 12 to 20 bytes per row of both sides with 32-bit keys, and 20 to 30 bytes
///   with 64-bit keys. A hash table takes 16 to 32 bytes per build row, or 32 to 64 bytes with
///   64-bit keys. The result takes 8 bytes per pair. Its first allocation is enough if each row
///   matches at most one row. For more pairs, larger memory is allocated, and the last step is
///   repeated; [`Join::run_into`] reuses the memory of an earlier result. If the pairs exceed the
///   memory, [`Join::run_in_chunks`] returns them in chunks. If keys may be null, the other keys
///   are compacted first, which takes 8 bytes per row of that side, or 12 bytes with 64-bit keys.
/// - **Concurrent operations.** The columns are read after earlier writes to them, and the result
///   is complete when the call returns.
///
/// Source: the partitioned hash join (Sioulas 2019), with a counting sort in place of chains.
pub type Join<'q, K> = JoinQuery<'q, ByKeys<'q, K>>;

/// The keys of both tables.
pub struct ByKeys<'q, K> {
    keys: [KeyColumns<'q, K>; 2],
    light_rows: Option<u32>,
}

impl<'q, K: Key> ByKeys<'q, K> {
    pub fn new(left: impl IntoColumn<'q, K>, right: impl IntoColumn<'q, K>) -> Self {
        Self { keys: [KeyColumns::One(left.into_column()), KeyColumns::One(right.into_column())], light_rows: None }
    }

    fn tables(&self, options: &JoinOptions<'q>) -> [Table<'_, 'q, K>; 2] {
        let ([left, right], [of_left, of_right]) = (&self.keys, options.valid);
        [Table { keys: left, valid: of_left }, Table { keys: right, valid: of_right }]
    }

    /// Copies the tables to the device if necessary, and calls `run` with them.
    pub(super) fn run_with<T>(
        &self,
        options: &JoinOptions<'q>,
        stream: &Stream,
        scratch: &mut Scratch,
        run: impl FnOnce(&Sides<'_, K::Word>, &mut Scratch) -> Result<T>,
    ) -> Result<T> {
        stream.check_device(scratch.device())?;
        let [left, right] = self.tables(options);
        let (left, right) = (left.on_device(stream, scratch)?, right.on_device(stream, scratch)?);
        let &JoinOptions { kind, method, .. } = options;
        let sides = Sides { left, right, kind, method, seed: options.seed(), light_rows: self.light_rows };
        let done = run(&sides, scratch)?;
        sides.give_back(scratch);
        Ok(done)
    }
}

impl<'q, K: Key> Joins<'q> for ByKeys<'q, K> {
    const NAME: &'static str = "Join";
    type Result = Joined;

    fn compute(
        &self,
        options: &JoinOptions<'q>,
        stream: &Stream,
        scratch: &mut Scratch,
        joined: &mut Joined,
    ) -> Result<()> {
        let Joined { left, right, report } = joined;
        self.run_with(options, stream, scratch, |sides, scratch| {
            let besides = sides.null_rows();
            let columns = Columns { most: u64::MAX, besides, left: &mut *left, right: &mut *right, keys: None };
            (_, *report) = run(stream, scratch, sides.input(), None, Some(columns))?;
            sides.finish(stream, scratch, report.method, [&mut *left, &mut *right])
        })
    }
}

impl<'q, K: Key> JoinsRows<'q> for ByKeys<'q, K> {}

impl<'q, K: Key> Join<'q, K> {
    /// Returns an inner join of the rows of a left and a right table, by the given keys.
    pub fn new(left: impl IntoColumn<'q, K>, right: impl IntoColumn<'q, K>) -> Self {
        Self::of(ByKeys::new(left, right))
    }

    /// Sets the most build rows of a bin that does not count as heavy, so that tests can provoke
    /// heavy bins.
    #[doc(hidden)]
    pub fn light_rows(&mut self, rows: u32) -> &mut Self {
        self.joined.light_rows = Some(rows);
        self
    }

    /// Returns the most bytes of scratch for this join on `device`, for any keys. The result takes
    /// 8 bytes per pair ([`Join::size`]), or 4 bytes per row of a semi or anti join. On a GPU, a
    /// slice also takes its own size. Two columns of keys take 8 bytes per row.
    ///
    /// # Errors
    /// [`InputError::TooManyItems`](crate::InputError::TooManyItems) and
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer), as for [`Join::run_on`].
    pub fn scratch_bytes(&self, device: &Device) -> Result<usize> {
        let [left, right] = self.joined.tables(&self.options);
        let JoinOptions { kind, method, .. } = self.options;
        let rows = [left.rows()?, right.rows()?];
        let of_join = scratch_bytes::<K::Word>(device.default_stream(), rows, kind, method);
        Ok((of_join + left.scratch_bytes()? + right.scratch_bytes()?) as usize)
    }

    /// Returns the count of pairs, without allocating memory for pairs.
    ///
    /// # Errors
    /// As for [`Join::run_on`].
    pub fn size(&self, device: &Device) -> Result<u64> {
        self.size_on(device.default_stream(), &mut Scratch::new(device))
    }

    /// Returns the count of pairs, computed on `stream`; waits for the count.
    ///
    /// # Errors
    /// As for [`Join::run_on`].
    pub fn size_on(&self, stream: &Stream, scratch: &mut Scratch) -> Result<u64> {
        self.joined.run_with(&self.options, stream, scratch, |sides, scratch| {
            let (pairs, _) = run(stream, scratch, sides.input(), None, None)?;
            Ok(pairs + sides.null_rows())
        })
    }
}

impl<'q, A, B> Join<'q, (A, B)>
where
    A: Key<Word = u32> + PlainHalf,
    B: Key<Word = u32> + PlainHalf,
{
    /// Returns an inner join of the rows that are equal in two columns of 32-bit keys: the first
    /// and second column of the left table, and then of the right table.
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
        left: (impl IntoColumn<'q, A>, impl IntoColumn<'q, B>),
        right: (impl IntoColumn<'q, A>, impl IntoColumn<'q, B>),
    ) -> Self {
        let left = KeyColumns::Two(Box::new((left.0.into_column(), left.1.into_column())));
        let right = KeyColumns::Two(Box::new((right.0.into_column(), right.1.into_column())));
        Self::of(ByKeys { keys: [left, right], light_rows: None })
    }
}
