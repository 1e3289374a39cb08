//! The numbering of rows: on the device, or on the cores that are the device.

use super::column::Strings;
use super::numbered::Numbered;
use super::{on_cores, on_device};
use crate::{CompactingConfig, Device, Result};
use std::hash::BuildHasher;

/// Numbers the rows of a column by their strings.
pub(super) fn numbered(
    device: &Device,
    strings: &(impl Strings + ?Sized),
    hasher: &(impl BuildHasher + Sync),
) -> Result<Numbered> {
    // This refuses more rows than ids count.
    CompactingConfig::default().memory_bytes::<u64>(strings.rows())?;
    match device.engine().cores() {
        Some(cores) => Ok(on_cores::numbered(cores, strings, hasher)),
        None => on_device::numbered(device, strings, hasher),
    }
}
