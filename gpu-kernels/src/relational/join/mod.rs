//! Joins: the pairs of rows from two sides whose keys are equal.
//!
//! The rows of the build side are ordered by bucket, on chip or in memory, and the rows of the
//! probe side search their keys in these buckets. Ranks within buckets come from atomic additions,
//! as in the bucket-chained partitioned joins of (Sioulas 2019). But the rows of a bucket are
//! adjacent, so that a warp reads a long bucket together.
//!
//! The usual way is [`pages`](JoinPages), where a block joins a bin of both sides. It `fill`s a
//! page (`buckets`) with `rows` of the build side, lets a round of probe rows search the page
//! (`probe`), and writes the results (`emit`, of the kinds in `written`). `in_turn` does all of
//! that with one CPU thread. `starts` and `distinct` prepare bins. The other ways are for small
//! build sides: on chip as a whole (`on_chip`), ordered in memory (`direct`), or in a hash `table`.

mod buckets;
mod direct;
mod distinct;
mod emit;
mod fill;
mod in_turn;
mod on_chip;
mod pages;
mod probe;
mod rows;
mod starts;
mod table;
mod written;

pub use buckets::MAX_PAGE_ROWS;
pub use direct::{JoinDirect, JoinDirectParams};
pub use distinct::{DISTINCT_ROWS, JoinDistinct, JoinDistinctParams};
pub use emit::NO_ROW;
pub use on_chip::{JoinOnChip, JoinOnChipParams, ON_CHIP_ROUND_ROWS, on_chip_words};
pub use pages::{JoinPages, JoinPagesParams, MAX_ITEM_ROWS, MIN_ITEM_ROWS, PAGE_BUCKET_BITS, PAGE_ROWS, item_rows};
pub use probe::ROUND_ROWS;
pub use starts::{BinStarts, BinStartsParams};
pub use table::{FillTable, JoinTable, JoinTableParams, SECTOR_WORDS, TableParams, slots_of_sector};
pub use written::Emit;

/// The words of the header that a join has besides the words of its splits.
pub mod header {
    pub use crate::page::header::{FAILED, LENGTH, WORDS};

    /// The count of work items that were listed.
    pub const ITEMS: u64 = crate::page::header::LISTED;
    /// The count of heavy bins that were left to other launches.
    pub const HEAVY: u64 = ITEMS + 1;
}
