//! The limit of the memory that a program may take, the memory that is left, and vectors that grow
//! within it.

use crate::size::{self, Size};
use clap::Args;
use std::io;
use std::sync::{Mutex, PoisonError};
use thiserror::Error;
use warpnest::Device;

/// The minimum limit, because buffers for reading take some memory.
pub const MIN_LIMIT: u64 = 32 << 20;

/// The message if the system cannot set a limit.
pub const CANNOT_LIMIT: &str = "the system cannot limit the memory; leave out --memory";

/// The option that limits the memory of a program.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct MemoryArgument {
    /// The maximum memory on the host for files and data made of them, at least 32M: bytes, or a
    /// number with K, M, G or T after it, such as 4G. By default, nine tenths of the free memory on
    /// the CPU
    #[arg(long, value_name = "SIZE", value_parser = limit)]
    memory: Option<u64>,
}

fn limit(text: &str) -> Result<u64, String> {
    let bytes = size::parse(text)?;
    if bytes < MIN_LIMIT { Err(format!("give at least {}", Size(MIN_LIMIT))) } else { Ok(bytes) }
}

impl MemoryArgument {
    /// Limits the memory of the process from now on.
    ///
    /// The system enforces the limit, so it applies to every allocation. On a GPU only a given
    /// limit counts, because the driver reserves any amount of memory.
    pub fn apply(self, device: &Device) -> io::Result<()> {
        let default =
            || (*device == Device::cpu()).then(left).filter(|left| *left != u64::MAX).map(|left| left / 10 * 9);
        match self.memory.or_else(default) {
            Some(limit) => set(limit),
            None => Ok(()),
        }
    }
}

#[cfg(unix)]
fn set(limit: u64) -> io::Result<()> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    // The threads are started before, because their stacks should not count.
    rayon::current_num_threads();
    let limit = taken().saturating_add(limit);
    let mut limits = getrlimit(Resource::Data);
    // A lower limit that the user's shell has set is kept.
    limits.current = Some(limits.current.map_or(limit, |before| before.min(limit)));
    Ok(setrlimit(Resource::Data, limits)?)
}

/// Returns the bytes that already count towards the limit, or 0 if the system does not tell.
#[cfg(unix)]
fn taken() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.unwrap_or(0u64).saturating_mul(1024)
}

#[cfg(not(unix))]
fn set(_limit: u64) -> io::Result<()> {
    Ok(())
}

/// Returns the bytes that the process may still take, within the machine, its control groups and
/// its own limits. Returns `u64::MAX` if this is not known.
pub fn left() -> u64 {
    Device::cpu().memory().map_or(u64::MAX, |memory| memory.free)
}

/// The error for a vector or other data that does not fit in the memory that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "more memory is needed than the program may take: {} more, and {} are left; allow more by --memory, or divide the file",
    Size(*asked),
    Size(*left)
)]
pub struct OutOfMemory {
    pub asked: u64,
    pub left: u64,
}

/// Fails unless `asked` bytes are left.
pub fn check(asked: u64) -> Result<(), OutOfMemory> {
    let left = left();
    if asked <= left { Ok(()) } else { Err(OutOfMemory { asked, left }) }
}

/// The minimum growth of a vector, in bytes, for which the memory left is checked. For less, the
/// check would take longer than the allocation.
const CHECKED: u64 = 1 << 20;

/// Reserves space for more elements, as [`Vec::reserve`] does, or fails if too little memory is
/// left.
pub fn reserve<T>(vector: &mut Vec<T>, additional: usize) -> Result<(), OutOfMemory> {
    if vector.capacity() - vector.len() >= additional {
        return Ok(());
    }
    // A vector at least doubles its capacity.
    let capacity = (vector.len().saturating_add(additional)).max(2 * vector.capacity());
    let asked = ((capacity - vector.capacity()) as u64).saturating_mul(size_of::<T>() as u64);
    if asked >= CHECKED {
        check(asked)?;
    }
    vector.try_reserve(additional).map_err(|_| OutOfMemory { asked, left: left() })
}

/// The current work of the program, for the message with which it ends if memory runs out.
pub(crate) static DOING: Mutex<Doing> = Mutex::new(Doing { what: String::new(), remedy: "" });

pub(crate) struct Doing {
    pub what: String,
    /// The advice to the user, besides allowing more memory.
    pub remedy: &'static str,
}

/// Sets the current work of the program, and the advice to the user.
pub fn now(what: String, remedy: &'static str) {
    *DOING.lock().unwrap_or_else(PoisonError::into_inner) = Doing { what, remedy };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_grows_as_long_as_memory_is_left() {
        let mut vector = vec![1u64, 2];
        reserve(&mut vector, 1000).unwrap();
        assert!(vector.capacity() >= 1002);
        let capacity = vector.capacity();
        let error = reserve(&mut vector, 1 << 50).unwrap_err();
        assert!(error.asked >= 1 << 52 && error.left < error.asked, "{error:?}");
        assert_eq!((vector.capacity(), &vector[..]), (capacity, &[1, 2][..]));
        assert!(error.to_string().contains("allow more by --memory"), "{error}");
    }

    #[test]
    fn limits_that_no_program_runs_in_are_refused() {
        assert_eq!(limit("32M"), Ok(MIN_LIMIT));
        assert_eq!(limit("31M"), Err("give at least 32 MiB".to_owned()));
    }
}
