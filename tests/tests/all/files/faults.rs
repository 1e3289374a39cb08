//! Writers, readers, folders and devices that fail.

use std::fs;
use std::io::{self, Read, Write};
use warpnest::error::FileError;
use warpnest::{CompactingTable, Device, Error, LinearMap, PageMap};
use warpnest_tests::files::{Contents, samples};
use warpnest_tests::planted::{
    LASTING_FAULTS, Operation, SINGLE_FAULTS, all_failed, in_each_operation, is_planted, planted,
};
use warpnest_tests::{at, elsewhere, says};

/// A writer that fails after some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let written = bytes.len().min(self.0);
        self.0 -= written;
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A reader that fails after some bytes.
struct Broken<'b>(&'b [u8]);

impl Read for Broken<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::Error::other("the cable is out"));
        }
        self.0.read(to)
    }
}

fn io_error(error: &Error) -> (&io::Error, bool) {
    match error {
        Error::File(FileError::Io { source, path, .. }) => (source.get(), path.is_some()),
        error => panic!("{error:?}"),
    }
}

/// Returns a map of so many units that several threads copy it, and a map of one unit.
fn maps(device: &Device) -> [PageMap<u64, u64>; 2] {
    [1_500_000, 100].map(|n| {
        let keys: Vec<u64> = (0..n).collect();
        PageMap::build(device, &keys, &keys).unwrap()
    })
}

#[test]
fn the_writers_error_is_reported_wherever_it_comes() {
    for map in maps(&elsewhere()) {
        let mut bytes = Vec::new();
        map.save(&mut bytes).unwrap();
        let ends = [0, 1, 4095, 4096, 4097, 1 << 20, 5 << 20, 16 << 20, bytes.len() - 1];
        for end in ends.into_iter().filter(|&end| end < bytes.len()) {
            let _at = at(format!("after {end} bytes of {}", bytes.len()));
            let error = map.save(Full(end)).unwrap_err();
            assert_eq!(io_error(&error).0.kind(), io::ErrorKind::StorageFull);
            says(&error, &["could not write the table"]);
            assert!(std::error::Error::source(&error).is_some() || error.to_string().contains("write"));
        }
        map.save(Full(bytes.len())).unwrap();
    }
}

#[test]
fn the_readers_error_is_reported_wherever_it_comes() {
    for map in maps(&elsewhere()) {
        let mut bytes = Vec::new();
        map.save(&mut bytes).unwrap();
        let ends = [0, 1, 4095, 4096, 4097, 1 << 20, 5 << 20, 16 << 20, bytes.len() - 1];
        for end in ends.into_iter().filter(|&end| end < bytes.len()) {
            let _at = at(format!("after {end} bytes of {}", bytes.len()));
            let error = PageMap::<u64, u64>::load(&elsewhere(), Broken(&bytes[..end])).unwrap_err();
            assert_eq!(io_error(&error).0.to_string(), "the cable is out");
        }
    }
}

#[test]
fn a_save_that_fails_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map");
    let (device, plan) = planted();
    let [large, small] = maps(&device);
    small.save_to(&path).unwrap();
    let before = fs::read(&path).unwrap();
    let names = || fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    for good in 0..8 {
        let (saved, failed) = plan.with(SINGLE_FAULTS[0], good, || large.save_to(&path));
        if failed.is_empty() {
            break;
        }
        assert!(is_planted(&saved.unwrap_err()));
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(names(), ["map"]);
    }
    // The file is replaced as a whole.
    large.save_to(&path).unwrap();
    assert_eq!(names(), ["map"]);
    assert_eq!(PageMap::<u64, u64>::load_from(&device, &path).unwrap().len(), large.len());
}

#[test]
fn paths_are_in_the_errors() {
    let folder = tempfile::tempdir().unwrap();
    let [_, map] = maps(&elsewhere());
    let nowhere = folder.path().join("no/such/map");
    let error = map.save_to(&nowhere).unwrap_err();
    says(&error, &["could not create a file beside", "no/such/map"]);
    let error = PageMap::<u64, u64>::load_from(&elsewhere(), &nowhere).unwrap_err();
    says(&error, &["could not open", "no/such/map"]);
    assert_eq!((io_error(&error).0.kind(), io_error(&error).1), (io::ErrorKind::NotFound, true));
    // A folder can be opened but not read, and no file can replace it.
    let error = PageMap::<u64, u64>::load_from(&elsewhere(), folder.path()).unwrap_err();
    assert!(io_error(&error).1, "{error}");
    let error = map.save_to(folder.path()).unwrap_err();
    assert!(io_error(&error).1, "{error}");
    assert_eq!(
        fs::read_dir(folder.path().parent().unwrap())
            .unwrap()
            .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".warpnest-") })
            .count(),
        0
    );
}

#[cfg(unix)]
#[test]
fn a_saved_file_has_the_permissions_of_any_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (saved, other) = (folder.path().join("saved"), folder.path().join("other"));
    maps(&elsewhere())[1].save_to(&saved).unwrap();
    fs::write(&other, b"").unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(saved), mode(other));
}

/// Checks a load in which any one operation of the device fails: no memory may leak, and the next
/// load must succeed.
#[test]
fn a_device_that_fails_during_a_load_loses_nothing() {
    let (device, plan) = planted();
    for sample in samples::<u32, u64>(&elsewhere(), 30) {
        let _at = at(sample.name.clone());
        let before = plan.bytes();
        let load = |_: &mut ()| sample.use_on(&device, &sample.bytes, Contents::UpToAnError);
        let seen = in_each_operation(
            &plan,
            &[SINGLE_FAULTS[0], LASTING_FAULTS[0]],
            || (),
            load,
            |(), used| {
                // After an error in the middle of a change, a changing table reports that it was
                // emptied.
                match used {
                    Ok(()) => (),
                    Err(Error::Emptied { source }) => assert!(is_planted(&source), "{source}"),
                    Err(error) => assert!(is_planted(&error), "{error}"),
                }
                assert_eq!(plan.bytes(), before, "memory that is never given back");
            },
        );
        all_failed(&seen, &[Operation::Allocate, Operation::Upload, Operation::Download]);
        sample.use_on(&device, &sample.bytes, Contents::Same).unwrap();
    }
}

/// Lets each operation of the device fail while several threads read or write a file.
#[test]
fn a_device_that_fails_in_one_of_several_threads_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map");
    let (device, plan) = planted();
    let [large, _] = maps(&device);
    large.save_to(&path).unwrap();
    let before = plan.bytes();
    for fault in [SINGLE_FAULTS[0], LASTING_FAULTS[0]] {
        let (mut uploads, mut downloads) = (0, 0);
        for good in 0.. {
            let (loaded, failed) = plan.with(fault, good, || PageMap::<u64, u64>::load_from(&device, &path));
            let Some(operation) = failed.first() else { break };
            uploads += (*operation == Operation::Upload) as u32;
            assert!(is_planted(&loaded.unwrap_err()));
            assert_eq!(plan.bytes(), before, "memory that is never given back");
        }
        for good in 0.. {
            let (saved, failed) = plan.with(fault, good, || large.save(io::sink()));
            let Some(operation) = failed.first() else { break };
            downloads += (*operation == Operation::Download) as u32;
            assert!(is_planted(&saved.unwrap_err()));
        }
        assert!(uploads > 20 && downloads > 20, "{uploads} uploads, {downloads} downloads");
    }
    let mut again = Vec::new();
    PageMap::<u64, u64>::load_from(&device, &path).unwrap().save(&mut again).unwrap();
    assert!(again == fs::read(&path).unwrap(), "it is another map");
}

#[test]
fn a_table_that_a_fault_interrupted_is_not_saved_as_if_it_were_whole() {
    let (device, plan) = planted();
    let mut map: LinearMap<u32, u32> = LinearMap::new(&device).unwrap();
    map.insert_many(&[1, 2, 3], &[1, 2, 3]).unwrap();
    let mut interrupted = false;
    for good in 0..40 {
        let (_, failed) = plan.with(LASTING_FAULTS[1], good, || map.insert_many(&[4 + good, 100], &[4, 5]));
        if failed.is_empty() {
            break;
        }
        let saved = map.save(io::sink());
        interrupted |= saved.is_err();
        assert_eq!(saved.is_err(), map.get(1).is_err());
        map.insert_many(&[7], &[7]).unwrap();
        map.save(io::sink()).unwrap();
    }
    assert!(interrupted);
}

#[test]
fn an_empty_table_of_a_failed_rebuild_is_saved_as_one() {
    let (device, plan) = planted();
    let keys: Vec<u32> = (0..500).collect();
    for good in 0..12 {
        let mut table = CompactingTable::build(&device, &keys).unwrap();
        let (rebuilt, _) = plan.with(SINGLE_FAULTS[0], good, || table.rebuild(&keys[..400]));
        let mut bytes = Vec::new();
        table.save(&mut bytes).unwrap();
        let loaded = CompactingTable::<u32>::load(&elsewhere(), &bytes[..]).unwrap();
        assert_eq!(loaded.len(), table.len());
        assert_eq!(loaded.get_many(&keys).unwrap(), table.get_many(&keys).unwrap());
        assert!(rebuilt.is_ok() || table.is_empty() || table.len() == 500);
    }
}
