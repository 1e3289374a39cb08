//! Counts beside a plain count of texts, and files that are none.

use super::*;
use crate::bases::text_of;
use crate::spectrum::Survey;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that goes with the test.
struct File(PathBuf);

impl File {
    fn new(bytes: &[u8]) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("warpnest-kmers-{}-{number}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn compressed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Returns records as FASTA, with lines of a length.
fn fasta(records: &[Vec<u8>], line: usize, end: &str) -> Vec<u8> {
    let mut text = Vec::new();
    for (number, record) in records.iter().enumerate() {
        write!(text, ">record {number}{end}").unwrap();
        for line in record.chunks(line) {
            text.extend_from_slice(line);
            text.extend_from_slice(end.as_bytes());
        }
        // A last record without any line would be cut short.
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

/// Returns the counts of k-mers, by their texts alone.
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

fn options(k: u32, canonical: bool, keys_at_once: usize) -> Options {
    Options { k, canonical, keys_at_once, ..Options::default() }
}

fn count_all(files: &[&File], options: Options) -> Result<Counted, CountError> {
    let files: Vec<PathBuf> = files.iter().map(|file| file.0.clone()).collect();
    let bytes = AtomicU64::new(0);
    let counted = count(&Device::cpu(), &files, options, &|read| {
        bytes.fetch_add(read, Ordering::Relaxed);
    })?;
    let lengths = files.iter().map(|path| path.metadata().unwrap().len()).sum::<u64>();
    assert_eq!(bytes.into_inner(), lengths, "progress");
    Ok(counted)
}

/// Returns the counts in the order of a sort.
fn sorted(counted: &mut Counted, k: u32) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    counted.counts.sort().unwrap();
    let Ok(()) = counted
        .counts
        .each::<std::convert::Infallible>(&mut |pairs| {
            all.extend(pairs.iter().map(|(key, count)| (text_of(*key, k), *count)));
            Ok(())
        })
        .unwrap();
    all
}

/// Counts a file of records, and compares with the plain count.
fn check(file: &File, records: &[Vec<u8>], options: Options) {
    let mut counted = count_all(&[file], options).unwrap();
    let expected = plain(records, options.k as usize, options.canonical);
    let found = sorted(&mut counted, options.k);
    assert!(found.iter().map(|(kmer, count)| (kmer, count)).eq(expected.iter()), "{options:?} {found:?} {expected:?}");
    let letters = records.iter().map(|record| record.len() as u64).sum::<u64>();
    let is_base = |letter: &&u8| b"ACGTacgt".contains(letter);
    let bases = records.iter().flatten().filter(is_base).count() as u64;
    let kmers = expected.values().sum();
    assert_eq!(counted.totals, Totals { records: records.len() as u64, bases, others: letters - bases, kmers });
    let survey = Survey::of(&counted.counts, 3).unwrap();
    assert_eq!(survey.spectrum.iter().map(|(count, kmers)| count * kmers).sum::<u64>(), kmers);
    assert_eq!(survey.spectrum.singletons(), expected.values().filter(|count| **count == 1).count() as u64);
    let mut by_count: Vec<(&String, &u64)> = expected.iter().collect();
    by_count.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    by_count.truncate(3);
    assert!(by_count.into_iter().eq(survey.top.iter().map(|(key, count)| (text_of(*key, options.k), *count)).collect::<Vec<_>>().iter().map(|(kmer, count)| (kmer, count))));
}

/// Returns the letters of a record: mostly bases, sometimes repeated ones.
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
            compressed(&fasta(&records, line, "\n")),
            compressed(&fastq(&records, "\n")),
        ]
        .map(|text| File::new(&text));
        for k in 1..=MAX_K {
            let file = &files[(k as usize + line) % files.len()];
            for canonical in [true, false] {
                check(file, &records, options(k, canonical, at_once));
                check(file, &records, options(k, canonical, 1 << 20));
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
        let whole = compressed(&text);
        for bytes in [&text[..], &whole, &whole[..whole.len().min(cut)]] {
            match count_all_of(bytes) {
                Ok(counted) => assert!(counted.totals.records > 0),
                Err(error) => assert!(error.to_string().contains("warpnest-kmers-"), "{error}"),
            }
        }
    }
}

/// Counts a file that may be anything.
fn count_all_of(bytes: &[u8]) -> Result<Counted, CountError> {
    let file = File::new(bytes);
    count(&Device::cpu(), std::slice::from_ref(&file.0), options(3, true, 100), &|_| ())
}

#[test]
fn palindromes_count_once_where_they_are() {
    let records = [b"ACGTACGT".to_vec(), b"AATT".to_vec()];
    let file = File::new(&fasta(&records, 60, "\n"));
    let found = sorted(&mut count_all(&[&file], options(4, true, 1 << 20)).unwrap(), 4);
    // ACGT, GTAC and AATT are their own reverse complements; CGTA and TACG are each other's.
    let expected = [("AATT", 1), ("ACGT", 2), ("CGTA", 2), ("GTAC", 1)];
    assert_eq!(found, expected.map(|(kmer, count)| (kmer.to_owned(), count)));
    let apart = sorted(&mut count_all(&[&file], options(4, false, 1 << 20)).unwrap(), 4);
    let expected = [("AATT", 1), ("ACGT", 2), ("CGTA", 1), ("GTAC", 1), ("TACG", 1)];
    assert_eq!(apart, expected.map(|(kmer, count)| (kmer.to_owned(), count)));
    for k in (2..=32).step_by(2) {
        let half: Vec<u8> = b"ACGGTCATTGCAACGT".iter().copied().take(k as usize / 2).collect();
        let other = half.iter().rev().map(|base| b"TGCA"[b"ACGT".iter().position(|it| it == base).unwrap()]);
        let palindrome: Vec<u8> = half.iter().copied().chain(other).collect();
        let file = File::new(&fasta(&[palindrome.clone()], 7, "\n"));
        check(&file, std::slice::from_ref(&palindrome), options(k, true, 1 << 20));
    }
}

#[test]
fn files_are_counted_together_and_kmers_do_not_go_over_records() {
    let [one, two] = [vec![b"ACG".to_vec(), b"TTT".to_vec()], vec![b"CGTA".to_vec()]];
    let files = [File::new(&fasta(&one, 2, "\n")), File::new(&compressed(&fastq(&two, "\n")))];
    let mut counted = count_all(&[&files[0], &files[1]], options(3, true, 1)).unwrap();
    let expected = [("AAA", 1), ("ACG", 2), ("GTA", 1)].map(|(kmer, count)| (kmer.to_owned(), count));
    assert_eq!(sorted(&mut counted, 3), expected);
    assert_eq!(counted.totals, Totals { records: 3, bases: 10, others: 0, kmers: 4 });
}

#[test]
fn many_batches_give_what_one_gives() {
    let mut text = Vec::new();
    crate::genome::write(300_000, 5, &mut text).unwrap();
    let file = File::new(&text);
    for k in [3, 16, 17, 31] {
        let mut counts = [1000, 70_000, 1 << 20].map(|at_once| {
            let mut counted = count_all(&[&file], options(k, true, at_once)).unwrap();
            sorted(&mut counted, k)
        });
        let last = counts.len() - 1;
        let (others, one) = counts.split_at_mut(last);
        assert!(others.iter().all(|it| *it == one[0]), "{k}");
        assert!(k == 3 || one[0].iter().any(|(_, count)| *count > 1));
    }
}

#[test]
fn lengths_that_no_key_has_are_refused() {
    let file = File::new(b">x\nACGT\n");
    for k in [0, 33, u32::MAX] {
        let error = count_all(&[&file], options(k, true, 100)).unwrap_err();
        assert!(matches!(error, CountError::Length { k: refused } if refused == k), "{error}");
    }
    // Longer k-mers than any record are none.
    let counted = count_all(&[&file], options(5, true, 100)).unwrap();
    assert_eq!((counted.totals.kmers, counted.counts.distinct(), counted.totals.bases), (0, 0, 4));
}

#[test]
fn errors_name_the_file_and_the_record() {
    let whole = compressed(&fasta(&[b"ACGT".repeat(5000)], 60, "\n"));
    let cut = &whole[..whole.len() - 9];
    for (bytes, words) in [
        (&b""[..], "has no records"),
        (b"\n\r\n ", "has no records"),
        (b"ACGT\n", "begins with 'A'"),
        (b"\x00\xff\x01", "begins with '\\x00'"),
        (b">", "has no records"),
        (b">only a name", "record 1"),
        (b">x\nAC\n>y", "record 2"),
        (b"@x\nACGT\n+\nIII\n", "record 1: Sequence length is 4 but quality length is 3"),
        (b"@x\nACGT\n+\nIIII\n@y\nAC\n-\nII\n", "record 2"),
        (b"@x\nACGT\n+\nIIII\n@y\nAC\n", "record 2"),
        (cut, "cannot read the file"),
        (b"\x1f\x8b\x08 no gzip", "cannot read the file"),
    ] {
        let error = count_all_of(bytes).unwrap_err().to_string();
        assert!(error.contains("warpnest-kmers-") && error.contains(words), "{words}: {error}");
    }
    let folder = std::env::temp_dir();
    let of_path = |path: PathBuf| count(&Device::cpu(), &[path], Options::default(), &|_| ()).unwrap_err().to_string();
    assert!(of_path(folder.clone()).contains("is a folder"));
    assert!(of_path(folder.join("warpnest-no-such.fna")).contains("warpnest-no-such.fna: cannot read the file"));
}

#[test]
fn a_record_may_not_take_all_memory() {
    let records = [b"ACGT".repeat(100_000), b"ACGT".repeat(500_000)];
    let file = File::new(&compressed(&fasta(&records, 80, "\n")));
    let limited = |max_record_bytes| Options { max_record_bytes, ..options(21, true, 1 << 20) };
    let error = count_all(&[&file], limited(1 << 20)).unwrap_err();
    assert!(matches!(&error, CountError::Read(ReadError::TooLong { record: 2, limit: 0x10_0000, .. })), "{error}");
    assert_eq!(count_all(&[&file], limited(1 << 22)).unwrap().totals.records, 2);
    // Lines count, too.
    let file = File::new(&[b">x\n", &b"\n".repeat(1 << 20)[..], b">y\nA\n"].concat());
    assert!(count_all(&[&file], limited(1 << 22)).is_err());
}
