//! Every error that a user of the cuckoo map can cause, on every engine: its figures, its advice,
//! and the map's state afterwards.
//!
//! `cuckoo/faults.rs` tests device failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use warpnest::design::Arithmetic::{Exact, Wrapping};
use warpnest::design::HashFamily;
use warpnest::error::{BuildError, ConfigError, InputError};
use warpnest::low_level::engine::{Cores, HostEngine, Runner};
use warpnest::low_level::kernels::seam::Kernel;
use warpnest::{Buffer, CuckooConfig, Device, Error};
use warpnest_tests::built::{self, errors, refused};
use warpnest_tests::maps::holds;
use warpnest_tests::{distinct_keys, engines, linear, on_all, parameterized, says};

fn default() -> CuckooConfig {
    CuckooConfig::default().seed(5)
}

warpnest_tests::tests_of! { errors:
    inputs_whose_lengths_differ_are_refused_with_both_lengths(default());
    what_belongs_to_another_device_is_refused_and_leaves_the_map_as_it_was(default());
    a_modulus_that_is_no_prime_is_refused[|family| default().hash(family)];
}

#[parameterized]
fn fewer_than_2_and_more_than_5_functions_are_refused(device: &Device) {
    for asked in [0, 1, 6, u32::MAX] {
        let error = refused(device, &default().functions(asked), 3);
        assert_eq!(error, Error::Config(ConfigError::FunctionCount { asked }));
        says(&error, &[&asked.to_string(), "choose 2 to 5"]);
    }
    for functions in 2..=5 {
        let map = default().functions(functions).slots_per_pair(3.0).build(device, &[9u32], &[1u32]).unwrap();
        assert_eq!(map.table().probe_lengths().unwrap().histogram.len(), functions as usize + 1);
    }
}

#[parameterized]
fn slots_a_pair_that_are_no_size_are_refused(device: &Device) {
    for asked in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.5, 0.0, -0.0, -1.0, 1.0 - f64::EPSILON, 1025.0, 1e9] {
        let error = refused(device, &default().slots_per_pair(asked), 3);
        let Error::Config(ConfigError::SlotsPerPair { asked: figure }) = error else {
            panic!("{asked} gave {error:?}")
        };
        assert_eq!(figure.to_bits(), asked.to_bits());
        says(&error, &[&asked.to_string(), "at least 1 and at most 1024"]);
    }
}

#[parameterized]
fn a_chain_limit_of_0_is_refused(device: &Device) {
    let error = refused(device, &default().chain_limit(0), 3);
    assert_eq!(error, Error::Config(ConfigError::ChainLimit));
    says(&error, &["at least 1", "leave it to the default"]);
    default().chain_limit(1).build(device, &[9u32], &[1u32]).unwrap();
}

#[test]
fn more_slots_than_hash_functions_reach_are_refused() {
    let limit = (1 << 32) - 2;
    on_all(|device| {
        for asked in [limit + 1, 1 << 32, u64::MAX] {
            let error = refused(device, &default().slots(asked), 3);
            assert_eq!(error, Error::Input(InputError::TooManySlots { asked, limit }));
            says(&error, &[&asked.to_string(), &limit.to_string(), "build several tables"]);
        }
        assert_eq!(
            refused(device, &default().slots_per_pair(2e9), 3),
            Error::Input(InputError::TooManySlots { asked: 6_000_000_000, limit })
        );
        assert_eq!(
            refused(device, &default().slots_per_pair(1e300), 3),
            Error::Input(InputError::TooManySlots { asked: u64::MAX, limit })
        );
    });
    let bytes = |config: CuckooConfig, pairs| config.memory_bytes::<u32, u32>(pairs);
    assert_eq!(bytes(default().slots(limit), 3), Ok(8 * limit as usize + 56));
    assert_eq!(
        bytes(default(), 3_500_000_000),
        Err(Error::Input(InputError::TooManySlots { asked: 4_375_000_000, limit }))
    );
    assert!(matches!(bytes(default(), u64::MAX as usize), Err(Error::Input(InputError::TooManySlots { .. }))));
}

#[parameterized]
fn each_number_of_functions_builds_at_its_fewest_slots_and_is_refused_one_slot_below(device: &Device) {
    const PAIRS: u64 = 250;
    let keys: Vec<u64> = distinct_keys(PAIRS as usize, 8);
    for (functions, min_slots, per_pair) in [(2, 525, 2.1), (3, 275, 1.1), (4, 258, 1.03), (5, 255, 1.02)] {
        let config = default().functions(functions).restarts(1000);
        let error = refused(device, &config.clone().slots(min_slots - 1), PAIRS as usize);
        let slots = min_slots - 1;
        assert_eq!(error, Error::Config(ConfigError::LoadTooHigh { pairs: PAIRS, slots, functions, min_slots }));
        says(&error, &["250", &slots.to_string(), &min_slots.to_string(), "more slots", "more functions"]);
        let error = refused(device, &config.clone().slots_per_pair(per_pair - 0.01), PAIRS as usize);
        assert!(matches!(error, Error::Config(ConfigError::LoadTooHigh { .. })), "{error}");

        let mut map = config.clone().slots(min_slots).build(device, &keys, &keys).unwrap();
        holds(&map, &keys, &keys);
        assert_eq!(config.slots_per_pair(per_pair).build(device, &keys, &keys).unwrap().table().slots(), min_slots);
        // A rebuild with too many pairs for the slots is refused, and the map is as it was.
        let more = Buffer::from_slice(device, &distinct_keys::<u64>(PAIRS as usize + 2, 9)).unwrap();
        let error = map.rebuild(&more, &more).unwrap_err();
        let Error::Config(ConfigError::LoadTooHigh { pairs, slots, .. }) = error else { panic!("{error}") };
        assert_eq!((pairs, slots), (PAIRS + 2, min_slots));
        holds(&map, &keys, &keys);
    }
    assert_eq!(
        refused(device, &default().slots(0), 0),
        Error::Config(ConfigError::LoadTooHigh { pairs: 0, slots: 0, functions: 4, min_slots: 1 })
    );
}

/// Checks that the promised 2.1, 1.1, 1.03 and 1.02 slots a pair are accepted, rounded up to whole
/// slots, despite the rounding of binary fractions.
#[test]
fn the_fewest_slots_are_the_promised_number_to_the_slot() {
    for (functions, hundredths) in [(2, 210u64), (3, 110), (4, 103), (5, 102)] {
        for pairs in 1..=1000 {
            let least = (pairs * hundredths).div_ceil(100);
            let bytes = |slots| default().functions(functions).slots(slots).memory_bytes::<u32, u32>(pairs as usize);
            assert_eq!(bytes(least), Ok(8 * least as usize + 56), "{pairs} pairs, {functions} functions");
            assert!(bytes(least - 1).is_err(), "{pairs} pairs, {functions} functions");
        }
    }
}

#[parameterized]
fn a_prime_below_the_number_of_slots_is_refused_and_one_equal_to_it_is_not(device: &Device) {
    let keys: Vec<u64> = (0..200).collect();
    let config = default().hash(linear(257)).restarts(1000);
    let error = refused(device, &config.clone().slots(258), 200);
    assert_eq!(error, Error::Config(ConfigError::PrimeBelowSlots { prime: 257, slots: 258 }));
    says(&error, &["257", "258", "a larger prime", "fewer slots", "the default hash family"]);
    holds(&config.slots(257).build(device, &keys, &keys).unwrap(), &keys, &keys);
}

/// The CPU engine's block runner, which counts the attempts of builds.
#[derive(Debug)]
struct Counting(Arc<AtomicU32>);

// SAFETY: the CPU engine runs the launch, or nothing runs.
unsafe impl Runner for Counting {
    fn name(&self) -> &str {
        "counting CPU"
    }
    unsafe fn run(&self, kernel: &dyn Kernel, blocks: u32) -> warpnest::Result<()> {
        self.0.fetch_add(kernel.name().starts_with("cuckoo_insert") as u32, Relaxed);
        // SAFETY: the caller upholds the contract.
        unsafe { Cores.run(kernel, blocks) }
    }
}

const PRIME: u32 = 334_214_459;

/// Returns `alike` keys that are equal modulo [`PRIME`], spread among 100 other keys.
fn with_keys_alike(alike: u64) -> Vec<u64> {
    let mut keys: Vec<u64> = (0..100).map(|i| 1_000_003 * (i + 1)).collect();
    (0..alike).for_each(|i| keys.insert(9 * i as usize, 40 + i * PRIME as u64));
    keys
}

fn assert_keys_agree(error: Error) {
    says(&error, &["334214459", "wrapping arithmetic", "a larger prime", "the default hash family"]);
    let Error::BuildFailed(BuildError::KeysAgreeModuloPrime { key, prime, functions }) = error else {
        panic!("{error}")
    };
    assert_eq!((key % PRIME as u64, prime, functions), (40, PRIME, 4));
    says(&Error::BuildFailed(BuildError::KeysAgreeModuloPrime { key, prime, functions }), &[&key.to_string()]);
}

#[parameterized]
fn more_keys_than_functions_that_agree_modulo_the_prime_are_told_apart_from_bad_luck(device: &Device) {
    let exact = default().hash(linear(PRIME));
    for alike in [5, 6, 12] {
        let keys = with_keys_alike(alike);
        assert_keys_agree(exact.build(device, &keys, &keys).unwrap_err());
        let narrow: Vec<u32> = keys.iter().map(|&key| key as u32).collect();
        assert_keys_agree(exact.build(device, &narrow, &keys).unwrap_err());
        assert_keys_agree(exact.build(device, &narrow, &narrow).unwrap_err());
        let wrapping = HashFamily::Linear { prime: PRIME, arithmetic: Wrapping };
        for family in [HashFamily::Mix, wrapping, HashFamily::Xor { prime: PRIME, arithmetic: Wrapping }] {
            holds(&default().hash(family).build(device, &keys, &keys).unwrap(), &keys, &keys);
        }
    }
    // Four keys can share four slots, and copies of them do not change that.
    let four = with_keys_alike(4);
    let config = default().hash(linear(PRIME)).restarts(1000).slots_per_pair(3.0);
    let mut map = config.build(device, &four, &four).unwrap();
    holds(&map, &four, &four);
    let repeated: Vec<u64> = four.iter().chain(&[40, 40, 40]).copied().collect();
    holds(&config.build(device, &repeated, &repeated).unwrap(), &four, &four);
    let five = with_keys_alike(5);
    assert_keys_agree(built::rebuild(&mut map, &five, &five).unwrap_err());
}

#[test]
fn keys_that_agree_are_found_after_one_attempt() {
    let attempts = Arc::new(AtomicU32::new(0));
    let device = Device::from_engine(HostEngine::new(Counting(attempts.clone()))).unwrap();
    let keys = with_keys_alike(5);
    for seed in 0..100 {
        let before = attempts.load(Relaxed);
        let config = default().hash(linear(PRIME)).restarts(1000).seed(seed);
        assert_keys_agree(config.build(&device, &keys, &keys).unwrap_err());
        let tried = attempts.load(Relaxed) - before;
        assert_eq!(tried, 1, "attempts with seed {seed}");
    }
}

/// Checks that copies of keys do not count as further keys that are equal modulo the prime: four
/// distinct keys fit four slots, however often they are repeated.
#[test]
fn copies_of_keys_that_agree_are_not_taken_for_more_keys() {
    let devices = || engines().iter().take(2).map(|engine| &engine.device);
    for (seed, device) in (0..200).flat_map(|seed| devices().map(move |device| (seed, device))) {
        // There are three copies of each key, in an order that depends on the seed.
        let mut keys: Vec<u64> = (0..12).map(|i| 40 + i % 4 * PRIME as u64).collect();
        keys.sort_by_cached_key(|key| (key ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(seed as u32));
        keys.rotate_left(seed as usize % 12);
        for chain_limit in [1, 2, 3, 4, 5, 6, 7, 9, 11, 13] {
            let config = default().hash(linear(PRIME)).seed(seed).restarts(3).slots(64).chain_limit(chain_limit);
            match config.build(device, &keys, &keys) {
                Ok(map) => assert_eq!(map.len(), 4),
                Err(error) => assert!(matches!(error, Error::BuildFailed(BuildError::Cuckoo { .. })), "{error}"),
            }
        }
        let map = default().hash(linear(PRIME)).seed(seed).restarts(100).build(device, &keys, &keys).unwrap();
        assert_eq!(map.len(), 4);
    }
}

#[parameterized]
fn families_under_which_no_keys_agree_for_ever_fail_as_builds(device: &Device) {
    // All keys are equal modulo the prime, and a chain limit of 1 makes every attempt fail.
    let keys: Vec<u64> = (0..300).map(|i| 40 + i * PRIME as u64).collect();
    let wrapping = HashFamily::Linear { prime: PRIME, arithmetic: Wrapping };
    let xor = [Exact, Wrapping].map(|arithmetic| HashFamily::Xor { prime: PRIME, arithmetic });
    for family in [HashFamily::Mix, wrapping, xor[0], xor[1]] {
        let error = default().hash(family).chain_limit(1).restarts(3).build(device, &keys, &keys).unwrap_err();
        assert!(matches!(error, Error::BuildFailed(BuildError::Cuckoo { attempts: 4, .. })), "{family:?}: {error}");
    }
}

#[parameterized]
fn a_build_that_fails_says_after_how_many_attempts_and_leaves_an_empty_map(device: &Device) {
    let keys: Vec<u64> = distinct_keys(300, 4);
    for restarts in [0, 3] {
        let config = default().chain_limit(1).restarts(restarts).slots(375);
        let error = config.build(device, &keys, &keys).unwrap_err();
        let attempts = restarts + 1;
        assert_eq!(
            error,
            Error::BuildFailed(BuildError::Cuckoo { attempts, pairs: 300, slots: 375, functions: 4, chain_limit: 1 }),
            "on {}",
            device.name()
        );
        says(
            &error,
            &[&format!("{attempts} attempts"), "300", "375", "more slots", "higher chain limit", "more restarts"],
        );
        let mut map = built::build(device, &config, &keys[..1], &keys[..1]);
        assert_eq!(built::rebuild(&mut map, &keys, &keys).unwrap_err(), error);
        built::rebuild(&mut map, &keys[1..2], &keys[1..2]).unwrap();
    }
}
