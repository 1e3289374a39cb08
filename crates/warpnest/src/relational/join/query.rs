//! What every join is asked for, and the calls that run it.

use super::joined::{JoinKind, JoinMethod, Joined};
use crate::hash::random_seed;
use crate::primitives::Scratch;
use crate::relational::columns::{Column, IntoColumn};
use crate::{Buffer, Device, Result, Stream};
use std::fmt;

/// A join of two tables before it is run: [`Join`](super::Join),
/// [`WideJoin`](super::super::WideJoin) and [`JoinWithValues`](super::JoinWithValues), which differ
/// in what `S` is joined.
pub struct JoinQuery<'q, S> {
    pub(in crate::relational) joined: S,
    pub(in crate::relational) options: JoinOptions<'q>,
}

/// What users set of a join.
#[derive(Clone, Copy)]
pub struct JoinOptions<'q> {
    /// A bit for each left and each right row, set if its key is not null; without it no key is.
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

/// What is joined: the keys of both tables, and what stands beside them.
pub trait Joins<'q> {
    /// The name of the query.
    const NAME: &'static str;

    /// What the join gives.
    type Result: JoinResult;

    /// Computes the pairs in the memory of the result. After an error its contents may be any.
    fn compute(
        &self,
        options: &JoinOptions<'q>,
        stream: &Stream,
        scratch: &mut Scratch,
        result: &mut Self::Result,
    ) -> Result<()>;
}

/// Joins that give row indices, and so rows that are alone.
pub trait JoinsRows<'q>: Joins<'q, Result = Joined> {}

/// The result of a join.
pub trait JoinResult: Sized {
    /// Returns a result without rows, and without memory.
    fn without_rows(device: &Device) -> Result<Self>;

    /// Returns a column, which has an element for each pair.
    fn column(&self) -> &Buffer<u32>;

    /// Makes it a result without rows.
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

    /// Sets which left rows have a key: those `i` whose bit `i % 32` of word `i / 32` is set, as in
    /// a validity bitmap of Arrow. The key of each other row is null, whatever its word: it is
    /// equal to no key, as in SQL. So an inner or semi join leaves the row out, and a left, full or
    /// anti join has it alone. A key of several columns is null if it is in one of them.
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
    pub fn left_valid(&mut self, bits: impl IntoColumn<'q, u32>) -> &mut Self {
        self.options.valid[0] = Some(bits.into_column());
        self
    }

    /// Sets which right rows have a key, as [`JoinQuery::left_valid`] does for left ones. A right
    /// or full join has the others alone.
    pub fn right_valid(&mut self, bits: impl IntoColumn<'q, u32>) -> &mut Self {
        self.options.valid[1] = Some(bits.into_column());
        self
    }

    /// Sets how the join is computed; in a [`WideJoin`](super::super::WideJoin) how the hashes are
    /// joined; [`JoinMethod::Auto`] if this is not called. The report says what was done.
    pub fn method(&mut self, method: JoinMethod) -> &mut Self {
        self.options.method = method;
        self
    }

    /// Sets the seed of the hash constants, which are random if this is not called. Do not set it
    /// where others choose wide keys: they could choose many with one hash.
    pub fn seed(&mut self, seed: u64) -> &mut Self {
        self.options.seed = Some(seed);
        self
    }
}

impl<'q, S: JoinsRows<'q>> JoinQuery<'q, S> {
    /// Sets which rows the join gives; [`JoinKind::Inner`] if this is not called.
    pub fn kind(&mut self, kind: JoinKind) -> &mut Self {
        self.options.kind = kind;
        self
    }
}

impl<'q, S: Joins<'q>> JoinQuery<'q, S> {
    /// Returns the pairs, when they are there.
    ///
    /// # Errors
    /// As for [`JoinQuery::run_on`].
    pub fn run(&self, device: &Device) -> Result<S::Result> {
        self.run_on(device.default_stream(), &mut Scratch::new(device))
    }

    /// Returns the pairs, computed on `stream`; waits until they are there. The scratch is best
    /// kept for the next call.
    ///
    /// # Errors
    /// [`InputError::TooManyItems`](crate::InputError::TooManyItems) for 2^32 rows or more of a
    /// side; [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless all columns of
    /// a table have as many rows, and a bit of its validity;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), also if the pairs are more than there is
    /// memory for; [`Error::WrongDevice`](crate::Error::WrongDevice),
    /// [`Error::Driver`](crate::Error::Driver).
    ///
    /// Of wide keys also [`InputError::KeysDiffer`](crate::InputError::KeysDiffer) unless both
    /// tables have columns of the same types;
    /// [`InputError::ColumnLength`](crate::InputError::ColumnLength) unless the key columns of a
    /// table have as many rows; [`InputError::TooManyItems`](crate::InputError::TooManyItems) if
    /// some of 2^32 or more pairs differ; [`Error::BuildFailed`](crate::Error::BuildFailed) of a
    /// semi or anti join, as for [`Unique::run_on`](super::super::Unique::run_on).
    pub fn run_on(&self, stream: &Stream, scratch: &mut Scratch) -> Result<S::Result> {
        let mut result = S::Result::without_rows(scratch.device())?;
        self.run_into(stream, scratch, &mut result)?;
        Ok(result)
    }

    /// Computes the pairs as [`JoinQuery::run_on`] does, in the memory of an earlier result, which
    /// grows as needed. After an error there are no pairs, unless the result is of another device:
    /// then it stays as it is.
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
