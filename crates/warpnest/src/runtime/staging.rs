//! Memory of the host that data passes through on the way between a device and a file.

use crate::runtime::engine::Engine;
use crate::{Device, Error, Result};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// The bytes of a page: what the length of a staging buffer is rounded up to.
const PAGE: usize = 4096;

/// The fewest bytes for which page-locked memory is worth its allocation, which takes as long as
/// copying some mebibytes does. Files of a few units are copied through ordinary memory.
const WORTH_LOCKING: usize = 2 << 20;

/// A staging buffer: bytes at a multiple of 16, page-locked if there are many and the engine has
/// such memory.
pub struct Staging {
    memory: Memory,
}

enum Memory {
    PageLocked { engine: Arc<dyn Engine>, address: usize, bytes: usize },
    Ordinary(Vec<u128>),
}

impl Staging {
    /// Makes a buffer of at least `bytes` zeros.
    pub fn new(device: &Device, bytes: usize) -> Result<Self> {
        let bytes = bytes.next_multiple_of(PAGE).max(PAGE);
        let engine = device.engine();
        if bytes >= WORTH_LOCKING
            && let Some(address) = engine.allocate_page_locked(bytes)
        {
            // SAFETY: the memory is new, and has so many bytes.
            unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address).write_bytes(0, bytes) };
            return Ok(Self { memory: Memory::PageLocked { engine: engine.clone(), address, bytes } });
        }
        let mut words = Vec::new();
        let out_of_memory =
            |_| Error::OutOfMemory { asked: bytes as u64, free: 0, total: 0, device: "the host".to_owned() };
        words.try_reserve_exact(bytes / size_of::<u128>()).map_err(out_of_memory)?;
        words.resize(bytes / size_of::<u128>(), 0);
        Ok(Self { memory: Memory::Ordinary(words) })
    }
}

impl Deref for Staging {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match &self.memory {
            Memory::PageLocked { address, bytes, .. } => {
                let first = std::ptr::with_exposed_provenance(*address);
                // SAFETY: the memory is this buffer's own, has so many bytes, and was set to zeros.
                unsafe { std::slice::from_raw_parts(first, *bytes) }
            }
            Memory::Ordinary(words) => bytemuck::cast_slice(words),
        }
    }
}

impl DerefMut for Staging {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::PageLocked { address, bytes, .. } => {
                let first = std::ptr::with_exposed_provenance_mut(*address);
                // SAFETY: as in `deref`, and it is borrowed exclusively.
                unsafe { std::slice::from_raw_parts_mut(first, *bytes) }
            }
            Memory::Ordinary(words) => bytemuck::cast_slice_mut(words),
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Memory::PageLocked { engine, address, bytes } = &self.memory {
            // SAFETY: the engine allocated it, and copies are done when their calls return.
            unsafe { engine.free_page_locked(*address, *bytes) };
        }
    }
}
