//! The columns that a join writes.

use super::joined::JoinKind;
use crate::types::Plain;
use crate::{Buffer, Device, Result};

/// The columns that a join writes, whose memory grows as needed.
pub(super) struct Columns<'o, K> {
    /// The most pairs that are written. If there are more pairs, no pair is written.
    pub most: u64,
    /// The count of pairs for which there is additional capacity.
    pub besides: u64,
    pub left: &'o mut Buffer<u32>,
    /// The right rows; empty if the result of the join has no right rows.
    pub right: &'o mut Buffer<u32>,
    /// The keys of pairs, if they are wanted.
    pub keys: Option<&'o mut Buffer<K>>,
}

/// The buffers that a join writes. They contain row indices or values of the left side, and of the
/// right side and keys if these are wanted.
#[derive(Debug)]
pub(super) struct Outputs<'o, K> {
    most: u64,
    besides: u64,
    pub sides: [Option<&'o Buffer<u32>>; 2],
    pub keys: Option<&'o Buffer<K>>,
}

impl<K> Clone for Outputs<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Outputs<'_, K> {}

impl<K: Plain> Columns<'_, K> {
    /// Makes capacity for `pairs` pairs, but at most for `most` pairs, and for the additional
    /// pairs.
    pub(super) fn reserve(&mut self, device: &Device, kind: JoinKind, pairs: u64) -> Result<()> {
        let pairs = (pairs.min(self.most) + self.besides) as usize;
        self.left.fit_at_least(device, pairs)?;
        if kind.has_right_rows() {
            self.right.fit_at_least(device, pairs)?;
        }
        self.keys.as_deref_mut().map_or(Ok(()), |keys| keys.fit_at_least(device, pairs))
    }

    /// Returns the count of pairs for which there is capacity.
    pub(super) fn capacity(&self, kind: JoinKind) -> u64 {
        self.outputs(kind).capacity()
    }

    /// Sets the count of pairs.
    pub(super) fn set_length(&mut self, kind: JoinKind, pairs: usize) {
        self.left.set_length(pairs);
        self.right.set_length(if kind.has_right_rows() { pairs } else { 0 });
        if let Some(keys) = self.keys.as_deref_mut() {
            keys.set_length(pairs);
        }
    }

    pub(super) fn outputs(&self, kind: JoinKind) -> Outputs<'_, K> {
        let right = kind.has_right_rows().then_some(&*self.right);
        Outputs {
            most: self.most,
            besides: self.besides,
            sides: [Some(&*self.left), right],
            keys: self.keys.as_deref(),
        }
    }
}

impl<K> Outputs<'_, K> {
    /// Returns the count of pairs for which there is capacity.
    pub(super) fn capacity(&self) -> u64 {
        let of_sides = self.sides.iter().flatten().map(|buffer| buffer.len());
        let capacity = of_sides.chain(self.keys.map(Buffer::len)).min().unwrap_or(0);
        (capacity as u64).saturating_sub(self.besides).min(self.most)
    }
}
