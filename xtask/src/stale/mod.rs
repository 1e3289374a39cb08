//! The check for stale words in documents and comments: names in backticks exist, links lead
//! somewhere, and no placeholder is left.

mod documents;
mod names;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::workspace;
use names::Names;

/// The folders that are searched for documents, comments and names, besides the files at the root.
const FOLDERS: [&str; 6] = [".ci", "crates", "docs", "gpu-kernels", "tests", "xtask"];

/// A file with its path from the root.
struct Source {
    path: String,
    text: String,
}

/// Checks all documents and comments under `root`; `commands` are the commands of `cargo xtask`,
/// and `of_bundle` the commands of a GPU bundle.
pub fn check(root: &Path, commands: Vec<String>, of_bundle: Vec<String>) -> Result<()> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(root).with_context(|| format!("cannot list {}", root.display()))? {
        let path = entry?.path();
        if path.is_file() {
            paths.push(path);
        }
    }
    for folder in FOLDERS.iter().map(|folder| root.join(folder)).filter(|folder| folder.is_dir()) {
        paths.extend(workspace::files(&folder)?);
    }
    paths.sort();
    let mut sources = Vec::new();
    let mut names = Names::new(commands, of_bundle);
    for path in &paths {
        let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
        names.add_file(&name);
        // Pictures and archives are skipped, as they are no text.
        if let Ok(text) = fs::read_to_string(path) {
            names.add_text(&name, &text);
            sources.push(Source { path: name, text });
        }
    }
    let findings: Vec<String> = sources.iter().flat_map(|source| findings_of(source, &sources, &names)).collect();
    ensure!(
        findings.is_empty(),
        "{} findings (a name that is not ours is listed in {})\n{}",
        findings.len(),
        names::ELSEWHERE_PATH,
        findings.join("\n")
    );
    Ok(())
}

/// Returns the findings in one file, each with the file's name and the index of its line.
fn findings_of(source: &Source, sources: &[Source], names: &Names) -> Vec<String> {
    let text_of = |path: &str| sources.iter().find(|other| other.path == path).map(|other| other.text.as_str());
    let mut findings = Vec::new();
    let mut find = |line: usize, what: String| findings.push(format!("{}:{line}: {what}", source.path));
    if source.path.ends_with(".md") {
        documents::check(&source.path, &source.text, names, &text_of, &mut find);
    } else if source.path.ends_with(".rs") {
        for (index, line) in source.text.lines().enumerate() {
            let Some(comment) = comment_of(line) else { continue };
            for span in spans(comment) {
                names.missing_in(span, &source.path).into_iter().for_each(|what| find(index + 1, what));
            }
            if let Some(word) = documents::placeholder(comment) {
                find(index + 1, format!("the placeholder {word} is left"));
            }
        }
    }
    findings
}

/// Returns the text of a line that contains only a comment.
fn comment_of(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("//").map(|comment| comment.trim_start_matches(['/', '!']))
}

/// Returns the spans in backticks that end in the same line.
fn spans(comment: &str) -> impl Iterator<Item = &str> {
    let parts = comment.split('`');
    let whole = comment.matches('`').count() / 2;
    parts.skip(1).step_by(2).take(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let others = [
            ("gpu-kernels/src/page/build.rs", "pub fn make_page() {}\nstruct Page;\n// `gone_too`\n"),
            ("docs/other.md", "# One heading, `with` code\n"),
            ("Cargo.toml", "[package]\nname = \"some-crate\"\n"),
        ];
        let mut sources: Vec<Source> =
            others.map(|(path, text)| Source { path: path.into(), text: text.into() }).into();
        sources.push(Source { path: path.into(), text: text.into() });
        let mut names = Names::new(vec!["check".into()], vec!["tests".into()]);
        for source in &sources {
            names.add_file(&source.path);
            names.add_text(&source.path, &source.text);
        }
        findings_of(sources.last().unwrap(), &sources, &names)
    }

    #[test]
    fn names_paths_and_commands_that_exist_are_no_findings() {
        let text = "`make_page` `Page::make_page()` `page/build.rs` `gpu-kernels/src/page` `build.rs` `cargo xtask check`\n\
            `make_pa…` `-p some-crate` `some-crate` `a + b` `x` `3` [there](other.md#one-heading-with-code)\n\
            [within](#a-title) <https://example.org/none> `cargo xtask check --make-page`\n\n# A title\n\n\
            ```sh\ncargo xtask check\n./run.sh tests --make-page=3\ncargo run --release -- --page\n```\n";
        assert_eq!(findings("docs/page.md", text), [""; 0]);
        assert_eq!(findings("crates/a.rs", "/// `make_page`, ``\nfn a() {} // `gone` in code\n"), [""; 0]);
    }

    #[test]
    fn names_paths_and_commands_that_are_gone_are_found_where_they_stand() {
        for (text, line, word) in [
            ("word `gone_name`", 1, "gone_name"),
            ("word\n`Page::gone_too`", 2, "gone_too"),
            ("`Gone`", 1, "Gone"),
            ("`page/gone.rs`", 1, "page/gone.rs"),
            ("`gone.rs`", 1, "gone.rs"),
            ("`gone_pre…`", 1, "gone_pre"),
            ("`cargo xtask gone`", 1, "gone"),
            ("```sh\ncargo xtask gone\n```", 2, "gone"),
            ("`cargo test -p gone-crate`", 1, "gone-crate"),
            ("`cargo xtask check --gone`", 1, "--gone"),
            ("`cargo run -- --gone-too`", 1, "--gone-too"),
            ("`cargo run --features make_page,gone`", 1, "gone"),
            ("`./run.sh gone`", 1, "gone"),
            ("[a link](gone.md)", 1, "gone.md"),
            ("[a link](other.md#gone)", 1, "other.md#gone"),
            ("[a link](#gone)", 1, "#gone"),
            ("A line.\n\nFIGURES\n", 3, "FIGURES"),
            ("This is TODO.", 1, "TODO"),
        ] {
            let found = findings("docs/page.md", text);
            assert!(
                found.len() == 1 && found[0].starts_with(&format!("docs/page.md:{line}: ")) && found[0].contains(word),
                "{text}: {found:?}"
            );
        }
        let found = findings("crates/a.rs", "fn a() {\n    // See `gone_name`.\n}\n// FIXME\n");
        assert!(found.len() == 2 && found[0].starts_with("crates/a.rs:2") && found[1].contains("FIXME"), "{found:?}");
    }
}
