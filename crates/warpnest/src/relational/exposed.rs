//! Ways of group-by by themselves, for tests and benchmarks.

use super::aggregates::Aggregates;
use super::by_hot::{HotFound, hot_pass};
use super::sample::sample;
use crate::primitives::Scratch;
use crate::{Buffer, Result, Stream};
use gpu_kernels::relational::column::ColumnParams;
use gpu_kernels::types::{KeyWord, Payload, WordOf};

/// The buffers that [`group_few`] writes. What is `None` is not computed.
#[derive(Debug)]
pub struct FewBuffers<K, W> {
    /// The key of each group.
    pub keys: Buffer<K>,
    /// The number of rows of each group.
    pub counts: Option<Buffer<u32>>,
    /// The sum of each group.
    pub sums: Option<Buffer<u64>>,
    /// The least value of each group.
    pub minima: Option<Buffer<W>>,
    /// The greatest value of each group.
    pub maxima: Option<Buffer<W>>,
    /// The keys of the rows of other groups.
    pub missed_keys: Buffer<K>,
    /// The values of the rows of other groups.
    pub missed_values: Buffer<W>,
}

/// What [`group_few`] found.
#[derive(Clone, Copy, Debug)]
pub struct Few {
    /// The number of rows that were drawn.
    pub rows: u64,
    /// The number of distinct keys among them.
    pub distinct: u64,
    /// The number of hot keys.
    pub hot: u64,
    /// The number of drawn rows whose key is hot.
    pub covered: u64,
    /// The estimate of the share of rows whose key is not hot.
    pub missed_share: f64,
    /// The estimate of the number of groups.
    pub estimated_groups: u64,
    /// The number of groups of hot keys.
    pub groups: u64,
    /// The number of rows whose key is not hot.
    pub missed: u64,
}

/// Takes a sample and makes the hot pass over all rows.
///
/// # Errors
/// Those of the two steps.
pub fn group_few<K: KeyWord, V: Payload>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    values: Option<&Buffer<WordOf<V>>>,
    column: ColumnParams,
    out: &mut FewBuffers<K, WordOf<V>>,
    seed: u64,
) -> Result<Few> {
    let wanted = Aggregates {
        column,
        keys: &out.keys,
        counts: out.counts.as_ref(),
        sums: out.sums.as_ref(),
        minima: out.minima.as_ref(),
        maxima: out.maxima.as_ref(),
    };
    let sampled = sample(stream, scratch, keys, &wanted, seed)?;
    let (rows, distinct, hot) = (sampled.rows, sampled.distinct, sampled.hot);
    let (covered, missed_share, estimated_groups) = (sampled.covered, sampled.missed_share, sampled.groups());
    let HotFound { groups, missed } =
        hot_pass::<K, V>(stream, keys, values, sampled, &wanted, (&out.missed_keys, &out.missed_values))?;
    Ok(Few { rows, distinct, hot, covered, missed_share, estimated_groups, groups, missed })
}
