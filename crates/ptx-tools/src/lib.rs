//! Tools for PTX, the assembly language of NVIDIA's GPUs, in the form that rustc's LLVM writes.
//!
//! The linter ([`lint()`]) finds constructs that such PTX must not contain. The interpreter
//! ([`Module::launch`]) executes kernels on the CPU. It interleaves the threads at random and
//! checks every memory access.

// Text becomes `token`s, and tokens become the statements of an `outline`, which is all that `lint`
// needs. `decode` makes `code` from a `module`'s entry points, and `interpret` runs it on `memory`.
// A failed check of memory or of a barrier becomes a `fault`.
mod code;
mod decode;
mod fault;
mod interpret;
mod lint;
mod memory;
mod module;
mod outline;
mod token;

pub use fault::{Fault, Location, Space};
pub use interpret::{DEFAULT_STEP_LIMIT, Launch, Schedule};
pub use lint::{Finding, Rule, lint};
pub use memory::Regions;
pub use module::{Entry, Module, Param};
pub use outline::ParseError;
