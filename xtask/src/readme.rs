//! The README's first program: the commands that a user types, the source, and the output.

use anyhow::{Context, Result, ensure};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// The heading of the section that has the program.
const SECTION: &str = "In a program";
/// The path at which the README's commands find the library, in a checkout beside the new package.
pub const LIBRARY: &str = "../warpnest/crates/warpnest";
/// The prefix of a command in a block that also shows the command's output.
const PROMPT: &str = "$ ";

/// The README's first program.
#[derive(Debug, PartialEq, Eq)]
pub struct FirstProgram {
    /// The name of the new package, and of its folder.
    pub name: String,
    /// The command that makes a package and enters its folder.
    pub new: String,
    /// The command that adds the library, at [`LIBRARY`].
    pub add: String,
    /// The text of `src/main.rs`.
    pub source: String,
    /// The command that runs the program.
    pub run: String,
    /// The output of the program.
    pub output: String,
}

impl FirstProgram {
    /// Reads the program from the text of the README.
    pub fn read(readme: &str) -> Result<FirstProgram> {
        let blocks = blocks(readme);
        let block = |language: &str| {
            let found = blocks.iter().find(|(other, _)| other == language);
            let missing = || format!("README.md: the section \"{SECTION}\" has no block `{language}`");
            found.map(|(_, text)| text.as_str()).with_context(missing)
        };
        let (new, add) =
            block("sh")?.trim().split_once('\n').context("README.md: `cargo new` and `cargo add` have a line each")?;
        let name = new.strip_prefix("cargo new ").and_then(|rest| rest.split_whitespace().next());
        let name = name.context("README.md: the program does not begin with `cargo new`")?;
        ensure!(
            add.starts_with("cargo add ") && add.contains(LIBRARY),
            "README.md: the second command is not `cargo add` from {LIBRARY}"
        );
        let console = block("console")?.strip_prefix(PROMPT).and_then(|shown| shown.split_once('\n'));
        let (run, output) = console.context("README.md: the block `console` is not a command and what it prints")?;
        let [name, new, add, run] = [name, new, add, run].map(str::to_owned);
        Ok(FirstProgram {
            name,
            new,
            add,
            source: block("rust")?.to_owned(),
            run,
            output: output.trim_end().to_owned(),
        })
    }
}

/// Returns the code blocks of the section, each with its language.
fn blocks(readme: &str) -> Vec<(String, String)> {
    let mut blocks: Vec<(String, String)> = Vec::new();
    let (mut heading, mut in_heading, mut in_block) = (String::new(), false, false);
    for event in Parser::new(readme) {
        match event {
            Event::Start(Tag::Heading { .. }) => (heading, in_heading) = (String::new(), true),
            Event::End(TagEnd::Heading(_)) => in_heading = false,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) if heading == SECTION => {
                blocks.push((language.to_string(), String::new()));
                in_block = true;
            }
            Event::End(TagEnd::CodeBlock) => in_block = false,
            Event::Text(text) if in_heading => heading += &text,
            Event::Text(text) if in_block => blocks.last_mut().expect("a block was begun").1 += &text,
            _ => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str = "# x\n\n```sh\nother\n```\n\n## In a program\n\n```sh\ncargo new first && cd first\n\
        cargo add --path ../warpnest/crates/warpnest\n```\n\nIn it:\n\n```rust\nfn main() {}\n```\n\n\
        ```console\n$ cargo run\nCPU: 1\n```\n\n## Next\n\n```rust\nother\n```\n";

    #[test]
    fn the_program_is_read_from_its_section() {
        let program = FirstProgram::read(README).unwrap();
        assert_eq!(program.name, "first");
        assert_eq!(program.new, "cargo new first && cd first");
        assert_eq!(program.add, "cargo add --path ../warpnest/crates/warpnest");
        assert_eq!(program.source, "fn main() {}\n");
        assert_eq!((program.run.as_str(), program.output.as_str()), ("cargo run", "CPU: 1"));
    }

    #[test]
    fn a_part_that_is_missing_is_named() {
        for (part, instead, named) in [
            ("## In a program", "## In a programme", "`sh`"),
            ("```rust\nfn main", "```text\nfn main", "`rust`"),
            ("cargo new", "mkdir", "`cargo new`"),
            ("../warpnest/crates/warpnest", "../elsewhere", LIBRARY),
            ("$ cargo run\n", "", "console"),
        ] {
            let error = FirstProgram::read(&README.replacen(part, instead, 1)).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    /// Counts the program's lines, because readers can take in ten lines at a glance.
    #[test]
    fn the_readme_has_a_program_of_about_ten_lines() {
        let program = FirstProgram::read(include_str!("../../README.md")).unwrap();
        let lines = program.source.lines().filter(|line| !line.trim().is_empty()).count();
        assert!((5..=12).contains(&lines), "{lines} lines");
    }
}
