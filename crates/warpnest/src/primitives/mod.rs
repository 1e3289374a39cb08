//! Building blocks on buffers: scan, histogram, radix partition and sort, stream compaction,
//! distinct keys, reductions, gather and scatter, flags, binary search.
//!
//! The arguments are, in this order, the stream, the scratch, the inputs and the outputs. All
//! operations accept parts of buffers ([`Buffer::slice`](crate::Buffer::slice)) that start at a
//! multiple of 16 bytes.
//!
//! All operations except [`count_flags`] queue their work and do not wait. They use a [`Scratch`],
//! which grows when needed and should be kept for later calls. Only when it grows does a call
//! allocate memory and wait for the operations that still use the old memory.
//!
//! ```
//! use warpnest::primitives::{Scratch, sort_pairs};
//! use warpnest::{Buffer, Device};
//!
//! let device = Device::best()?;
//! let stream = device.default_stream();
//! let mut scratch = Scratch::new(&device);
//! let mut keys = Buffer::from_slice(&device, &[30u32, 10, 20, 10])?;
//! let mut values = Buffer::from_slice(&device, &[0u32, 1, 2, 3])?;
//! sort_pairs(stream, &mut scratch, &mut keys, &mut values)?;
//! assert_eq!(keys.download(stream)?, [10, 10, 20, 30]);
//! assert_eq!(values.download(stream)?, [1, 3, 2, 0]);
//! # Ok::<(), warpnest::Error>(())
//! ```

// Each file contains one primitive; its kernels are in the file of the same name. `radix_passes`
// plans the passes of `radix`, which move the `pairs` in the memory of `scratch`.
pub(crate) mod answers;
mod compact;
mod flags;
mod gather;
mod iota;
mod pairs;
mod radix;
mod radix_passes;
mod reduce;
mod scan;
mod scatter;
mod scratch;
mod search;
mod unique;

pub use crate::types::number::Number;
pub use compact::{compact, flag_last_of_each};
pub(crate) use compact::{invert, launch_compact, launch_flag, select, selected, state_words};
pub(crate) use flags::fill_all;
pub use flags::{count_flags, expand_flags, fill_absent};
pub use gather::{gather, gather_found};
pub(crate) use gather::{gather_where, launch_gather};
pub use iota::iota;
pub(crate) use iota::number_from;
pub(crate) use pairs::{Pairs, Storage};
pub use radix::{BitField, MAX_BITS, MAX_HISTOGRAM_BITS, histogram, partition_pairs, sort_keys, sort_pairs};
pub(crate) use radix::{OF_KEY, Sort, sort_pairs_by_mixed_key, sort_scratch_bytes};
pub(crate) use radix_passes::RadixPasses;
pub use reduce::{Max, Min, Reduction, Sum, reduce_by_key, segmented_reduce};
pub(crate) use reduce::{Reduce, Segments, heads_words, starts_words};
pub use scan::{exclusive_scan, exclusive_scan_in_place, inclusive_scan, inclusive_scan_in_place};
pub use scatter::scatter;
pub(crate) use scatter::{check_row, launch_scatter};
pub use scratch::Scratch;
pub use search::binary_search;
pub(crate) use unique::{queue_runs, runs_words};
pub use unique::{runs_of_sorted, unique_of_sorted};

use crate::{Error, InputError, Result};

/// The most items of one call, because indices have 32 bits.
pub const MAX_ITEMS: usize = u32::MAX as usize;

pub(crate) fn check_items(items: usize) -> Result<u64> {
    if items <= MAX_ITEMS {
        return Ok(items as u64);
    }
    Err(Error::Input(InputError::TooManyItems { asked: items as u64, limit: MAX_ITEMS as u64 }))
}
