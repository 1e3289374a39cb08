//! The targets of a build, and the flags that determine the PTX.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// The name of rustc's target for NVIDIA's GPUs.
pub const TRIPLE: &str = "nvptx64-nvidia-cuda";

/// The profile, which is defined on cargo's command line, so that no manifest needs it.
pub(crate) const PROFILE: &str = "warpnest-ptx";
/// The settings of the profile. docs/toolchain.md gives the reason for each setting.
///
/// All settings that a manifest's `[profile.release]` might change are listed here, some with
/// cargo's default value.
pub(crate) const PROFILE_SETTINGS: [&str; 9] = [
    "inherits = \"release\"",
    "opt-level = 3",
    "lto = \"fat\"",
    "codegen-units = 1",
    "panic = \"abort\"",
    "debug = 0",
    "debug-assertions = false",
    "overflow-checks = false",
    "incremental = false",
];

/// A minimum version of GPU and driver, for which a PTX module is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    cpu: String,
    ptx_version: String,
}

impl Target {
    /// Returns the target of a GPU and a version of the PTX language, such as `sm_90` and `ptx83`.
    ///
    /// The driver compiles a module for any GPU that is newer than its target, and must know the
    /// version of the language. 128-bit atomics need `sm_90` and `ptx83`.
    pub fn new(cpu: &str, ptx_version: &str) -> Result<Target> {
        let numbered = |text: &str, prefix| {
            let number = text.strip_prefix(prefix).unwrap_or_default();
            let digits = number.trim_end_matches(['a', 'f']);
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !numbered(cpu, "sm_") || !numbered(ptx_version, "ptx") {
            return Err(Error::Target { text: format!("{cpu}/{ptx_version}") });
        }
        Ok(Target { cpu: cpu.into(), ptx_version: ptx_version.into() })
    }

    /// Returns the default targets, for which `warpnest` itself is built.
    ///
    /// The first target runs on every supported GPU and driver (R470 and later). The second target
    /// is Hopper with the features of PTX 8.3 (R545 and later), such as 128-bit atomics.
    pub fn defaults() -> Vec<Target> {
        [("sm_75", "ptx74"), ("sm_90", "ptx83")]
            .map(|(cpu, ptx_version)| Target { cpu: cpu.into(), ptx_version: ptx_version.into() })
            .into()
    }

    /// Returns the GPU's name, as in `.target` and in ptxas's `-arch`.
    pub fn cpu(&self) -> &str {
        &self.cpu
    }

    /// Returns the end of the target's file name, such as `_sm90.ptx` for `sm_90`.
    pub fn file_suffix(&self) -> String {
        format!("_{}.ptx", self.cpu.replace('_', ""))
    }

    /// Returns the flags for every crate that is compiled for the GPU, including core.
    pub fn flags(&self) -> Vec<String> {
        let mut flags = vec![format!("-Ctarget-cpu={}", self.cpu), format!("-Ctarget-feature=+{}", self.ptx_version)];
        flags.extend(
            [
                "-Zmir-enable-passes=-JumpThreading",
                // Loops over a thread's local arrays must be unrolled before LLVM splits the arrays
                // into registers.
                "-Cllvm-args=-unroll-threshold=4000",
                "-Zunstable-options",
                "-Cpanic=immediate-abort",
            ]
            .map(Into::into),
        );
        flags
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.cpu, self.ptx_version)
    }
}

impl FromStr for Target {
    type Err = Error;

    fn from_str(text: &str) -> Result<Target> {
        let (cpu, ptx_version) = text.split_once('/').ok_or_else(|| Error::Target { text: text.into() })?;
        Target::new(cpu, ptx_version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_turns_jump_threading_off() {
        for target in Target::defaults() {
            assert!(target.flags().iter().any(|flag| flag == "-Zmir-enable-passes=-JumpThreading"));
        }
    }

    #[test]
    fn targets_are_read_as_they_are_written() {
        for text in ["sm_75/ptx74", "sm_90a/ptx83", "sm_100f/ptx88"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        for bad in ["", "sm_90", "90/83", "sm_/ptx83", "sm_90/8.3", "sm_90 -g/ptx83", "sm_90/ptx"] {
            let error = bad.parse::<Target>().unwrap_err().to_string();
            assert!(error.contains("sm_90/ptx83"), "{error}");
        }
        assert_eq!("sm_90/ptx83".parse::<Target>().unwrap().file_suffix(), "_sm90.ptx");
    }
}
