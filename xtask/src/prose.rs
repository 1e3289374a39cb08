//! The check of comments: their width, and how documentation begins (docs/architecture.md,
//! "Glossary").

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// The folders whose Rust files are checked.
const FOLDERS: [&str; 4] = ["crates", "gpu-kernels", "tests", "xtask"];
/// The widest line of a comment, in characters with its indentation.
const MAX_WIDTH: usize = 100;
/// Beginnings that leave the reader to guess what is spoken of.
const NO_SUBJECT: [&str; 8] =
    ["Those ", "That of ", "It ", "They ", "Them ", "As many ", "What is to be ", "What became of "];

/// Checks all Rust files under `root`.
pub fn check(root: &Path) -> Result<()> {
    let mut findings = Vec::new();
    for folder in FOLDERS {
        for path in workspace::files(&root.join(folder))? {
            if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
                let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
                findings.extend(findings_of(&text).into_iter().map(|(line, what)| format!("{name}:{line}: {what}")));
            }
        }
    }
    ensure!(findings.is_empty(), "{} findings\n{}", findings.len(), findings.join("\n"));
    Ok(())
}

/// The findings in one file, each with the number of its line.
fn findings_of(text: &str) -> Vec<(usize, String)> {
    let mut findings = Vec::new();
    let mut in_documentation = false;
    for (index, line) in text.lines().enumerate() {
        let comment = line.trim_start();
        let documentation = ["/// ", "//! "].iter().find_map(|prefix| comment.strip_prefix(prefix));
        // An address cannot be divided.
        if comment.starts_with("//") && line.chars().count() > MAX_WIDTH && !line.contains("://") {
            findings.push((index + 1, format!("the comment has more than {MAX_WIDTH} columns")));
        }
        if let Some(first) = documentation.filter(|_| !in_documentation)
            && let Some(beginning) = NO_SUBJECT.iter().find(|beginning| first.starts_with(**beginning))
        {
            findings.push((index + 1, format!("the documentation begins with \"{}\"", beginning.trim_end())));
        }
        in_documentation = comment.starts_with("///") || comment.starts_with("//!");
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_comments_are_found_and_wide_code_and_addresses_are_not() {
        let words = "word ".repeat(25);
        let text = format!("// {words}\nlet text = \"{words}\";\n    /// See <https://example.org/{words}>\n");
        let findings = findings_of(&text);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].0, 1);
    }

    #[test]
    fn documentation_without_a_subject_is_found_in_its_first_line_only() {
        let text = "/// Those of them that fit.\n/// They are few.\nfn a() {}\n/// The ones that fit.\n/// It is.\n";
        let findings = findings_of(text);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].0, 1);
    }
}
