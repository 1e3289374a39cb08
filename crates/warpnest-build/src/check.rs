//! Checks of files that were built earlier.

use std::fs;

use crate::build::Build;
use crate::compiler;
use crate::error::{Error, Result};
use crate::header::Header;
use crate::report::{Comparison, Module};

impl Module {
    /// Reads the file, and returns its whole text and its header.
    ///
    /// # Errors
    /// Fails if the file cannot be read or has no header.
    pub fn committed(&self) -> Result<(String, Header)> {
        let text = fs::read_to_string(&self.path).map_err(Error::io("read", &self.path))?;
        let header = Header::parse(&text, &self.path)?;
        Ok((text, header))
    }
}

impl Build {
    /// Checks that the files were built from the current sources.
    ///
    /// # Errors
    /// [`Error::Stale`] names the first file that was built from other sources.
    pub fn check_digests(&self) -> Result<()> {
        self.check_targets()?;
        self.modules().iter().try_for_each(|module| self.check_digest(module).map(drop))
    }

    /// Lints all files of the build.
    ///
    /// # Errors
    /// [`Error::Lint`] lists all findings.
    pub fn check_lint(&self) -> Result<()> {
        let modules = self.modules();
        let texts = modules.iter().map(|module| Ok(module.committed()?.0)).collect::<Result<Vec<_>>>()?;
        self.lint(modules.iter().zip(&texts))
    }

    /// Calls [`compare`](Build::compare) for each file.
    ///
    /// # Errors
    /// [`Error::Stale`] and [`Error::Different`] name the first file that does not belong to the
    /// sources. Other errors are the same as for [`run`](Build::run).
    pub fn check(&self) -> Result<Vec<(Module, Comparison)>> {
        self.check_digests()?;
        let compared = |module: Module| self.compare(&module).map(|comparison| (module, comparison));
        self.modules().into_iter().map(compared).collect()
    }

    /// Builds a file again, if the compiler that the file names is installed, and compares the
    /// bytes. Writes nothing.
    ///
    /// # Errors
    /// [`Error::Stale`] or [`Error::Different`] if the file does not belong to the sources. Other
    /// errors are the same as for [`run`](Build::run).
    pub fn compare(&self, module: &Module) -> Result<Comparison> {
        let recorded = self.check_digest(module)?.compiler;
        let Ok(compiler) = compiler::find_version(&recorded) else { return Ok(Comparison::DigestOnly(recorded)) };
        let (committed, _) = module.committed()?;
        let built = self.compile(std::slice::from_ref(module), &compiler)?;
        match built.first().and_then(|built| first_difference(&committed, built)) {
            None => Ok(Comparison::Identical),
            Some(difference) => {
                Err(Error::Different { path: module.path.clone(), difference, command: self.command_line().into() })
            }
        }
    }

    fn check_digest(&self, module: &Module) -> Result<Header> {
        let (_, header) = module.committed()?;
        if header.digest != self.digest(&module.target)? {
            return Err(Error::Stale { path: module.path.clone(), command: self.command_line().into() });
        }
        Ok(header)
    }
}

/// Returns the first difference after the first line, which contains the command of the build.
fn first_difference(committed: &str, built: &str) -> Option<String> {
    let behind_title = |text: &str| text.find('\n').map_or(0, |end| end + 1);
    if committed[behind_title(committed)..] == built[behind_title(built)..] {
        return None;
    }
    let same = 1 + committed.lines().zip(built.lines()).skip(1).take_while(|(a, b)| a == b).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("(the end)").trim().to_string();
    Some(format!("line {}: `{}` and not `{}`", same + 1, line(built), line(committed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_shown() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n").unwrap(), "line 2: `c` and not `b`");
        assert_eq!(first_difference("a\n", "a\nc\n").unwrap(), "line 2: `c` and not `(the end)`");
        assert_eq!(first_difference("a\nb\n", "another command\nb\n"), None);
    }
}
