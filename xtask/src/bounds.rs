//! The check that every loop of a kernel names its bound (docs/kernels.md). One that counts up to a
//! bound is its own comment.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// The folders of kernels.
const FOLDERS: [&str; 3] = ["gpu-kernels/src", "crates/applications/kernels/src", "crates/bench/kernels/src"];

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
            findings
                .extend(findings_of(&text).into_iter().map(|line| format!("{name}:{line}: a loop without a bound")));
        }
    }
    ensure!(findings.is_empty(), "{} findings\n{}", findings.len(), findings.join("\n"));
    Ok(())
}

/// Returns the numbers of the lines with loops that name no bound. Tests are left out.
fn findings_of(text: &str) -> Vec<usize> {
    let code = text.split("\n#[cfg(test)]").next().unwrap_or(text);
    let (mut findings, mut is_bound) = (Vec::new(), false);
    for (index, line) in code.lines().enumerate() {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix("//") {
            is_bound |= comment.contains("At most");
            continue;
        }
        // Of a condition over several lines, the first one counts.
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
    use super::findings_of;

    #[test]
    fn loops_without_a_bound_are_found() {
        assert_eq!(findings_of("    loop {\n    while a < b {\n    while a != 0 {\n"), [1, 3]);
        assert!(
            findings_of(
                "    // At most two steps.\n    loop {\n    // At most 32:\n    // bits.\n    while a != 0 {\n"
            )
            .is_empty()
        );
        assert_eq!(findings_of("    // At most two.\n    let a = 1;\n    loop {\n"), [3]);
        assert!(findings_of("fn a() {}\n#[cfg(test)]\nmod tests {\n    loop {\n").is_empty());
    }
}
