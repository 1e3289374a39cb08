//! Chooses how distinct keys are computed: by dictionaries on a CPU, or by a group-by and a map.

use super::on_cores::{encoding_cores, on_cores};
use super::on_device::on_device;
use super::parts::{Parts, Wanted};
use crate::primitives::Scratch;
use crate::{Buffer, Key, Result, Stream};

/// Returns the distinct keys and the other wanted parts, in the given memory.
///
/// # Errors
/// As for [`Unique::run_on`](super::super::Unique::run_on).
pub(super) fn compute<K: Key>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    wanted: &Wanted,
    memory: Parts<K>,
) -> Result<Parts<K>> {
    match encoding_cores(stream, wanted) {
        Some(cores) => on_cores(stream, scratch, keys, wanted, (memory, cores)),
        None => on_device(stream, scratch, keys, wanted, memory, None),
    }
}
