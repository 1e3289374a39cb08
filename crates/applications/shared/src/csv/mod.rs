//! The records of CSV files: text that is checked on its way, and records with their lines.

mod records;
mod text;

pub use records::{Records, strict};
pub use text::{CheckedText, CsvFault, Findings};
