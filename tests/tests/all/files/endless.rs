//! Files and configurations with which a call would never end or would take all memory. They are
//! refused, or the call is bounded.

use std::time::Duration;
use warpnest::error::{BuildError, FileError};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{
    CuckooConfig, Device, Error, ExtendibleConfig, LinearConfig, PageConfig, PageMap, PageSet, TwoLevelConfig,
};
use warpnest_tests::files::{Contents, Sample, changing, changing_set, repair, rows, sections, value};
use warpnest_tests::watch::Watch;
use warpnest_tests::{TestEngine, distinct_keys, elsewhere, parameterized};

fn watch() -> Watch {
    Watch::begin(Duration::from_secs(100), None)
}

/// Returns the contradiction for which a file is refused.
fn contradiction(result: warpnest::Result<()>) -> &'static str {
    match result {
        Err(Error::File(error)) => match error.reason() {
            FileError::Inconsistent { what } => what,
            error => panic!("{error:?}"),
        },
        result => panic!("{result:?}"),
    }
}

/// Returns a file in which `change` has changed the words of a section, with right checksums.
fn with_words<W: bytemuck::Pod>(file: &[u8], section: usize, change: impl FnOnce(&mut [W])) -> Vec<u8> {
    let mut bytes = file.to_vec();
    let data = sections(&bytes)[section].clone();
    let mut words: Vec<W> =
        bytes[data.clone()].chunks_exact(size_of::<W>()).map(bytemuck::pod_read_unaligned).collect();
    change(&mut words);
    bytes[data].copy_from_slice(bytemuck::cast_slice(&words));
    repair(&mut bytes);
    bytes
}

/// Returns a file in which one number of the header is replaced, with right checksums.
fn with_number(file: &[u8], number: usize, new: u64) -> Vec<u8> {
    let mut bytes = file.to_vec();
    bytes[32 + 8 * number..][..8].copy_from_slice(&new.to_le_bytes());
    repair(&mut bytes);
    bytes
}

fn saved(save: impl FnOnce(&mut Vec<u8>) -> warpnest::Result<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    save(&mut bytes).unwrap();
    bytes
}

/// Checks the file of issue 66. It has a tag that stays too large, however often the count of
/// remainders is subtracted, so a removal would move it forever.
#[parameterized]
fn a_tag_that_no_insertion_makes_is_refused_on_every_engine(engine: &TestEngine) {
    let watch = watch();
    let keys: Vec<u32> = (0..71u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let map = PageConfig::default().seed(1).build(&engine.device, &[5u32], &[6u64]).unwrap();
    let file = saved(|to| map.save(to));
    for (tag, wrong) in [(0x68da_de92_f1b1_cec5u64, true), (7 << 27, false)] {
        let crafted = with_words::<u64>(&file, 0, |words| {
            words.fill(0);
            words[8 * 16 + 1] = tag;
        });
        let use_it = || {
            let mut map = PageMap::<u32, u64>::load(&engine.device, &crafted[..])?;
            map.erase_many(&keys).map(drop)
        };
        let (used, _) = watch.over("a tag that no insertion makes", use_it);
        if wrong {
            assert_eq!(contradiction(used), "a bucket has a tag that no key has");
        } else {
            used.unwrap();
        }
    }
}

/// Sets words of the tags to values of all magnitudes, and changes the tables that load.
fn any_tags(sample: &Sample) {
    let (watch, device) = (watch(), elsewhere());
    for shift in 0..64 {
        for place in [0, 1, 2, 3, 9, 100] {
            let crafted = with_words::<u64>(&sample.bytes, 0, |words| {
                let place = place % words.len();
                words[place] = u64::MAX >> shift;
            });
            let name = format!("{}, word {place}, shifted by {shift}", sample.name);
            let _ = watch.over(&name, || sample.use_on(&device, &crafted, Contents::Any));
        }
    }
}

#[parameterized]
fn a_table_with_any_tags_is_refused_or_can_be_changed<K: Key, V: Value>() {
    let config = PageConfig::default().seed(1);
    any_tags(&changing::<K, V, _>(&elsewhere(), "page map", config.clone(), 7).unwrap());
    any_tags(&changing_set::<K, _>(&elsewhere(), "page set", config.clone(), 7).unwrap());
    any_tags(&rows::<K, [u32; 2], _>(&elsewhere(), "row map", config, 7).unwrap());
}

#[parameterized]
fn a_page_table_has_as_many_keys_as_its_header_says<K: Key, V: Value>() {
    let (keys, device) = (distinct_keys::<K>(100, 3), elsewhere());
    let map = PageMap::<K, V>::build(&device, &keys, &(0..100).map(value).collect::<Vec<V>>()).unwrap();
    let set = PageSet::<K>::build(&device, &keys).unwrap();
    for length in [1, 99, 101, 111] {
        let another = "its buckets have another number of keys than its header says";
        let crafted = with_number(&saved(|to| map.save(to)), 0, length);
        assert_eq!(contradiction(PageMap::<K, V>::load(&device, &crafted[..]).map(drop)), another);
        let crafted = with_number(&saved(|to| set.save(to)), 0, length);
        assert_eq!(contradiction(PageSet::<K>::load(&device, &crafted[..]).map(drop)), another);
    }
}

/// Checks that lookups in a mapped file rely on no tag, and that a copy, which can be changed, is
/// checked.
#[test]
fn a_copy_of_a_mapped_table_is_checked() {
    let (folder, device) = (tempfile::tempdir().unwrap(), Device::cpu());
    let path = folder.path().join("map");
    let map = PageConfig::default().seed(1).build(&device, &[5u32], &[6u64]).unwrap();
    let crafted = with_words::<u64>(&saved(|to| map.save(to)), 0, |words| words[8 * 16 + 1] = u64::MAX >> 1);
    std::fs::write(&path, crafted).unwrap();
    // SAFETY: nobody changes the file.
    let mapped = unsafe { PageMap::<u32, u64>::map_file(&device, &path) }.unwrap();
    assert_eq!(mapped.get_many(&[5, 7]).unwrap(), [Some(6), None]);
    assert_eq!(contradiction(mapped.try_clone().map(drop)), "a bucket has a tag that no key has");
}

/// Checks that the map of a row map has each key only once. Otherwise new row ids would be assigned
/// to the rows, and one of the key's slots would keep an id that no longer exists.
#[test]
fn a_row_map_whose_map_has_a_key_twice_is_refused() {
    let refused = |sample: &Sample, crafted: &[u8]| {
        let what = contradiction(sample.use_on(&elsewhere(), crafted, Contents::Any));
        assert!(what == "two keys have the same row, or one has a row that there is not", "{}: {what}", sample.name);
    };
    let linear = LinearConfig::default().seed(1);
    let sample = rows::<u32, [u32; 2], _>(&elsewhere(), "linear row map", linear, 30).unwrap();
    // Two slots of one bucket have keys, and the second slot gets the key of the first.
    let crafted = with_words::<u64>(&sample.bytes, 1, |slots| {
        let holds = |slot: u64| slot >> 32 != u32::MAX as u64;
        let bucket = slots.chunks_mut(4).find(|bucket| holds(bucket[0]) && holds(bucket[1])).unwrap();
        bucket[1] = bucket[1] & 0xffff_ffff | bucket[0] >> 32 << 32;
    });
    refused(&sample, &crafted);
    let page = PageConfig::default().seed(1).load(0.9);
    let sample = rows::<u32, [u32; 2], _>(&elsewhere(), "page row map", page, 40).unwrap();
    let crafted = with_words::<u32>(&sample.bytes, 0, |words| {
        let tag = |word: u32| word & u32::MAX >> 1;
        let bucket = words.chunks_mut(8).find(|bucket| tag(bucket[0]) != 0 && tag(bucket[1]) != 0).unwrap();
        bucket[1] = bucket[0];
    });
    refused(&sample, &crafted);
    // No lookup finds these keys, because they are not in their buckets.
    let crafted = with_words::<u64>(&rows_of_linear().bytes, 1, |slots| slots.rotate_left(8));
    let what = contradiction(rows_of_linear().use_on(&elsewhere(), &crafted, Contents::Any));
    assert_eq!(what, "it has a key that no lookup finds");
}

fn rows_of_linear() -> Sample {
    rows::<u32, [u32; 2], _>(&elsewhere(), "linear row map", LinearConfig::default().seed(1), 30).unwrap()
}

/// Checks that builds which cannot succeed end, whatever their configuration says.
#[test]
fn builds_that_cannot_succeed_end() {
    let watch = watch();
    let device = elsewhere();
    let keys: Vec<u32> = distinct_keys(64, 34);
    let config = CuckooConfig::default().chain_limit(1).restarts(u32::MAX).slots(67).functions(4);
    let (built, _) = watch.over("restarts", || config.build(&device, &keys, &keys));
    let Err(Error::BuildFailed(BuildError::Cuckoo { attempts, .. })) = built else { panic!("{built:?}") };
    assert_eq!(attempts, 10_001);

    // With some seeds, three keys have only two slots.
    let chains = CuckooConfig::default().functions(2).chain_limit(u32::MAX).restarts(0).assume_unique();
    let chains = |seed| chains.clone().seed(seed).build(&device, &keys[..3], &keys[..3]);
    let (failed, _) = watch.over("a chain", || (0..10_000).filter(|&seed| chains(seed).is_err()).count());
    assert!(failed > 0, "no chain was endless");

    let config = TwoLevelConfig::default().bucket_capacity(64).items_per_bucket(64.0).sub_tables(2, 32);
    let config = config.seeds(u32::MAX, u32::MAX).restarts(0).seed(9);
    let (built, _) = watch.over("seeds", || config.build(&device, &keys, &keys));
    assert!(matches!(built, Err(Error::BuildFailed(BuildError::TwoLevel { failures: 1, .. }))), "{built:?}");
}

/// Checks that a configuration that needs gigabytes for a single pair is refused, also in a file.
#[test]
fn configurations_that_take_too_much_memory_are_refused() {
    let device = elsewhere();
    for low in [1e-9, 2e-9] {
        assert!(matches!(PageConfig::default().load(low).build(&device, &[1u32], &[2u32]), Err(Error::Config(_))));
        assert!(matches!(PageConfig::default().load(low).build_set(&device, &[1u64]), Err(Error::Config(_))));
        assert!(matches!(PageConfig::default().load(low).memory_bytes::<u32, u32>(1), Err(Error::Config(_))));
        assert!(matches!(LinearConfig::default().load(low).create::<u32, u32>(&device), Err(Error::Config(_))));
        let slots = CuckooConfig::default().slots_per_pair(1.0 / low);
        assert!(matches!(slots.build(&device, &[1u32], &[2u32]), Err(Error::Config(_))));
        // A file with such a configuration loads, but a change that makes the table grow is
        // refused.
        let page = PageConfig::default().load(0.5).build(&device, &[1u32], &[2u32]).unwrap();
        let crafted = with_number(&saved(|to| page.save(to)), 8, low.to_bits());
        let mut map = PageMap::<u32, u32>::load(&device, &crafted[..]).unwrap();
        assert!(matches!(map.reserve(100_000), Err(Error::Config(_))));
    }
    let least = PageConfig::default().load(1.0 / 1024.0).memory_bytes::<u32, u32>(1000).unwrap();
    assert!(least <= 1025 * 8000, "{least} bytes");
    assert!(ExtendibleConfig::default().initial_memory_bytes::<u32, u32>().unwrap() < 16 << 20);
}
