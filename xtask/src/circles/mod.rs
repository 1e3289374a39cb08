//! The check that no files of a crate import from each other in a circle.
//!
//! A file that imports a name from another one depends on the file that defines it, also where a
//! third file passes the name on with `pub use`. What a file passes on and does not use itself is
//! no dependence, so that a folder's `mod.rs` can give short paths to what is in the folder.

mod imports;
mod tokens;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::workspace;
use imports::{Names, Path as ImportPath};

/// The most times that a name is followed from one file that passes it on to the next.
const MAX_STEPS: u32 = 8;

/// Checks all crates under `root`.
pub fn check(root: &Path) -> Result<()> {
    let mut findings = Vec::new();
    for folder in sources(root)? {
        let mut sources = Vec::new();
        let files = workspace::files(&folder)?;
        // The program beside a library is a crate of its own.
        let is_other = |path: &Path| path.ends_with("main.rs") && files.contains(&path.with_file_name("lib.rs"));
        let is_source = |path: &Path| path.extension().is_some_and(|end| end == "rs") && !is_other(path);
        for path in files.iter().filter(|path| is_source(path)) {
            let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            sources.push((path.strip_prefix(&folder).unwrap_or(path).display().to_string(), text));
        }
        let name = folder.strip_prefix(root).unwrap_or(&folder).display();
        findings.extend(circles(&sources).into_iter().map(|circle| format!("{name}: {circle}")));
    }
    ensure!(
        findings.is_empty(),
        "{} circles: move what is imported to the file where it belongs\n{}",
        findings.len(),
        findings.join("\n")
    );
    Ok(())
}

/// Returns the folders of the crates' sources, and that of the tests of tables.
fn sources(root: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = vec![root.join("tests/tests/all")];
    for above in ["crates", "docs/examples", "gpu-kernels", "tests", "xtask"] {
        let files = workspace::files(&root.join(above))?;
        let manifests = files.iter().filter(|path| path.ends_with("Cargo.toml"));
        folders.extend(manifests.map(|path| path.with_file_name("src")).filter(|folder| folder.is_dir()));
    }
    Ok(folders)
}

/// An import of one file from another: the name, and the line of it.
type Import = (String, usize);

/// The files of a crate, by the path of their module.
struct Files<'s> {
    paths: Vec<&'s str>,
    numbers: HashMap<Vec<String>, usize>,
    names: Vec<Names>,
    modules: Vec<Vec<String>>,
}

/// Returns the circles among files, given with their paths and texts, each as a text for a person.
fn circles(sources: &[(String, String)]) -> Vec<String> {
    let modules: Vec<Vec<String>> = sources.iter().map(|(path, _)| module_of(path)).collect();
    let files = Files {
        paths: sources.iter().map(|(path, _)| path.as_str()).collect(),
        numbers: modules.iter().cloned().enumerate().map(|(number, module)| (module, number)).collect(),
        names: sources.iter().map(|(_, text)| Names::of(text)).collect(),
        modules,
    };
    let imports: Vec<_> = (0..sources.len()).map(|file| files.imports_of(file)).collect();
    let reached: Vec<Vec<bool>> = (0..sources.len()).map(|file| reached_from(file, &imports)).collect();
    // The files that one leads to and that lead back to it are a circle, told once: at its first.
    let with = |file: usize| -> Vec<usize> {
        (0..sources.len()).filter(|&other| reached[file][other] && reached[other][file]).collect()
    };
    let circles = (0..sources.len()).map(with).enumerate();
    let first = circles.filter(|(file, circle)| circle.first() == Some(file));
    first.map(|(_, circle)| files.describe(&circle, &imports)).collect()
}

/// Returns the parts of the path of a file's module. A folder's `mod.rs` is the folder's module,
/// and `lib.rs` or `main.rs` is the crate's.
fn module_of(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// Returns which files imports lead to from `file`, in one step or more.
fn reached_from(file: usize, imports: &[BTreeMap<usize, Import>]) -> Vec<bool> {
    let mut reached = vec![false; imports.len()];
    let mut next = vec![file];
    while let Some(from) = next.pop() {
        for &to in imports[from].keys() {
            if !reached[to] {
                reached[to] = true;
                next.push(to);
            }
        }
    }
    reached
}

impl Files<'_> {
    /// Returns the files that `file` imports from, each with the first import.
    fn imports_of(&self, file: usize) -> BTreeMap<usize, Import> {
        let names = &self.names[file];
        let passed_on = names.exports.iter().filter_map(|export| Some((&export.path, export.used?)));
        let mut imports = BTreeMap::new();
        for (path, line) in names.paths.iter().map(|path| (path, path.line)).chain(passed_on) {
            let Some(full) = self.full_path(file, path) else { continue };
            for (to, name) in self.definitions(&full, MAX_STEPS) {
                if to != file {
                    imports.entry(to).or_insert((name, line));
                }
            }
        }
        imports
    }

    /// Returns the parts of a path of `file`, from the crate's root; `None` for a path of another
    /// crate.
    fn full_path(&self, file: usize, path: &ImportPath) -> Option<Vec<String>> {
        let mut base = [self.modules[file].as_slice(), &path.within].concat();
        let mut parts = path.parts.as_slice();
        match parts.first()?.as_str() {
            "crate" => (base, parts) = (Vec::new(), &parts[1..]),
            "self" => parts = &parts[1..],
            "super" => {
                while parts.first().is_some_and(|part| part == "super") {
                    base.pop();
                    parts = &parts[1..];
                }
            }
            first => {
                base.push(first.to_owned());
                let is_child = self.numbers.contains_key(&base);
                base.pop();
                if !is_child {
                    return None;
                }
            }
        }
        base.extend_from_slice(parts);
        Some(base)
    }

    /// Returns the files that define what is at a path from the root, each with the name in that
    /// file: several if what is passed on depends on the target.
    fn definitions(&self, full: &[String], steps: u32) -> Vec<(usize, String)> {
        let (file, length) = self.file_of(full);
        let exports = self.names[file].exports.iter().filter(|export| full.get(length) == Some(&export.name));
        let targets = exports.filter_map(|export| self.full_path(file, &export.path));
        let behind = |target: Vec<String>| [target.as_slice(), &full[length + 1..]].concat();
        let found: Vec<_> =
            targets.take_while(|_| steps > 0).flat_map(|target| self.definitions(&behind(target), steps - 1)).collect();
        if !found.is_empty() {
            return found;
        }
        vec![(file, if length < full.len() { full[length..].join("::") } else { full.join("::") })]
    }

    /// Returns the file whose module is the longest beginning of a path, and the length of that.
    fn file_of(&self, full: &[String]) -> (usize, usize) {
        let found = (0..=full.len()).rev().find_map(|length| Some((*self.numbers.get(&full[..length])?, length)));
        found.unwrap_or_default()
    }

    /// Returns the imports that hold a circle together, a line each.
    fn describe(&self, circle: &[usize], imports: &[BTreeMap<usize, Import>]) -> String {
        let mut text = format!("{} files import from each other in a circle", circle.len());
        for &from in circle {
            for (to, (name, line)) in imports[from].iter().filter(|(to, _)| circle.contains(to)) {
                text += &format!("\n  {}:{line} imports {name} of {}", self.paths[from], self.paths[*to]);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
        circles(&files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect::<Vec<_>>())
    }

    #[test]
    fn a_tree_without_circles_is_accepted() {
        let found = circles_of(&[
            ("lib.rs", "mod a;\npub use a::Table;\nuse std::fmt;\n"),
            (
                "a/mod.rs",
                "mod build;\nmod layout;\npub use build::build;\npub use layout::Layout;\nuse build::Parts;\nstruct Table;\n",
            ),
            ("a/build.rs", "use super::Layout;\npub fn build(layout: Layout) {}\npub struct Parts;\n"),
            ("a/layout.rs", "pub struct Layout;\n#[cfg(test)]\nmod tests {\n    use crate::a::Table;\n}\n"),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn a_circle_is_told_with_its_files_names_and_lines() {
        let found = circles_of(&[
            ("lib.rs", "mod a;\nmod b;\nmod c;\n"),
            ("a.rs", "use crate::c::Free;\nuse crate::b::{Other, B};\npub struct A;\n"),
            ("b.rs", "pub struct B;\nfn f() -> super::a::A {}\n"),
            ("c.rs", "pub struct Free;\n"),
        ]);
        assert_eq!(
            found,
            ["2 files import from each other in a circle\n  a.rs:2 imports Other of b.rs\n  b.rs:2 imports A of a.rs"]
        );
    }

    #[test]
    fn a_name_that_is_passed_on_is_followed_to_its_file() {
        let files = [
            ("lib.rs", "mod a;\npub use a::Build;\n"),
            ("a/mod.rs", "mod build;\nmod fill;\npub use self::build::Build;\n"),
            ("a/build.rs", "use super::fill::fill;\npub struct Build;\n"),
            ("a/fill.rs", "use crate::Build;\npub fn fill() {}\n"),
        ];
        let found = circles_of(&files);
        assert_eq!(
            found,
            ["2 files import from each other in a circle\n  a/build.rs:1 imports fill of a/fill.rs\n  \
              a/fill.rs:1 imports Build of a/build.rs"]
        );
    }

    #[test]
    fn what_is_passed_on_may_depend_on_the_target() {
        let found = circles_of(&[
            ("mod.rs", "#[cfg(gpu)]\npub use gpu as backend;\n#[cfg(cpu)]\npub use cpu as backend;\n"),
            ("gpu.rs", "pub fn pause() {}\n"),
            ("cpu.rs", "use super::word::Word;\npub fn pause() {}\n"),
            ("word.rs", "use super::backend::pause;\npub struct Word;\n"),
        ]);
        assert!(found.len() == 1 && found[0].contains("word.rs:1 imports pause of cpu.rs"), "{found:?}");
    }

    #[test]
    fn a_name_that_is_passed_on_counts_where_the_file_uses_it_itself() {
        fn passing(code: &str) -> Vec<String> {
            circles_of(&[("a/mod.rs", code), ("a/child.rs", "use super::Layout;\npub fn child() {}\n")])
        }
        let begin = "mod child;\npub use child::child;\npub struct Layout;\n";
        assert_eq!(passing(begin), [""; 0]);
        let found = passing(&format!("{begin}fn f() {{ child() }}\n"));
        assert!(found.len() == 1 && found[0].contains("a/mod.rs:4 imports child of a/child.rs"), "{found:?}");
        // The same without `pub`, and by the child's path.
        assert_eq!(passing("mod child;\nuse child::child;\npub struct Layout;\n").len(), 1);
        assert_eq!(passing("mod child;\npub struct Layout;\nfn f() { child::child() }\n").len(), 1);
    }
}
