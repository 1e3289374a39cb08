//! Semi and anti joins: whether a right row is equal to a left one.

use super::equal::{Pairs, flags};
use super::on_device::KeysOn;
use super::outcomes::{append, outcomes};
use crate::primitives::{Scratch, gather, iota};
use crate::relational::{Join, JoinKind, JoinMethod, Joined, Unique};
use crate::{Buffer, Result, Stream};
use gpu_kernels::relational::rows::Outcome;

/// Writes those left rows to `joined` that are equal to a right row, or to none.
///
/// One right row of each hash is joined, if all right rows with that hash are equal; then no left
/// row is in more than one pair. Otherwise all right rows are.
pub(super) fn run(
    stream: &Stream,
    scratch: &mut Scratch,
    (keys, hashes): ([&KeysOn<'_>; 2], [&Buffer<u64>; 2]),
    (kind, method, seed): (JoinKind, JoinMethod, u64),
    joined: &mut Joined,
) -> Result<()> {
    let [left_keys, right_keys] = keys;
    let unique = Unique::of(hashes[1]).ids().first_rows().seed(seed).run_on(stream, scratch)?;
    let (mut rows, mut firsts) = (scratch.lend(hashes[1].len())?, scratch.lend(hashes[1].len())?);
    iota(stream, &mut rows)?;
    gather(stream, &unique.first_rows, &unique.ids, &mut firsts)?;
    let pairs = Pairs { rows: [&rows, &firsts], keeps_alone: false };
    let (keep, others) = flags(stream, scratch, [right_keys, right_keys], pairs)?;
    scratch.give_back(keep);
    scratch.give_back(rows);
    scratch.give_back(firsts);

    let right_hashes = if others == 0 { &unique.keys } else { hashes[1] };
    Join::new(hashes[0], right_hashes).method(method).seed(seed).run_into(stream, scratch, joined)?;
    let [left, right] = joined.rows_mut();
    if others == 0 {
        let mut right_rows = scratch.lend(right.len())?;
        gather(stream, &unique.first_rows, right, &mut right_rows)?;
        scratch.give_back(std::mem::replace(right, right_rows));
    }
    let (keep, _) = flags(stream, scratch, keys, Pairs { rows: [left, right], keeps_alone: false })?;
    let outcomes = outcomes(stream, scratch, left_keys.rows, (left, &keep))?;
    scratch.give_back(keep);
    let wanted = match kind {
        JoinKind::Semi => Outcome::Matched.bit(),
        _ => Outcome::None.bit() | Outcome::Lost.bit(),
    };
    let header = scratch.lend::<u64>(1)?;
    stream.batch(|batch| batch.zero(&header, 1))?;
    let mut alone = scratch.lend(left_keys.rows as usize)?;
    append(stream, (&outcomes, wanted), (&alone, None), &header)?;
    alone.set_length(header.download_at(stream, 0)? as usize);
    scratch.give_back(outcomes);
    scratch.give_back(header);
    scratch.give_back(std::mem::replace(left, alone));
    right.empty();
    Ok(())
}
