//! Finds the machine code that the feature `cubins` embeds: the files that `cargo xtask
//! build-cubins` has left in the folder `cubins`, if there are any.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The PTX that machine code is made from.
const PTX: [&str; 2] = ["ptx/kernels_sm75.ptx", "ptx/kernels_sm90.ptx"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_CUBINS").is_none() {
        return;
    }
    PTX.iter().for_each(|path| println!("cargo::rerun-if-changed={path}"));
    let folder = Path::new(&variable("CARGO_MANIFEST_DIR")).join("cubins");
    let mut files = Vec::new();
    // A folder that is not there would be a change each time.
    if folder.is_dir() {
        println!("cargo::rerun-if-changed=cubins");
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        files.extend(entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "cubins")));
        files.sort();
    }
    let heads = PTX.map(|path| head(&fs::read(path).unwrap_or_default()));
    for file in &files {
        if !heads.contains(&head(&fs::read(file).unwrap_or_default())) {
            let path = file.display();
            println!("cargo::error={path} is of older PTX: run `cargo xtask build-cubins`, or delete it");
        }
    }
    let embedded: Vec<String> = files.iter().map(|file| format!("include_bytes!({file:?})")).collect();
    let list = PathBuf::from(variable("OUT_DIR")).join("cubins.rs");
    let written = fs::write(&list, format!("&[{}]", embedded.join(", ")));
    written.unwrap_or_else(|error| panic!("cannot write {}: {error}", list.display()));
}

/// Returns the lines after the first by which the contents of PTX are known, which its machine code
/// repeats: the digest of its sources, the compiler and the flags.
fn head(file: &[u8]) -> Vec<Vec<u8>> {
    file.split(|&byte| byte == b'\n').skip(1).take(3).map(<[u8]>::to_vec).collect()
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
