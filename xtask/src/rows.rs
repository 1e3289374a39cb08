//! The check of figures against measured rows: a page's figures carry the digest of their rows.
//!
//! A comment above the figures selects rows, as `<!-- rows: nvidia-h200.jsonl table=PageMap
//! op=build,find_* n=2^27 sha256=0f0cc6d5 -->` does. The digest is over the newest row of each
//! selected measurement. If these are of another machine or call, `commit=` names the commit whose
//! rows are quoted.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::workspace;

/// The beginning of a comment that selects rows.
const BEGIN: &str = "<!-- rows:";
/// The folders that have rows.
const FOLDERS: [&str; 3] = ["docs/measurements", "docs/figures", "crates/warpnest-python/benchmarks"];
/// The fields in which two rows of one measurement differ.
const MEASURED: [&str; 11] =
    ["date", "commit", "ms", "gops", "limit_gops", "wrong", "ns_an_item", "ratio", "our_ms", "their_ms", "y"];

/// Check that no page's figures are older than the newest rows of what they show.
#[derive(clap::Args)]
pub struct Args {
    /// Pages whose figures somebody has compared with the newest rows: their digests are renewed.
    #[arg(long, value_name = "PAGE", num_args = 1..)]
    accept: Vec<PathBuf>,
}

/// Runs `cargo xtask rows`.
pub fn main(args: &Args) -> Result<()> {
    let root = workspace::root()?;
    for path in args.accept.iter().map(|page| root.join(page)) {
        let mut text = read(&path)?;
        for begin in begins(&text).into_iter().rev() {
            let comment = Comment::read(&text, begin)?;
            let (digest, _) = comment.newest(&rows(&root, &comment.file)?)?;
            text.replace_range(comment.digest, &digest);
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    check(&root)
}

/// Checks all pages under `root`.
pub fn check(root: &Path) -> Result<()> {
    let mut findings = Vec::new();
    let pages = workspace::files(&root.join("docs"))?.into_iter().chain([root.join("README.md")]);
    for path in pages.filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let page = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        findings.extend(findings_of(&page, &read(&path)?, &|file| rows(root, file)));
    }
    ensure!(findings.is_empty(), "{} findings\n{}", findings.len(), findings.join("\n"));
    Ok(())
}

/// Returns the findings in a page; `rows` returns the text of a file of rows.
fn findings_of(page: &str, text: &str, rows: &dyn Fn(&str) -> Result<String>) -> Vec<String> {
    let check = |begin| {
        let comment = Comment::read(text, begin)?;
        let (digest, last) = comment.newest(&rows(&comment.file)?)?;
        ensure!(
            digest == text[comment.digest.clone()],
            "the figures are older than the newest rows of {} ({} {last}): compare them, then run \
             `cargo xtask rows --accept {page}`",
            comment.file,
            comment.fields.join(" ")
        );
        Ok(())
    };
    let line_of = |begin: usize| 1 + text[..begin].matches('\n').count();
    let found = begins(text).into_iter().filter_map(|begin| Some((line_of(begin), check(begin).err()?)));
    found.map(|(line, error)| format!("{page}:{line}: {error:#}")).collect()
}

/// Returns where comments begin that select rows; each begins a line.
fn begins(text: &str) -> Vec<usize> {
    let begins_line = |at: &usize| *at == 0 || text[..*at].ends_with('\n');
    text.match_indices(BEGIN).map(|(at, _)| at).filter(begins_line).collect()
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Returns the text of a file of rows.
fn rows(root: &Path, file: &str) -> Result<String> {
    let path = FOLDERS.iter().map(|folder| root.join(folder).join(file)).find(|path| path.is_file());
    read(&path.with_context(|| format!("{file} is not in {}", FOLDERS.join(", ")))?)
}

/// Returns whether a row's value is meant by a word: a text, its beginning and `*`, or `2^27`.
fn is_meant(value: &Value, word: &str) -> bool {
    let Some(text) = value.as_str() else {
        let (base, power) = word.split_once('^').unwrap_or((word, "1"));
        let word = base.parse::<f64>().ok().zip(power.parse().ok()).map(|(base, power)| base.powi(power));
        return word.is_some() && word == value.as_f64();
    };
    word.strip_suffix('*').map_or(text == word, |beginning| text.starts_with(beginning))
}

/// A comment that selects rows.
struct Comment {
    file: String,
    /// The words `key=value[,value]`, without `commit`.
    fields: Vec<String>,
    /// The commit whose rows are quoted, if they need not be the newest.
    commit: String,
    /// The place of the digest in the page.
    digest: Range<usize>,
}

impl Comment {
    fn read(text: &str, begin: usize) -> Result<Self> {
        let words = text[begin..].split_once("-->").context("the comment has no end")?.0;
        let (words, digest) = words[BEGIN.len()..].split_once("sha256=").context("the comment has no sha256=")?;
        let at = begin + BEGIN.len() + words.len() + "sha256=".len();
        let mut words = words.split_whitespace().map(str::to_owned);
        let file = words.next().context("the comment has no file")?;
        let (commit, fields) = words.partition::<Vec<_>, _>(|word| word.starts_with("commit="));
        let commit = commit.concat().trim_start_matches("commit=").to_owned();
        Ok(Self { file, fields, commit, digest: at..at + digest.trim_end().len() })
    }

    fn selects(&self, row: &Map<String, Value>) -> bool {
        self.fields.iter().all(|field| {
            let (key, words) = field.split_once('=').unwrap_or((field, ""));
            row.get(key).is_some_and(|value| words.split(',').any(|word| is_meant(value, word)))
        })
    }

    /// Returns the digest over the newest row of each selected measurement, and the last of their
    /// dates and commits.
    fn newest(&self, rows: &str) -> Result<(String, String)> {
        // The date, the commit and the line of each measurement's newest row.
        let (mut newest, mut quoted) = (BTreeMap::<String, (String, String, &str)>::new(), false);
        for line in rows.lines() {
            let mut row: Map<String, Value> = serde_json::from_str(line).with_context(|| self.file.clone())?;
            if self.selects(&row) {
                let [date, commit] =
                    ["date", "commit"].map(|key| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned());
                quoted |= commit.starts_with(&self.commit);
                row.retain(|key, _| !MEASURED.contains(&key.as_str()));
                let measurement = format!("{:?}", row.iter().collect::<BTreeMap<_, _>>());
                if newest.get(&measurement).is_none_or(|(other, ..)| *other <= date) {
                    newest.insert(measurement, (date, commit, line));
                }
            }
        }
        ensure!(quoted, "{} has no such rows: {} {}", self.file, self.fields.join(" "), self.commit);
        let lines: String = newest.values().map(|(.., line)| format!("{line}\n")).collect();
        let digest = Sha256::digest(lines).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let last = newest.values().max().map(|(date, commit, _)| format!("{date} {commit:.10}"));
        Ok((digest, last.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = r#"{"date":"2026-11-22","commit":"b1","table":"A","op":"build","n":1024,"ms":2.0}
{"date":"2026-11-21","commit":"a0","table":"A","op":"build","n":1024,"ms":3.0}
{"date":"2026-11-21","commit":"a0","table":"A","op":"find_hit","n":1024,"ms":1.0}
"#;

    fn findings(words: &str, digest: &str, rows: &str) -> Vec<String> {
        let text = format!("# A\n\n<!-- rows: a.jsonl {words}\nsha256={digest} -->\n| 2.0 |\n");
        findings_of("docs/a.md", &text, &|_| Ok(rows.to_owned()))
    }

    #[test]
    fn only_newer_rows_of_the_selection_make_figures_old() {
        for words in ["table=A op=build n=2^10", "op=build,find_* n=1024 commit=a0", "op=b*"] {
            let comment = Comment::read(&format!("<!-- rows: a.jsonl {words} sha256=0 -->"), 0).unwrap();
            let (digest, _) = comment.newest(ROWS).unwrap();
            let with = |row: &str| format!("{ROWS}{row}\n");
            let other = with(r#"{"date":"2026-11-28","commit":"c2","table":"B","op":"delete","n":1,"ms":1.0}"#);
            let older = with(r#"{"date":"2026-11-20","commit":"90","table":"A","op":"build","n":1024,"ms":1.0}"#);
            let newer = with(r#"{"date":"2026-11-22","commit":"c2","table":"A","op":"build","n":1024,"ms":1.0}"#);
            assert_eq!([ROWS, &other, &older].map(|rows| findings(words, &digest, rows).len()), [0; 3]);
            let found = findings(words, &digest, &newer).concat();
            assert!(found.starts_with("docs/a.md:3: ") && found.contains("2026-11-22 c2"), "{found}");
        }
    }

    #[test]
    fn comments_without_rows_are_found() {
        for words in ["table=C", "size=2^10", "n=2^11", "op=build commit=c2", "op=buil"] {
            assert!(findings(words, "0", ROWS).concat().contains("no such rows"), "{words}");
        }
        let text = "<!-- rows: a.jsonl -->\n `<!-- rows: b`";
        assert_eq!(findings_of("a.md", text, &|_| Ok(ROWS.to_owned())), ["a.md:1: the comment has no sha256="]);
    }
}
