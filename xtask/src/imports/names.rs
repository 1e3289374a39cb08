//! The names of other files that a Rust file uses: its imports, the paths in its code, and its
//! re-exports.

use super::tokens::{Token, is_of_word, tokens};

/// A path in a file, with its parts as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    pub parts: Vec<String>,
    pub line: usize,
    /// The modules within the file that contain the path.
    pub within: Vec<String>,
}

/// A name that a file re-exports with `pub use`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    pub name: String,
    pub path: Path,
    /// The line of the file's own code that uses the name, if there is one.
    pub used: Option<usize>,
}

/// The names that a file uses.
#[derive(Debug, Default)]
pub struct Names {
    pub paths: Vec<Path>,
    pub exports: Vec<Export>,
}

impl Names {
    /// Returns the names in `source`.
    pub fn of(source: &str) -> Self {
        let tokens = tokens(source);
        let mut reader = Reader { tokens: &tokens, at: 0, within: Vec::new(), names: Names::default() };
        let words = reader.file();
        let mut names = reader.names;
        for export in &mut names.exports {
            export.used = words.iter().find(|word| word.text == export.name).map(|word| word.line);
        }
        names
    }
}

struct Reader<'a, 't> {
    tokens: &'t [Token<'a>],
    at: usize,
    /// The open braces; a module's brace has the module's name.
    within: Vec<Option<String>>,
    names: Names,
}

impl<'a> Reader<'a, '_> {
    fn text(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).map_or("", |token| token.text)
    }

    /// Reads all tokens, and returns the words of the code that are not in paths.
    fn file(&mut self) -> Vec<Token<'a>> {
        let mut words = Vec::new();
        let mut public = false;
        while let Some(&token) = self.tokens.get(self.at) {
            // A path after `$` belongs to the file that calls the macro.
            let begins = self.at == 0 || !matches!(self.tokens[self.at - 1].text, "::" | "." | "$");
            self.at += 1;
            match token.text {
                "pub" => {
                    if self.text(0) == "(" {
                        self.skip_past(")");
                    }
                    public = true;
                    continue;
                }
                // After `impl Trait +`, `use` lists lifetimes.
                "use" if self.text(0) != "<" => self.tree(&[], public),
                "mod" if self.text(1) == "{" => {
                    self.within.push(Some(self.text(0).to_owned()));
                    self.at += 2;
                }
                // `mod name;` says where a module is, but uses nothing of it.
                "mod" if self.text(1) == ";" => self.at += 2,
                "{" => self.within.push(None),
                "}" => drop(self.within.pop()),
                word if begins && word.starts_with(is_of_word) => {
                    words.push(token);
                    self.path(token);
                }
                _ => {}
            }
            public = false;
        }
        words
    }

    fn skip_past(&mut self, end: &str) {
        while !matches!(self.text(0), "" | ";") && self.text(0) != end {
            self.at += 1;
        }
        self.at += 1;
    }

    fn within(&self) -> Vec<String> {
        self.within.iter().flatten().cloned().collect()
    }

    /// Reads the rest of a path that begins with `first`, and records the path if it has several
    /// parts.
    fn path(&mut self, first: Token<'a>) {
        let mut parts = vec![first.text.to_owned()];
        while self.text(0) == "::" && self.text(1).starts_with(is_of_word) {
            parts.push(self.text(1).to_owned());
            self.at += 2;
        }
        // An exported macro is at the crate's root, whatever file defines it.
        let is_macro = parts[0] == "crate" && parts.len() == 2 && self.text(0) == "!" && self.text(1) != "=";
        if parts.len() > 1 && !is_macro {
            self.names.paths.push(Path { parts, line: first.line, within: self.within() });
        }
    }

    /// Reads one tree of a `use` after the path `before`, up to the token that ends it.
    fn tree(&mut self, before: &[String], public: bool) {
        let mut parts = before.to_vec();
        let line = self.tokens.get(self.at).map_or(0, |token| token.line);
        let mut name = None;
        loop {
            match self.text(0) {
                "{" => {
                    self.at += 1;
                    while !matches!(self.text(0), "}" | ";" | "") {
                        self.tree(&parts, public);
                        self.at += usize::from(self.text(0) == ",");
                    }
                    self.at += 1;
                    return;
                }
                "as" => {
                    name = Some(self.text(1).to_owned());
                    self.at += 1;
                }
                "" | "," | ";" | "}" => break,
                "::" => {}
                // `path::{self}` imports the path itself.
                "self" if !parts.is_empty() => {}
                part => parts.push(part.to_owned()),
            }
            self.at += 1;
        }
        let Some(last) = parts.last() else { return };
        let name = name.unwrap_or_else(|| last.clone());
        let path = Path { parts, line, within: self.within() };
        if public {
            self.names.exports.push(Export { name, path, used: None });
        } else {
            self.names.paths.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(source: &str) -> Vec<(String, usize)> {
        Names::of(source).paths.iter().map(|path| (path.parts.join("::"), path.line)).collect()
    }

    #[test]
    fn trees_of_imports_and_paths_in_code_are_read() {
        let source =
            "use super::{a::{self, B as C}, d};\nuse self::e::*;\nmod f;\nfn g() {\n    crate::h::i::<j::K>();\n}\n";
        let expected =
            [("super::a", 1), ("super::a::B", 1), ("super::d", 1), ("self::e::*", 2), ("crate::h::i", 5), ("j::K", 5)];
        assert_eq!(paths(source), expected.map(|(path, line)| (path.to_owned(), line)));
    }

    #[test]
    fn macros_tell_nothing_of_the_file_that_they_are_in() {
        let source = "macro_rules! a { ($b:ty) => { $crate::c::d!(); $b::E; crate::f! { g::h } } }\ncrate::I != 3;";
        assert_eq!(paths(source), [("g::h".to_owned(), 1), ("crate::I".to_owned(), 2)]);
    }

    #[test]
    fn what_is_passed_on_tells_whether_the_file_uses_it() {
        let names = Names::of("mod a;\npub(crate) use a::{B, c as D, e};\nfn f() -> B { self.e }\n");
        let found: Vec<_> = names
            .exports
            .iter()
            .map(|export| (export.name.as_str(), export.path.parts.join("::"), export.used))
            .collect();
        assert_eq!(found, [("B", "a::B".into(), Some(3)), ("D", "a::c".into(), None), ("e", "a::e".into(), None)]);
    }

    #[test]
    fn a_path_knows_the_modules_of_its_file_that_it_is_in() {
        let names = Names::of("mod a { fn b() { super::c::d() } }\nfn e() { super::f() }");
        assert_eq!(names.paths.iter().map(|path| path.within.join("::")).collect::<Vec<_>>(), ["a", ""]);
    }
}
