//! The assignment of ids to rows, on a GPU or on the cores of the CPU engine.

use super::hashing::Hashed;
use super::numbered::Numbered;
use super::{on_cores, on_device};
use crate::{CompactingConfig, Device, Result};

/// Returns the rows of a column with the ids of their strings.
pub(super) fn numbered(device: &Device, strings: &dyn Hashed) -> Result<Numbered> {
    // This call refuses more rows than there are ids.
    CompactingConfig::default().memory_bytes::<u64>(strings.rows())?;
    match device.machine().cores() {
        Some(cores) => Ok(on_cores::numbered(cores, strings)),
        None => on_device::numbered(device, strings),
    }
}
