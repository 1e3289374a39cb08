//! What is computed of each group's rows of one column, and where it is written.

use crate::Buffer;
use gpu_kernels::column::ColumnParams;

/// The aggregates of one column, or of none: buffers as long as the capacity for groups. What is
/// `None` is not computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aggregates<'o, K, W> {
    /// How the column's values are added and compared.
    pub column: ColumnParams,
    /// The key of each group.
    pub keys: &'o Buffer<K>,
    /// The number of rows of each group.
    pub counts: Option<&'o Buffer<u32>>,
    /// The sum of the [widened](ColumnParams::widened) values of each group, wrapping.
    pub sums: Option<&'o Buffer<u64>>,
    /// The least value of each group.
    pub minima: Option<&'o Buffer<W>>,
    /// The greatest value of each group.
    pub maxima: Option<&'o Buffer<W>>,
}
