//! Splits of rows into bins by their mixed keys. They are used for the pages of a table, for
//! group-by, and for joins. `plan` computes their sizes before anything is allocated, and `launch`
//! queues them. The kernels are in `gpu_kernels::split`.

mod launch;
mod plan;

pub(crate) use launch::{SplitArrays, launch_one_of, or_null, queue_split, queue_starts, starts_state_words};
pub(crate) use plan::{Level, MAX_ROWS, Regions, are_valid, levels, split_bits};
