//! The search for circles: files of a crate that import from each other.

use std::collections::BTreeMap;

use super::files::{Files, Import};

/// Returns a description of each circle among the files.
pub fn circles(files: &Files<'_>) -> Vec<String> {
    let imports: Vec<_> = (0..files.paths.len()).map(|file| files.imports_of(file)).collect();
    let reached: Vec<Vec<bool>> = (0..files.paths.len()).map(|file| reached_from(file, &imports)).collect();
    // A circle has all files that one leads to and that lead back to it; it is reported at its
    // first file.
    let with = |file: usize| -> Vec<usize> {
        (0..files.paths.len()).filter(|&other| reached[file][other] && reached[other][file]).collect()
    };
    let circles = (0..files.paths.len()).map(with).enumerate();
    let first = circles.filter(|(file, circle)| circle.first() == Some(file));
    first.map(|(_, circle)| describe(files, &circle, &imports)).collect()
}

/// Returns for each file whether imports lead to it from `file`, in one step or more.
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

/// Returns the imports that connect a circle, one in each line.
fn describe(files: &Files<'_>, circle: &[usize], imports: &[BTreeMap<usize, Import>]) -> String {
    let mut text = format!("{} files import from each other in a circle", circle.len());
    for &from in circle {
        for (to, (name, line)) in imports[from].iter().filter(|(to, _)| circle.contains(to)) {
            text += &format!("\n  {}:{line} imports {name} of {}", files.paths[from], files.paths[*to]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> = files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
        circles(&Files::of(&sources))
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
        // These cases are without `pub`, and with the child's path.
        assert_eq!(passing("mod child;\nuse child::child;\npub struct Layout;\n").len(), 1);
        assert_eq!(passing("mod child;\npub struct Layout;\nfn f() { child::child() }\n").len(), 1);
    }
}
