//! The hot pass by itself, for tests.

use super::aggregates::Aggregates;
use super::by_hot::{HotFound, HotShape, Missed, Regions, hot_pass};
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

/// Takes a sample and makes the hot pass over all rows. Returns what it found, and the keys and
/// values of the rows of other groups; without a column of values no values.
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
) -> Result<(Few, Vec<K>, Vec<WordOf<V>>)> {
    let wanted = Aggregates {
        column,
        keys: &out.keys,
        counts: out.counts.as_ref(),
        sums: out.sums.as_ref(),
        minima: out.minima.as_ref(),
        maxima: out.maxima.as_ref(),
    };
    let device = scratch.device().clone();
    let sampled = sample(stream, scratch, keys, &wanted, seed)?;
    let (rows, distinct, hot) = (sampled.rows, sampled.distinct, sampled.hot);
    let (covered, missed_share, estimated_groups) = (sampled.covered, sampled.missed_share, sampled.groups());
    let shape = HotShape::new::<K, V>(stream, &sampled);
    let missed_rows = shape.missed_rows() as usize;
    let missed_keys = Buffer::zeroed(&device, missed_rows)?;
    let missed_values = Buffer::zeroed(&device, if V::VALUE_BITS == 0 { 0 } else { missed_rows })?;
    let counts = Buffer::zeroed(&device, shape.regions() as usize)?;
    let to = Missed { keys: &missed_keys, values: &missed_values, counts: &counts };
    let (found, _) = hot_pass::<K, V>(stream, keys, values, (sampled, shape), &wanted, to)?;
    let HotFound { groups, missed, regions } = found;
    let (mut missed_keys, mut missed_values) = (missed_keys.download(stream)?, missed_values.download(stream)?);
    if let Some(Regions { number, capacity, most }) = regions {
        let counts = counts.download(stream)?;
        assert_eq!((counts.len() as u64, counts.iter().max().copied()), (number, Some(most as u32)));
        let mut to = 0;
        for (region, count) in (0..).step_by(capacity as usize).zip(counts) {
            let rows = region..region + count as usize;
            missed_keys.copy_within(rows.clone(), to);
            if !missed_values.is_empty() {
                missed_values.copy_within(rows, to);
            }
            to += count as usize;
        }
    }
    missed_keys.truncate(missed as usize);
    missed_values.truncate(missed as usize);
    Ok((
        Few { rows, distinct, hot, covered, missed_share, estimated_groups, groups, missed },
        missed_keys,
        missed_values,
    ))
}
