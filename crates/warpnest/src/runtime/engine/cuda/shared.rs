//! The state that a CUDA engine and its queues share.

use super::context::Primary;
use super::modules::Modules;
use super::staged::StagedCopies;
use std::sync::Arc;

/// The state that the engine and its queues share.
pub(super) struct Shared {
    pub modules: Modules,
    pub staged: StagedCopies,
    pub primary: Arc<Primary>,
}
