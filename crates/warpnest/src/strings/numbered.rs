//! Rows with the ids of their strings.

/// Rows with the ids of their strings, in the order of first appearance.
#[derive(Debug, Default)]
pub(super) struct Numbered {
    pub ids: Vec<u32>,
    pub counts: Vec<u32>,
    pub first_rows: Vec<u32>,
    /// The hash of each distinct string.
    pub hashes: Vec<u64>,
    /// The ascending ids of strings that share the hash of an earlier string.
    pub sharing: Vec<u32>,
}
