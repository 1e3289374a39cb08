//! Record batches of CSV and Parquet files for the example `join`: reading, writing, and made-up
//! batches.

pub mod error;
pub mod made_up;
pub mod read;
pub mod write;
