//! The random numbers of tests. One seed determines all; it is printed when a test fails and can be
//! given again.

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::Cell;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::panic::Location;
use std::sync::LazyLock;

/// Returns the seed of this run: `WARPNEST_SEED`, or another each time. It is printed if a test
/// fails.
///
/// Inputs of properties, interleavings of the interpreter and shuffles of the checking engine
/// follow from it. They follow for each test as if it ran alone.
pub fn seed() -> u64 {
    static SEED: LazyLock<u64> = LazyLock::new(|| {
        let given = std::env::var("WARPNEST_SEED").ok();
        let seed = match given.as_deref().map(str::parse) {
            Some(Ok(seed)) => seed,
            Some(Err(error)) => panic!("WARPNEST_SEED: {error}"),
            None => RandomState::new().hash_one(0) >> 16,
        };
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            before(panic);
            eprintln!("note: the same random numbers come again with WARPNEST_SEED={seed} and this test alone");
        }));
        seed
    });
    *SEED
}

/// Returns a seed for one purpose, which follows from that of the run.
pub fn derived(purpose: impl Hash) -> u64 {
    crate::times::watch();
    let mut hasher = DefaultHasher::new();
    (seed(), purpose).hash(&mut hasher);
    hasher.finish()
}

/// Returns a runner of a property. Its inputs follow from the seed, the calling line, and the
/// number of runners that the thread has made.
#[track_caller]
pub fn property_runner(cases: u32) -> TestRunner {
    thread_local!(static ASKED: Cell<u64> = const { Cell::new(0) });
    ASKED.set(ASKED.get() + 1);
    let purpose = (Location::caller().to_string(), ASKED.get());
    let words: Vec<u8> = (0..4).flat_map(|word| derived((&purpose, word)).to_le_bytes()).collect();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &words))
}
