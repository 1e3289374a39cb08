//! The files of a crate, and the files from which each of them imports.

use std::collections::{BTreeMap, HashMap};

use super::names::{Export, Names, Path};

/// The most files through which a re-exported name is followed.
const MAX_STEPS: u32 = 8;

/// An import of one file from another file: the name, and its line.
pub type Import = (String, usize);

/// The files of a crate, indexed by the path of their module.
pub struct Files<'s> {
    pub paths: Vec<&'s str>,
    numbers: HashMap<Vec<String>, usize>,
    names: Vec<Names>,
    /// The parts of the path of each file's module.
    pub modules: Vec<Vec<String>>,
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

impl<'s> Files<'s> {
    /// Returns the files with these paths and texts.
    pub fn of(sources: &'s [(String, String)]) -> Self {
        let modules: Vec<Vec<String>> = sources.iter().map(|(path, _)| module_of(path)).collect();
        Self {
            paths: sources.iter().map(|(path, _)| path.as_str()).collect(),
            numbers: modules.iter().cloned().enumerate().map(|(number, module)| (module, number)).collect(),
            names: sources.iter().map(|(_, text)| Names::of(text)).collect(),
            modules,
        }
    }

    /// Returns the files that `file` depends on, each with the first import from it.
    pub fn imports_of(&self, file: usize) -> BTreeMap<usize, Import> {
        self.imports(file, |export| export.used)
    }

    /// Returns the files that `file` imports from or only re-exports names of, each with the first
    /// import.
    pub fn all_imports_of(&self, file: usize) -> BTreeMap<usize, Import> {
        self.imports(file, |export| Some(export.path.line))
    }

    /// Returns the imports of `file`, including the re-exported names for which `line_of` returns a
    /// line.
    fn imports(&self, file: usize, line_of: impl Fn(&Export) -> Option<usize>) -> BTreeMap<usize, Import> {
        let names = &self.names[file];
        let passed_on = names.exports.iter().filter_map(|export| Some((&export.path, line_of(export)?)));
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

    /// Returns the parts of a path in `file`, from the crate's root, or `None` for a path of
    /// another crate.
    fn full_path(&self, file: usize, path: &Path) -> Option<Vec<String>> {
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

    /// Returns the files that define the item at a path from the root, each with the item's name in
    /// that file. There are several if re-exports depend on the target.
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

    /// Returns the file whose module is the longest prefix of a path, and the length of that
    /// prefix.
    fn file_of(&self, full: &[String]) -> (usize, usize) {
        let found = (0..=full.len()).rev().find_map(|length| Some((*self.numbers.get(&full[..length])?, length)));
        found.unwrap_or_default()
    }
}
