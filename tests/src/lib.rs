//! Shared parts of the property tests: the engines that they run on, and inputs worth trying.
//!
//! The same tests of every table run on
//! * the CPU engine's block runner, with pages as on a GPU (properties also run on the CPU engine
//!   itself, whose pages are larger),
//! * the checking engine, which runs the threads of a phase in shuffled order and fails if they
//!   conflict within the phase,
//! * the committed PTX in the interpreter, with threads interleaved at random, for both targets,
//! * the first CUDA device, if there is one.
//!
//! `WARPNEST_REQUIRE_CUDA=1` makes the absence of a CUDA device a failure. With
//! `WARPNEST_ONLY_CUDA=1` there is no other engine, and there are fewer cases. This is for
//! compute-sanitizer, under which the interpreter would take nearly all of the time.
//!
//! Kernels whose code is the same for both targets are interpreted for only one of them, unless
//! `WARPNEST_THOROUGH=1` is set. All random numbers follow from one seed ([`random::seed`]).
//!
//! `built`, `changing` and `sets` contain the tests that several tables share. The files
//! `…_checker` read a table's words with decoders of their own. `faults` and `limited` are devices
//! that fail, `files` and `mutations` are for saved tables, `pages` and `page_batches` are for the
//! first pages of large tables, and `forms` is for tables under other tables.

mod blocks;
pub mod built;
pub mod changing;
pub mod coverage;
pub mod cuckoo_checker;
pub mod cuckoos;
pub mod extendible_checker;
pub mod extendible_parts;
mod faults;
pub mod files;
pub mod forms;
pub mod limited;
pub mod linear_checker;
pub mod maps;
pub mod mutations;
pub mod page_batches;
pub mod page_checker;
pub mod page_words;
pub mod pages;
pub mod random;
pub mod rows;
pub mod sets;
mod settings;
pub mod sorted_checker;
mod times;
pub mod watch;

pub use faults::{Counts, assert_wrong_device, counting, elsewhere, failing, faulty, only};
pub use settings::{is_thorough, only_cuda};
pub use warpnest_testing::checked::CheckedRunner;
pub use warpnest_testing::interpreted::PtxRunner;
pub use warpnest_testing::planted;
pub use warpnest_tests_macros::parameterized;

use blocks::Blocks;
use gpu_kernels::relational::keys::{EncodeKeys, EncodeParams};
use gpu_kernels::seam::Global;
use proptest::prelude::*;
use random::{derived, run_property};
use std::sync::LazyLock;
use warpnest::design::{Arithmetic, HashFamily};
use warpnest::error::InputError;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, Error};
use warpnest_testing::on;

/// An engine under test.
#[derive(Debug)]
pub struct TestEngine {
    /// The device on which tables are built.
    pub device: Device,
    /// The most items that a test should use, because the interpreter runs only a few million
    /// instructions a second.
    pub max_items: usize,
    /// The count of cases of a property.
    pub cases: u32,
    /// Whether a single host thread runs the threads of a block one after the other, in their
    /// order.
    pub in_turn: bool,
}

/// Returns the engines of this machine.
///
/// Each thread has its own engines, and each test has a thread. So no test waits for another test's
/// launches or reaches its memory, and schedules do not depend on concurrent tests.
pub fn engines() -> &'static [TestEngine] {
    thread_local!(static ENGINES: &'static [TestEngine] = Vec::leak(new_engines()));
    times::watch();
    ENGINES.with(|engines| *engines)
}

fn new_engines() -> Vec<TestEngine> {
    coverage::report_at_exit();
    for digest in warpnest::low_level::ptx::replaced() {
        eprintln!("PTX of a file beside the program: {}", digest.trim_start_matches("// "));
    }
    let mut engines = if only_cuda() { Vec::new() } else { engines_of_the_host() };
    // Under a tool that checks every access, a launch takes a hundred times longer.
    let (max_items, cases) = if only_cuda() { (1 << 16, cases(10, 40)) } else { (1 << 20, cases(400, 1600)) };
    match Device::cuda(0) {
        Ok(device) => engines.push(TestEngine { device, max_items, cases, in_turn: false }),
        Err(error) if only_cuda() || std::env::var_os("WARPNEST_REQUIRE_CUDA").is_some() => {
            panic!("CUDA is required: {error}")
        }
        Err(error) => eprintln!("not tested on CUDA: {error}"),
    }
    engines
}

fn engines_of_the_host() -> Vec<TestEngine> {
    let baseline = if is_thorough() { PtxRunner::baseline } else { PtxRunner::baseline_where_it_differs };
    vec![
        TestEngine { device: on(Blocks), max_items: 100_000, cases: cases(30, 240), in_turn: true },
        TestEngine {
            device: on(CheckedRunner::new(derived("shuffles"))),
            max_items: 2_000,
            cases: cases(30, 240),
            in_turn: false,
        },
        TestEngine { device: on(baseline(derived("baseline"))), max_items: 300, cases: cases(24, 96), in_turn: false },
        TestEngine {
            device: on(PtxRunner::hopper(derived("hopper"))),
            max_items: 300,
            cases: cases(24, 96),
            in_turn: false,
        },
    ]
}

/// Returns the count of cases of a property: `usual`, or `thorough` if tests are to be thorough,
/// multiplied by `WARPNEST_CASE_FACTOR`.
fn cases(usual: u32, thorough: u32) -> u32 {
    let factor = std::env::var("WARPNEST_CASE_FACTOR").ok().and_then(|factor| factor.parse().ok()).unwrap_or(1);
    factor * if is_thorough() { thorough } else { usual }
}

/// Returns the CPU engine itself, whose pages are larger, or `None` if CUDA must be the only
/// engine. Properties run on it, too.
pub fn the_cpu_engine() -> Option<&'static TestEngine> {
    static CPU: LazyLock<TestEngine> = LazyLock::new(|| TestEngine {
        device: Device::cpu(),
        max_items: 100_000,
        cases: cases(60, 800),
        in_turn: true,
    });
    (!only_cuda()).then(|| &*CPU)
}

/// Runs `test` on every engine.
pub fn on_each_engine(test: impl Fn(&TestEngine)) {
    each_engine(&test);
}

fn each_engine(test: &dyn Fn(&TestEngine)) {
    for engine in engines() {
        let _at = at(engine.device.name());
        test(engine);
    }
}

/// Runs `test` on the device of every engine.
pub fn on_all(test: impl Fn(&Device)) {
    on_each_engine(|engine| test(&engine.device));
}

/// A description of what a test checks, which is printed if the test fails there.
#[derive(Debug)]
#[must_use]
pub struct Where(String);

/// Sets the description of what a test checks, until the returned value is dropped.
pub fn at(description: impl Into<String>) -> Where {
    Where(description.into())
}

impl Drop for Where {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("where: {}", self.0);
        }
    }
}

/// Runs `property` on every engine with inputs from the strategy that `inputs` returns for the
/// engine.
#[track_caller]
pub fn on_every_engine<S: Strategy<Value: 'static> + 'static>(
    inputs: impl Fn(&TestEngine) -> S,
    property: impl Fn(&TestEngine, S::Value) -> Result<(), TestCaseError>,
) {
    on_those(engines().iter().chain(the_cpu_engine()), inputs, property);
}

/// Runs `property` on some engines with inputs from the strategy that `inputs` returns for each
/// engine.
#[track_caller]
pub fn on_those<'e, S: Strategy<Value: 'static> + 'static>(
    engines: impl IntoIterator<Item = &'e TestEngine>,
    inputs: impl Fn(&TestEngine) -> S,
    property: impl Fn(&TestEngine, S::Value) -> Result<(), TestCaseError>,
) {
    for engine in engines {
        if let Err(failure) = run_property(engine.cases, inputs(engine), |input| property(engine, input)) {
            panic!("on {}: {failure}", engine.device.name());
        }
    }
}

/// Expands to tests of a property of maps: one test for each width of keys and values.
#[macro_export]
macro_rules! of_all_widths {
    ($property:ident) => {
        #[test]
        fn keys_32_values_32() {
            $property::<u32, u32>();
        }
        #[test]
        fn keys_32_values_64() {
            $property::<u32, u64>();
        }
        #[test]
        fn keys_64_values_32() {
            $property::<u64, u32>();
        }
        #[test]
        fn keys_64_values_64() {
            $property::<u64, u64>();
        }
    };
}

/// Calls a function once for each width of keys and values; the key and value types are its last
/// type arguments.
#[macro_export]
macro_rules! in_all_widths {
    ($function:ident $(::<$first:ty>)? ($($argument:expr),*)) => {
        $function::<$($first,)? u32, u32>($($argument),*);
        $function::<$($first,)? u32, u64>($($argument),*);
        $function::<$($first,)? u64, u32>($($argument),*);
        $function::<$($first,)? u64, u64>($($argument),*);
    };
}

/// Calls a function once for each width of keys without values, as a set has them; `Nothing` is its
/// last type argument.
#[macro_export]
macro_rules! keys_alone_in_all_widths {
    ($function:ident ()) => {
        $function::<u32, ::gpu_kernels::types::Nothing>();
        $function::<u64, ::gpu_kernels::types::Nothing>();
    };
}

/// Expands to tests of single kernels: one test with pairs and one with keys alone, so a failure
/// tells which of the two is wrong.
#[macro_export]
macro_rules! of_pairs_and_keys_alone {
    ($function:ident) => {
        #[test]
        fn pairs_of_every_width() {
            $crate::in_all_widths!($function());
        }
        #[test]
        fn keys_alone() {
            $crate::keys_alone_in_all_widths!($function());
        }
    };
}

/// Returns a strategy for keys: keys from a small range, which repeat, extremes, powers of two, and
/// any keys.
pub fn key<K: Key>() -> impl Strategy<Value = K> {
    // `prop_oneof` would keep a random number generator for each value, and inputs have many
    // thousand keys.
    (0..14u32, any::<u64>()).prop_map(|(kind, word)| match kind {
        0..6 => K::from_u64(word % 64),
        6 => K::from_u64(1 << (word % K::BITS as u64)),
        7 => K::ALL_ONES,
        _ => K::from_u64(word),
    })
}

/// Returns `n` different keys that follow from `seed`, not sorted.
pub fn distinct_keys<K: Key>(n: usize, seed: u64) -> Vec<K> {
    each_distinct_key(seed).take(n).collect()
}

/// Returns all keys of the type, each once, in an order that follows from `seed`.
pub fn each_distinct_key<K: Key>(seed: u64) -> impl Iterator<Item = K> {
    times::watch();
    let mask = if K::BITS == 32 { u32::MAX as u64 } else { u64::MAX };
    // An odd multiplier and an addition are a bijection of the words, so different indices give
    // different keys.
    let multiplier = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xda94_2042_e4dd_58b5) | 1;
    (0..u64::MAX).map(move |i| K::from_u64(i.wrapping_add(seed).wrapping_mul(multiplier) & mask))
}

/// Returns `n` values; value `i` has `i` in all of its words.
pub fn values<V: Value>(n: usize) -> Vec<V> {
    (0..n as u64).map(|i| V::from_u64(i.wrapping_mul(0x1_0000_0001))).collect()
}

/// Returns the linear hash family modulo a prime, in exact arithmetic.
pub fn linear(prime: u32) -> HashFamily {
    HashFamily::Linear { prime, arithmetic: Arithmetic::Exact }
}

/// Returns a strategy for hash families of any kind, with primes from the papers.
pub fn family() -> impl Strategy<Value = HashFamily> {
    let arithmetic = prop_oneof![Just(Arithmetic::Exact), Just(Arithmetic::Wrapping)];
    let prime = prop_oneof![Just(334_214_459), Just(4_294_967_291), Just(1_900_813)];
    prop_oneof![
        2 => Just(HashFamily::Mix),
        1 => (prime.clone(), arithmetic.clone()).prop_map(|(prime, arithmetic)| HashFamily::Linear { prime, arithmetic }),
        1 => (prime, arithmetic).prop_map(|(prime, arithmetic)| HashFamily::Xor { prime, arithmetic }),
    ]
}

/// Fails unless the error's text contains all of `words`.
pub fn says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{text:?} should say {words:?}");
}

/// Fails unless the error says that two lengths differ, and names both.
pub fn assert_lengths(error: Error, first: (&str, u64), second: (&str, u64)) {
    says(&error, &[first.0, &first.1.to_string(), second.0, &second.1.to_string(), "must be equally long"]);
    let Error::Input(InputError::LengthsDiffer { first_length, second_length, .. }) = error else {
        panic!("{error:?}")
    };
    assert_eq!((first_length, second_length), (first.1, second.1));
}

/// Returns a null array, for launch arguments that are not used.
pub fn null<T>() -> Global<T> {
    // SAFETY: tests pass it only where the kernel's contract allows null, or where no thread does
    // any work.
    unsafe { Global::null() }
}

/// Returns the arguments of a kernel that copies words, one per thread.
pub fn copy_words(source: Global<u64>, target: Global<u64>, words: u64) -> EncodeKeys<u64> {
    let plan = EncodeParams { items: words, flip_before: 0, flip_after: 0, rotate: 0, padding: 0 };
    EncodeKeys { keys: source, upper: null(), output: target, plan }
}
