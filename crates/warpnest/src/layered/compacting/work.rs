//! The memory that a build of a compacting table works in.

use crate::primitives::Scratch;
use crate::{Buffer, Device, Result};
use gpu_kernels::types::KeyWord;

/// The memory that a build works in, and that a rebuild uses again.
#[derive(Debug)]
pub(super) struct Work<K> {
    /// The rows from the last one to the first, and their keys, if ids are in order. The rows are
    /// the map's values before the ids are.
    pub rows: Buffer<u32>,
    pub reversed: Buffer<K>,
    /// A bit for each row, whether it is the first with its key, and the count of set bits in the
    /// words before each word.
    pub first_rows: Buffer<u32>,
    pub before: Buffer<u32>,
    pub scan: Scratch,
}

impl<K: KeyWord> Work<K> {
    pub(super) fn new(device: &Device) -> Result<Self> {
        let nothing = || Buffer::uninitialized(device, 0);
        let (rows, first_rows, before) = (nothing()?, nothing()?, nothing()?);
        let reversed = Buffer::uninitialized(device, 0)?;
        Ok(Self { rows, reversed, first_rows, before, scan: Scratch::new(device) })
    }
}
