//! Every table, saved on each engine and loaded on each engine.

use warpnest::files::FileInfo;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Error, LinearConfig, PageConfig};
use warpnest_tests::files::{CHUNK, Contents, Sample, built, changing, rows, samples, sections};
use warpnest_tests::{TestEngine, at, engines, the_cpu_engine};

/// Loads on each engine the files that each engine saved.
fn on_all_pairs_of_engines<K: Key, V: Value>(n: impl Fn(&TestEngine) -> usize) {
    let engines: Vec<&TestEngine> = engines().iter().chain(the_cpu_engine()).collect();
    for from in &engines {
        for sample in samples::<K, V>(&from.device, n(from)) {
            for to in &engines {
                let _at =
                    at(format!("{}, saved on {}, loaded on {}", sample.name, from.device.name(), to.device.name()));
                loads(&sample, to);
            }
        }
    }
}

fn loads(sample: &Sample, on: &TestEngine) {
    match sample.use_on(&on.device, &sample.bytes, Contents::Same) {
        Err(Error::NoWideAtomics { .. }) if sample.name.starts_with("linear") => (),
        used => used.unwrap(),
    }
}

mod of_some_keys {
    use super::*;
    fn some<K: Key, V: Value>() {
        on_all_pairs_of_engines::<K, V>(|_| 50);
    }
    warpnest_tests::of_all_widths!(some);
}

mod of_no_keys {
    use super::*;
    fn none<K: Key, V: Value>() {
        on_all_pairs_of_engines::<K, V>(|_| 0);
    }
    warpnest_tests::of_all_widths!(none);
}

mod of_one_key {
    use super::*;
    fn one<K: Key, V: Value>() {
        on_all_pairs_of_engines::<K, V>(|_| 1);
    }
    warpnest_tests::of_all_widths!(one);
}

/// Saves and loads sections of several chunks and several units, whose lengths are multiples of
/// neither. With 64-bit keys and values, few keys take many bytes; the keys take most of the time.
#[test]
fn of_many_keys_on_the_cpu() {
    let Some(cpu) = the_cpu_engine() else { return };
    let all =
        [(20_000, samples::<u32, u64>(&cpu.device, 20_000)), (150_000, samples::<u64, u64>(&cpu.device, 150_000))];
    for (n, samples) in all {
        samples.iter().for_each(|sample| of_many_keys(sample, n, cpu));
    }
}

/// Saves and loads sections of enough units that two workers read and write them.
#[test]
fn of_many_units_on_the_cpu() {
    let Some(cpu) = the_cpu_engine() else { return };
    let (device, n) = (&cpu.device, 500_000);
    let page = built::<u64, u64, _>(device, "page map", PageConfig::default().seed(42), n);
    let linear = changing::<u64, u64, _>(device, "linear map", LinearConfig::default().seed(42), n);
    let rows = rows::<u32, [u64; 3], _>(device, "row map", PageConfig::default().seed(42), n);
    for sample in [page, linear, rows].map(Result::unwrap) {
        let bytes = sections(&sample.bytes).iter().map(|section| section.len()).max();
        assert!(bytes > Some(8 * CHUNK), "{} has sections of {bytes:?} bytes at most", sample.name);
        of_many_keys(&sample, n, cpu);
    }
}

fn of_many_keys(sample: &Sample, n: usize, cpu: &TestEngine) {
    let _at = at(format!("{n} keys, {}", sample.name));
    loads(sample, cpu);
    let info = FileInfo::verify(&sample.bytes[..]).unwrap();
    assert_eq!(info.bytes, sample.bytes.len() as u64);
    // A map that changes has lost a quarter of its keys.
    assert!([n, n - n / 4].contains(&(info.keys as usize)), "{info:?}");
}
