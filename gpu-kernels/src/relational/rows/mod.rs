//! Rows of several columns: their hashes, and which rows of two tables are equal.
//!
//! A column has words of 4 or 8 bytes, or texts. Each launch processes one column: it continues the
//! hashes of earlier launches, or clears the flags of pairs that differ in its column.
//!
//! `hash` and `compare` contain these launches. `offsets` checks the offsets of texts first, and
//! `text` reads their bytes. `outcomes` computes an outcome for each row from the outcomes of its
//! pairs, `append` collects rows, and `renumber` replaces their indices by indices in another
//! table.

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
