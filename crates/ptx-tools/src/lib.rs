//! Tools for PTX, the assembly language of NVIDIA's GPUs, as rustc's LLVM writes it.
//!
//! They are a linter for what such PTX must not contain ([`lint()`]), and an interpreter that
//! executes kernels on the CPU ([`Module::launch`]). It interleaves the threads at random and
//! checks every memory access.

// Text becomes `token`s, these the statements of an `outline`; `lint` looks at that alone. `decode`
// makes `code` of a `module`'s entries, and `interpret` runs it on `memory`, whose checks and the
// barriers' become a `fault`.
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
