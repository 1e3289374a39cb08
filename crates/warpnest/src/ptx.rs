//! The kernels as the driver gets them: `gpu-kernels` compiled to PTX by `cargo xtask build-ptx`, with the digest of its sources.

/// For every device from compute capability 7.5 on.
pub const BASELINE: &str = include_str!("../ptx/kernels_sm75.ptx");
/// For 9.0 and later.
pub const HOPPER: &str = include_str!("../ptx/kernels_sm90.ptx");
