//! Rows of several columns: their hashes, and which rows of two tables are equal.
//!
//! A column has words of 4 or 8 bytes, or texts. Each launch is for one column: it continues the
//! hashes that the launches before it began, or clears the flags of pairs that differ in its
//! column.
//!
//! `hash` and `compare` are these launches; `offsets` checks the offsets of texts first, and `text`
//! reads their bytes. `outcomes` sums up for each row what became of its pairs, `append` collects
//! rows, and `renumber` gives them their indices in another table.

mod append;
mod compare;
mod hash;
mod offsets;
mod outcomes;
mod renumber;
mod text;

pub use append::{AppendRows, AppendRowsParams};
pub use compare::{CompareParams, CompareTexts, CompareWords};
pub use hash::{HashParams, HashTexts, HashWords, PRIME};
pub use offsets::{CheckOffsets, CheckOffsetsParams};
pub use outcomes::{Outcome, RaiseOutcomes, RaiseOutcomesParams};
pub use renumber::{RenumberRows, RenumberRowsParams};
