//! The output of a build: its stages while it runs, and its results.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::compiler::{Compiler, VARIABLE};
use crate::ptxas::Usage;
use crate::target::Target;

/// A stage of a build, reported when it begins. Its `Display` form is a line for the user.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Progress {
    /// A compiler was found, and now compiles one file for each target.
    Compiling {
        /// The compiler.
        compiler: Compiler,
        /// The names of the files.
        files: Vec<String>,
    },
    /// ptxas assembles a file.
    Assembling {
        /// The name of the file.
        file: String,
    },
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Progress::Compiling { compiler, files } => {
                write!(f, "{compiler}\nbuilding {}, up to a minute", files.join(" and "))
            }
            Progress::Assembling { file } => write!(f, "assembling {file}"),
        }
    }
}

/// A PTX file of a package, for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The path of the file.
    pub path: PathBuf,
    /// The target.
    pub target: Target,
}

impl Module {
    /// Returns the name of the file.
    pub fn file_name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The result of a build.
#[derive(Clone, Debug)]
pub struct Report {
    /// The compiler.
    pub compiler: Compiler,
    /// The modules, in the order of the targets.
    pub modules: Vec<Built>,
    /// The files and folders from which the modules were built.
    pub sources: Vec<PathBuf>,
}

impl Report {
    /// Returns the lines that a build script prints. They make cargo run the script again if a
    /// source changes, or the variable that names the compiler.
    pub fn cargo_lines(&self) -> Vec<String> {
        let changed = |path: &Path| format!("cargo::rerun-if-changed={}", path.display());
        let mut lines: Vec<String> = self.sources.iter().map(|path| changed(path)).collect();
        lines.push(format!("cargo::rerun-if-env-changed={VARIABLE}"));
        lines
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.modules.iter().map(Built::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// A module that was built.
#[derive(Clone, Debug)]
pub struct Built {
    /// The file and its target.
    pub module: Module,
    /// Whether the file was written, because its contents changed or it did not exist.
    pub written: bool,
    /// The count of kernels.
    pub kernels: usize,
    /// The size of the file in bytes.
    pub bytes: usize,
    /// The output of ptxas, if the build ran it: the resources of each kernel, and warnings.
    pub assembled: Option<Assembled>,
}

impl fmt::Display for Built {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = if self.written { "written" } else { "unchanged" };
        let kernels = if self.kernels == 1 { "kernel" } else { "kernels" };
        write!(f, "{}: {outcome}, {} {kernels}, {} bytes", self.module.file_name(), self.kernels, self.bytes)?;
        let Some(Assembled { usage, warnings }) = &self.assembled else { return Ok(()) };
        usage.iter().try_for_each(|kernel| write!(f, "\n  {kernel}"))?;
        warnings.iter().try_for_each(|warning| write!(f, "\n  {warning}"))
    }
}

/// The output of ptxas for a module.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// The resources of each kernel, by name.
    pub usage: Vec<Usage>,
    /// The warnings, including launch bounds that the GPU cannot satisfy.
    pub warnings: Vec<String>,
}

/// The result of comparing a file with a new build from the same sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The bytes are identical.
    Identical,
    /// Only the digest of the sources was compared, because this compiler, which built the file, is
    /// not installed.
    DigestOnly(String),
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Comparison::Identical => f.write_str("identical"),
            Comparison::DigestOnly(recorded) => write!(f, "only the digest was compared: {recorded} is not here"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_a_line_for_each_module_and_each_kernel_that_was_assembled() {
        let target: Target = "sm_90/ptx83".parse().unwrap();
        let module = Module { path: "ptx/own_sm90.ptx".into(), target };
        let usage = vec![Usage { kernel: "k".into(), registers: 8, ..Usage::default() }];
        let built = Built {
            module,
            written: true,
            kernels: 1,
            bytes: 10,
            assembled: Some(Assembled { usage, warnings: vec!["ptxas warning : w".into()] }),
        };
        assert_eq!(
            built.to_string(),
            "own_sm90.ptx: written, 1 kernel, 10 bytes\n  k: 8 registers, 0 bytes of shared memory\n  ptxas warning : w"
        );
        let unchanged = Built { written: false, assembled: None, ..built };
        assert_eq!(unchanged.to_string(), "own_sm90.ptx: unchanged, 1 kernel, 10 bytes");
    }
}
