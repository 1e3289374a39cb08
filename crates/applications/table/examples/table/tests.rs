use super::succeeds;
use std::fs;
use std::path::Path;
use warpnest::design::Linear;
use warpnest::{CompactingTable, Device, LinearConfig, MultiMap, PageSet, RowMap};

/// Runs the program, and returns whether it succeeds and its output.
fn run(command: &str, paths: &[&Path]) -> (bool, String) {
    let mut out = Vec::new();
    let line =
        ["table", command].into_iter().map(Into::into).chain(paths.iter().map(|path| path.as_os_str().to_owned()));
    let good = succeeds(line.collect::<Vec<std::ffi::OsString>>(), &mut out);
    (good, String::from_utf8(out).unwrap())
}

#[test]
fn files_are_told_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let (device, path) = (Device::cpu(), |name: &str| folder.path().join(name));
    let keys: Vec<u64> = (0..1234).collect();
    let [rows, set, multi, ids] = ["rows", "set", "multi", "ids"].map(path);
    let mut map: RowMap<u64, [u32; 6], Linear> = LinearConfig::default().create_rows(&device).unwrap();
    map.insert_many(&keys, &[[7; 6]; 1234]).unwrap();
    map.save_to(&rows).unwrap();
    PageSet::build(&device, &keys).unwrap().save_to(&set).unwrap();
    MultiMap::build(&device, &[1u32, 1, 2], &[1u32, 2, 3]).unwrap().save_to(&multi).unwrap();
    CompactingTable::build(&device, &keys).unwrap().save_to(&ids).unwrap();

    let (good, text) = run("info", &[&rows, &set, &multi, &ids]);
    assert!(good);
    for part in [
        "a RowMap on Linear with keys of 8 bytes and rows of 24",
        "keys       1,234\n",
        "rows: 29,616",
        "RowMap::<u64, [u32; 6], design::Linear>::load_from",
        "a PageSet with keys of 8 bytes\n",
        "PageSet::<u64>::load_from",
        "a MultiMap on Page with keys of 4 bytes and values of 4",
        "keys       2\nvalues     3\n",
        "ends of runs: 8",
        "CompactingTable::<u64>::load_from",
        "of the header, format 1",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    let (good, text) = run("verify", &[&rows, &set, &multi, &ids]);
    assert!(good && text.matches("no damage").count() == 4, "{text}");
}

#[test]
fn what_is_wrong_with_one_file_is_no_matter_of_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let [good, damaged, foreign, none] = ["good", "damaged", "foreign", "none"].map(|name| folder.path().join(name));
    PageSet::build(&Device::cpu(), &[1u32, 2]).unwrap().save_to(&good).unwrap();
    let mut bytes = fs::read(&good).unwrap();
    bytes[4100] ^= 1;
    fs::write(&damaged, &bytes).unwrap();
    fs::write(&foreign, "PK").unwrap();
    // `info` succeeds, because the damage is not in the header.
    assert!(run("info", &[&damaged, &good]).0);
    for wrong in [&damaged, &foreign, &none] {
        let (succeeded, text) = run("verify", &[wrong, &good]);
        assert!(!succeeded && text.contains("good: a PageSet"), "{text}");
    }
    let (succeeded, text) = run("info", &[&foreign, &good, &none]);
    assert!(!succeeded && text.contains("good\ntable      a PageSet"), "{text}");
    assert!(!run("info", &[]).0);
}
