//! Semi and anti joins: tests whether a left row is equal to any right row.

use super::equal::{Pairs, flags};
use super::on_device::KeysOn;
use super::outcomes::outcomes;
use crate::primitives::{Scratch, gather, iota};
use crate::relational::columns::{Chosen, KeyColumns, append};
use crate::relational::join::{JoinOptions, Table, renumber};
use crate::relational::{IntoColumn, Join, JoinKind, JoinQuery, Joined, Unique};
use crate::{Buffer, Result, Stream};
use gpu_kernels::relational::rows::Outcome;

/// Writes the matching left rows to `joined`: rows that are equal to a right row, or in an anti
/// join to none.
///
/// If all right rows with the same hash are equal, only one right row of each hash is joined, so
/// that no left row is in more than one pair. Otherwise all right rows are joined.
pub(super) fn run(
    stream: &Stream,
    scratch: &mut Scratch,
    [left_keys, right_keys]: [&KeysOn<'_>; 2],
    [left_hashes, right_hashes]: [&Buffer<u64>; 2],
    options: &JoinOptions<'_>,
    joined: &mut Joined,
) -> Result<()> {
    let (kind, [left_valid, right_valid]) = (options.kind, options.valid);
    let right_hashes = KeyColumns::One(right_hashes.into_column());
    let right = Table { keys: &right_hashes, valid: right_valid }.on_device(stream, scratch)?;
    let (valid_hashes, numbers) = (right.keys(), right.numbers());
    let unique = Unique::of(valid_hashes).ids().first_rows().seed(options.seed()).run_on(stream, scratch)?;
    let (mut rows, mut firsts) = (scratch.lend(valid_hashes.len())?, scratch.lend(valid_hashes.len())?);
    iota(stream, &mut rows)?;
    gather(stream, &unique.first_rows, &unique.ids, &mut firsts)?;
    if let Some(numbers) = numbers {
        renumber(stream, &rows, Some(numbers), 0)?;
        renumber(stream, &firsts, Some(numbers), 0)?;
    }
    let pairs = Pairs { rows: [&rows, &firsts], keeps_alone: false };
    let (keep, others) = flags(stream, scratch, [right_keys, right_keys], pairs)?;
    scratch.give_back(keep);
    scratch.give_back(rows);
    scratch.give_back(firsts);

    let right_hashes = if others == 0 { &unique.keys } else { valid_hashes };
    let options = JoinOptions { valid: [left_valid, None], kind: JoinKind::Inner, ..*options };
    JoinQuery { options, ..Join::new(left_hashes, right_hashes) }.run_into(stream, scratch, joined)?;
    let [left, met] = joined.rows_mut();
    if others == 0 {
        renumber(stream, met, Some(&unique.first_rows), 0)?;
    }
    if let Some(numbers) = numbers {
        renumber(stream, met, Some(numbers), 0)?;
    }
    let (keep, _) = flags(stream, scratch, [left_keys, right_keys], Pairs { rows: [left, met], keeps_alone: false })?;
    let outcomes = outcomes(stream, scratch, left_keys.rows, (left, &keep))?;
    scratch.give_back(keep);
    let wanted = match kind {
        JoinKind::Semi => Outcome::Matched.bit(),
        _ => Outcome::None.bit() | Outcome::Lost.bit(),
    };
    let header = scratch.lend::<u64>(1)?;
    stream.batch(|batch| batch.zero(&header, 1))?;
    let mut alone = scratch.lend(left_keys.rows as usize)?;
    append(stream, Chosen::Outcomes(&outcomes, wanted), (&alone, None), &header)?;
    alone.set_length(header.download_at(stream, 0)? as usize);
    scratch.give_back(outcomes);
    scratch.give_back(header);
    scratch.give_back(std::mem::replace(left, alone));
    met.empty();
    right.give_back(scratch);
    Ok(())
}
