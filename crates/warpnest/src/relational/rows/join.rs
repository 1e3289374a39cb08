//! Joins by keys of any number of columns.

use super::hash::{RowHash, queue_hashes};
use super::presence::HashedRows;
use super::wide_keys::WideKeys;
use super::{pairs, presence};
use crate::hash::random_seed;
use crate::primitives::Scratch;
use crate::relational::columns::Column;
use crate::relational::{Join, JoinKind, JoinMethod, Joined};
use crate::{Buffer, Device, Result, Stream};
use std::fmt;

/// A join of two tables by keys that are wider than 64 bits, or texts: the numbers of those rows of
/// a left and of a right table that are equal in every column.
///
/// ```
/// use warpnest::Device;
/// use warpnest::relational::{JoinKind, NO_ROW, TextColumn, WideJoin, WideKeys};
///
/// let device = Device::best()?;
/// let cities = TextColumn::new(&device, &["Ulm", "Bonn", "Ulm", "Jena"])?; // of each visit
/// let years = [2023u32, 2024, 2024, 2024];
/// let hosts = TextColumn::new(&device, &["Jena", "Ulm", "Ulm"])?; // of each fair
/// let held = [2024u32, 2024, 2023];
///
/// let visits = WideKeys::of_text(&cities).and(&years);
/// let fairs = WideKeys::of_text(&hosts).and(&held);
/// let joined = WideJoin::new(visits, fairs).kind(JoinKind::Left).run(&device)?;
/// let stream = device.default_stream();
/// let left = joined.left_rows().download(stream)?;
/// let right = joined.right_rows().download(stream)?;
/// let mut pairs: Vec<_> = left.into_iter().zip(right).collect();
/// pairs.sort();
/// assert_eq!(pairs, [(0, 2), (1, NO_ROW), (2, 1), (3, 0)]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// - **Exact.** Rows are joined by 64-bit hashes, and each pair of them is compared in all columns.
///   Pairs of rows that differ are left out, and rows that were in such pairs alone are unmatched.
///   So no answer depends on luck; collisions cost time alone.
/// - **Columns** are slices, buffers and [`TextColumn`](super::TextColumn)s. They must be as many
///   in both tables, and of the same types. Keys of one or two columns up to 64 bits take no hash:
///   that is [`Join`](super::super::Join), which has the six kinds, the methods and the result.
/// - **Keys** are equal if their bytes are: a NaN meets the same NaN. Any number of rows may have
///   one key, on both sides. A null key meets none ([`WideJoin::left_valid`]). Pairs come in any
///   order.
/// - **Complexity.** Beside the join of the hashes, each column is read once for them, and once
///   more at both rows of each pair. Semi and anti joins first find one row of each different right
///   key, and compare each right row with that. If some pairs differ, all are compacted.
/// - **Memory.** The scratch takes 8 bytes for each row of both sides, and what the join of them
///   takes; then a bit for each pair, and 8 bytes if some pairs differ. Semi and anti joins take 24
///   bytes a right row and 20 a left row beside that. Should right rows that differ have the same
///   hash, it is 8 bytes for each pair.
/// - **Nulls** take 12 bytes more for each row of a side some of whose keys may be null.
/// - **Guarantee beside concurrent operations.** As of every operation that takes a stream: the
///   columns are read when their writers are done, and the result is there when the call returns.
///
/// Source: the hash of [`hash_rows`](super::hash_rows), and the join of
/// [`Join`](super::super::Join).
#[doc(alias("string_join", "composite_key", "multi_column"))]
pub struct WideJoin<'q> {
    keys: [WideKeys<'q>; 2],
    valid: [Option<Column<'q, u32>>; 2],
    kind: JoinKind,
    method: JoinMethod,
    seed: Option<u64>,
    /// The bits of hashes that are kept.
    mask: u64,
}

impl<'q> WideJoin<'q> {
    /// Returns an inner join of the rows of a left and of a right table, by these keys.
    pub fn new(left: WideKeys<'q>, right: WideKeys<'q>) -> Self {
        let (kind, method) = (JoinKind::Inner, JoinMethod::Auto);
        Self { keys: [left, right], valid: [None; 2], kind, method, seed: None, mask: u64::MAX }
    }

    /// Sets which rows the join gives; [`JoinKind::Inner`] if this is not called.
    pub fn kind(&mut self, kind: JoinKind) -> &mut Self {
        self.kind = kind;
        self
    }

    /// Sets which left rows have a key, as [`Join::left_valid`] does: a key is null if it is in one
    /// of its columns.
    pub fn left_valid(&mut self, bits: impl Into<Column<'q, u32>>) -> &mut Self {
        self.valid[0] = Some(bits.into());
        self
    }

    /// Sets which right rows have a key, as [`WideJoin::left_valid`] does for left ones.
    pub fn right_valid(&mut self, bits: impl Into<Column<'q, u32>>) -> &mut Self {
        self.valid[1] = Some(bits.into());
        self
    }

    /// Sets how the hashes are joined; [`JoinMethod::Auto`] if this is not called.
    pub fn method(&mut self, method: JoinMethod) -> &mut Self {
        self.method = method;
        self
    }

    /// Sets the seed of the hashes, which are random if this is not called. Do not set it where
    /// others choose the rows: they could choose many with one hash.
    pub fn seed(&mut self, seed: u64) -> &mut Self {
        self.seed = Some(seed);
        self
    }

    /// Keeps so many bits of each hash, so that tests meet collisions.
    #[doc(hidden)]
    pub fn hash_bits(&mut self, bits: u32) -> &mut Self {
        self.mask = u64::MAX.checked_shr(64 - bits.min(64)).unwrap_or(0);
        self
    }

    /// Returns the pairs, when they are there.
    ///
    /// # Errors
    /// As for [`WideJoin::run_on`].
    pub fn run(&self, device: &Device) -> Result<Joined> {
        self.run_on(device.default_stream(), &mut Scratch::new(device))
    }

    /// Returns the pairs, computed on `stream`; waits until they are there. The scratch is best
    /// kept for the next call.
    ///
    /// # Errors
    /// [`InputError::KeysDiffer`](crate::InputError::KeysDiffer) unless both tables have columns of
    /// the same types; [`InputError::ColumnLength`](crate::InputError::ColumnLength) unless those
    /// of a table have as many rows;
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless there is a bit of
    /// validity for each row; [`InputError::TooManyItems`](crate::InputError::TooManyItems) for
    /// 2^32 rows or more of a side, or if some of 2^32 or more pairs differ;
    /// [`Error::BuildFailed`](crate::Error::BuildFailed) of a semi or anti join, as for
    /// [`Unique::run_on`](super::super::Unique::run_on);
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), also if the pairs are more than there is
    /// memory for; [`Error::WrongDevice`](crate::Error::WrongDevice),
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn run_on(&self, stream: &Stream, scratch: &mut Scratch) -> Result<Joined> {
        let mut joined = Joined::new(scratch.device())?;
        self.run_into(stream, scratch, &mut joined)?;
        Ok(joined)
    }

    /// Computes the pairs as [`WideJoin::run_on`] does, in the memory of an earlier result, which
    /// grows as needed. After an error there are no pairs, unless the result is of another device:
    /// then it stays as it is.
    ///
    /// # Errors
    /// As for [`WideJoin::run_on`].
    pub fn run_into(&self, stream: &Stream, scratch: &mut Scratch, joined: &mut Joined) -> Result<()> {
        joined.left_rows().check_device("the joined rows", scratch.device())?;
        let done = self.run_with(stream, scratch, joined);
        if done.is_err() {
            joined.rows_mut().into_iter().for_each(Buffer::empty);
        }
        done
    }

    fn run_with(&self, stream: &Stream, scratch: &mut Scratch, joined: &mut Joined) -> Result<()> {
        let Self { keys: [left, right], valid, kind, method, seed, mask } = self;
        let device = scratch.device().clone();
        stream.check_device(&device)?;
        left.check_types(right)?;
        let (left, right) = (left.on_device(&device)?, right.on_device(&device)?);
        let (keys, seed) = ([&left, &right], seed.unwrap_or_else(random_seed));
        let hash = RowHash::new(seed, *mask);
        let hashes = [scratch.lend(left.rows as usize)?, scratch.lend(right.rows as usize)?];
        for (keys, hashes) in keys.into_iter().zip(&hashes) {
            queue_hashes(stream, keys, &hash, hashes)?;
        }
        let [left_hashes, right_hashes] = &hashes;
        if matches!(kind, JoinKind::Semi | JoinKind::Anti) {
            let rows = |side: usize| HashedRows { keys: keys[side], hashes: &hashes[side], valid: valid[side] };
            presence::run(stream, scratch, [rows(0), rows(1)], (*kind, *method, seed), joined)?;
        } else {
            let mut join = Join::new(left_hashes, right_hashes);
            join.valid(*valid).kind(*kind).method(*method).seed(seed).run_into(stream, scratch, joined)?;
            pairs::verify(stream, scratch, keys, *kind, joined)?;
        }
        hashes.into_iter().for_each(|hashes| scratch.give_back(hashes));
        Ok(())
    }
}

impl fmt::Debug for WideJoin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { keys, kind, method, .. } = self;
        f.debug_struct("WideJoin")
            .field("keys", keys)
            .field("kind", kind)
            .field("method", method)
            .finish_non_exhaustive()
    }
}
