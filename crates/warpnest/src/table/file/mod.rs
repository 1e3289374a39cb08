//! The files of tables. docs/file-format.md describes the format, which [`header`] and `order`
//! implement.
//!
//! Users call `api`, which opens files by `paths`. A table lists its memory as [`parts`], which
//! `write` writes. `read` loads them from a `source` to a `target`, in `units` that are divided
//! among `workers`. `verify` and `info` need no types, and `mapped` needs no copy of the file.

mod api;
pub(crate) mod functions;
mod header;
mod info;
mod mapped;
mod order;
pub(crate) mod parts;
mod paths;
pub(crate) mod read;
mod source;
mod target;
mod units;
mod verify;
mod workers;
mod write;

use gpu_kernels::types::Scalar;

pub(crate) use header::ROW_MAP;
pub use info::FileInfo;
pub use mapped::Mapped;
pub(crate) use mapped::{MapsFile, map};
pub(crate) use order::Order;
pub(crate) use parts::kind_of;
pub(crate) use parts::{Parts, Section};
pub(crate) use read::{Incoming, Limit};
pub(crate) use target::Target;
pub(crate) use target::{Collected, Loading};

/// Returns bytes as a slice of key or value words: `u32` or `u64`.
pub(crate) fn as_words<W: Scalar>(bytes: &[u8]) -> &[W] {
    assert!(bytes.as_ptr().cast::<W>().is_aligned(), "staging buffers are aligned");
    // SAFETY: the words are `u32` or `u64`, for which any bytes are valid. The words are aligned,
    // and lie within the bytes.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<W>()) }
}

/// The bytes that are copied, hashed and written in one step: whole chunks. Larger units are no
/// faster, and would leave a core's cache between these steps.
const UNIT: u64 = header::CHUNK;
