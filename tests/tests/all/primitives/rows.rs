//! Rows of any size, for tests of functions that copy whole rows.

use bytemuck::{Pod, Zeroable};
use warpnest::types::{Plain, Proof, pod};

/// A row of `WORDS` words.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<const WORDS: usize>(pub [u32; WORDS]);
// SAFETY: a row is an array of words.
unsafe impl<const WORDS: usize> Zeroable for Row<WORDS> {}
// SAFETY: a row is an array of words.
unsafe impl<const WORDS: usize> Pod for Row<WORDS> {}
impl<const WORDS: usize> Plain for Row<WORDS> {
    const PROOF: Proof<Self> = pod();
}
