//! Execution of kernels on the CPU. The warps of several blocks, and the lanes of a warp, are
//! interleaved at random.

mod arithmetic;
mod collective;
mod lanes;
mod launch;
mod machine;
mod run;
mod vector;
mod warp;
mod warp_state;

pub use launch::{DEFAULT_STEP_LIMIT, Launch, Schedule};

use crate::fault::Fault;
use crate::memory::Regions;
use crate::module::{Entry, Module};

impl Module {
    /// Runs `grid` blocks of `threads` threads of a kernel until they end, on the calling thread.
    ///
    /// Each argument consists of the bytes of a parameter. Pointers must be addresses in `regions`.
    /// Shared memory starts with random contents.
    pub fn launch(
        &self,
        entry: &str,
        grid: u32,
        threads: u32,
        arguments: &[&[u8]],
        regions: &Regions,
        schedule: Schedule,
    ) -> Result<(), Fault> {
        self.launch_with(&Launch { schedule, ..Launch::new(entry, grid, threads) }, arguments, regions).map(|_| ())
    }

    /// Runs a kernel like [`Module::launch`], with all launch parameters. Returns the count of
    /// executed instructions.
    pub fn launch_with(&self, launch: &Launch, arguments: &[&[u8]], regions: &Regions) -> Result<u64, Fault> {
        let name = || launch.entry.to_string();
        let entry = self.entry(launch.entry).ok_or_else(|| Fault::MissingEntry { entry: name() })?;
        if launch.threads == 0 || launch.threads > entry.max_threads.unwrap_or(1024).min(1024) {
            return Err(Fault::BlockSize { entry: name(), threads: launch.threads });
        }
        let params = parameters(entry, arguments)?;
        let code = entry.code.as_ref().map_err(|u| Fault::UnknownInstruction {
            entry: name(),
            line: u.line,
            instruction: u.instruction.clone(),
            reason: u.reason.clone(),
        })?;
        machine::Machine::new(code, launch, params, regions, &self.constants).run()
    }
}

/// Returns the arguments at the offsets that the kernel reads.
fn parameters(entry: &Entry, arguments: &[&[u8]]) -> Result<Vec<u128>, Fault> {
    let (expected, given) = (entry.params.len(), arguments.len());
    if expected != given {
        return Err(Fault::ArgumentCount { entry: entry.name.clone(), expected, given });
    }
    let end = entry.params.last().map_or(0, |p| p.offset + p.size);
    let mut bytes = vec![0u8; end.next_multiple_of(16)];
    for (index, (param, argument)) in entry.params.iter().zip(arguments).enumerate() {
        let (expected, given) = (param.size, argument.len());
        if expected != given {
            return Err(Fault::ArgumentSize { entry: entry.name.clone(), index, expected, given });
        }
        bytes[param.offset..][..param.size].copy_from_slice(argument);
    }
    Ok(bytes.chunks_exact(16).map(|c| u128::from_ne_bytes(c.try_into().unwrap_or_default())).collect())
}
