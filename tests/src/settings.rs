//! The settings of a test run, which are environment variables.

/// Returns whether CUDA is the only engine (`WARPNEST_ONLY_CUDA`).
pub fn only_cuda() -> bool {
    std::env::var_os("WARPNEST_ONLY_CUDA").is_some()
}

/// Returns whether tests should take more time and try more cases (`WARPNEST_THOROUGH`).
pub fn is_thorough() -> bool {
    std::env::var_os("WARPNEST_THOROUGH").is_some()
}
