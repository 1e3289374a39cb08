//! Host memory through which data passes between a device and a file.

use crate::runtime::engine::Engine;
use crate::{Device, Error, Result};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// The page size in bytes, to which the length of a staging buffer is rounded up.
const PAGE: usize = 4096;

/// The fewest bytes for which page-locked memory is worth its allocation. Allocating it takes as
/// long as copying several mebibytes, so small files are copied through ordinary memory.
const WORTH_LOCKING: usize = 2 << 20;

/// A staging buffer, which begins at a multiple of 16 bytes. It is page-locked if it is large and
/// the engine has page-locked memory.
pub struct Staging {
    memory: Memory,
}

enum Memory {
    PageLocked { engine: Arc<dyn Engine>, address: usize, bytes: usize },
    Ordinary(Vec<u128>),
}

impl Staging {
    /// Allocates a buffer of at least `bytes` zeros.
    pub fn new(device: &Device, bytes: usize) -> Result<Self> {
        let bytes = bytes.next_multiple_of(PAGE).max(PAGE);
        let engine = device.engine();
        if bytes >= WORTH_LOCKING
            && let Some(address) = engine.allocate_page_locked(bytes)
        {
            // SAFETY: the memory is new, and has `bytes` bytes.
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
                // SAFETY: this buffer owns the memory, which has `bytes` bytes and was set to
                // zeros.
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
                // SAFETY: as in `deref`, and `self` is borrowed exclusively.
                unsafe { std::slice::from_raw_parts_mut(first, *bytes) }
            }
            Memory::Ordinary(words) => bytemuck::cast_slice_mut(words),
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Memory::PageLocked { engine, address, bytes } = &self.memory {
            // SAFETY: the engine allocated the memory, and copies are complete when their calls
            // return.
            unsafe { engine.free_page_locked(*address, *bytes) };
        }
    }
}
