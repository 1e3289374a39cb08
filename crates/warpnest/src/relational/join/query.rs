//! The options that all joins have, and the calls that run a join.

use super::joined::{JoinKind, JoinMethod, Joined};
use crate::hash::random_seed;
use crate::primitives::Scratch;
use crate::relational::columns::{Column, IntoColumn};
use crate::{Buffer, Device, Result, Stream};
use std::fmt;

/// A join of two tables that has not been run: [`Join`](super::Join),
/// [`WideJoin`](super::super::WideJoin) or [`JoinWithValues`](super::JoinWithValues), by the type
/// `S` of its tables.
pub struct JoinQuery<'q, S> {
    pub(in crate::relational) joined: S,
    pub(in crate::relational) options: JoinOptions<'q>,
}

/// The options of a join that users can set.
#[derive(Clone, Copy)]
pub struct JoinOptions<'q> {
    /// A bit for each left and each right row, set if the row's key is not null; `None` if no key
    /// is null.
    pub valid: [Option<Column<'q, u32>>; 2],
    pub kind: JoinKind,
    pub method: JoinMethod,
    pub seed: Option<u64>,
}

impl JoinOptions<'_> {
    /// Returns the seed, or a random one.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(random_seed)
    }
}

/// A description of the tables of a join: their keys, and the other columns that are joined.
pub trait Joins<'q> {
    /// The name of the query.
    const NAME: &'static str;

    /// The result type of the join.
    type Result: JoinResult;

    /// Computes the pairs in the memory of the result. After an error the contents are unspecified.
    fn compute(
        &self,
        options: &JoinOptions<'q>,
        stream: &Stream,
        scratch: &mut Scratch,
        result: &mut Self::Result,
    ) -> Result<()>;
}

/// Joins whose result is row indices, and which can therefore return unmatched rows.
pub trait JoinsRows<'q>: Joins<'q, Result = Joined> {}

/// The result of a join.
pub trait JoinResult: Sized {
    /// Returns a result without rows and without memory.
    fn without_rows(device: &Device) -> Result<Self>;

    /// Returns a column, which has an element for each pair.
    fn column(&self) -> &Buffer<u32>;

    /// Removes all rows from the result.
    fn empty(&mut self);
}

impl JoinResult for Joined {
    fn without_rows(device: &Device) -> Result<Self> {
        Self::new(device)
    }

    fn column(&self) -> &Buffer<u32> {
        self.left_rows()
    }

    fn empty(&mut self) {
        self.rows_mut().into_iter().for_each(Buffer::empty);
    }
}

impl<'q, S> JoinQuery<'q, S> {
    /// Returns an inner join.
    pub(in crate::relational) fn of(joined: S) -> Self {
        let (kind, method) = (JoinKind::Inner, JoinMethod::Auto);
        Self { joined, options: JoinOptions { valid: [None; 2], kind, method, seed: None } }
    }

    /// Sets which left rows have a key: row `i` has a key if bit `i % 32` of word `i / 32` is set,
    /// as in a validity bitmap of Arrow. The keys of the other rows are null, whatever their words.
    /// As in SQL, a null key equals no key. So an inner or semi join leaves the row out, and a
    /// left, full or anti join returns it as unmatched. A key of several columns is null if one of
    /// its columns is null.
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
    /// To let nulls equal nulls, use the validity as one more column of the key in a
    /// [`WideJoin`](super::super::WideJoin), and store the same word in all rows whose key is null.
    pub fn left_valid(&mut self, bits: impl IntoColumn<'q, u32>) -> &mut Self {
        self.options.valid[0] = Some(bits.into_column());
        self
    }

    /// Sets which right rows have a key, as [`JoinQuery::left_valid`] does for left rows. A right
    /// or full join returns the other rows as unmatched.
    pub fn right_valid(&mut self, bits: impl IntoColumn<'q, u32>) -> &mut Self {
        self.options.valid[1] = Some(bits.into_column());
        self
    }

    /// Sets the method of the join; the default is [`JoinMethod::Auto`]. In a
    /// [`WideJoin`](super::super::WideJoin) it is the method that joins the hashes. The report
    /// tells the method that was used.
    pub fn method(&mut self, method: JoinMethod) -> &mut Self {
        self.options.method = method;
        self
    }

    /// Sets the seed of the hash constants, which are random by default. Do not set it if untrusted
    /// people choose wide keys, because they could choose many keys with the same hash.
    pub fn seed(&mut self, seed: u64) -> &mut Self {
        self.options.seed = Some(seed);
        self
    }
}

impl<'q, S: JoinsRows<'q>> JoinQuery<'q, S> {
    /// Sets the kind of rows that the join returns; the default is [`JoinKind::Inner`].
    pub fn kind(&mut self, kind: JoinKind) -> &mut Self {
        self.options.kind = kind;
        self
    }
}

impl<'q, S: Joins<'q>> JoinQuery<'q, S> {
    /// Returns the pairs; waits for them.
    ///
    /// # Errors
    /// As for [`JoinQuery::run_on`].
    pub fn run(&self, device: &Device) -> Result<S::Result> {
        self.run_on(device.default_stream(), &mut Scratch::new(device))
    }

    /// Returns the pairs, computed on `stream`; waits for them. The scratch should be kept for
    /// later calls.
    ///
    /// # Errors
    /// [`InputError::TooManyItems`](crate::InputError::TooManyItems) for 2^32 rows or more of a
    /// side; [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless all columns of
    /// a table have equally many rows, and its validity has a bit for each row;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), also if there are more pairs than fit
    /// into memory; [`Error::WrongDevice`](crate::Error::WrongDevice),
    /// [`Error::Driver`](crate::Error::Driver).
    ///
    /// For wide keys also [`InputError::KeysDiffer`](crate::InputError::KeysDiffer) unless both
    /// tables have columns of the same types;
    /// [`InputError::ColumnLength`](crate::InputError::ColumnLength) unless the key columns of a
    /// table have equally many rows; [`InputError::TooManyItems`](crate::InputError::TooManyItems)
    /// if there are 2^32 pairs or more of which some differ;
    /// [`Error::BuildFailed`](crate::Error::BuildFailed) for a semi or anti join, as in
    /// [`Unique::run_on`](super::super::Unique::run_on).
    pub fn run_on(&self, stream: &Stream, scratch: &mut Scratch) -> Result<S::Result> {
        let mut result = S::Result::without_rows(scratch.device())?;
        self.run_into(stream, scratch, &mut result)?;
        Ok(result)
    }

    /// Computes the pairs as [`JoinQuery::run_on`] does, in the memory of an earlier result, which
    /// grows as needed. After an error the result is empty, unless it is on another device; then it
    /// is unchanged.
    ///
    /// # Errors
    /// As for [`JoinQuery::run_on`].
    pub fn run_into(&self, stream: &Stream, scratch: &mut Scratch, result: &mut S::Result) -> Result<()> {
        result.column().check_device("the joined rows", scratch.device())?;
        let done = self.joined.compute(&self.options, stream, scratch, result);
        if done.is_err() {
            result.empty();
        }
        done
    }
}

impl<'q, S: Joins<'q>> fmt::Debug for JoinQuery<'q, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JoinOptions { kind, method, .. } = &self.options;
        f.debug_struct(S::NAME).field("kind", kind).field("method", method).finish_non_exhaustive()
    }
}
