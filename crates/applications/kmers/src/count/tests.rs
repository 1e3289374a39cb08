//! Tests of counts, compared with plain counts of texts, and of malformed files.

use super::*;
use crate::bases::text_of;
use crate::packed::{Options, PackError, Totals};
use crate::read::ReadError;
use crate::spectrum::Survey;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::NamedTempFile;
use warpnest_applications_kernels::kmers::MAX_K;
use warpnest_applications_shared::message::with_causes;
use warpnest_applications_shared::size::Size;
use warpnest_applications_shared::testing::gzip;

fn file_of(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::with_prefix("warpnest-kmers-").unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// Returns records as FASTA, in lines of `line` letters.
fn fasta(records: &[Vec<u8>], line: usize, end: &str) -> Vec<u8> {
    let mut text = Vec::new();
    for (number, record) in records.iter().enumerate() {
        write!(text, ">record {number}{end}").unwrap();
        for line in record.chunks(line) {
            text.extend_from_slice(line);
            text.extend_from_slice(end.as_bytes());
        }
        // Without it, a last record without letters would be truncated.
        text.extend_from_slice(end.as_bytes());
    }
    text
}

fn fastq(records: &[Vec<u8>], end: &str) -> Vec<u8> {
    let mut text = Vec::new();
    for (number, record) in records.iter().enumerate() {
        let (letters, quality) = (String::from_utf8(record.clone()).unwrap(), "@".repeat(record.len()));
        write!(text, "@record {number}{end}{letters}{end}+{end}{quality}{end}").unwrap();
    }
    text
}

/// Returns the counts of k-mers, computed from their texts alone.
fn plain(records: &[Vec<u8>], k: usize, canonical: bool) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for record in records {
        let record = String::from_utf8(record.to_ascii_uppercase()).unwrap();
        for kmer in record.as_bytes().windows(k).map(|it| std::str::from_utf8(it).unwrap()) {
            if kmer.chars().all(|letter| "ACGT".contains(letter)) {
                let complement = |letter| "TGCA".as_bytes()["ACGT".find(letter).unwrap()] as char;
                let other: String = kmer.chars().rev().map(complement).collect();
                let name = if canonical && *other < *kmer { other } else { kmer.to_owned() };
                *counts.entry(name).or_insert(0) += 1;
            }
        }
    }
    counts
}

fn options(k: u32, canonical: bool) -> Options {
    // Texts are short, so that many records are spread over several texts.
    Options { k, canonical, text_bytes: 100, ..Options::default() }
}

fn read_all(files: &[&NamedTempFile], options: Options) -> Result<Packed, PackError> {
    let files: Vec<PathBuf> = files.iter().map(|file| file.path().to_owned()).collect();
    let bytes = AtomicU64::new(0);
    let packed = Packed::read(&files, options, &|read| {
        bytes.fetch_add(read, Ordering::Relaxed);
    })?;
    let lengths = files.iter().map(|path| path.metadata().unwrap().len()).sum::<u64>();
    assert_eq!(bytes.into_inner(), lengths, "progress");
    Ok(packed)
}

/// Returns the counts by text, and a survey with the three most frequent k-mers.
fn counted(packed: &Packed, at_once: usize) -> (BTreeMap<String, u64>, Survey) {
    let mut all = BTreeMap::new();
    let counted = Survey::of::<Infallible>(&Device::cpu(), packed, (at_once, 3), &mut |pairs| {
        for (key, count) in pairs {
            assert_eq!(all.insert(text_of(*key, packed.options.k), *count), None, "a k-mer twice");
        }
        Ok(())
    });
    let Ok(survey) = counted.unwrap();
    (all, survey)
}

/// Counts the k-mers of a file, and compares the result with the plain count.
fn check(file: &NamedTempFile, records: &[Vec<u8>], options: Options, limits: &[usize]) {
    let expected = plain(records, options.k as usize, options.canonical);
    let packed = read_all(&[file], options).unwrap();
    let letters = records.iter().map(|record| record.len() as u64).sum::<u64>();
    let bases = records.iter().flatten().filter(|letter| b"ACGTacgt".contains(letter)).count() as u64;
    let kmers = expected.values().sum();
    assert_eq!(packed.totals, Totals { records: records.len() as u64, bases, others: letters - bases, kmers });
    let mut by_count: Vec<(&String, &u64)> = expected.iter().collect();
    by_count.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    by_count.truncate(3);
    for &at_once in limits {
        let (found, survey) = counted(&packed, at_once);
        assert_eq!(found, expected, "{options:?} {at_once}");
        let spectrum = &survey.spectrum;
        assert_eq!(spectrum.iter().map(|(count, kmers)| count * kmers).sum::<u64>(), kmers);
        assert_eq!(spectrum.singletons(), expected.values().filter(|count| **count == 1).count() as u64);
        assert_eq!(spectrum.distinct(), expected.len() as u64);
        let top: Vec<(String, u64)> = survey.top.iter().map(|it| (text_of(it.0, options.k), it.1)).collect();
        assert!(by_count.iter().copied().eq(top.iter().map(|(kmer, count)| (kmer, count))));
    }
}

/// Returns a strategy for letters of a record: mostly bases, sometimes repeated.
fn record() -> impl Strategy<Value = Vec<u8>> {
    let any = vec(select(b"ACGTACGTACGTACGTacgtacgtNnRyU-*".to_vec()), 0..150);
    let few = vec(select(b"AC".to_vec()), 0..100);
    let one = (select(b"ATN".to_vec()), 0..80usize).prop_map(|(letter, length)| vec![letter; length]);
    let bases = vec(select(b"ACGT".to_vec()), 0..300);
    prop_oneof![any, few, one, bases]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_k_counts_as_texts_do(records in vec(record(), 1..6), line in 1..90usize, at_once in 1..400usize) {
        let files = [
            fasta(&records, line, "\n"),
            fasta(&records, line, "\r\n"),
            fastq(&records, "\n"),
            fastq(&records, "\r\n"),
            gzip(&fasta(&records, line, "\n")),
            gzip(&fastq(&records, "\n")),
        ]
        .map(|text| file_of(&text));
        for k in 1..=MAX_K {
            let file = &files[(k as usize + line) % files.len()];
            for canonical in [true, false] {
                check(file, &records, options(k, canonical), &[at_once, 1 << 20]);
            }
        }
    }

    #[test]
    fn whatever_a_file_has_is_counted_or_refused(
        bytes in vec(any::<u8>(), 0..200),
        start in select(vec![&b""[..], b">", b"@", b">x\n", b"@x\nAC\n+\n", b"\x1f\x8b\x08", b"\n\n>y\n"]),
        cut in 0..200usize,
    ) {
        let text = [start, &bytes].concat();
        let whole = gzip(&text);
        for bytes in [&text[..], &whole, &whole[..whole.len().min(cut)]] {
            match read_one(bytes) {
                Ok(packed) => assert!(packed.totals.records > 0),
                Err(error) => assert!(error.to_string().contains("warpnest-kmers-"), "{error}"),
            }
        }
    }
}

/// Reads a file with arbitrary contents.
fn read_one(bytes: &[u8]) -> Result<Packed, PackError> {
    let file = file_of(bytes);
    Packed::read(&[file.path().to_owned()], options(3, true), &|_| ())
}

fn expected(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
    counts.iter().map(|(kmer, count)| ((*kmer).to_owned(), *count)).collect()
}

#[test]
fn palindromes_count_once_where_they_are() {
    let records = [b"ACGTACGT".to_vec(), b"AATT".to_vec()];
    let file = file_of(&fasta(&records, 60, "\n"));
    let found = |canonical| counted(&read_all(&[&file], options(4, canonical)).unwrap(), 1 << 20).0;
    // ACGT, GTAC and AATT are their own reverse complements, and CGTA is TACG's.
    assert_eq!(found(true), expected(&[("AATT", 1), ("ACGT", 2), ("CGTA", 2), ("GTAC", 1)]));
    assert_eq!(found(false), expected(&[("AATT", 1), ("ACGT", 2), ("CGTA", 1), ("GTAC", 1), ("TACG", 1)]));
    for k in (2..=32).step_by(2) {
        let half: Vec<u8> = b"ACGGTCATTGCAACGT".iter().copied().take(k as usize / 2).collect();
        let other = half.iter().rev().map(|base| b"TGCA"[b"ACGT".iter().position(|it| it == base).unwrap()]);
        let palindrome: Vec<u8> = half.iter().copied().chain(other).collect();
        let file = file_of(&fasta(std::slice::from_ref(&palindrome), 7, "\n"));
        check(&file, &[palindrome], options(k, true), &[1, 1 << 20]);
    }
}

#[test]
fn files_are_counted_together_and_kmers_do_not_go_over_records() {
    let [one, two] = [vec![b"ACG".to_vec(), b"TTT".to_vec()], vec![b"CGTA".to_vec()]];
    let files = [file_of(&fasta(&one, 2, "\n")), file_of(&gzip(&fastq(&two, "\n")))];
    let packed = read_all(&[&files[0], &files[1]], options(3, true)).unwrap();
    assert_eq!(counted(&packed, 1).0, expected(&[("AAA", 1), ("ACG", 2), ("GTA", 1)]));
    assert_eq!(packed.totals, Totals { records: 3, bases: 10, others: 0, kmers: 4 });
}

#[test]
fn many_parts_give_what_one_gives_and_fewer_bytes_than_keys() {
    let mut text = Vec::new();
    crate::genome::write(600_000, 5, &mut text).unwrap();
    let file = file_of(&text);
    for k in [3, 12, 13, 16, 17, 31] {
        let packed = read_all(&[&file], options(k, true)).unwrap();
        let [few, some, one] = [1000, 70_000, 1 << 20].map(|at_once| counted(&packed, at_once));
        assert!(few == some && some == one, "{k}");
        assert!(one.0.values().any(|count| *count > 1));
        assert_eq!(one.0.values().sum::<u64>(), packed.totals.kmers);
        let bytes = packed.memory_bytes() as u64;
        assert!(bytes < 3 * packed.totals.kmers, "{k}: {bytes} of {:?}", packed.totals);
    }
}

#[test]
fn what_takes_the_counts_can_end_it() {
    let packed = read_one(b">x\nACGTTGCA\n").unwrap();
    for at_once in [1, 100] {
        let mut calls = 0;
        let ended = count(&Device::cpu(), &packed, at_once, &mut |_| {
            calls += 1;
            Err("full")
        });
        assert_eq!((ended.unwrap(), calls), (Err("full"), 1));
    }
}

#[test]
fn lengths_that_no_key_has_are_refused() {
    let file = file_of(b">x\nACGT\n");
    for k in [0, 33, u32::MAX] {
        let error = read_all(&[&file], options(k, true)).unwrap_err();
        assert!(matches!(error, PackError::Length { k: refused } if refused == k), "{error}");
    }
    // There are no k-mers longer than all records.
    let packed = read_all(&[&file], options(5, true)).unwrap();
    assert_eq!((packed.totals.kmers, packed.totals.bases), (0, 4));
    assert_eq!(counted(&packed, 100), (BTreeMap::new(), Survey::default()));
}

#[test]
fn errors_name_the_file_and_the_record() {
    let whole = gzip(&fasta(&[b"ACGT".repeat(5000)], 60, "\n"));
    let cut = &whole[..whole.len() - 9];
    for (bytes, words) in [
        (&b""[..], "has no records"),
        (b"\n\r\n ", "has no records"),
        (b"ACGT\n", "begins with 'A'"),
        (b"\x00\xff\x01", "begins with '\\x00'"),
        (b">", "has no records"),
        (b">only a name", "record 1"),
        (b">x\nAC\n>y", "record 2"),
        (
            b"@x\nACGT\n+\nIII\n",
            "record 1 cannot be read; nothing was counted, so repair the file or fetch it again: Sequence length is 4 but quality",
        ),
        (b"@x\nACGT\n+\nIIII\n@y\nAC\n-\nII\n", "record 2"),
        (b"@x\nACGT\n+\nIIII\n@y\nAC\n", "record 2"),
        (cut, "cannot read the file"),
        (b"\x1f\x8b\x08 no gzip", "cannot read the file"),
    ] {
        let error = with_causes(&read_one(bytes).unwrap_err());
        assert!(error.contains("warpnest-kmers-") && error.contains(words), "{words}: {error}");
    }
    let folder = std::env::temp_dir();
    let of_path = |path: PathBuf| Packed::read(&[path], Options::default(), &|_| ()).unwrap_err().to_string();
    assert!(of_path(folder.clone()).contains("is a folder"));
    assert!(of_path(folder.join("warpnest-no-such.fna")).contains("warpnest-no-such.fna: cannot read the file"));
}

#[test]
fn a_record_may_not_take_all_memory() {
    let records = [b"ACGT".repeat(100_000), b"ACGT".repeat(500_000)];
    let file = file_of(&gzip(&fasta(&records, 80, "\n")));
    let limited = |max_record_bytes| Options { max_record_bytes, ..options(21, true) };
    let error = read_all(&[&file], limited(1 << 20)).unwrap_err();
    assert!(matches!(&error, PackError::Read(ReadError::TooLong { record: 2, limit: Size(0x10_0000), .. })), "{error}");
    assert_eq!(read_all(&[&file], limited(1 << 22)).unwrap().totals.records, 2);
    // Lines take memory, too.
    let file = file_of(&[b">x\n", &b"\n".repeat(1 << 20)[..], b">y\nA\n"].concat());
    assert!(read_all(&[&file], limited(1 << 22)).is_err());
}
