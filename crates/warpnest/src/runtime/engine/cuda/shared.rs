//! What an engine and its queues share.

use super::context::Primary;
use super::module::Kernels;
use std::sync::Arc;

/// The state that the engine and its queues share.
pub(super) struct Shared {
    pub kernels: Kernels,
    pub primary: Arc<Primary>,
}
