//! The checks of the imports among a crate's files: there are no circles ([`circles`]), and files
//! import only from rooms on lower floors ([`floors`]).
//!
//! A file that imports a name depends on the file that defines the name, even if a third file
//! re-exports it with `pub use`. A name that a file re-exports and does not use itself is no
//! dependency, so a folder's `mod.rs` can give short paths to the items of the folder. The floors
//! count re-exports, too: no room names a room above it.

mod circles;
mod files;
mod floors;
mod names;
mod tokens;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::workspace;
use files::Files;

/// Checks that no crate under `root` has circles of imports.
pub fn check_circles(root: &Path) -> Result<()> {
    let mut findings = Vec::new();
    for folder in folders(root)? {
        let name = folder.strip_prefix(root).unwrap_or(&folder).display();
        let circles = circles::circles(&Files::of(&sources(&folder)?));
        findings.extend(circles.into_iter().map(|circle| format!("{name}: {circle}")));
    }
    ensure!(
        findings.is_empty(),
        "{} circles: move what is imported to the file where it belongs\n{}",
        findings.len(),
        findings.join("\n")
    );
    Ok(())
}

/// Checks that the rooms of [`floors::HOUSES`] import only from lower floors.
pub fn check_floors(root: &Path) -> Result<()> {
    let mut findings = Vec::new();
    for (folder, floors) in floors::HOUSES {
        let found = floors::upward(&Files::of(&sources(&root.join(folder))?), floors);
        findings.extend(found.into_iter().map(|finding| format!("{folder}/{finding}")));
    }
    ensure!(
        findings.is_empty(),
        "{} findings: move what is imported to a room below, or place the room in xtask/src/imports/floors.rs\n{}",
        findings.len(),
        findings.join("\n")
    );
    Ok(())
}

/// Returns the folders of the crates' sources, and the folder of the tests of tables.
fn folders(root: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = vec![root.join("tests/tests/all")];
    for above in ["crates", "docs/examples", "gpu-kernels", "tests", "xtask"] {
        let files = workspace::files(&root.join(above))?;
        let manifests = files.iter().filter(|path| path.ends_with("Cargo.toml"));
        folders.extend(manifests.map(|path| path.with_file_name("src")).filter(|folder| folder.is_dir()));
    }
    Ok(folders)
}

/// Returns the Rust files of a crate's folder, each with its path in the folder and its text.
fn sources(folder: &Path) -> Result<Vec<(String, String)>> {
    let files = workspace::files(folder)?;
    // The program in the same folder as a library is a separate crate.
    let is_other = |path: &Path| path.ends_with("main.rs") && files.contains(&path.with_file_name("lib.rs"));
    let is_source = |path: &Path| path.extension().is_some_and(|end| end == "rs") && !is_other(path);
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok((path.strip_prefix(folder).unwrap_or(path).display().to_string(), text))
    };
    files.iter().filter(|path| is_source(path)).map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_planted_in_any_crate_is_seen() {
        let root = workspace::root().unwrap();
        for folder in folders(&root).unwrap() {
            let mut sources = sources(&folder).unwrap();
            assert_eq!(circles::circles(&Files::of(&sources)), [""; 0], "{}", folder.display());
            sources.push(("planted/a.rs".into(), "use super::b::B;\npub struct A;\n".into()));
            sources.push(("planted/b.rs".into(), "use crate::planted::a::A;\npub struct B;\n".into()));
            assert_eq!(circles::circles(&Files::of(&sources)).len(), 1, "{}", folder.display());
        }
    }

    #[test]
    fn an_upward_import_planted_in_any_room_is_seen() {
        let root = workspace::root().unwrap();
        for (folder, floors) in floors::HOUSES {
            let mut sources = sources(&root.join(folder)).unwrap();
            assert_eq!(floors::upward(&Files::of(&sources), floors), [""; 0]);
            let rooms: Vec<_> = floors.iter().flat_map(|floor| floor.split([' ', '+'])).collect();
            let mut planted = Vec::new();
            for pair in rooms.windows(2).filter(|pair| pair[0] != "lib") {
                let path = format!("{}/planted.rs", pair[0]);
                planted.push(format!("{path}:1 "));
                sources.push((path, format!("use crate::{}::planted::Above;\n", pair[1].replace('/', "::"))));
            }
            let found = floors::upward(&Files::of(&sources), floors);
            assert_eq!(found.len(), planted.len(), "{found:?}");
            assert!(planted.iter().zip(&found).all(|(planted, found)| found.starts_with(planted)), "{found:?}");
        }
    }
}
