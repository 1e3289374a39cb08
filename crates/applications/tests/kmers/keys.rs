//! Tests of the keys of k-mers of every length, and of their counts.

use std::collections::BTreeMap;
use std::convert::Infallible;
use warpnest::types::WordKey;
use warpnest::{Buffer, Device};
use warpnest_applications_kernels::kmers::{MAX_K, MAX_NARROW_K, reverse_complement};
use warpnest_kmers::bases::{Batch, text_of};
use warpnest_kmers::count::count;
use warpnest_kmers::keys::KeyMaker;
use warpnest_kmers::minimizer::BINS;
use warpnest_kmers::pack::Packer;
use warpnest_kmers::packed::{Options, Packed, Totals};
use warpnest_tests::{at, parameterized};

/// Records of bases and of letters that are not bases.
const RECORDS: [&str; 3] = [
    "ACGTTGCAACGTGGCATTACGATCGATCTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTGCNACGATGCATCGACTAGC",
    "NTAGCTAGGGCATCNNTCTAGAGCTCTAGCTAGCGCTATATCGCGATTAGCGCTAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "TTTGCGCTATAGCGCTATCGATCGCATGCTAGCTAGCATCGATCGATCGCGCTAGATCGACTACGACT",
];

/// Returns the batches of the records in bins; short k-mers are in one bin.
fn packed(k: u32, capacity: usize) -> Vec<Vec<Batch>> {
    let mut packer = Packer::new(k, capacity);
    let mut bins = vec![Vec::new(); BINS];
    let mut full = |bin: usize, batch| bins[bin].push(batch);
    RECORDS.iter().for_each(|record| packer.add(record.as_bytes(), &mut full));
    packer.finish(&mut full);
    bins
}

/// Returns the texts of the k-mers, or of their canonical forms, sorted.
fn names(k: usize, canonical: bool) -> Vec<String> {
    let windows = RECORDS.iter().flat_map(|record| record.as_bytes().windows(k));
    let kmers = windows.map(|kmer| std::str::from_utf8(kmer).unwrap()).filter(|kmer| !kmer.contains('N'));
    let complement = |base| "TGCA".as_bytes()["ACGT".find(base).unwrap()] as char;
    let name = |kmer: &str| {
        let other: String = kmer.chars().rev().map(complement).collect();
        if canonical && *other < *kmer { other } else { kmer.to_owned() }
    };
    let mut names: Vec<String> = kmers.map(name).collect();
    names.sort();
    names
}

fn keys<K: WordKey + Into<u64>>(device: &Device, k: u32, canonical: bool) -> Vec<String> {
    const FIRST: usize = 3;
    let mut maker = KeyMaker::new(device, k, canonical).unwrap();
    let mut all = Vec::new();
    for batch in packed(k, 100).into_iter().flatten() {
        let old = vec![K::ALL_ONES; FIRST + batch.kmers + 1];
        let mut keys = Buffer::from_slice(device, &old).unwrap();
        maker.write(&batch, &mut keys, FIRST).unwrap();
        let keys = keys.download(device.default_stream()).unwrap();
        assert!(keys[..FIRST].iter().chain(keys.last()).all(|key| *key == K::ALL_ONES), "keys beside the batch's");
        all.extend(keys[FIRST..FIRST + batch.kmers].iter().map(|key| text_of((*key).into(), k)));
    }
    all.sort();
    all
}

#[parameterized]
fn keys_are_those_of_the_texts(device: &Device) {
    for k in 1..=MAX_K {
        for canonical in [true, false] {
            let _at = at(format!("k {k}, canonical {canonical}"));
            let expected = names(k as usize, canonical);
            assert_eq!(keys::<u64>(device, k, canonical), expected);
            if k <= MAX_NARROW_K {
                assert_eq!(keys::<u32>(device, k, canonical), expected);
            }
        }
    }
}

#[parameterized]
fn kmers_are_counted_by_sorts_and_by_maps(device: &Device) {
    for (k, canonical) in [(1, true), (2, false), (16, true), (17, true), (32, false)] {
        let mut expected = BTreeMap::new();
        names(k as usize, canonical).into_iter().for_each(|name| *expected.entry(name).or_insert(0) += 1);
        let options = Options { k, canonical, ..Options::default() };
        let packed = Packed { options, totals: Totals::default(), bins: packed(k, 100) };
        for at_once in [2, 1000] {
            let _at = at(format!("k {k}, canonical {canonical}, {at_once} at once"));
            let mut found = BTreeMap::new();
            let Ok(()) = count::<Infallible>(device, &packed, at_once, &mut |pairs| {
                found.extend(pairs.iter().map(|(key, count)| (text_of(*key, k), *count)));
                Ok(())
            })
            .unwrap();
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn a_reverse_complement_undoes_itself() {
    for k in 1..=MAX_K {
        for key in [0, 1, 2, 3, 0x1b, u64::MAX, 0x0123_4567_89ab_cdef].map(|key| key & (u64::MAX >> (64 - 2 * k))) {
            assert_eq!(reverse_complement(reverse_complement(key, k), k), key);
        }
    }
}
