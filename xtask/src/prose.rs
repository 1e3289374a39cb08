//! The check of comments and documents: the width of comments, how documentation begins, and
//! phrases that send the reader back to look for a noun (docs/architecture.md, "Glossary"). The
//! documentation of a function must begin with a verb in the third person.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// The folders whose Rust files and documents are checked.
const FOLDERS: [&str; 4] = ["crates", "gpu-kernels", "tests", "xtask"];
/// The folder whose documents are checked, besides the documents at the root.
const DOCUMENTS: &str = "docs";
/// The most columns of a comment's line, including its indentation.
const MAX_WIDTH: usize = 100;
/// Beginnings that name no subject.
const NO_SUBJECT: [&str; 8] =
    ["Those ", "That of ", "It ", "They ", "Them ", "As many ", "What is to be ", "What became of "];
/// Phrases whose head is a pronoun, so the reader must find its noun, and a phrase to replace by
/// "except".
const PHRASES: [&[&str]; 4] = [&["those", "of"], &["that", "of"], &["the", "one", "of"], &["but", "for"]];
/// Words that end like verbs in the third person, but begin no documentation of a function.
const NO_VERBS: &str = "Across Always As Besides Bits Blocks Buckets Bytes Houses Its Kernels Keys Layouts Less Lines \
    Milliseconds Offsets Pages Pairs Rows Sections Slots This Thus Triangles Values Words";

/// Checks all Rust files and documents under `root`.
pub fn check(root: &Path) -> Result<()> {
    let mut paths = Vec::new();
    for folder in FOLDERS.iter().chain([&DOCUMENTS]) {
        paths.extend(workspace::files(&root.join(folder))?);
    }
    for entry in fs::read_dir(root).with_context(|| format!("cannot list {}", root.display()))? {
        paths.push(entry?.path());
    }
    paths.sort();
    let mut findings = Vec::new();
    for path in paths {
        let check: fn(&str) -> Vec<(usize, String)> = match path.extension().and_then(|extension| extension.to_str()) {
            Some("rs") if !path.starts_with(root.join(DOCUMENTS)) => findings_of,
            Some("md") => findings_of_document,
            _ => continue,
        };
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        findings.extend(check(&text).into_iter().map(|(line, what)| format!("{name}:{line}: {what}")));
    }
    ensure!(findings.is_empty(), "{} findings\n{}", findings.len(), findings.join("\n"));
    Ok(())
}

/// Returns the findings in a document, each with the index of its line, from 1.
fn findings_of_document(text: &str) -> Vec<(usize, String)> {
    phrases(text.lines().map(Some))
}

/// Returns the text of the comment in a line of Rust, if there is one.
fn comment_of(line: &str) -> Option<&str> {
    let comment = line.trim_start();
    let text = if comment.starts_with("//") { comment } else { line.split_once(" // ")?.1 };
    Some(text.trim_start_matches(['/', '!']))
}

/// Returns where prose has [`PHRASES`], each with the index of the line where the phrase begins. A
/// phrase may continue in the next line, unless that line is empty or no prose.
fn phrases<'t>(lines: impl Iterator<Item = Option<&'t str>>) -> Vec<(usize, String)> {
    let mut findings = Vec::new();
    // The words of the paragraph, each with the index of its line.
    let mut words: Vec<(usize, &str)> = Vec::new();
    for (index, line) in lines.enumerate().map(|(index, line)| (index, line.unwrap_or_default())) {
        if line.trim().is_empty() {
            words.clear();
        }
        for word in line.split_whitespace() {
            words.push((index + 1, word));
            for phrase in PHRASES {
                if let Some(begin) = words.len().checked_sub(phrase.len())
                    && is_phrase(&words[begin..], phrase)
                {
                    findings.push((
                        words[begin].0,
                        format!("\"{}\": repeat the noun, or say it plainly", phrase.join(" ")),
                    ));
                }
            }
        }
    }
    findings
}

/// Returns whether words are a phrase, in any case, with punctuation only around it.
fn is_phrase(words: &[(usize, &str)], phrase: &[&str]) -> bool {
    let is_mark = |c: char| !c.is_alphanumeric();
    let last = phrase.len() - 1;
    words.iter().zip(phrase).enumerate().all(|(index, (&(_, word), expected))| {
        let word = if index == 0 { word.trim_start_matches(is_mark) } else { word };
        let word = if index == last { word.trim_end_matches(is_mark) } else { word };
        word.eq_ignore_ascii_case(expected)
    })
}

/// Returns the findings in one file, each with the index of its line, from 1.
fn findings_of(text: &str) -> Vec<(usize, String)> {
    let mut findings = phrases(text.lines().map(comment_of));
    let mut in_documentation = false;
    // The first line of the documentation above the next item, with its index.
    let mut beginning_above = None;
    let mut open_brackets = 0;
    for (index, line) in text.lines().enumerate() {
        let comment = line.trim_start();
        let documentation = ["/// ", "//! "].iter().find_map(|prefix| comment.strip_prefix(prefix));
        // A web address cannot be wrapped.
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
    // This handles `pub(in crate::page) fn`.
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
        let text = "/// Those that fit.\n/// They are few.\nstruct A;\n/// The ones that fit.\n/// It is.\n";
        let findings = findings_of(text);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].0, 1);
    }

    #[test]
    fn phrases_with_a_pronoun_as_head_are_found_in_comments_and_documents() {
        for phrase in ["those of", "That of", "the one of", "but for"] {
            let over_lines = phrase.replace(' ', "\n/// ");
            for (line, text) in [
                (1, format!("// The values, and {phrase} others.\n")),
                (1, format!("    /// The values ({phrase} others).\nfield: u32,\n")),
                (1, format!("let a = 1; // As {phrase} others.\n")),
                (2, format!("/// The values, and\n/// {over_lines}\n/// others.\nstruct A;\n")),
            ] {
                let findings = findings_of(&text);
                assert_eq!(findings.len(), 1, "{text}: {findings:?}");
                assert_eq!(findings[0].0, line, "{text}");
            }
            let text = format!("# Values\n\n| values | and {phrase}: |\n\nOr {}\nothers.\n", phrase.replace(' ', "\n"));
            let lines: Vec<usize> = findings_of_document(&text).iter().map(|finding| finding.0).collect();
            assert_eq!(lines, [3, 5], "{text}");
        }
    }

    #[test]
    fn words_that_are_no_such_phrase_are_no_findings() {
        for text in [
            "// Those often differ, that, of all, is so.\n",
            "// What is that?\n\n// Of course.\n",
            "// That\nlet of = \"those of\";\n// of\n",
            "/// All but four, in the one offset.\nstruct A;\n",
        ] {
            assert_eq!(findings_of(text), [], "{text}");
        }
        assert_eq!(findings_of_document("That\n\nof others; thatof.\n"), []);
    }
}
