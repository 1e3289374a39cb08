//! Work that a CPU may run with wider vectors.

/// The work that [`vectorized`](super::vectorized) runs.
pub trait Work {
    /// The result type.
    type Output;
    /// Runs the work. It must be possible to inline all that it calls, so it has no closures that
    /// LLVM may leave as calls.
    fn run(self) -> Self::Output;
}
