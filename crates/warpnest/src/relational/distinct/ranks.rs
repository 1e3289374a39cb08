//! Launches that compute flags and ranks of rows.

use crate::primitives::{Scratch, exclusive_scan_in_place};
use crate::relational::columns::RowKeys;
use crate::types::KeyOrder;
use crate::{Buffer, Result, Stream};
use gpu_kernels::layered::compacting::{CountBits, RowsParams};
use gpu_kernels::relational::distinct::ids::{
    FlagFirsts, FlagRepeated, FlagRepeatedParams, NumberRows, RowsOfKeysParams,
};

/// Flags of rows. `ranks` has each word of flags together with the count of flags before that word.
pub(super) struct Flagged {
    pub bits: Buffer<u32>,
    ranks: Buffer<u64>,
}

impl Flagged {
    pub(super) fn give_back(self, scratch: &mut Scratch) {
        scratch.give_back(self.bits);
        scratch.give_back(self.ranks);
    }
}

/// The rows of a lookup, as in [`RowsOfKeysParams`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub rows: u64,
    pub ids: u32,
    pub by_first: bool,
}

impl Rows {
    fn plan(&self) -> RowsOfKeysParams {
        RowsOfKeysParams { rows: self.rows, ids: self.ids, by_first: self.by_first as u32 }
    }

    /// Flags the rows that are the first row of their key, as [`FlagFirsts`] does; does not wait.
    pub(super) fn firsts(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        values: &Buffer<u32>,
        found: Option<&Buffer<u32>>,
    ) -> Result<Flagged> {
        let words = self.rows.div_ceil(32);
        let (bits, mut before) = (scratch.lend(words as usize)?, scratch.lend(words as usize)?);
        stream.batch(|batch| {
            let (values, bits_out) = (batch.read(values), batch.write(&bits));
            // SAFETY: the kernel's documentation allows `found` to be null.
            let found = unsafe { batch.read_or_null(found) };
            let flag = FlagFirsts { values, found, bits: bits_out, plan: self.plan() };
            let plan = RowsParams { rows: words };
            let count = CountBits { bits: bits_out, counts: batch.write(&before), plan };
            // SAFETY: there is a value and a flag for each row, and a found-bit if `found` is
            // given. There are as many counts as words of bits.
            unsafe {
                batch.launch(&flag, self.rows)?;
                batch.launch(&count, words)
            }
        })?;
        exclusive_scan_in_place(stream, scratch, &mut before)?;
        let ranks = scratch.lend::<u64>(words as usize)?;
        stream.batch(|batch| {
            let halves = RowKeys::Two([&bits, &before]);
            // SAFETY: all three buffers have the same count of words.
            unsafe { halves.encode(batch, KeyOrder::default(), batch.write(&ranks)) }
        })?;
        scratch.give_back(before);
        Ok(Flagged { bits, ranks })
    }

    /// Queues replacing `values` by ids, as [`NumberRows`] does. Nothing else may use `values`.
    pub(super) fn number(
        &self,
        stream: &Stream,
        values: &Buffer<u32>,
        found: Option<&Buffer<u32>>,
        flags: &Flagged,
    ) -> Result<()> {
        stream.batch(|batch| {
            let number = NumberRows {
                values: batch.write(values),
                // SAFETY: the kernel's documentation allows `found` to be null.
                found: unsafe { batch.read_or_null(found) },
                ranks: batch.read(&flags.ranks),
                plan: self.plan(),
            };
            // SAFETY: there is a value for each row. The flags that are looked up belong to rows of
            // the column, and there is a flag for each row.
            unsafe { batch.launch(&number, self.rows) }
        })
    }
}

/// Returns a flag for each group that has more than one row.
pub(super) fn flag_repeated(stream: &Stream, scratch: &mut Scratch, counts: &Buffer<u32>) -> Result<Buffer<u32>> {
    let flags = scratch.lend(counts.len().div_ceil(32))?;
    let plan = FlagRepeatedParams { groups: counts.len() as u64 };
    stream.batch(|batch| {
        let flag = FlagRepeated { counts: batch.read(counts), bits: batch.write(&flags), plan };
        // SAFETY: there is a bit for each count.
        unsafe { batch.launch(&flag, plan.groups) }
    })?;
    Ok(flags)
}
