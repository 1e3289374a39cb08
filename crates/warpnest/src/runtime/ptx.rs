//! The kernels as the driver gets them: `gpu-kernels` compiled to PTX by `cargo xtask build-ptx`,
//! with the digest of its sources.

/// The PTX for every device from compute capability 7.5 on.
pub const BASELINE: &str = include_str!("../../ptx/kernels_sm75.ptx");
/// The PTX for compute capability 9.0 and later.
pub const HOPPER: &str = include_str!("../../ptx/kernels_sm90.ptx");

/// Returns the PTX for every device from compute capability 7.5 on, as the engines get it:
/// [`BASELINE`], but for files beside the program (the feature `ptx-files`).
pub fn baseline() -> &'static str {
    from_file("kernels_sm75.ptx").unwrap_or(BASELINE)
}

/// Returns the PTX for compute capability 9.0 and later, as the engines get it: [`HOPPER`], but for
/// files beside the program (the feature `ptx-files`).
pub fn hopper() -> &'static str {
    from_file("kernels_sm90.ptx").unwrap_or(HOPPER)
}

/// Returns the line of a module's header that has the digest of its sources.
pub fn digest_line(ptx: &str) -> &str {
    ptx.lines().find(|line| line.starts_with("// sources-sha256")).unwrap_or_default()
}

/// Returns the file that takes the place of a module, if there is one.
#[cfg(not(feature = "ptx-files"))]
fn from_file(_: &str) -> Option<&'static str> {
    None
}

/// Returns the file that takes the place of a module, if there is one.
///
/// It lies beside the program, or in the folder above. A program whose kernels alone have changed
/// need not be built again.
#[cfg(feature = "ptx-files")]
fn from_file(name: &str) -> Option<&'static str> {
    use std::{collections::BTreeMap, path::Path, sync::Mutex};
    static FILES: Mutex<BTreeMap<String, Option<&'static str>>> = Mutex::new(BTreeMap::new());
    let mut files = FILES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = files.get(name) {
        return *known;
    }
    let read = |folder: &Path| std::fs::read_to_string(folder.join(name)).ok();
    let program = std::env::current_exe().unwrap_or_default();
    let found = program.ancestors().skip(1).take(2).find_map(read).map(|text| &*text.leak());
    files.insert(name.to_owned(), found);
    found
}

/// Returns the digest lines of the modules that files have taken the place of.
#[cfg(feature = "ptx-files")]
pub fn replaced() -> Vec<&'static str> {
    [(baseline(), BASELINE), (hopper(), HOPPER)]
        .into_iter()
        .filter(|(used, built_in)| !std::ptr::eq(*used, *built_in))
        .map(|(used, _)| digest_line(used))
        .collect()
}

/// The beginning of an entry point. The text before the first one belongs to all; nothing else is
/// shared.
const ENTRY: &str = ".visible .entry ";

/// Returns the names of the kernels in `ptx`.
pub fn kernels(ptx: &str) -> impl Iterator<Item = &str> {
    ptx.split(ENTRY).skip(1).map(|entry| entry.split('(').next().unwrap_or_default())
}

/// Returns a module of the one kernel of this name in `ptx`, if there is such a kernel.
///
/// The driver compiles what it loads, and a program needs few of the kernels.
pub fn module_of(ptx: &str, kernel: &str) -> Option<String> {
    entry(ptx, kernel).map(|(_, module)| module)
}

/// Returns the module of a kernel, as of [`module_of`], with the kernel's name as a slice of `ptx`.
pub(crate) fn entry<'p>(ptx: &'p str, kernel: &str) -> Option<(&'p str, String)> {
    let common = &ptx[..ptx.find(ENTRY)?];
    let entry = &ptx[ptx.find(&format!("{ENTRY}{kernel}("))?..];
    let end = entry[ENTRY.len()..].find(ENTRY).map_or(entry.len(), |length| ENTRY.len() + length);
    let name = &entry[ENTRY.len()..][..kernel.len()];
    Some((name, [common, &entry[..end]].concat()))
}
