//! What the environment says of a run.

/// Returns whether CUDA is the only engine (`WARPNEST_ONLY_CUDA`).
pub fn only_cuda() -> bool {
    std::env::var_os("WARPNEST_ONLY_CUDA").is_some()
}

/// Returns whether to take more time and try more (`WARPNEST_THOROUGH`).
pub fn is_thorough() -> bool {
    std::env::var_os("WARPNEST_THOROUGH").is_some()
}
