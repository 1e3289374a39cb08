//! Scratch: memory that operations work in.

use crate::runtime::capture;
use crate::{Buffer, Device, Result};
use gpu_kernels::plain::Plain;

/// Memory on a device that operations work in. It grows when an operation needs more memory, and is
/// kept for the next operation.
///
/// Operations on several streams may share a scratch, but then they wait for each other, as with
/// any shared buffer. With a scratch for each stream they can overlap.
#[derive(Debug)]
pub struct Scratch {
    device: Device,
    words: Option<Buffer<u64>>,
    /// A second scratch, for an operation that calls other operations which use `words`.
    beside: Option<Box<Scratch>>,
    /// Buffers that were lent before and are free again.
    free: Vec<Buffer<u32>>,
}

impl Scratch {
    /// Returns an empty scratch; nothing is allocated yet.
    pub fn new(device: &Device) -> Self {
        Self { device: device.clone(), words: None, beside: None, free: Vec::new() }
    }

    /// Returns the device that the scratch is on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the bytes that the scratch holds on the device.
    pub fn memory_bytes(&self) -> usize {
        let words = self.words.as_ref().map_or(0, |words| 8 * words.len());
        let free: usize = self.free.iter().map(|buffer| 4 * buffer.capacity()).sum();
        words + self.beside.as_ref().map_or(0, |beside| beside.memory_bytes()) + free
    }

    /// Frees the memory, as soon as no queued work uses it.
    pub fn release(&mut self) {
        self.words = None;
        self.beside = None;
        self.free.clear();
    }

    /// Takes the second scratch, which keeps its contents while other operations use this scratch.
    /// [`Scratch::put_beside`] gives it back.
    pub(crate) fn take_beside(&mut self) -> Box<Self> {
        self.beside.take().unwrap_or_else(|| Box::new(Self::new(&self.device)))
    }

    pub(crate) fn put_beside(&mut self, beside: Box<Self>) {
        self.beside = Some(beside);
    }

    /// Lends memory for `length` elements, whose contents are unspecified, until
    /// [`Scratch::give_back`] returns it. It is the smallest free buffer that is large enough, or a
    /// new buffer that replaces the largest. Unlike the scratch's own words, such memory can be
    /// lent several times at once, and keeps its contents while operations use the scratch.
    pub(crate) fn lend<T: Plain>(&mut self, length: usize) -> Result<Buffer<T>> {
        if !capture::is_on() {
            // What is lent may become a result, and a graph would go on writing it.
            self.free.retain(|buffer| !buffer.is_captured());
        }
        let bytes = |buffer: &Buffer<u32>| 4 * buffer.capacity();
        let enough = |(_, buffer): &(usize, &Buffer<u32>)| bytes(buffer) / size_of::<T>() >= length;
        let held = self.free.iter().enumerate();
        if let Some((number, _)) = held.clone().filter(enough).min_by_key(|(_, buffer)| bytes(buffer)) {
            // SAFETY: kernels write elements of type `T` to the buffer before any element is read
            // as a `T`.
            let mut buffer = unsafe { self.free.swap_remove(number).reinterpreted::<T>() };
            buffer.set_length(length);
            return Ok(buffer);
        }
        capture::refuse("allocates memory")?;
        // The old memory is freed first, because both together may exceed the device's memory.
        if let Some((number, _)) = held.max_by_key(|(_, buffer)| bytes(buffer)) {
            drop(self.free.swap_remove(number));
        }
        Buffer::uninitialized(&self.device, length)
    }

    /// Takes back memory that was lent, or takes any other buffer.
    pub(crate) fn give_back<T>(&mut self, buffer: Buffer<T>) {
        // SAFETY: the buffer is emptied, so no element is left.
        let mut buffer = unsafe { buffer.reinterpreted::<u32>() };
        buffer.empty();
        self.free.push(buffer);
    }

    /// Makes the scratch at least `words` words long and returns them. Their contents are
    /// unspecified.
    pub(crate) fn reserve(&mut self, words: u64) -> Result<&Buffer<u64>> {
        let held = match self.words.take() {
            Some(held) if held.len() as u64 >= words => held,
            old if capture::is_on() => {
                self.words = old;
                return Err(capture::refused("allocates memory"));
            }
            old => {
                // The old memory is freed first, because both together may exceed the device's
                // memory.
                drop(old);
                Buffer::uninitialized(&self.device, words as usize)?
            }
        };
        Ok(self.words.insert(held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_graph_uses_is_lent_again_only_in_a_capture() {
        let device = Device::cpu();
        let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
        let mut lent = scratch.lend::<u32>(100).unwrap();
        let address = lent.at();
        let graph = stream.capture(|| lent.fill(stream, 7)).unwrap();
        scratch.give_back(lent);
        let again = stream.capture(|| {
            let lent = scratch.lend::<u32>(100)?;
            assert_eq!(lent.at(), address);
            scratch.give_back(lent);
            Ok(())
        });
        assert!(again.unwrap().is_empty());
        // The graph keeps the memory, so other memory cannot have its address.
        assert_ne!(scratch.lend::<u32>(100).unwrap().at(), address);
        drop(graph);
    }
}
