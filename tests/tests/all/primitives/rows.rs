//! Rows of any size, for what copies whole rows.

use bytemuck::{Pod, Zeroable};
use warpnest::types::{Plain, Proof, pod};

/// A row of as many words.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<const WORDS: usize>(pub [u32; WORDS]);
// SAFETY: an array of words.
unsafe impl<const WORDS: usize> Zeroable for Row<WORDS> {}
// SAFETY: an array of words.
unsafe impl<const WORDS: usize> Pod for Row<WORDS> {}
impl<const WORDS: usize> Plain for Row<WORDS> {
    const PROOF: Proof<Self> = pod();
}
