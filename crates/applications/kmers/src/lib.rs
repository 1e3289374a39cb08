//! The count of k-mers in FASTA and FASTQ files, which are read part by part.
#![allow(missing_docs, reason = "this crate is for its example, and is not published; fields say what they are")]

pub mod bases;
pub mod count;
pub mod genome;
pub mod keys;
pub mod map;
pub mod minimizer;
pub mod pack;
pub mod packed;
pub mod read;
pub mod spectrum;
pub mod texts;

/// The kernels of the applications.
pub static KERNELS: warpnest::Module = warpnest::module!("../../kernels/ptx/applications");
