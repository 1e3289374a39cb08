//! The memory in which a compacting table is built.

use crate::primitives::Scratch;
use crate::{Buffer, Device, Result};
use gpu_kernels::types::KeyWord;

/// The memory in which a table is built, which a rebuild reuses.
#[derive(Debug)]
pub(super) struct Work<K> {
    /// The row indices in reverse order, which are the map's first values if ids are in order.
    /// `reversed` are the keys of these rows.
    pub rows: Buffer<u32>,
    pub reversed: Buffer<K>,
    /// A bit for each row, which is set if the row is the first with its key. `before` has the
    /// count of set bits before each word of these bits.
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
