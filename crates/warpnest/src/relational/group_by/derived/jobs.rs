//! The derived aggregates of a query, and the rows of which they are computed.

use crate::relational::columns::Words;
use crate::relational::group_by::compute::How;
use crate::relational::group_by::wanted::Derived;
use crate::{Buffer, Stream};

/// An aggregate that is computed.
pub(super) struct Job<'j> {
    pub derived: Derived,
    /// The rows of the aggregate, a bit for each row; all rows if there is none.
    pub mask: Option<&'j Buffer<u32>>,
    /// The memory of the result, in the order of the groups.
    pub output: &'j mut Words,
}

/// Rows with a key each.
pub(super) struct Keyed<'r, K> {
    pub stream: &'r Stream,
    pub how: How,
    pub keys: &'r Buffer<K>,
    /// The keys of the groups, in the order of the result.
    pub groups: &'r Buffer<K>,
}
