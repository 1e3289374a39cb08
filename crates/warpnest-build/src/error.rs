//! The errors of a build.

use std::error::Error as _;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// The result of a build's steps.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a build, or a check of what was built, failed.
///
/// The `Debug` form is the message and its cause, as a user reads them. So a build script or an
/// xtask may return the error from `main`, which prints the `Debug` form.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No compiler on this machine can compile kernels.
    #[error(
        "no compiler for the kernels; install one:\n  {install}\nor set {variable} to the path of a rustc that has \
         the source of its library in its sysroot. Tried:\n{}",
        .tried.iter().map(|line| format!("  - {line}")).collect::<Vec<_>>().join("\n")
    )]
    NoCompiler {
        /// The command that installs a compiler on this machine.
        install: &'static str,
        /// The variable that can name a compiler.
        variable: &'static str,
        /// The candidates, each with the reason why it was refused.
        tried: Vec<String>,
    },
    /// A file or folder could not be used.
    #[error("cannot {action} {}", .path.display())]
    Io {
        /// The verb, such as `read` or `write`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A program could not be started.
    #[error("cannot start `{command}`")]
    Start {
        /// The command line.
        command: String,
        /// The system's error.
        source: io::Error,
    },
    /// A program failed. If it is cargo, the compilation failed.
    #[error("`{command}` failed ({status})\n{output}")]
    Failed {
        /// The command line.
        command: String,
        /// The status with which the program ended.
        status: ExitStatus,
        /// The text that the program wrote to its standard output and standard error.
        output: String,
    },
    /// The output of a program has an unexpected form.
    #[error("the answer of {program} was not understood: {problem}")]
    Answer {
        /// The name of the program.
        program: &'static str,
        /// What is wrong with the output.
        problem: String,
    },
    /// The manifest belongs to a workspace without a package.
    #[error("{} has no package: name the manifest of the package that has the kernels", .manifest.display())]
    NoPackage {
        /// The manifest.
        manifest: PathBuf,
    },
    /// The package has no library, which is what is compiled to PTX.
    #[error("the package {package} has no library: kernels belong in its src/lib.rs")]
    NoLibrary {
        /// The package's name.
        package: String,
    },
    /// The manifest's list of files for the host only is not a list of paths.
    #[error("{}: host-only of [package.metadata.warpnest] must be a list of paths", .manifest.display())]
    HostOnly {
        /// The manifest.
        manifest: PathBuf,
    },
    /// A target is not written as `sm_90/ptx83`.
    #[error("`{text}` is no target: write GPU and version of PTX as sm_90/ptx83")]
    Target {
        /// The text.
        text: String,
    },
    /// The targets are none, or two of them are for the same GPU.
    #[error("the targets must be different GPUs, and one at least")]
    Targets,
    /// A kernel that was requested by name does not exist.
    #[error("no kernel for this GPU is declared as `kernel! {{ {name}<…>, …`")]
    NoKernel {
        /// The requested name.
        name: String,
    },
    /// The launch bounds that a kernel requests cannot be applied.
    #[error("launch bounds `{request}`: {problem}")]
    LaunchBounds {
        /// The request, as it is in the PTX.
        request: String,
        /// The reason why the request cannot be applied.
        problem: String,
    },
    /// The PTX contains what the linter forbids. The build writes nothing.
    #[error("{} findings in the PTX:\n{}", .findings.len(), .findings.join("\n"))]
    Lint {
        /// The findings, one per line.
        findings: Vec<String>,
    },
    /// A file has no header, or an incomplete one.
    #[error("{}: its header has no line `{line}`", .path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// The beginning of the line.
        line: String,
    },
    /// A file was built from other sources.
    #[error("{} was not built from these sources: run `{command}`", .path.display())]
    Stale {
        /// The file.
        path: PathBuf,
        /// The command that builds it.
        command: String,
    },
    /// A new build produces other bytes than the file has, although the sources are the same.
    #[error("{} is not what its sources give ({difference}): run `{command}`", .path.display())]
    Different {
        /// The file.
        path: PathBuf,
        /// The first difference.
        difference: String,
        /// The command that builds it.
        command: String,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source() {
            Some(cause) => write!(f, "{self}: {cause}"),
            None => write!(f, "{self}"),
        }
    }
}

impl Error {
    /// Returns a function that makes an [`Error::Io`] from the system's error.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Error::Io { action, path: path.to_owned(), source }
    }
}
