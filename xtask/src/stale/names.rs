//! The names that exist: files, and identifiers in code.

use std::collections::{BTreeSet, HashSet};

/// The list of names that other projects define.
pub const ELSEWHERE_PATH: &str = "xtask/src/stale/elsewhere.txt";
const ELSEWHERE: &str = include_str!("elsewhere.txt");
/// The file name endings by which a span is recognized as a path.
const EXTENSIONS: [&str; 12] =
    [".csv", ".jpg", ".jsonl", ".lock", ".md", ".png", ".ptx", ".rs", ".sh", ".svg", ".toml", ".txt"];

/// All names that documents and comments may use.
pub struct Names {
    /// The paths of files and folders, from the root.
    paths: BTreeSet<String>,
    identifiers: BTreeSet<String>,
    elsewhere: HashSet<&'static str>,
    /// The commands of `cargo xtask`.
    commands: Vec<String>,
    /// The commands of a GPU bundle's `run.sh`.
    of_bundle: Vec<String>,
}

impl Names {
    pub fn new(commands: Vec<String>, of_bundle: Vec<String>) -> Self {
        let elsewhere = ELSEWHERE.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
        let (paths, identifiers) = (BTreeSet::new(), BTreeSet::new());
        Self { paths, identifiers, elsewhere: elsewhere.collect(), commands, of_bundle }
    }

    /// Adds a file and the folders that contain it.
    pub fn add_file(&mut self, path: &str) {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        self.paths.extend(ends.map(|end| path[..end].to_owned()));
        // A module is named by its file or folder, an example by its folder.
        let names = path.split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part));
        self.identifiers.extend(names.map(str::to_owned));
    }

    /// Adds the identifiers of a code file. Its comments are skipped, because a name that is only
    /// in comments and documents does not exist.
    pub fn add_text(&mut self, path: &str, text: &str) {
        let (comment, relevant): (&str, fn(&str) -> bool) = match path.rsplit_once('.').map(|(_, end)| end) {
            Some("rs") => ("//", |_| true),
            Some("toml" | "sh" | "lock" | "py") => ("#", |_| true),
            Some("ptx") => ("//", |line| line.contains(".entry ")),
            _ if path == ".ci/run" => ("#", |_| true),
            _ => return,
        };
        for line in text.lines().filter(|line| relevant(line)) {
            let code = line.split_once(comment).map_or(line, |(code, _)| code);
            for word in code.split(|c: char| !is_of_word(c)).filter(|word| !word.is_empty()) {
                self.identifiers.insert(word.to_owned());
                if word.contains('-') {
                    self.identifiers.extend(word.split('-').map(str::to_owned));
                }
            }
        }
    }

    /// Returns the names in a backtick span that do not exist; `of` is the path of the span's file.
    pub fn missing_in(&self, span: &str, of: &str) -> Vec<String> {
        let span = span.trim();
        if let Some(missing) = self.missing_in_command(span) {
            return missing;
        }
        let path = span.trim_end_matches('/');
        if EXTENSIONS.iter().any(|end| path.len() > end.len() && path.ends_with(end)) && path.chars().all(is_of_path) {
            return if self.has_path(path, of) { Vec::new() } else { vec![format!("there is no file `{path}`")] };
        }
        if span.contains('/') {
            let starts = ["crates/", "docs/", "gpu-kernels/", "tests/", "xtask/"];
            let ours = path.chars().all(is_of_path) && starts.iter().any(|start| path.starts_with(start));
            return if ours && !self.has_path(path, of) { vec![format!("there is no `{path}`")] } else { Vec::new() };
        }
        // The span is a type with its method, a call, a macro, or a type with its parameters.
        let named = span.split(['(', '<', '{', '[', '!']).next().unwrap_or_default();
        let parts = || named.split("::").flat_map(|part| part.split('.'));
        if named.is_empty() || !parts().all(is_identifier) {
            return Vec::new();
        }
        let missing = parts().filter(|part| !self.exists(part));
        missing.map(|part| format!("`{part}`, of `{span}`, is not in the code")).collect()
    }

    /// Returns the names in a command line that do not exist, or `None` if the span is no command
    /// line.
    pub fn missing_in_command(&self, span: &str) -> Option<Vec<String>> {
        let words: Vec<&str> = span.split_whitespace().map(|word| word.trim_start_matches("./")).collect();
        let begins = words.iter().position(|word| *word == "cargo" || *word == "run.sh" && words.len() > 1)?;
        let words = &words[begins..];
        let mut missing = Vec::new();
        let does_not_exist = |word: &str| format!("`{word}` of `{span}` does not exist");
        // Our own programs take these: options are named like fields, or written out.
        let ours = words.iter().position(|word| matches!(*word, "xtask" | "run.sh" | "--"));
        let options =
            words.iter().skip(ours.map_or(words.len(), |at| at + 1)).filter_map(|word| word.strip_prefix("--"));
        for option in options.map(|option| option.split('=').next().unwrap_or_default()) {
            let is_name = !option.is_empty() && option.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            if is_name && !self.exists(option) && !self.exists(&option.replace('-', "_")) {
                missing.push(does_not_exist(&format!("--{option}")));
            }
        }
        for pair in words.windows(2) {
            if pair[0] == "--features" {
                let features = pair[1].split([',', '/']).filter(|feature| !self.exists(feature));
                missing.extend(features.map(does_not_exist));
            }
            // `cargo xtask [miri|address]` and `-p PACKAGE` name nothing that could exist.
            if !pair[1].chars().all(|c| c.is_ascii_lowercase() || c == '-' || c == '_') || pair[1].starts_with('-') {
                continue;
            }
            let exists = match pair[0] {
                "xtask" => self.commands.iter().any(|command| command == pair[1]),
                "run.sh" => self.of_bundle.iter().any(|command| command == pair[1]),
                "-p" | "--package" | "--example" | "--bin" | "--test" => self.exists(pair[1]),
                _ => true,
            };
            if !exists {
                missing.push(does_not_exist(pair[1]));
            }
        }
        Some(missing)
    }

    fn exists(&self, name: &str) -> bool {
        // The span is a part of many names.
        if name.ends_with('_') || name.starts_with('_') {
            return self.identifiers.iter().any(|word| word.contains(name));
        }
        if let Some(beginning) = name.strip_suffix('…') {
            let after = self.identifiers.range(beginning.to_owned()..).next();
            return after.is_some_and(|word| word.starts_with(beginning));
        }
        // A single letter may stand for anything.
        name.len() < 2 || self.elsewhere.contains(name) || self.identifiers.contains(name)
    }

    /// Returns whether this is the path of a file or folder, from the root, from the folder of the
    /// file `of`, or from any other folder.
    pub fn has_path(&self, path: &str, of: &str) -> bool {
        let path = path.trim_start_matches("./");
        if let Some(above) = path.strip_prefix("../") {
            let folder = of.rsplit_once('/').map_or("", |(folder, _)| folder);
            return self.has_path(above, folder);
        }
        let behind = format!("/{path}");
        self.elsewhere.contains(path) || self.paths.iter().any(|known| known == path || known.ends_with(&behind))
    }

    /// Returns whether this is exactly the path of a file or folder from the root.
    pub fn is_path(&self, path: &str) -> bool {
        path.is_empty() || self.paths.contains(path)
    }
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn is_of_path(c: char) -> bool {
    is_of_word(c) || c == '/' || c == '.'
}

/// Returns whether this is a name, whose end may be abbreviated.
fn is_identifier(word: &str) -> bool {
    let name = word.strip_suffix('…').unwrap_or(word);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_of_word)
}
