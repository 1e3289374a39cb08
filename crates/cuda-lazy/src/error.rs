//! Why no driver was loaded.

/// Why [`load`](crate::load) found no driver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The loader could not open the driver's library.
    #[error(
        "cannot open the CUDA driver {library}: {message}; install the NVIDIA driver or, \
         if it is installed, add the folder that holds {library} to LD_LIBRARY_PATH"
    )]
    Open {
        /// The name that was asked for.
        library: &'static str,
        /// The loader's own message.
        message: String,
    },
    /// The library was opened, but it lacks the function with which every use of the driver begins.
    #[error(
        "the library opened as {library} is not a CUDA driver: it has no cuInit; install the NVIDIA driver, \
         and take the folder that holds the other {library} off LD_LIBRARY_PATH"
    )]
    NotADriver {
        /// The name that was asked for.
        library: &'static str,
    },
    /// This build defines no `cu*` symbols, so there is nothing to load a driver for.
    #[error(
        "the CUDA driver is loaded only on Linux on x86_64 and aarch64, and this program was built for {os} on {arch}"
    )]
    UnsupportedTarget {
        /// The operating system that the program was built for.
        os: &'static str,
        /// The processor that the program was built for.
        arch: &'static str,
    },
}
