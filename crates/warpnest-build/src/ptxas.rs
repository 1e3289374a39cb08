//! NVIDIA's assembler, which checks the PTX and reports the resources of each kernel.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::process::capture;

/// The environment variable with the path of a ptxas. It has precedence over all other places.
pub const VARIABLE: &str = "WARPNEST_PTXAS";

/// The resources of one kernel. The stack and the spills include the functions that the kernel
/// calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The entry point's name.
    pub kernel: String,
    /// The count of registers of a thread.
    pub registers: u32,
    /// The bytes of shared memory of a block, for arrays of constant length only.
    pub shared: u32,
    /// The bytes of stack of a thread.
    pub stack: u32,
    /// The bytes that are spilled from registers to local memory.
    pub spill_stores: u32,
    /// The bytes of spilled registers that are loaded back.
    pub spill_loads: u32,
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Usage { kernel, registers, shared, stack, spill_stores, spill_loads } = self;
        write!(f, "{kernel}: {registers} registers, {shared} bytes of shared memory")?;
        if *stack.max(spill_stores).max(spill_loads) > 0 {
            write!(f, ", {stack} bytes of stack, {spill_stores} spilled, {spill_loads} loaded back")?;
        }
        Ok(())
    }
}

/// Returns the ptxas of the environment variable, PATH, a CUDA toolkit's usual folder, or a venv
/// `ptxas` in the target folder.
pub fn find(target_dir: &Path) -> Result<Option<PathBuf>> {
    if let Some(path) = std::env::var_os(VARIABLE).map(PathBuf::from) {
        if path.is_file() {
            return Ok(Some(path));
        }
        let source = io::Error::new(io::ErrorKind::NotFound, format!("{VARIABLE} names no file"));
        return Err(Error::Io { action: "run", path, source });
    }
    Ok(folders(target_dir).into_iter().map(|folder| folder.join("ptxas")).find(|file| file.is_file()))
}

/// Returns the folders that may have programs of CUDA: the folders of PATH, the usual folder of a
/// toolkit, and the folders of PyPI packages in a venv `ptxas` in the target folder.
pub fn folders(target_dir: &Path) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.push("/usr/local/cuda/bin".into());
    // Two parts of the path have versions, as in lib/python3.11/site-packages/nvidia/cu13/bin.
    for python in subfolders(&target_dir.join("ptxas/lib")) {
        folders.extend(subfolders(&python.join("site-packages/nvidia")).into_iter().map(|cuda| cuda.join("bin")));
    }
    folders
}

fn subfolders(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// Assembles a file for the GPU `cpu`. Returns the resources of every kernel, sorted by name, and
/// ptxas's warnings.
pub fn assemble(ptxas: &Path, cpu: &str, file: &Path) -> Result<(Vec<Usage>, Vec<String>)> {
    let mut command = Command::new(ptxas);
    let (stdout, stderr) = capture(command.arg("-v").arg(format!("-arch={cpu}")).arg(file).args(["-o", "/dev/null"]))?;
    let text = stdout + &stderr;
    let mut kernels = parse(&text)?;
    kernels.sort_by(|a, b| a.kernel.cmp(&b.kernel));
    Ok((kernels, warnings(&text)))
}

/// Returns the warnings in the output. They include launch bounds that this GPU cannot satisfy,
/// which ptxas then ignores.
fn warnings(text: &str) -> Vec<String> {
    text.lines().filter(|line| line.starts_with("ptxas warning")).map(str::to_string).collect()
}

/// Parses the output of `ptxas -v`.
///
/// For each kernel the output has a line with the kernel's name, lines with the properties of each
/// function that was compiled with it, and a line with the totals.
fn parse(text: &str) -> Result<Vec<Usage>> {
    let mut kernels: Vec<Usage> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.split("Compiling entry function '").nth(1) {
            let kernel = rest.split('\'').next().unwrap_or(rest).to_string();
            kernels.push(Usage { kernel, ..Usage::default() });
            continue;
        }
        let Some(kernel) = kernels.last_mut() else { continue };
        if line.contains("bytes stack frame") {
            kernel.stack += number_before(line, "bytes stack frame")?;
            kernel.spill_stores += number_before(line, "bytes spill stores")?;
            kernel.spill_loads += number_before(line, "bytes spill loads")?;
        } else if line.contains("Used ") {
            kernel.registers = number_before(line, "registers")?;
            // The field is absent without shared memory.
            kernel.shared = number_before(line, "bytes smem").unwrap_or(0);
        }
    }
    match kernels.iter().find(|kernel| kernel.registers == 0) {
        Some(silent) => Err(not_understood(format!("no number of registers for {}:\n{text}", silent.kernel))),
        None => Ok(kernels),
    }
}

fn number_before(line: &str, unit: &str) -> Result<u32> {
    let before = line.split(unit).next().filter(|before| before.len() < line.len());
    let word = before.and_then(|before| before.split_whitespace().last());
    let number = word.and_then(|word| word.parse().ok());
    number.ok_or_else(|| not_understood(format!("no number before `{unit}` in `{line}`")))
}

fn not_understood(problem: String) -> Error {
    Error::Answer { program: "ptxas", problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
ptxas info    : 24 bytes gmem
ptxas info    : Compiling entry function 'find32' for 'sm_90'
ptxas info    : Function properties for find32
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers, 384 bytes cmem[0]
ptxas info    : Compile time = 1.234 ms
ptxas info    : Compiling entry function 'build' for 'sm_90'
ptxas info    : Function properties for build
    48 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Function properties for helper
    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 64 bytes cumulative stack size, 1152 bytes smem
";

    #[test]
    fn every_kernel_is_read() {
        let kernels = parse(OUTPUT).unwrap();
        let find = Usage { kernel: "find32".into(), registers: 10, ..Usage::default() };
        let build =
            Usage { kernel: "build".into(), registers: 32, shared: 1152, stack: 64, spill_stores: 8, spill_loads: 12 };
        assert_eq!(kernels, [find, build]);
    }

    #[test]
    fn stack_and_spills_are_shown_where_there_are_any() {
        let kernels = parse(OUTPUT).unwrap();
        assert_eq!(kernels[0].to_string(), "find32: 10 registers, 0 bytes of shared memory");
        let build = kernels[1].to_string();
        assert!(
            build.ends_with("1152 bytes of shared memory, 64 bytes of stack, 8 spilled, 12 loaded back"),
            "{build}"
        );
    }

    #[test]
    fn warnings_are_kept() {
        let warning =
            "ptxas warning : Value of threads per SM for entry k is out of range. .minnctapersm will be ignored";
        assert_eq!(warnings(&format!("{warning}\n{OUTPUT}")), [warning]);
    }

    #[test]
    fn output_of_another_shape_is_an_error_and_not_a_pass() {
        assert!(parse("ptxas info : Compiling entry function 'k' for 'sm_90'\n").is_err());
        assert!(parse(&OUTPUT.replace("8 bytes spill stores", "some bytes spill stores")).is_err());
        assert_eq!(parse("").unwrap(), []);
    }
}
