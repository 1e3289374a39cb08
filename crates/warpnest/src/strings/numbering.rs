//! The numbering of rows: on the device, or on the cores that are the device.

use super::hashing::Hashed;
use super::numbered::Numbered;
use super::{on_cores, on_device};
use crate::{CompactingConfig, Device, Result};

/// Gives the rows of a column the ids of their strings.
pub(super) fn numbered(device: &Device, strings: &dyn Hashed) -> Result<Numbered> {
    // This refuses more rows than ids count.
    CompactingConfig::default().memory_bytes::<u64>(strings.rows())?;
    match device.machine().cores() {
        Some(cores) => Ok(on_cores::numbered(cores, strings)),
        None => on_device::numbered(device, strings),
    }
}
