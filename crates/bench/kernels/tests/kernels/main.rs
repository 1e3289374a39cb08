//! Tests of the benchmarks' kernels on every engine.

mod changes;
mod guarded;
mod lookups;
mod roofline;

use warpnest::Module;
use warpnest_tests::TestEngine;

static KERNELS: Module = warpnest::module!("../../ptx/bench");

/// Returns the engines, with the kernels loaded.
fn engines() -> &'static [TestEngine] {
    let engines = warpnest_tests::engines();
    for engine in engines {
        engine.device.load(&KERNELS).unwrap();
    }
    engines
}

/// Returns the error as a property's error.
fn fail(error: warpnest::Error) -> proptest::prelude::TestCaseError {
    proptest::prelude::TestCaseError::fail(error.to_string())
}
