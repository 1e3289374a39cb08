//! Joins whose result is pairs: removes the pairs of different rows from a join by hashes.

use super::equal::{Pairs, compacted, flags};
use super::on_device::KeysOn;
use super::outcomes::outcomes;
use crate::primitives::Scratch;
use crate::relational::columns::{Chosen, append};
use crate::relational::{JoinKind, Joined};
use crate::{Result, Stream};
use gpu_kernels::relational::rows::Outcome;

/// Removes the pairs of different rows from a join of hashes. A row that loses all of its pairs is
/// added as an unmatched row, if the kind of join has unmatched rows of its side.
pub(super) fn verify(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: [&KeysOn<'_>; 2],
    kind: JoinKind,
    joined: &mut Joined,
) -> Result<()> {
    let [left, right] = joined.rows_mut();
    let pairs = left.len();
    let (keep, removed) = flags(stream, scratch, keys, Pairs { rows: [left, right], keeps_alone: true })?;
    if removed == 0 {
        scratch.give_back(keep);
        return Ok(());
    }
    // When a pair is removed, at most one row of each side becomes unmatched.
    let has_alone = kind.has_rows_alone();
    let besides = if has_alone == [true; 2] { removed as usize } else { 0 };
    let mut kept =
        [compacted(stream, scratch, left, &keep, besides)?, compacted(stream, scratch, right, &keep, besides)?];
    let mut header = scratch.lend::<u64>(1)?;
    header.upload(stream, &[pairs as u64 - removed])?;
    for side in [0, 1].into_iter().filter(|&side| has_alone[side]) {
        let rows_of_pairs = if side == 0 { &*left } else { &*right };
        let outcomes = outcomes(stream, scratch, keys[side].rows, (rows_of_pairs, &keep))?;
        let outputs = (&kept[side], Some(&kept[1 - side]));
        append(stream, Chosen::Outcomes(&outcomes, Outcome::Lost.bit()), outputs, &header)?;
        scratch.give_back(outcomes);
    }
    let length = header.download_at(stream, 0)? as usize;
    scratch.give_back(header);
    scratch.give_back(keep);
    kept.iter_mut().for_each(|rows| rows.set_length(length));
    for (rows, kept) in [left, right].into_iter().zip(kept) {
        scratch.give_back(std::mem::replace(rows, kept));
    }
    Ok(())
}
