//! Builds that do not know whether keys are unique. A few repeated keys are resolved after an
//! attempt without order; with many, the pairs go through ordered splits.

use std::collections::HashSet;
use warpnest::low_level::kernels::page::{Sample, SampleParams, header};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, PageConfig, PageMap};
use warpnest_tests::built::{self, check};
use warpnest_tests::{TestEngine, at, distinct_keys, engines, parameterized, values};

fn default() -> PageConfig {
    PageConfig::default().seed(3)
}

/// Returns `n` keys. In the second half, every pair that `is_copy` selects has the key of an
/// earlier pair.
fn with_copies<K: Key>(n: usize, is_copy: impl Fn(usize) -> bool) -> Vec<K> {
    let mut keys: Vec<K> = distinct_keys(n, 5);
    for i in n / 2..n {
        if is_copy(i) {
            keys[i] = keys[i * 7 % (n / 2)];
        }
    }
    keys
}

/// Returns the count of pairs whose key is repeated later.
fn repeats<K: Key>(keys: &[K]) -> usize {
    keys.len() - keys.iter().map(|key| key.to_u64()).collect::<HashSet<u64>>().len()
}

#[parameterized]
fn few_repeated_keys_are_resolved_and_have_their_last_values<K: Key, V: Value>() {
    for load in [0.1, 0.8, 1.0] {
        for every in [2, 7, 40, 1000] {
            check::<_, K, V>(
                |_| default().load(load),
                20_000,
                |n| with_copies(n, |i| i.is_multiple_of(every)),
                |report, _| assert!(!report.ordered || report.resolved == 0, "{report:?}"),
            );
        }
    }
    // One key has enough copies between other keys to take all slots of its candidates.
    for copies in [2, 7, 50, 200] {
        let keys = |n: usize| {
            let mut keys: Vec<K> = distinct_keys(n, 6);
            let step = n.div_ceil(copies);
            keys.iter_mut().step_by(step).for_each(|key| *key = K::ALL_ONES);
            keys
        };
        check::<_, K, V>(|_| default().load(1.0), 20_000, keys, |_, _| {});
    }
}

/// Returns whether this engine first builds page maps without order.
fn tries_without_order(engine: &TestEngine) -> bool {
    let keys: Vec<u32> = distinct_keys(10, 1);
    !built::build::<_, u32, u32>(&engine.device, &default(), &keys, &values(10)).report().ordered
}

#[test]
fn the_list_takes_a_64th_of_the_pairs_wherever_they_are_and_not_a_16th() {
    let n = 20_000;
    let mut tried = 0;
    for engine in engines().iter().filter(|engine| engine.max_items >= n && tries_without_order(engine)) {
        tried += 1;
        for (most, ordered) in [(1, false), (n / 64, false), (n / 16, true)] {
            let keys: Vec<u64> = with_copies(n, |i| i - n / 2 < most);
            assert_eq!(repeats(&keys), most);
            let map: PageMap<u64, u32> = built::build(&engine.device, &default(), &keys, &values(n));
            let resolved = if ordered { 0 } else { most as u64 };
            assert_eq!((map.report().ordered, map.report().resolved), (ordered, resolved), "{:?}", map.report());
        }
        // One key's copies fill the page's own part of the list, and the common part takes the
        // rest.
        let mut keys: Vec<u32> = distinct_keys(n, 5);
        keys[100..250].fill(0);
        let map: PageMap<u32, u64> = built::build(&engine.device, &default(), &keys, &values(n));
        assert_eq!((map.report().ordered, map.report().resolved), (false, 149), "{:?}", map.report());
    }
    assert!(tried > 0);
}

#[test]
fn half_of_the_keys_repeated_show_in_a_sample() {
    let n = 1 << 24;
    for engine in engines().iter().filter(|engine| engine.max_items >= 100_000 && tries_without_order(engine)) {
        let keys: Vec<u32> = (0..n as u32).map(|i| (i % (n as u32 / 2)).wrapping_mul(0x9e37_79b1)).collect();
        let numbers: Vec<u32> = (0..n as u32).collect();
        let map: PageMap<u32, u32> = default().build(&engine.device, &keys, &numbers).unwrap();
        assert!(map.report().ordered && map.len() == n / 2, "{:?}", map.report());
        let some: Vec<u32> = keys[..1000].to_vec();
        assert!(map.get_many(&some).unwrap().iter().zip(n as u32 / 2..).all(|(value, last)| *value == Some(last)));
    }
}

#[parameterized]
fn a_sample_counts_the_keys_that_it_draws_again<K: Key>(engine: &TestEngine) {
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let sampled = |keys: &[K], sample_bits: u32| {
        let position_bits = keys.len().next_power_of_two().ilog2();
        let cell_bits = sample_bits + 2;
        let input = Buffer::from_slice(device, keys).unwrap();
        let mut cells = Buffer::<u32>::zeroed(device, 1 << cell_bits).unwrap();
        let mut found = Buffer::<u64>::zeroed(device, header::WORDS).unwrap();
        let plan = SampleParams { a: 1, b: 2, keys: keys.len() as u64, position_bits, cell_bits };
        // SAFETY: the buffers are as long as the kernel requires, and 0.
        unsafe {
            stream.launch(1 << sample_bits, |uses| Sample::<K> {
                keys: uses.read(&input),
                cells: uses.write(&mut cells),
                header: uses.write(&mut found),
                plan,
            })
        }
        .unwrap();
        found.download(stream).unwrap()[header::SAMPLED as usize]
    };
    for n in [1, 2, 3, 255, 256, 257, engine.max_items.min(2000)] {
        let _at = at(format!("{n} keys"));
        let keys: Vec<K> = distinct_keys(n, 4);
        let all = n.next_power_of_two().ilog2();
        assert_eq!(sampled(&keys, all), 0);
        // All positions are drawn once, so every copy of a key except one counts.
        assert_eq!(sampled(&vec![K::ALL_ONES; n], all), n as u64 - 1);
        let halved: Vec<K> = (0..n).map(|i| keys[i / 2]).collect();
        assert_eq!(sampled(&halved, all), n as u64 / 2);
        // Only some of the positions are drawn.
        assert_eq!(sampled(&keys, all / 2), 0);
    }
}
