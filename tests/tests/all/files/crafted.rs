//! Files with right checksums and wrong contents. Whatever they contain, nothing may panic, hang,
//! or access memory outside the table. `cargo xtask fuzz` runs this for longer.

use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::SeedableRng;
use std::time::Duration;
use warpnest::error::FileError;
use warpnest::low_level::engine::Cores;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, Error, ExtendibleConfig, LinearConfig, MultiConfig, PageConfig, SortedConfig};
use warpnest_tests::files::{Contents, Sample, built, changing, is_fault, multi, repair, rows, samples, sections};
use warpnest_tests::limited::limited;
use warpnest_tests::mutations::mutate;
use warpnest_tests::random::derived;
use warpnest_tests::watch::Watch;
use warpnest_tests::{CheckedRunner, PtxRunner, at, elsewhere};

/// The most bytes of an allocation.
const MOST: usize = 64 << 20;

/// Uses changed files of all tables on a device. Fails if no changed file of a table is refused, or
/// if none can be used.
fn cannot_do_harm<K: Key, V: Value>(device: &Device, n: usize, cases: usize) {
    let mut random = Xoshiro256StarStar::seed_from_u64(derived("crafted files"));
    let watch = Watch::begin(Duration::from_secs(100), None);
    for sample in samples::<K, V>(&elsewhere(), n) {
        if sample.use_on(device, &sample.bytes, Contents::Any).is_err() {
            // Linear tables of 64-bit keys or values need wide atomics.
            continue;
        }
        let (mut refused, mut used) = (0, 0);
        // Nearly all changed files of an extendible map are refused, in some runs the first 60.
        for case in 0..10 * cases {
            if case >= cases && used > 0 {
                break;
            }
            let mut bytes = sample.bytes.clone();
            mutate(&mut bytes, &mut random);
            let what = format!("{}, case {case}, on {}", sample.name, device.name());
            let _at = at(what.clone());
            match watch.over(&what, || sample.use_on(device, &bytes, Contents::Any)).0 {
                Ok(()) => used += 1,
                Err(error) if is_fault(&error) => panic!("{error}"),
                // Checksums may be wrong, too: if a length does not fit the file, they could not be
                // repaired.
                Err(_) => refused += 1,
            }
        }
        assert!(cases < 30 || refused > 0 && used > 0, "{}: {refused} refused, {used} used", sample.name);
    }
}

mod on_the_cpu {
    use super::*;
    fn many<K: Key, V: Value>() {
        cannot_do_harm::<K, V>(&limited(Cores, MOST), 60, 60);
    }
    warpnest_tests::of_all_widths!(many);
}

/// The checking engine, which finds conflicts of threads, and the interpreter, which finds each
/// access outside the table's memory.
mod on_engines_that_check {
    use super::*;

    #[test]
    fn blocks_in_another_order() {
        let device = limited(CheckedRunner::new(derived("shuffles")), MOST);
        cannot_do_harm::<u32, u32>(&device, 24, 25);
        cannot_do_harm::<u64, u32>(&device, 24, 25);
    }

    fn interpreted<K: Key, V: Value>() {
        // A crafted configuration may make tables large, and the interpreter is slow.
        let device = limited(PtxRunner::hopper(derived("hopper")), 1 << 20);
        cannot_do_harm::<K, V>(&device, 16, 12);
    }
    warpnest_tests::of_all_widths!(interpreted);
}

/// Changes words of a section, repairs the checksums, and returns the reason of the refusal.
fn with_words<W: bytemuck::Pod>(sample: &Sample, section: usize, change: impl FnOnce(&mut [W])) -> &'static str {
    let mut bytes = sample.bytes.clone();
    let data = sections(&bytes)[section].clone();
    let mut words: Vec<W> =
        bytes[data.clone()].chunks_exact(size_of::<W>()).map(bytemuck::pod_read_unaligned).collect();
    change(&mut words);
    bytes[data].copy_from_slice(bytemuck::cast_slice(&words));
    repair(&mut bytes);
    match sample.use_on(&elsewhere(), &bytes, Contents::Any) {
        Err(Error::File(FileError::Inconsistent { what })) => what,
        used => panic!("{used:?}"),
    }
}

fn says(what: &str, part: &str) {
    assert!(what.contains(part), "{what}");
}

#[test]
fn numbers_of_runs_that_there_are_not_are_found() {
    let config = MultiConfig::on(PageConfig::default().seed(1));
    let sample = multi::<u32, u32, _>(&elsewhere(), "multimap", config, 30).unwrap();
    // Each bucket has four tags, followed by the four values.
    let value_of = |words: &mut [u32]| {
        let slot = (0..words.len()).find(|at| at % 8 < 4 && words[*at] << 1 != 0).unwrap();
        words[slot + 4] = 30;
    };
    says(with_words(&sample, 0, value_of), "a value numbers nothing");
    says(with_words::<u32>(&sample, 1, |lasts| lasts.swap(3, 4)), "in ascending order");
    says(with_words::<u32>(&sample, 1, |lasts| lasts[29] += 1), "do not end with its last value");
    let on_cuckoo = MultiConfig::on(warpnest::CuckooConfig::default().seed(1));
    let sample = multi::<u32, u32, _>(&elsewhere(), "multimap", on_cuckoo, 30).unwrap();
    says(with_words::<u64>(&sample, 0, |header| header[1] = 30), "a value numbers nothing");
    let value_of = |slots: &mut [u64]| *slots.iter_mut().find(|slot| **slot != u64::MAX).unwrap() |= 0xffff_ffff;
    says(with_words(&sample, 1, value_of), "a value numbers nothing");
}

#[test]
fn rows_that_two_keys_have_or_that_there_are_not_are_found() {
    let sample = rows::<u32, [u32; 5], _>(&elsewhere(), "row map", PageConfig::default().seed(1), 30).unwrap();
    // In a bucket the values follow the tags, as in a multimap.
    let slots = |words: &[u32]| -> Vec<usize> {
        (0..words.len()).filter(|at| at % 8 < 4 && words[*at] << 1 != 0).map(|at| at + 4).collect()
    };
    let (missing, shared) = ("a row that there is not", "two keys have the same row");
    says(with_words::<u32>(&sample, 0, |words| words[slots(words)[0]] = 30), missing);
    says(with_words::<u32>(&sample, 0, |words| words[slots(words)[2]] = u32::MAX), missing);
    says(with_words::<u32>(&sample, 0, |words| words[slots(words)[3]] = words[slots(words)[4]]), shared);
    // One key is missing, but the header still counts it.
    says(with_words::<u32>(&sample, 0, |words| words[slots(words)[0] - 4] = 0), "another number of keys");
    let linear = rows::<u32, [u32; 5], _>(&elsewhere(), "linear row map", LinearConfig::default().seed(1), 30).unwrap();
    let first = |slots: &[u64]| slots.iter().position(|&slot| slot >> 32 != u32::MAX as u64).unwrap();
    says(with_words::<u64>(&linear, 1, |slots| slots[first(slots)] |= u32::MAX as u64), missing);
}

#[test]
fn keys_out_of_order_are_found() {
    let sample = built::<u64, u32, _>(&elsewhere(), "sorted map", SortedConfig::default(), 300).unwrap();
    says(with_words::<u64>(&sample, 0, |keys| keys.swap(10, 11)), "in ascending order");
    says(with_words::<u64>(&sample, 0, |keys| keys[10] = keys[11]), "in ascending order");
}

#[test]
fn slots_of_a_linear_table_are_counted() {
    let sample = changing::<u32, u32, _>(&elsewhere(), "linear map", LinearConfig::default().seed(1), 30).unwrap();
    let another_number = "another number of keys";
    let first = |slots: &[u64]| slots.iter().position(|&slot| slot >> 32 != u32::MAX as u64).unwrap();
    says(with_words::<u64>(&sample, 1, |slots| slots[first(slots)] = u64::MAX), another_number);
    says(with_words::<u64>(&sample, 1, |slots| slots.fill(5 << 32)), another_number);
    says(with_words::<u64>(&sample, 0, |cell| cell[0] = 5 << 32), "neither a key nor nothing");
    says(with_words::<u64>(&sample, 0, |cell| cell[0] = 0), another_number);
    let wide = changing::<u32, u64, _>(&elsewhere(), "linear map", LinearConfig::default().seed(1), 30).unwrap();
    says(with_words::<u128>(&wide, 1, |slots| slots[0] = 1 << 100), "a key that no table has");
}

#[test]
fn what_the_words_of_an_extendible_table_lead_to_is_checked() {
    let config = ExtendibleConfig::default().segments(1).buckets(4).records(8).seed(1);
    let sample = changing::<u32, u32, _>(&elsewhere(), "extendible map", config, 200).unwrap();
    let (segments, headers, tables, records) = (0, 1, 2, 3);
    says(with_words::<u32>(&sample, segments, |words| words[0] = u32::MAX), "its segments share");
    says(with_words::<u32>(&sample, segments, |words| words.swap(0, 1)), "its segments share");
    says(with_words::<u32>(&sample, tables, |entries| entries[0] = u32::MAX), "another part of the range");
    says(with_words::<u32>(&sample, tables, |entries| entries.swap(0, 1)), "another part of the range");
    let live =
        |words: &[u64]| words.chunks(2).position(|header| header[1] & 3 << 8 == 0 && header[1] >> 32 != 0).unwrap();
    says(with_words::<u64>(&sample, headers, |words| words[2 * live(words)] += 1), "a part of the range that none has");
    says(with_words::<u64>(&sample, headers, |words| words[2 * live(words) + 1] += 1), "of the range");
    says(
        with_words::<u64>(&sample, headers, |words| words[2 * live(words) + 1] += 1 << 32),
        "another number of records",
    );
    says(with_words::<u64>(&sample, headers, |words| words[2 * live(words) + 1] = 2 << 8), "a part of the range");
    says(with_words::<u64>(&sample, headers, |words| words.copy_within(0..2, 2)), "make up the whole");
    // One header has a record too many and another has one too few, so the sum is right.
    let mut first = None;
    let moved = |words: &mut [u64]| {
        for header in words.chunks_mut(2).filter(|header| header[1] & 3 << 8 == 0) {
            match first {
                None if header[1] >> 32 > 1 => (header[1], first) = (header[1] - (1 << 32), Some(())),
                Some(()) if header[1] >> 32 < 8 => return header[1] += 1 << 32,
                _ => (),
            }
        }
    };
    says(with_words(&sample, headers, moved), "another number of records than its header says");
    says(with_words::<u32>(&sample, records, |words| words.fill(0x1234_5678)), "of another part of the range");
}
