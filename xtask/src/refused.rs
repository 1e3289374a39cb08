//! Programs that rustc must refuse, and the errors that it must print. They show that rustc prints
//! the library's own texts, in the first line of an error.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The program. Each line that rustc must refuse has the beginning of its error after [`MARK`].
const PROGRAM: &str = include_str!("refused/program.rs");
/// The mark before the beginning of an error.
const MARK: &str = "//~ ";
/// Texts that the notes of the errors must contain.
const REMEDIES: [&str; 8] = [
    "say `warpnest::key!(Type);`",
    "say `warpnest::value!(Type);`",
    "say `warpnest::plain!(Type);`",
    "see `primitives::gather_found`",
    "put pairs in with `insert_many`",
    "of `StringMap`, `StringIds`, `unique`",
    "collect what an iterator gives",
    "`groups.column(sum)?` the sums",
];

/// Builds the program as an example of the package in `folder`, by `build`, which knows the folder.
/// Fails unless rustc refuses every line that names an error, with that error, and no other line.
pub fn check(folder: &Path, build: &mut Command) -> Result<()> {
    fs::create_dir_all(folder.join("examples"))?;
    fs::write(folder.join("examples/refused.rs"), PROGRAM)?;
    let output = build.args(["--example", "refused"]).env("CARGO_TERM_COLOR", "never").output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let expected: Vec<_> = marks(PROGRAM).collect();
    ensure!(!expected.is_empty() && !output.status.success(), "rustc takes what it must refuse\n{said}");
    let errors = errors(&said)?;
    for &(line, begins) in &expected {
        let here: Vec<_> = errors.iter().filter(|error| error.0 == line).collect();
        ensure!(!here.is_empty(), "line {line} of the refused program is taken, and {begins:?} was expected\n{said}");
        for (_, error) in here {
            ensure!(error.starts_with(begins), "line {line} is refused with {error:?}, and not {begins:?}\n{said}");
        }
    }
    let lines: BTreeSet<_> = expected.iter().map(|&(line, _)| line).collect();
    let others = errors.iter().find(|(line, _)| !lines.contains(line));
    ensure!(others.is_none(), "an error that was not expected: {others:?}\n{said}");
    for remedy in REMEDIES {
        ensure!(said.contains(remedy), "no error says {remedy:?}\n{said}");
    }
    Ok(())
}

/// Builds a program whose PTX does not exist, as [`check`] does. Fails unless the single error says
/// how to build the PTX.
pub fn check_unbuilt(folder: &Path, build: &mut Command) -> Result<()> {
    let program = "fn main() {\n    let _ = warpnest::module!(\"../ptx/own\");\n}\n";
    fs::write(folder.join("examples/unbuilt.rs"), program)?;
    let output = build.args(["--example", "unbuilt"]).env("CARGO_TERM_COLOR", "never").output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let expected = "error: there is no examples/../ptx/own_sm75.ptx: run `cargo warpnest build-ptx` first";
    let only = !said.contains("couldn't read") && said.contains(" --> examples/unbuilt.rs:2:");
    ensure!(!output.status.success() && said.contains(expected) && only, "{expected:?} was expected alone\n{said}");
    Ok(())
}

/// Returns the indices, from 1, of the lines that name an error, with the error's beginning.
fn marks(program: &str) -> impl Iterator<Item = (usize, &str)> {
    program.lines().enumerate().filter_map(|(index, line)| Some((index + 1, line.split_once(MARK)?.1)))
}

/// Returns the line and the first words of each error that rustc printed. Module paths of types are
/// removed, because they depend on the imports.
fn errors(said: &str) -> Result<Vec<(usize, String)>> {
    let mut lines = said.lines();
    let mut errors = Vec::new();
    while let Some(line) = lines.next() {
        let Some((_, error)) = line.strip_prefix("error[").and_then(|rest| rest.split_once("]: ")) else { continue };
        let at = lines.next().and_then(|line| line.trim().strip_prefix("--> "));
        let number = at.and_then(|at| at.rsplit(':').nth(1)).and_then(|number| number.parse().ok());
        errors.push((number.with_context(|| format!("rustc does not say where it found {error:?}"))?, short(error)));
    }
    Ok(errors)
}

/// Returns an error with `Page` instead of `warpnest::page::Page`.
fn short(error: &str) -> String {
    error.split('`').map(|part| part.rsplit("::").next().unwrap_or(part)).collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_read_with_their_lines() {
        let said = "warning: unused\n  --> a.rs:1:2\nerror[E0277]: a map of `x::y::Page` is `u8`\n  --> examples/refused.rs:31:18\n   |\n";
        assert_eq!(errors(said).unwrap(), [(31, "a map of `Page` is `u8`".to_owned())]);
        assert!(errors("error[E1]: lost\nnowhere\n").is_err());
    }

    #[test]
    fn marks_are_read_with_their_lines() {
        assert_eq!(marks("fn a() {}\nb(); //~ no `b`\n").collect::<Vec<_>>(), [(2, "no `b`")]);
        assert!(marks(PROGRAM).count() > 10);
    }
}
