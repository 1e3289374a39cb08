//! The memory of groups, which an earlier result of the query may provide, and sorting of groups.

use super::wanted::Query;
use crate::primitives::{Scratch, gather, iota, sort_pairs};
use crate::relational::columns::Words;
use crate::{Buffer, Device, Result, Stream};
use gpu_kernels::types::{KeyWord, ValueWord};

/// Memory for keys, and for the aggregates of a query in the requested order.
#[derive(Debug)]
pub(in crate::relational) struct Memory<K> {
    pub keys: Buffer<K>,
    pub columns: Vec<Words>,
}

/// The keys of groups and their aggregates, in the requested order.
pub(in crate::relational) type Grouped<K> = (Buffer<K>, Vec<Words>);

impl<K: KeyWord> Memory<K> {
    /// Returns empty memory, which grows later.
    pub(super) fn new(query: &Query<'_>, device: &Device) -> Result<Self> {
        let column = |is_wide: bool| Words::uninitialized(device, is_wide, 0);
        Ok(Self { keys: Buffer::uninitialized(device, 0)?, columns: columns_of(query, column)? })
    }

    /// Returns memory of the scratch, which grows later.
    pub(super) fn lent(query: &Query<'_>, scratch: &mut Scratch) -> Result<Self> {
        let keys = scratch.lend(0)?;
        let column = |is_wide: bool| match is_wide {
            true => scratch.lend(0).map(Words::Wide),
            false => scratch.lend(0).map(Words::Narrow),
        };
        Ok(Self { keys, columns: columns_of(query, column)? })
    }

    /// Returns buffers of keys and aggregates for `groups` groups, whose contents are unspecified.
    pub(crate) fn of_length(mut self, device: &Device, groups: usize) -> Result<Grouped<K>> {
        self.keys.fit_at_least(device, groups)?;
        self.keys.set_length(groups);
        for column in &mut self.columns {
            column.resize(device, groups)?;
        }
        Ok((self.keys, self.columns))
    }
}

/// Returns the memory for each aggregate of a query, except derived ones.
fn columns_of(query: &Query<'_>, column: impl FnMut(bool) -> Result<Words>) -> Result<Vec<Words>> {
    query.wanted.iter().map(|wanted| query.is_wide(wanted)).map(column).collect()
}

/// Sorts `by`, and returns it with the keys and columns in the same order.
pub(in crate::relational) fn permuted<S: KeyWord + ValueWord, K: KeyWord + ValueWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    mut by: Buffer<S>,
    keys: Buffer<K>,
    columns: Vec<Words>,
) -> Result<(Buffer<S>, Buffer<K>, Vec<Words>)> {
    let device = scratch.device().clone();
    let mut order = Buffer::uninitialized(&device, keys.len())?;
    iota(stream, &mut order)?;
    sort_pairs(stream, scratch, &mut by, &mut order)?;
    let keys = gathered(stream, &device, &keys, &order)?;
    let sorted = |words: Words| {
        Ok(match words {
            Words::Narrow(words) => Words::Narrow(gathered(stream, &device, &words, &order)?),
            Words::Wide(words) => Words::Wide(gathered(stream, &device, &words, &order)?),
        })
    };
    let columns = columns.into_iter().map(sorted).collect::<Result<Vec<_>>>()?;
    Ok((by, keys, columns))
}

fn gathered<T: ValueWord>(
    stream: &Stream,
    device: &Device,
    from: &Buffer<T>,
    order: &Buffer<u32>,
) -> Result<Buffer<T>> {
    let mut to = Buffer::uninitialized(device, order.len())?;
    gather(stream, from, order, &mut to)?;
    Ok(to)
}
