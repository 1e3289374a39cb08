//! The split: rows are put into bins by some bits of their mixed keys, once or several times. The
//! pages of a table, and the bins of group-by and of joins, are what it makes.
//!
//! [`Split`] is in `kernel`. It splits a tile by the threads of a block `together`, which `write`
//! their rows in the end, or by one thread `in_turn`; `plan` has the arguments of both, `pairs` the
//! format of what they read and write. A block's threads keep their rows as in `held`, and
//! `repeats` drops those whose key comes again. `bins` says where the rows of a bin are in the end.

pub(crate) mod bins;
mod held;
mod in_turn;
mod kernel;
pub(crate) mod pairs;
mod plan;
mod repeats;
mod together;
mod write;

pub use crate::primitives::radix::tile::tile;
pub use kernel::Split;
pub use pairs::Pairs;
pub use plan::{MAX_SPLIT_BITS, SplitParams, state_words};

use crate::seam::Global;

/// The first words of the header of what is split.
pub mod header {
    /// The most splits.
    pub const LEVELS: u64 = 3;
    /// The first of one word per split: how many pairs it dropped because their key comes again in
    /// the same tile. They precede the words that are set to 0 before the last split is repeated,
    /// since that split reads the counts of earlier ones.
    pub const DROPPED: u64 = 0;
    /// The first of one word per split: 1 if one of its bins got more pairs than its capacity.
    pub const OVERFLOW: u64 = 3;
}

/// Returns whether a split has lost pairs, by the header that no thread of the launch changes in
/// this.
#[inline(always)]
pub(crate) fn overflowed(header: Global<u64>) -> bool {
    let mut overflowed = 0;
    for level in 0..header::LEVELS {
        overflowed |= header.load_read_only(header::OVERFLOW + level);
    }
    overflowed != 0
}
