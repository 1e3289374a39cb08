//! The split divides rows into bins by some bits of their mixed keys, once or several times. It
//! makes the pages of a table, and the bins of group-by and joins.
//!
//! [`Split`] is in `kernel`. The threads of a block split a tile `together` and `write` its rows at
//! the end; on CPU cores one thread splits it `in_turn`. `plan` has the arguments of both ways, and
//! `pairs` the format of input and output. `held` is the state of a block's threads. `repeats`
//! drops rows whose key occurs again. `bins` finds the rows of a bin after the splits.

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

/// The first words of the header of an operation that uses splits.
pub mod header {
    /// The most splits of one input.
    pub const LEVELS: u64 = 3;
    /// The first of one word per split: the count of pairs that the split dropped because their key
    /// occurs again in the same tile. These words precede the words that are set to 0 before the
    /// last split is repeated, since that split reads the counts of earlier splits.
    pub const DROPPED: u64 = 0;
    /// The first of one word per split: 1 if one of its bins got more pairs than its capacity.
    pub const OVERFLOW: u64 = 3;
}

/// Returns whether a split has lost pairs, by a header whose overflow words no thread of the launch
/// changes.
#[inline(always)]
pub(crate) fn overflowed(header: Global<u64>) -> bool {
    let mut overflowed = 0;
    for level in 0..header::LEVELS {
        overflowed |= header.load_read_only(header::OVERFLOW + level);
    }
    overflowed != 0
}
