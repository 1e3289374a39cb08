//! Joins by keys of any number of columns.

use super::hash::{RowHash, queue_hashes};
use super::wide_keys::WideKeys;
use super::{pairs, presence};
use crate::primitives::Scratch;
use crate::relational::join::{JoinOptions, Joins, JoinsRows};
use crate::relational::{Join, JoinKind, JoinQuery, Joined};
use crate::{Result, Stream};

/// A join of two tables by keys that are texts or wider than 64 bits. It returns the indices of the
/// left and right rows that are equal in every column.
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
/// - **Exact.** Rows are joined by 64-bit hashes, and then the rows of each pair are compared in
///   all columns. Pairs of different rows are left out, and rows that are only in such pairs are
///   unmatched. So the result is never wrong, and collisions only cost time.
/// - **Columns** are slices, buffers and [`TextColumn`](super::TextColumn)s. Their count and types
///   must be the same in both tables. For keys of one or two columns of at most 64 bits in total,
///   use [`Join`](super::super::Join), which needs no hash.
/// - **Keys** are equal if their bytes are equal, so a NaN equals the same NaN. Keys may be
///   repeated on both sides. A null key equals no key ([`WideJoin::left_valid`]). Pairs are in any
///   order.
/// - **Complexity.** Besides the join of the hashes, each column is read once for the hashes, and
///   once more at both rows of each pair. Semi and anti joins first find one row of each distinct
///   right key, and compare every right row with it. If some pairs differ, all pairs are compacted.
/// - **Memory.** The scratch takes 8 bytes per row of both sides, and the memory of the join of the
///   hashes. Then it takes a bit for each pair, and 8 bytes per pair if some pairs differ. Semi and
///   anti joins take another 24 bytes per right row and 20 bytes per left row. If different right
///   rows have the same hash, each pair takes 8 bytes.
/// - **Nulls** take another 12 bytes per row of a side whose keys may be null.
/// - **Concurrent operations.** The columns are read after earlier writes to them, and the result
///   is complete when the call returns.
///
/// Source: the hash of [`hash_rows`](super::hash_rows), and the join of
/// [`Join`](super::super::Join).
#[doc(alias("string_join", "composite_key", "multi_column"))]
pub type WideJoin<'q> = JoinQuery<'q, ByWideKeys<'q>>;

/// The keys of both tables.
pub struct ByWideKeys<'q> {
    keys: [WideKeys<'q>; 2],
    /// The mask of the bits of hashes that are kept.
    mask: u64,
}

impl<'q> WideJoin<'q> {
    /// Returns an inner join of the rows of a left and a right table, by the given keys.
    pub fn new(left: WideKeys<'q>, right: WideKeys<'q>) -> Self {
        Self::of(ByWideKeys { keys: [left, right], mask: u64::MAX })
    }

    /// Keeps only `bits` bits of each hash, so that tests can provoke collisions.
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
