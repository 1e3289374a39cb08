//! Aggregates of the rows of a CSV or Parquet file, grouped by one or two of its columns.
#![allow(missing_docs, reason = "this crate is for its example, and is not published; fields say what they are")]

pub mod answer;
pub mod column;
pub mod dictionary;
mod from_csv;
mod from_parquet;
pub mod groups;
pub mod query;
pub mod read;
pub mod reading;
pub mod table;
