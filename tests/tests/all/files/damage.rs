//! Files that are damaged, cut off, too long, foreign, or of another table.

use std::io::{self, Read};
use warpnest::design::BulkMap;
use warpnest::error::{FileError, TableKind};
use warpnest::files::FileInfo;
use warpnest::{CuckooMap, Device, Error, MultiMap, PageMap, PageSet};
use warpnest_tests::files::{Contents, PAGE, Sample, repair, samples, sections};
use warpnest_tests::{at, counting, elsewhere, parameterized, says};

/// Returns samples of one width, as small as files can be.
fn small() -> Vec<Sample> {
    samples::<u32, u64>(&elsewhere(), 20)
}

fn file_error(error: Error) -> FileError {
    match error {
        Error::File(error) => error.reason().clone(),
        error => panic!("{error:?}"),
    }
}

/// Uses a damaged file, and returns the error for which it is refused.
fn refused(sample: &Sample, bytes: &[u8]) -> FileError {
    let refused = file_error(sample.use_on(&elsewhere(), bytes, Contents::Same).unwrap_err());
    // Functions without the table's types return the same error.
    assert_eq!(file_error(FileInfo::verify(bytes).unwrap_err()), refused);
    refused
}

#[test]
fn every_byte_that_is_flipped_is_found() {
    for sample in small() {
        let data = sections(&sample.bytes);
        // Bits are flipped in the data, in the checksums and in the first 64 bytes, and in a sample
        // of the other bytes.
        for byte in 0..sample.bytes.len() {
            let near = |start: usize, end: usize| (start..end + 32).contains(&byte);
            let of_data = data.iter().any(|data| near(data.start, data.end));
            let sampled = (64..PAGE - 8).contains(&byte) || byte >= PAGE && !of_data;
            if sampled && byte % 61 != 0 {
                continue;
            }
            let _at = at(format!("{}, byte {byte}", sample.name));
            let mut bytes = sample.bytes.clone();
            bytes[byte] ^= 1 << (byte % 8);
            match refused(&sample, &bytes) {
                FileError::Foreign { found } if byte < 8 => assert_eq!(found, bytes[..8]),
                FileError::DamagedHeader if (8..PAGE).contains(&byte) => (),
                FileError::Damaged { chunk, offset, .. } if byte >= PAGE => {
                    let data = data.iter().rfind(|data| data.start <= byte).unwrap();
                    assert!(chunk <= 1 && (data.start..=byte).contains(&(offset as usize)), "{chunk}, {offset}");
                }
                error => panic!("{error}"),
            }
        }
    }
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused() {
    for sample in small() {
        let all = sample.bytes.len();
        let lengths = (0..70).chain((70..all).step_by(97)).chain(all - 70..all);
        for length in lengths {
            let _at = at(format!("{}, {length} bytes of {all}", sample.name));
            match refused(&sample, &sample.bytes[..length]) {
                FileError::Cut { has, needs } => {
                    assert_eq!(has, length as u64);
                    assert_eq!(needs, if length < PAGE { PAGE } else { all } as u64);
                }
                error => panic!("{error}"),
            }
        }
    }
}

#[test]
fn files_of_other_lengths_are_refused_before_memory_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map");
    let keys: Vec<u32> = (0..100_000).collect();
    PageMap::build(&elsewhere(), &keys, &keys).unwrap().save_to(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let (device, counts) = counting();
    let load = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let error = PageMap::<u32, u32>::load_from(&device, &path).unwrap_err();
        says(&error, &[&path.display().to_string()]);
        file_error(error)
    };
    let (has, needs) = (bytes.len() as u64, bytes.len() as u64);
    assert_eq!(load(&bytes[..bytes.len() - 1]), FileError::Cut { has: has - 1, needs });
    assert_eq!(load(&[&bytes[..], &[0]].concat()), FileError::Longer { has: has + 1, needs });
    assert_eq!(load(&bytes[..PAGE]), FileError::Cut { has: PAGE as u64, needs });
    let longer = FileInfo::verify(&[&bytes[..], &[0]].concat()[..]).unwrap_err();
    assert_eq!(file_error(longer), FileError::Longer { has: has + 1, needs });
    assert_eq!(counts.most.load(std::sync::atomic::Ordering::Relaxed), 0);
}

/// Checks that no memory is allocated for terabytes that only the header of a stream announces.
#[test]
fn a_stream_gets_memory_as_it_comes() {
    let map = PageMap::build(&elsewhere(), &[1u32], &[1u32]).unwrap();
    let mut bytes = Vec::new();
    map.save(&mut bytes).unwrap();
    let buckets = 1u64 << 31;
    // In the header, the numbers of the layout follow the count of keys and the numbers of the
    // configuration.
    let at_page_bits = 32 + 8 * 12;
    bytes[at_page_bits..at_page_bits + 8].copy_from_slice(&20u64.to_le_bytes());
    bytes[at_page_bits + 8..at_page_bits + 16].copy_from_slice(&(1u64 << 11).to_le_bytes());
    let numbers = u32::from_le_bytes(bytes[16..20].try_into().unwrap()) as usize;
    let length = 32 + 8 * numbers;
    bytes[length..length + 8].copy_from_slice(&(32 * buckets).to_le_bytes());
    let data = 32 * buckets;
    let file = PAGE as u64 + (data + 8 * data.div_ceil(1 << 20)).next_multiple_of(PAGE as u64);
    bytes[24..32].copy_from_slice(&file.to_le_bytes());
    repair(&mut bytes);
    let (device, counts) = counting();
    match file_error(PageMap::<u32, u32>::load(&device, &bytes[..]).unwrap_err()) {
        FileError::Cut { has, needs } => assert_eq!((has, needs), (bytes.len() as u64, file)),
        error => panic!("{error}"),
    }
    let most = counts.most.load(std::sync::atomic::Ordering::Relaxed);
    assert!((1 << 20..100 << 20).contains(&most), "{most} bytes");
}

/// A reader that returns only a few bytes at a time.
struct Slow<'b>(&'b [u8], usize);

impl Read for Slow<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.1 += 1;
        if self.1.is_multiple_of(3) {
            return Err(io::Error::from(io::ErrorKind::Interrupted));
        }
        let bytes = to.len().min(self.0.len()).min(1 + self.1 * self.1 % 100_000);
        to[..bytes].copy_from_slice(&self.0[..bytes]);
        self.0 = &self.0[bytes..];
        Ok(bytes)
    }
}

/// Checks a table of more than 64 mebibytes, whose memory grows while it is read.
#[test]
fn large_streams_are_read_in_pieces_of_any_size_and_not_past_the_end() {
    let (device, _) = counting();
    let keys: Vec<u32> = (0..200_000).collect();
    let config = warpnest::PageConfig::default().load(0.01);
    let map = config.build(&device, &keys, &keys).unwrap();
    let mut bytes = Vec::new();
    map.save(&mut bytes).unwrap();
    assert!(bytes.len() > 150 << 20, "{} bytes", bytes.len());
    bytes.extend(b"and more");
    let mut slow = Slow(&bytes, 0);
    let loaded = PageMap::<u32, u32>::load(&device, &mut slow).unwrap();
    assert_eq!(slow.0, b"and more");
    assert_eq!(loaded.get_many(&keys).unwrap(), keys.iter().copied().map(Some).collect::<Vec<_>>());
    assert_eq!(loaded.memory_bytes(), map.memory_bytes());
    // One stream contains two tables, one after the other.
    let mut both = Vec::new();
    PageSet::build(&device, &[1u32, 2]).unwrap().save(&mut both).unwrap();
    PageSet::build(&device, &[5u64]).unwrap().save(&mut both).unwrap();
    let mut both = &both[..];
    assert_eq!(PageSet::<u32>::load(&device, &mut both).unwrap().len(), 2);
    assert_eq!(PageSet::<u64>::load(&device, &mut both).unwrap().to_keys(), Ok(vec![5]));
}

#[test]
fn a_damaged_chunk_among_many_is_named() {
    let device = elsewhere();
    let keys: Vec<u64> = (0..1_500_000).collect();
    let map = PageMap::build(&device, &keys, &keys).unwrap();
    let mut bytes = Vec::new();
    map.save(&mut bytes).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let from_file = |bytes: &[u8]| {
        std::fs::write(file.path(), bytes).unwrap();
        PageMap::<u64, u64>::load_from(&device, file.path())
    };
    let mut again = Vec::new();
    from_file(&bytes).unwrap().save(&mut again).unwrap();
    assert!(again == bytes, "it is another map");
    for chunk in [0usize, 7, 13, 21] {
        let offset = PAGE + (chunk << 20);
        let mut damaged = bytes.clone();
        damaged[offset + 4321] ^= 1;
        let error = PageMap::<u64, u64>::load(&device, &damaged[..]).unwrap_err();
        assert_eq!(file_error(from_file(&damaged).unwrap_err()), file_error(error.clone()));
        // The error names the first damaged chunk.
        damaged[offset + (1 << 20)] ^= 1;
        assert_eq!(file_error(from_file(&damaged).unwrap_err()), file_error(error.clone()));
        says(&error, &[&chunk.to_string(), "`buckets`", &offset.to_string(), "take another copy"]);
        let expected = FileError::Damaged { section: "buckets", chunk: chunk as u64, offset: offset as u64 };
        assert_eq!(error, Error::File(expected));
        // Two chunks that are swapped with their checksums are both damaged.
        let (one, other) = (PAGE, PAGE + (3 << 20));
        let mut exchanged = bytes.clone();
        for byte in 0..1 << 20 {
            exchanged.swap(one + byte, other + byte);
        }
        let checksums = sections(&bytes)[0].end;
        for byte in 0..8 {
            exchanged.swap(checksums + byte, checksums + 24 + byte);
        }
        let error = file_error(PageMap::<u64, u64>::load(&device, &exchanged[..]).unwrap_err());
        assert_eq!(error, FileError::Damaged { section: "buckets", chunk: 0, offset: PAGE as u64 });
    }
}

#[parameterized]
fn foreign_files_are_refused(device: &Device) {
    for bytes in [&b"PK\x03\x04 and so on"[..], b"x", &[0; 10_000]] {
        let error = PageMap::<u32, u32>::load(device, bytes).unwrap_err();
        says(&error, &["no table that warpnest saved", "give a file that `save` wrote"]);
        assert_eq!(file_error(error), FileError::Foreign { found: bytes[..bytes.len().min(8)].to_vec() });
    }
    let empty = file_error(PageMap::<u32, u32>::load(device, &[][..]).unwrap_err());
    assert_eq!(empty, FileError::Cut { has: 0, needs: PAGE as u64 });
}

#[test]
fn a_newer_format_is_named() {
    let mut bytes = Vec::new();
    PageSet::build(&elsewhere(), &[1u32]).unwrap().save(&mut bytes).unwrap();
    bytes[8] = 2;
    repair(&mut bytes);
    let error = PageSet::<u32>::load(&elsewhere(), &bytes[..]).unwrap_err();
    says(&error, &["format 2", "up to 1", "update warpnest"]);
}

#[test]
fn files_of_other_tables_are_refused_and_both_are_named() {
    let device = &elsewhere();
    let mut bytes = Vec::new();
    PageMap::build(device, &[1u32], &[1u64]).unwrap().save(&mut bytes).unwrap();
    let bytes = &bytes[..];
    let refused = |error: Error, texts: &[&str]| -> (TableKind, TableKind) {
        says(&error, texts);
        let FileError::OtherTable { found, asked } = file_error(error) else { panic!() };
        (found, asked)
    };
    let found = "a PageMap with keys of 4 bytes and values of 8";
    let of = |error, asked: &str| refused(error, &[found, asked]);
    let (has, asked) = of(PageMap::<u64, u64>::load(device, bytes).unwrap_err(), "keys of 8 bytes and values of 8");
    assert_eq!((has.design, has.form, has.key_bytes, has.value_bytes), ("Page", "Map", 4, 8));
    assert_eq!((asked.design, asked.form, asked.key_bytes, asked.value_bytes), ("Page", "Map", 8, 8));
    of(PageMap::<u32, u32>::load(device, bytes).unwrap_err(), "a PageMap with keys of 4 bytes and values of 4");
    of(CuckooMap::<u32, u64>::load(device, bytes).unwrap_err(), "a CuckooMap with");
    of(PageSet::<u32>::load(device, bytes).unwrap_err(), "a PageSet with keys of 4 bytes was asked for");
    of(MultiMap::<u32, u64>::load(device, bytes).unwrap_err(), "a MultiMap on Page with");
    // Any types of these sizes can be loaded.
    assert_eq!(PageMap::<[u8; 4], f64>::load(device, bytes).unwrap().len(), 1);
}

#[test]
fn values_of_any_plain_type_are_as_they_were() {
    let device = elsewhere();
    let values = [(1.5f32, -3i32), (f32::NAN, i32::MIN)];
    let map: PageMap<i64, (f32, i32)> = BulkMap::build(&device, &[-1, 7], &values).unwrap();
    let mut bytes = Vec::new();
    map.save(&mut bytes).unwrap();
    let map = PageMap::<i64, (f32, i32)>::load(&Device::cpu(), &bytes[..]).unwrap();
    let answers = map.get_many(&[7, -1, 0]).unwrap();
    assert_eq!((answers[1], answers[2]), (Some(values[0]), None));
    assert_eq!(answers[0].map(|(float, number)| (float.to_bits(), number)), Some((f32::NAN.to_bits(), i32::MIN)));
}
