//! The random numbers of tests. They follow from one seed, which is printed when a test fails and
//! can be set again.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::any::Any;
use std::cell::Cell;
use std::fmt::{self, Debug};
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::panic::Location;
use std::sync::LazyLock;

/// Returns the seed of this run: `WARPNEST_SEED`, or a different seed in each run. It is printed if
/// a test fails.
///
/// The inputs of properties, the interleavings of the interpreter and the shuffles of the checking
/// engine follow from it. Other tests do not change them.
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

/// Returns a seed for one purpose, which follows from the run's seed.
pub fn derived(purpose: impl Hash) -> u64 {
    crate::times::watch();
    let mut hasher = DefaultHasher::new();
    (seed(), purpose).hash(&mut hasher);
    hasher.finish()
}

/// Runs a property with inputs from a strategy. The inputs follow from the seed, the calling line,
/// and the count of properties that the thread has run. Returns what is wrong with the smallest
/// input that fails.
#[track_caller]
pub fn run_property<S: Strategy<Value: 'static> + 'static>(
    cases: u32,
    inputs: S,
    property: impl Fn(S::Value) -> Result<(), TestCaseError>,
) -> Result<(), String> {
    let inputs = inputs.prop_map(|input| AnyInput(Box::new(input))).boxed();
    run(property_runner(cases), &inputs, &|input| {
        let input: Box<dyn Any> = input.0;
        property(*input.downcast().expect("it is an input of this strategy"))
    })
}

/// An input of any property. With a single type of input, proptest is compiled only once.
struct AnyInput(Box<dyn Input>);

impl Debug for AnyInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

trait Input: Any + Debug {}

impl<T: Any + Debug> Input for T {}

fn run(
    mut runner: TestRunner,
    inputs: &BoxedStrategy<AnyInput>,
    property: &dyn Fn(AnyInput) -> Result<(), TestCaseError>,
) -> Result<(), String> {
    runner.run(inputs, property).map_err(|failure| failure.to_string())
}

#[track_caller]
fn property_runner(cases: u32) -> TestRunner {
    thread_local!(static ASKED: Cell<u64> = const { Cell::new(0) });
    ASKED.set(ASKED.get() + 1);
    let purpose = (Location::caller().to_string(), ASKED.get());
    let words: Vec<u8> = (0..4).flat_map(|word| derived((&purpose, word)).to_le_bytes()).collect();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &words))
}
