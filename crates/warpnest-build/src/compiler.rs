//! The search for a compiler for the kernels: a rustc that knows the NVPTX target and has the
//! source of its library.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::process::capture;
use crate::target::TRIPLE;

/// The environment variable with the path of a rustc. It has precedence over all other compilers.
pub const VARIABLE: &str = "WARPNEST_KERNEL_RUSTC";
/// A GPU that the compiler must know, which is the newest GPU of the default targets.
const NEEDED_CPU: &str = "sm_90";

/// The command that installs a compiler on Debian 12.
const INSTALL_DEBIAN: &str = "apt-get update && apt-get install rustc-web rust-web-src";
/// The command that installs a compiler on every other system.
const INSTALL_RUSTUP: &str = "rustup toolchain install nightly --profile minimal --component rust-src";

/// The reason why a candidate is refused.
type Refusal = String;

/// A compiler that passed all checks.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// The full path of the rustc. A bare `rustc` would be rustup's proxy, which runs the host's
    /// toolchain.
    pub rustc: PathBuf,
    /// The version of the compiler.
    pub version: Version,
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.version.line, self.rustc.display())
    }
}

/// A compiler's version, from `rustc -vV`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The first line and the version of LLVM. It is recorded in the PTX, because both determine
    /// its bytes.
    pub line: String,
    number: (u32, u32),
}

impl Version {
    fn parse(verbose: &str) -> Result<Version, Refusal> {
        let line = verbose.lines().next().filter(|line| line.starts_with("rustc ")).ok_or("it is not a rustc")?;
        let field = |name: &str| verbose.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let release = field("release:").ok_or("it does not say which release it is")?;
        let mut parts = release.split('.').map(|part| part.parse().ok());
        let (Some(Some(major)), Some(Some(minor))) = (parts.next(), parts.next()) else {
            return Err(format!("its release `{release}` is not a version"));
        };
        let llvm = field("LLVM version:").ok_or("it does not say which LLVM it uses")?;
        Ok(Version { line: format!("{line}, LLVM {llvm}"), number: (major, minor) })
    }
}

/// The origin of a candidate.
#[derive(Clone, Debug)]
enum Origin {
    Variable,
    Distribution,
    Rustup(String),
}

impl Origin {
    /// Returns the oldest release that is accepted.
    ///
    /// For Debian's package that is 1.96, which was tested. Official builds must be 1.97 or later,
    /// because these no longer copy barriers into divergent branches by default.
    fn oldest(&self) -> (u32, u32) {
        if let Origin::Rustup(_) = self { (1, 97) } else { (1, 96) }
    }

    fn source_hint(&self) -> String {
        match self {
            Origin::Variable => "install the library source that belongs to it".into(),
            Origin::Distribution => "apt-get install rust-web-src".into(),
            Origin::Rustup(name) => format!("rustup component add rust-src --toolchain {name}"),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Variable => write!(f, "the variable {VARIABLE}"),
            Origin::Distribution => write!(f, "the distribution"),
            Origin::Rustup(name) => write!(f, "rustup's toolchain {name}"),
        }
    }
}

/// The properties of a candidate.
struct Facts {
    verbose_version: String,
    library: PathBuf,
    has_library: bool,
    cpus: Option<String>,
}

/// Returns the first suitable compiler, or an error that lists what was tried and what to install.
pub fn find() -> Result<Compiler> {
    search(|_| true)
}

/// Returns the first suitable compiler whose version is `line`. That is the compiler that built a
/// committed file.
pub fn find_version(line: &str) -> Result<Compiler> {
    search(|version| version.line == line)
}

fn search(wanted: impl Fn(&Version) -> bool) -> Result<Compiler> {
    let mut tried = Vec::new();
    let mut candidates = Vec::new();
    // A compiler that the user names is used or refused. Another compiler instead would be a
    // surprise.
    if let Some(path) = std::env::var_os(VARIABLE) {
        candidates.push((Origin::Variable, PathBuf::from(path)));
    } else {
        tried.push(format!("{}: not set", Origin::Variable));
        candidates.push((Origin::Distribution, PathBuf::from("/usr/bin/rustc")));
        match rustup_toolchains() {
            Ok(list) => candidates.extend(list),
            Err(refusal) => tried.push(format!("rustup: {refusal}")),
        }
    }
    for (origin, rustc) in candidates {
        match ask(&rustc).and_then(|facts| judge(&origin, &facts)) {
            Ok(version) if wanted(&version) => return Ok(Compiler { rustc, version }),
            Ok(version) => tried.push(format!("{origin} ({}): it is {}", rustc.display(), version.line)),
            Err(refusal) => tried.push(format!("{origin} ({}): {refusal}", rustc.display())),
        }
    }
    let install = install_command(&fs::read_to_string("/etc/os-release").unwrap_or_default());
    Err(Error::NoCompiler { install, variable: VARIABLE, tried })
}

/// Returns every installed toolchain with the path of its own rustc, not of rustup's proxy.
fn rustup_toolchains() -> Result<Vec<(Origin, PathBuf)>, Refusal> {
    let (list, _) = capture(Command::new("rustup").args(["toolchain", "list"])).map_err(refusal)?;
    // Each line has a name, possibly followed by "(default)". If there is no toolchain, there is a
    // sentence instead.
    let names = list.lines().filter(|line| !line.starts_with("no ")).filter_map(|line| line.split_whitespace().next());
    let rustc = |name: &str| {
        let sysroot = capture(Command::new("rustup").args(["run", name, "rustc", "--print", "sysroot"]));
        // For a broken toolchain the sysroot is empty. The check of the candidate then refuses its
        // path.
        Path::new(sysroot.map(|(out, _)| out).unwrap_or_default().trim()).join("bin/rustc")
    };
    Ok(names.map(|name| (Origin::Rustup(name.into()), rustc(name))).collect())
}

fn ask(rustc: &Path) -> Result<Facts, Refusal> {
    if !rustc.is_file() {
        return Err("there is no such file".into());
    }
    let ask = |args: &[&str]| capture(Command::new(rustc).args(args).env_remove("RUSTUP_TOOLCHAIN")).map_err(refusal);
    let (verbose_version, _) = ask(&["-vV"])?;
    let (sysroot, _) = ask(&["--print", "sysroot"])?;
    let library = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library");
    let has_library = ["Cargo.lock", "core/src/lib.rs"].iter().all(|file| library.join(file).is_file());
    let cpus = ask(&["--print", "target-cpus", "--target", TRIPLE]).ok().map(|(list, _)| list);
    Ok(Facts { verbose_version, library, has_library, cpus })
}

fn judge(origin: &Origin, facts: &Facts) -> Result<Version, Refusal> {
    let version = Version::parse(&facts.verbose_version)?;
    let oldest = origin.oldest();
    if version.number < oldest {
        return Err(format!("{} is older than {}.{}", version.line, oldest.0, oldest.1));
    }
    if !facts.has_library {
        return Err(format!("no library source in {}: {}", facts.library.display(), origin.source_hint()));
    }
    match &facts.cpus {
        None => Err(format!("it does not know the target {TRIPLE}")),
        Some(cpus) if !cpus.split_whitespace().any(|cpu| cpu == NEEDED_CPU) => {
            Err(format!("its LLVM does not know {NEEDED_CPU}"))
        }
        Some(_) => Ok(version),
    }
}

fn refusal(error: Error) -> Refusal {
    format!("{error:?}")
}

/// Returns the command that installs a compiler on the system with this `os-release`.
fn install_command(os_release: &str) -> &'static str {
    let has = |line: &str| os_release.lines().any(|other| other.replace('"', "") == line);
    if has("ID=debian") && has("VERSION_ID=12") { INSTALL_DEBIAN } else { INSTALL_RUSTUP }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN: &str = "rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball)\nbinary: rustc\n\
        host: x86_64-unknown-linux-gnu\nrelease: 1.96.0\nLLVM version: 22.1.8\n";

    fn facts(version: &str) -> Facts {
        let cpus = "Available CPUs for this target:\n    sm_75\n    sm_90\n".to_string();
        Facts { verbose_version: version.into(), library: "LIB".into(), has_library: true, cpus: Some(cpus) }
    }

    fn refusal(origin: &Origin, facts: &Facts) -> String {
        judge(origin, facts).unwrap_err()
    }

    #[test]
    fn versions_are_read() {
        let version = Version::parse(DEBIAN).unwrap();
        assert_eq!(version.number, (1, 96));
        assert_eq!(version.line, "rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball), LLVM 22.1.8");
        let nightly = "rustc 1.97.0-nightly (e50aa6fba 2026-05-19)\nrelease: 1.97.0-nightly\nLLVM version: 22.1.4\n";
        assert_eq!(Version::parse(nightly).unwrap().number, (1, 97));
        for bad in ["", "gcc 12\n", "rustc 1.96.0\n", "rustc x\nrelease: x\nLLVM version: 1\n"] {
            assert!(Version::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_oldest_release_depends_on_where_it_comes_from() {
        let rustup = Origin::Rustup("1.96.0".into());
        assert!(judge(&Origin::Distribution, &facts(DEBIAN)).is_ok());
        assert!(judge(&Origin::Variable, &facts(DEBIAN)).is_ok());
        assert!(refusal(&rustup, &facts(DEBIAN)).contains("is older than 1.97"));
        let old = DEBIAN.replace("1.96.0", "1.63.0");
        assert!(refusal(&Origin::Distribution, &facts(&old)).contains("1.63.0 (ac68faa20"));
    }

    #[test]
    fn a_missing_source_says_how_to_get_it() {
        let facts = Facts { has_library: false, ..facts(&DEBIAN.replace("1.96.0", "1.98.0")) };
        assert!(refusal(&Origin::Distribution, &facts).contains("apt-get install rust-web-src"));
        let rustup = refusal(&Origin::Rustup("nightly".into()), &facts);
        assert!(rustup.contains("LIB: rustup component add rust-src --toolchain nightly"), "{rustup}");
    }

    #[test]
    fn a_compiler_without_the_gpu_is_refused() {
        let none = Facts { cpus: None, ..facts(DEBIAN) };
        assert!(refusal(&Origin::Distribution, &none).contains(TRIPLE));
        let old = Facts { cpus: Some("sm_75\nsm_90a".into()), ..facts(DEBIAN) };
        assert!(refusal(&Origin::Distribution, &old).contains("does not know sm_90"));
    }

    #[test]
    fn the_final_message_lists_what_was_tried_and_what_to_install() {
        let tried = vec!["the distribution (/usr/bin/rustc): there is no such file".into()];
        let text = Error::NoCompiler { install: INSTALL_DEBIAN, variable: VARIABLE, tried }.to_string();
        assert!(text.contains("  - the distribution (/usr/bin/rustc): there is no such file"), "{text}");
        assert!(text.contains("apt-get install rustc-web rust-web-src") && text.contains(VARIABLE), "{text}");
    }

    #[test]
    fn the_command_that_installs_is_that_of_the_system() {
        assert_eq!(install_command("ID=debian\nVERSION_ID=\"12\"\n"), INSTALL_DEBIAN);
        assert_eq!(install_command("ID=debian\nVERSION_ID=\"13\"\n"), INSTALL_RUSTUP);
        assert_eq!(install_command("ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"12\"\n"), INSTALL_RUSTUP);
        assert_eq!(install_command(""), INSTALL_RUSTUP);
    }
}
