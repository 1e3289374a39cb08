//! Rows with the ids of their strings.

/// Rows numbered by their strings, in the order of first appearance.
#[derive(Debug, Default)]
pub(super) struct Numbered {
    pub ids: Vec<u32>,
    pub counts: Vec<u32>,
    pub first_rows: Vec<u32>,
    /// The hash of each different string.
    pub hashes: Vec<u64>,
    /// The ids whose hash an earlier id has, too; they ascend.
    pub sharing: Vec<u32>,
}
