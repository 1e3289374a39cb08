//! The result codes of the driver's functions.

/// The result codes that this crate uses, with their values in `cuda.h`.
pub(crate) mod code {
    pub const INVALID_VALUE: u32 = 1;
    pub const OUT_OF_MEMORY: u32 = 2;
    pub const INVALID_DEVICE: u32 = 101;
    pub const INVALID_CONTEXT: u32 = 201;
    pub const NO_BINARY_FOR_GPU: u32 = 209;
    pub const INVALID_PTX: u32 = 218;
    pub const UNSUPPORTED_PTX_VERSION: u32 = 222;
    pub const INVALID_HANDLE: u32 = 400;
    pub const NOT_FOUND: u32 = 500;
    pub const NOT_READY: u32 = 600;
    pub const ILLEGAL_ADDRESS: u32 = 700;
    pub const CAPTURE_UNSUPPORTED: u32 = 900;
}

/// The result of a function of the driver. The error is the result code that the function returns.
pub(crate) type Answer<T = ()> = Result<T, u32>;
