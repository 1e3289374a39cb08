//! The keys of k-mers of every length, and their counts.

use std::collections::BTreeMap;
use std::convert::Infallible;
use warpnest::types::WordKey;
use warpnest::{Buffer, Device};
use warpnest_applications_kernels::kmers::{MAX_K, MAX_NARROW_K, reverse_complement};
use warpnest_kmers::bases::{Batch, Packer, text_of};
use warpnest_kmers::counter::Counter;
use warpnest_kmers::keys::KeyMaker;
use warpnest_tests::{at, on_all};

/// Two records, with letters that are no bases, some of them in the places where words begin.
const RECORDS: [&str; 3] = [
    "ACGTTGCAACGTGGCATTACGATCGATCTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTGCNACGATGCATCGACTAGC",
    "NTAGCTAGGGCATCNNTCTAGAGCTCTAGCTAGCGCTATATCGCGATTAGCGCTAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "TTTGCGCTATAGCGCTATCGATCGCATGCTAGCTAGCATCGATCGATCGCGCTAGATCGACTACGACT",
];

fn packed(k: u32, capacity: usize) -> Vec<Batch> {
    let mut packer = Packer::new(k, capacity);
    let mut batches = Vec::new();
    for record in RECORDS {
        let Ok(()) = packer.add::<Infallible>(record.as_bytes(), &mut |batch| {
            batches.push(batch);
            Ok(())
        });
    }
    batches.extend(packer.finish());
    batches
}

/// Returns the texts of the k-mers' names.
fn names(k: usize, canonical: bool) -> Vec<String> {
    let windows = RECORDS.iter().flat_map(|record| record.as_bytes().windows(k));
    let kmers = windows.map(|kmer| std::str::from_utf8(kmer).unwrap()).filter(|kmer| !kmer.contains('N'));
    let complement = |base| "TGCA".as_bytes()["ACGT".find(base).unwrap()] as char;
    kmers
        .map(|kmer| {
            let other: String = kmer.chars().rev().map(complement).collect();
            if canonical && *other < *kmer { other } else { kmer.to_owned() }
        })
        .collect()
}

fn keys<K: WordKey + Into<u64>>(device: &Device, k: u32, canonical: bool) -> Vec<String> {
    const FIRST: usize = 3;
    let mut maker = KeyMaker::new(device, k, canonical).unwrap();
    let mut all = Vec::new();
    for batch in packed(k, 128) {
        let old = vec![K::ALL_ONES; FIRST + batch.kmers + 1];
        let mut keys = Buffer::from_slice(device, &old).unwrap();
        maker.write(&batch, &mut keys, FIRST).unwrap();
        let keys = keys.download(device.default_stream()).unwrap();
        assert!(keys[..FIRST].iter().chain(keys.last()).all(|key| *key == K::ALL_ONES), "keys beside the batch's");
        all.extend(keys[FIRST..FIRST + batch.kmers].iter().map(|key| text_of((*key).into(), k)));
    }
    all
}

#[test]
fn keys_are_those_of_the_texts() {
    on_all(|device| {
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
    });
}

#[test]
fn kmers_of_one_batch_and_of_many_are_counted() {
    on_all(|device| {
        for (k, canonical) in [(1, true), (2, false), (16, true), (17, true), (32, false)] {
            let mut expected = BTreeMap::new();
            names(k as usize, canonical).into_iter().for_each(|name| *expected.entry(name).or_insert(0) += 1);
            for limit in [1, 150, 1000] {
                let _at = at(format!("k {k}, canonical {canonical}, {limit} at once"));
                let mut counter = Counter::new(device, k, canonical, limit, 100).unwrap();
                packed(k, 128).iter().for_each(|batch| counter.add(batch).unwrap());
                let (mut counts, _) = counter.finish().unwrap();
                counts.sort().unwrap();
                let mut found = Vec::new();
                let Ok(()) = counts
                    .each::<Infallible>(&mut |pairs| {
                        found.extend(pairs.iter().map(|(key, count)| (text_of(*key, k), *count)));
                        Ok(())
                    })
                    .unwrap();
                assert!(found.into_iter().eq(expected.clone()));
            }
        }
    });
}

#[test]
fn a_reverse_complement_undoes_itself() {
    for k in 1..=MAX_K {
        for key in [0, 1, 2, 3, 0x1b, u64::MAX, 0x0123_4567_89ab_cdef].map(|key| key & (u64::MAX >> (64 - 2 * k))) {
            assert_eq!(reverse_complement(reverse_complement(key, k), k), key);
        }
    }
}
