//! The memory that operations work in.

use crate::{Buffer, Device, Result};

/// The memory on a device that operations work in. It grows when an operation needs more and stays
/// for the next one.
///
/// Operations on several streams may share one: its uses wait for each other, like those of any
/// buffer. A scratch for each stream lets them overlap.
#[derive(Debug)]
pub struct Scratch {
    device: Device,
    words: Option<Buffer<u64>>,
    /// Memory for an operation that calls others, which work in the words.
    beside: Option<Box<Scratch>>,
}

impl Scratch {
    /// Returns an empty scratch; nothing is allocated yet.
    pub fn new(device: &Device) -> Self {
        Self { device: device.clone(), words: None, beside: None }
    }

    /// Returns the device that the scratch is on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the bytes that the scratch holds on the device.
    pub fn memory_bytes(&self) -> usize {
        let words = self.words.as_ref().map_or(0, |words| 8 * words.len());
        words + self.beside.as_ref().map_or(0, |beside| beside.memory_bytes())
    }

    /// Frees the memory, once nothing uses it any more.
    pub fn release(&mut self) {
        self.words = None;
        self.beside = None;
    }

    /// Takes the scratch beside this one, which keeps its contents while others work in this one.
    /// [`Scratch::put_beside`] gives it back.
    pub(crate) fn take_beside(&mut self) -> Box<Self> {
        self.beside.take().unwrap_or_else(|| Box::new(Self::new(&self.device)))
    }

    pub(crate) fn put_beside(&mut self, beside: Box<Self>) {
        self.beside = Some(beside);
    }

    /// Makes the scratch at least `words` words long and returns them. Their contents are
    /// unspecified.
    pub(crate) fn reserve(&mut self, words: u64) -> Result<&Buffer<u64>> {
        let held = match self.words.take() {
            Some(held) if held.len() as u64 >= words => held,
            old => {
                // The old memory is freed before the new is allocated: both together may be more
                // than there is.
                drop(old);
                Buffer::uninitialized(&self.device, words as usize)?
            }
        };
        Ok(self.words.insert(held))
    }
}
