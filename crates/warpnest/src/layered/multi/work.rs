//! The memory in which a multimap is built.

use crate::primitives::Scratch;
use crate::{Buffer, Device, Result, Stream};
use gpu_kernels::primitives::iota::{Iota, IotaParams};
use gpu_kernels::types::KeyWord;

/// The memory in which a map is built, which a rebuild reuses.
#[derive(Debug)]
pub(super) struct Work<K> {
    /// The mixed keys of all pairs, sorted.
    pub keys: Buffer<K>,
    /// A bit for each pair, which is set if the pair is the last of its key.
    pub last: Buffer<u32>,
    /// The indices of runs in order: 0, 1, 2, ….
    pub numbers: Buffer<u32>,
    /// The distinct keys, at the front of the buffer.
    pub distinct: Buffer<K>,
    /// The ends of their runs, at the front of the buffer.
    pub ends: Buffer<u32>,
    /// The count of distinct keys.
    pub count: Buffer<u32>,
    pub scratch: Scratch,
}

impl<K: KeyWord> Work<K> {
    pub(super) fn new(device: &Device) -> Result<Self> {
        let nothing = || Buffer::uninitialized(device, 0);
        let (numbers, ends) = (nothing()?, nothing()?);
        let (last, count, scratch) = (nothing()?, Buffer::uninitialized(device, 1)?, Scratch::new(device));
        let (keys, distinct) = (Buffer::uninitialized(device, 0)?, Buffer::uninitialized(device, 0)?);
        Ok(Self { keys, last, numbers, distinct, ends, count, scratch })
    }

    /// Makes the buffers long enough for `pairs` pairs.
    pub(super) fn fit(&mut self, stream: &Stream, device: &Device, pairs: usize) -> Result<()> {
        self.keys.fit(device, pairs)?;
        self.last.fit(device, pairs.div_ceil(32))?;
        self.distinct.fit(device, pairs)?;
        self.ends.fit(device, pairs)?;
        if self.numbers.len() != pairs {
            self.numbers.fit(device, pairs)?;
            let plan = IotaParams { items: pairs as u64, first: 0, padding: 0 };
            let launched = stream.batch(|batch| {
                let numbers = Iota { output: batch.write(&self.numbers), plan };
                // SAFETY: the output has `plan.items` elements.
                unsafe { batch.launch(&numbers, plan.items) }
            });
            if launched.is_err() {
                // Otherwise the next build would take the contents for the indices.
                self.numbers.empty();
            }
            return launched;
        }
        Ok(())
    }
}
