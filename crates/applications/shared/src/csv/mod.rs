//! CSV files: text that is checked while it is read, and records with their line numbers.

mod records;
mod text;

pub use records::{Records, strict};
pub use text::{CheckedText, CsvFault, Findings};
