//! The checks of the sources of kernels (docs/kernels.md). Every loop must name its bound, unless
//! its condition shows one, and only the seam may query the target.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// The folders of kernels.
const FOLDERS: [&str; 3] = ["gpu-kernels/src", "crates/applications/kernels/src", "crates/bench/kernels/src"];

/// The folder that may query the target.
const SEAM: &str = "gpu-kernels/src/seam";

/// Checks all kernels under `root`.
pub fn check(root: &Path) -> Result<()> {
    let (mut findings, mut paths) = (Vec::new(), Vec::new());
    for folder in FOLDERS {
        paths.extend(workspace::files(&root.join(folder))?);
    }
    for path in paths {
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            // `lib.rs` may ask for the target too, because the attributes of the crate are in it.
            let may_ask = path.starts_with(root.join(SEAM)) || path.ends_with("lib.rs");
            let mut found = |lines: Vec<usize>, what| {
                findings.extend(lines.into_iter().map(|line| format!("{name}:{line}: {what}")));
            };
            found(open_loops(&text), "a loop without a bound");
            if !may_ask {
                found(
                    forks(&text),
                    "a question about the target outside the seam: `cpu cores` in `kernel!` is for that",
                );
            }
        }
    }
    ensure!(findings.is_empty(), "{} findings\n{}", findings.len(), findings.join("\n"));
    Ok(())
}

/// Returns the indices, from 1, of the lines that query the target.
fn forks(text: &str) -> Vec<usize> {
    let asks = |line: &str| line.contains("target_arch") || line.contains("target_feature");
    text.lines().zip(1..).filter(|(line, _)| asks(line)).map(|(_, number)| number).collect()
}

/// Returns the indices, from 1, of the lines with loops that name no bound. Tests are skipped.
fn open_loops(text: &str) -> Vec<usize> {
    let code = text.split("\n#[cfg(test)]").next().unwrap_or(text);
    let (mut findings, mut is_bound) = (Vec::new(), false);
    for (index, line) in code.lines().enumerate() {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix("//") {
            is_bound |= comment.contains("At most");
            continue;
        }
        // If a condition has several lines, only the first one is checked.
        let counts = |condition: &str| condition.contains(" < ") || condition.contains(" <= ");
        let is_open = line.starts_with("loop {") || line.strip_prefix("while ").is_some_and(|rest| !counts(rest));
        if is_open && !is_bound {
            findings.push(index + 1);
        }
        is_bound = false;
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{forks, open_loops};

    #[test]
    fn forks_are_found() {
        assert_eq!(forks("fn a() {}\n    if cfg!(target_arch = \"nvptx64\") {\n"), [2]);
    }

    #[test]
    fn loops_without_a_bound_are_found() {
        assert_eq!(open_loops("    loop {\n    while a < b {\n    while a != 0 {\n"), [1, 3]);
        assert!(
            open_loops("    // At most two steps.\n    loop {\n    // At most 32:\n    // bits.\n    while a != 0 {\n")
                .is_empty()
        );
        assert_eq!(open_loops("    // At most two.\n    let a = 1;\n    loop {\n"), [3]);
        assert!(open_loops("fn a() {}\n#[cfg(test)]\nmod tests {\n    loop {\n").is_empty());
    }
}
