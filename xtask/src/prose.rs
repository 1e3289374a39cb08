//! The check of comments: their width, and how documentation begins (docs/architecture.md,
//! "Glossary"). That of a function begins with a verb in the third person.

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
/// Words that end as verbs in the third person do, and begin no documentation of a function.
const NO_VERBS: &str = "Across Always As Besides Bits Blocks Buckets Bytes Houses Its Kernels Keys Layouts Less Lines \
    Milliseconds Offsets Pages Pairs Rows Sections Slots This Thus Triangles Values Words";

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

/// Returns the findings in one file, each with the number of its line.
fn findings_of(text: &str) -> Vec<(usize, String)> {
    let mut findings = Vec::new();
    let mut in_documentation = false;
    // The line and the text with which the documentation begins that is above the next item.
    let mut beginning_above = None;
    let mut open_brackets = 0;
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
        if let Some(first) = comment.strip_prefix("///") {
            beginning_above.get_or_insert((index + 1, first.trim()));
        } else if open_brackets > 0 || comment.starts_with("#[") {
            open_brackets += comment.matches(['(', '[']).count();
            open_brackets = open_brackets.saturating_sub(comment.matches([')', ']']).count());
        } else if !comment.starts_with("//")
            && let Some((line, beginning)) = beginning_above.take()
            && is_function(comment)
            && !begins_with_verb(beginning)
        {
            let what = format!("the documentation of a function begins with no verb in the third person: {beginning}");
            findings.push((line, what));
        }
    }
    findings
}

/// Returns whether a line of code declares a function.
fn is_function(code: &str) -> bool {
    let before = |word: &&str| {
        word.starts_with("pub")
            || word.starts_with('"')
            || ["async", "const", "default", "extern", "unsafe"].contains(word)
    };
    // As in `pub(in crate::page) fn`.
    let code = match code.strip_prefix("pub(in ") {
        Some(path) => path.split_once(')').map_or("", |(_, behind)| behind),
        None => code,
    };
    code.split_whitespace().find(|word| !before(word)) == Some("fn")
}

/// Returns whether a sentence seems to begin with a verb in the third person.
fn begins_with_verb(sentence: &str) -> bool {
    let word = sentence.split([' ', '.', ',', ':', ';']).next().unwrap_or_default();
    let is_word = word.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
    is_word && word.ends_with('s') && NO_VERBS.split_whitespace().all(|other| other != word)
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
    fn functions_whose_documentation_begins_with_no_verb_are_found() {
        for beginning in ["The bytes.", "Whether it is so.", "Keys of a table.", "Return the bytes.", "`n` bytes.", ""]
        {
            for declared in
                ["fn a() {", "pub const fn a(", "pub(in crate::page) unsafe extern \"C\" fn a()", "pub(super) fn a();"]
            {
                let text = format!("/// {beginning}\n///\n/// Returns more.\n#[inline(\n    always\n)]\n{declared}\n");
                let findings = findings_of(&text);
                assert_eq!(findings.len(), 1, "{text}: {findings:?}");
                assert_eq!(findings[0].0, 1);
            }
        }
    }

    #[test]
    fn functions_whose_documentation_begins_with_a_verb_and_other_items_are_no_findings() {
        for text in [
            "/// Returns: nothing.\npub fn a() {}\n",
            "/// Zero-extends it.\n// Why.\n#[must_use]\nfn a() {}\n",
            "/// Is told of it.\n/// The rest.\nfn a();\n",
            "/// The keys.\nkeys: fn(u32),\n",
            "/// The keys.\npub struct Keys;\nfn a() {}\n",
            "//! The keys.\n\nfn a() {}\n",
        ] {
            assert_eq!(findings_of(text), [], "{text}");
        }
    }

    #[test]
    fn documentation_without_a_subject_is_found_in_its_first_line_only() {
        let text = "/// Those of them that fit.\n/// They are few.\nstruct A;\n/// The ones that fit.\n/// It is.\n";
        let findings = findings_of(text);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].0, 1);
    }
}
