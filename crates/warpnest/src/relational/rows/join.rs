//! Joins by keys of any number of columns.

use super::hash::{RowHash, queue_hashes};
use super::wide_keys::WideKeys;
use super::{pairs, presence};
use crate::primitives::Scratch;
use crate::relational::join::{JoinOptions, Joins, JoinsRows};
use crate::relational::{Join, JoinKind, JoinQuery, Joined};
use crate::{Result, Stream};

/// A join of two tables by keys that are wider than 64 bits, or texts: the indices of those rows of
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
pub type WideJoin<'q> = JoinQuery<'q, ByWideKeys<'q>>;

/// The keys of both tables.
pub struct ByWideKeys<'q> {
    keys: [WideKeys<'q>; 2],
    /// The bits of hashes that are kept.
    mask: u64,
}

impl<'q> WideJoin<'q> {
    /// Returns an inner join of the rows of a left and of a right table, by these keys.
    pub fn new(left: WideKeys<'q>, right: WideKeys<'q>) -> Self {
        Self::of(ByWideKeys { keys: [left, right], mask: u64::MAX })
    }

    /// Keeps so many bits of each hash, so that tests meet collisions.
    #[doc(hidden)]
    pub fn hash_bits(&mut self, bits: u32) -> &mut Self {
        self.joined.mask = u64::MAX.checked_shr(64 - bits.min(64)).unwrap_or(0);
        self
    }
}

impl<'q> Joins<'q> for ByWideKeys<'q> {
    const NAME: &'static str = "WideJoin";
    type Result = Joined;

    fn compute(
        &self,
        options: &JoinOptions<'q>,
        stream: &Stream,
        scratch: &mut Scratch,
        joined: &mut Joined,
    ) -> Result<()> {
        let [left, right] = &self.keys;
        let device = scratch.device().clone();
        stream.check_device(&device)?;
        left.check_types(right)?;
        let (left, right) = (left.on_device(&device)?, right.on_device(&device)?);
        let (keys, seed) = ([&left, &right], options.seed());
        let options = JoinOptions { seed: Some(seed), ..*options };
        let hash = RowHash::new(seed, self.mask);
        let hashes = [scratch.lend(left.rows as usize)?, scratch.lend(right.rows as usize)?];
        for (keys, hashes) in keys.into_iter().zip(&hashes) {
            queue_hashes(stream, keys, &hash, hashes)?;
        }
        let [left_hashes, right_hashes] = &hashes;
        if matches!(options.kind, JoinKind::Semi | JoinKind::Anti) {
            presence::run(stream, scratch, keys, [left_hashes, right_hashes], &options, joined)?;
        } else {
            JoinQuery { options, ..Join::new(left_hashes, right_hashes) }.run_into(stream, scratch, joined)?;
            pairs::verify(stream, scratch, keys, options.kind, joined)?;
        }
        hashes.into_iter().for_each(|hashes| scratch.give_back(hashes));
        Ok(())
    }
}

impl<'q> JoinsRows<'q> for ByWideKeys<'q> {}
