//! The kernels as the driver gets them: `gpu-kernels` compiled to PTX by `cargo xtask build-ptx`,
//! with the digest of its sources.

/// The PTX for every device from compute capability 7.5 on.
pub const BASELINE: &str = include_str!("../../ptx/kernels_sm75.ptx");
/// The PTX for compute capability 9.0 and later.
pub const HOPPER: &str = include_str!("../../ptx/kernels_sm90.ptx");

/// The beginning of an entry point. The text before the first one belongs to all; nothing else is
/// shared.
const ENTRY: &str = ".visible .entry ";

/// The names of the kernels in `ptx`.
pub fn kernels(ptx: &str) -> impl Iterator<Item = &str> {
    ptx.split(ENTRY).skip(1).map(|entry| entry.split('(').next().unwrap_or_default())
}

/// A module of the one kernel of this name in `ptx`, if there is such a kernel.
///
/// The driver compiles what it loads, and a program needs few of the kernels.
pub fn module_of(ptx: &str, kernel: &str) -> Option<String> {
    entry(ptx, kernel).map(|(_, module)| module)
}

/// The module of a kernel, as of [`module_of`], with the kernel's name as a slice of `ptx`.
pub(crate) fn entry<'p>(ptx: &'p str, kernel: &str) -> Option<(&'p str, String)> {
    let common = &ptx[..ptx.find(ENTRY)?];
    let entry = &ptx[ptx.find(&format!("{ENTRY}{kernel}("))?..];
    let end = entry[ENTRY.len()..].find(ENTRY).map_or(entry.len(), |length| ENTRY.len() + length);
    let name = &entry[ENTRY.len()..][..kernel.len()];
    Some((name, [common, &entry[..end]].concat()))
}
