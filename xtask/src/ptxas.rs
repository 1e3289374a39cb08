//! NVIDIA's assembler: whether it takes the PTX, and the resources that each kernel will use.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use comfy_table::{CellAlignment, Table, presets};

use crate::process::capture;
use crate::workspace;

/// The variable that names a ptxas by its path and has precedence over all else.
pub const VARIABLE: &str = "WARPNEST_PTXAS";

/// The instructions to the user in the line of a skipped step.
pub const HOW_TO_GET: &str = "ptxas not found: skipped; pip install --no-deps 'nvidia-cuda-nvcc<14' into a venv at target/ptxas, or set WARPNEST_PTXAS";

/// The resources of one kernel. Stack and spills include those of the functions that it calls.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The entry point's name.
    pub kernel: String,
    registers: u32,
    shared: u32,
    stack: u32,
    spill_stores: u32,
    spill_loads: u32,
}

/// The exceptions to the rule, with the bytes that are allowed of each kind.
///
/// A radix pass whose threads hold 16 items and spill a few words is faster than one whose threads
/// hold 12 and spill none (docs/primitives.md). The ordered split is such a pass. A page is built
/// fastest with four blocks a multiprocessor. Its spills are in the code where pairs search for a
/// slot, which few do (docs/page-map.md). The same holds for the pages that batches are added to
/// and removed from; with keys alone, a bucket's eight words of tags do not fit the registers.
const ALLOWED: [(&str, u32); 5] = [
    ("radix_partition_", 96),
    ("page_split_in_order_", 256),
    ("page_build_", 160),
    ("page_add_", 256),
    ("page_remove_", 512),
];

impl Usage {
    /// Returns the violation of the rule that a kernel's state lives in registers, which stands
    /// here and nowhere else.
    ///
    /// A stack or a spill means memory traffic that is not in the source. Mostly its cause is an
    /// array indexed by a variable, or bounds that leave too few registers.
    pub fn violation(&self) -> Option<String> {
        let Usage { kernel, stack, spill_stores, spill_loads, .. } = self;
        let allowed = ALLOWED.iter().find(|(name, _)| kernel.starts_with(name)).map_or(0, |(_, bytes)| *bytes);
        (*stack.max(spill_stores).max(spill_loads) > allowed)
            .then(|| format!("{kernel}: {stack} bytes of stack, {spill_stores} spilled, {spill_loads} loaded back"))
    }
}

/// Looks at the variable, PATH, the usual folder of a CUDA toolkit, and the venv that `.ci/run`
/// makes.
pub fn find(root: &Path) -> Result<Option<PathBuf>> {
    if let Some(path) = std::env::var_os(VARIABLE).map(PathBuf::from) {
        ensure!(path.is_file(), "{VARIABLE} names {}, which is not a file", path.display());
        return Ok(Some(path));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.push("/usr/local/cuda/bin".into());
    // The middle parts carry versions: lib/python3.11/site-packages/nvidia/cu13/bin.
    for python in subfolders(&workspace::target_dir(root).join("ptxas/lib")) {
        folders.extend(subfolders(&python.join("site-packages/nvidia")).into_iter().map(|cuda| cuda.join("bin")));
    }
    Ok(folders.into_iter().map(|folder| folder.join("ptxas")).find(|file| file.is_file()))
}

fn subfolders(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// Assembles a file for the GPU `cpu` and reports every kernel, by name, and ptxas's warnings.
pub fn assemble(ptxas: &Path, cpu: &str, file: &Path) -> Result<(Vec<Usage>, Vec<String>)> {
    let mut command = Command::new(ptxas);
    let (stdout, stderr) = capture(command.arg("-v").arg(format!("-arch={cpu}")).arg(file).args(["-o", "/dev/null"]))?;
    let text = stdout + &stderr;
    let mut kernels = parse(&text)?;
    kernels.sort_by(|a, b| a.kernel.cmp(&b.kernel));
    Ok((kernels, warnings(&text)))
}

/// Returns the warnings in the output. Among them are launch bounds that this GPU cannot meet,
/// which ptxas then ignores.
fn warnings(text: &str) -> Vec<String> {
    text.lines().filter(|line| line.starts_with("ptxas warning")).map(str::to_string).collect()
}

/// Reads the output of `ptxas -v`.
///
/// It has for each kernel a line that names it, the properties of every function compiled with it
/// (a called function has lines of its own), and the totals.
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
            // Absent if the kernel has none.
            kernel.shared = number_before(line, "bytes smem").unwrap_or(0);
        }
    }
    if let Some(silent) = kernels.iter().find(|kernel| kernel.registers == 0) {
        bail!("ptxas did not say how many registers {} uses:\n{text}", silent.kernel);
    }
    Ok(kernels)
}

fn number_before(line: &str, unit: &str) -> Result<u32> {
    let before = line.split(unit).next().filter(|before| before.len() < line.len());
    let word = before.and_then(|before| before.split_whitespace().last());
    word.and_then(|word| word.parse().ok()).with_context(|| format!("ptxas: no number before `{unit}` in `{line}`"))
}

/// Returns the kernels of one module as a table.
pub fn table(kernels: &[Usage]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY);
    table.set_header(["kernel", "registers", "shared", "stack", "spill stores", "spill loads"]);
    for k in kernels {
        let numbers = [k.registers, k.shared, k.stack, k.spill_stores, k.spill_loads].map(|number| number.to_string());
        table.add_row([k.kernel.clone()].into_iter().chain(numbers));
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
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
    fn stack_and_spills_break_the_rule() {
        let kernels = parse(OUTPUT).unwrap();
        assert_eq!(kernels[0].violation(), None);
        assert_eq!(kernels[1].violation().unwrap(), "build: 64 bytes of stack, 8 spilled, 12 loaded back");
        let partition = |stack| Usage { kernel: "radix_partition_u32_u32".into(), stack, ..Usage::default() };
        assert!(partition(96).violation().is_none() && partition(97).violation().is_some());
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

    #[test]
    fn the_table_has_a_row_for_each_kernel() {
        let text = table(&parse(OUTPUT).unwrap()).to_string();
        assert_eq!(text.lines().filter(|line| line.contains("find32") || line.contains("build")).count(), 2, "{text}");
    }
}
