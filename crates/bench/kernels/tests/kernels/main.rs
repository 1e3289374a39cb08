//! The kernels of the benchmarks on every engine.

mod changes;
mod guarded;
mod lookups;
mod roofline;

use warpnest::Module;
use warpnest_tests::TestEngine;

static KERNELS: Module = warpnest::module!("../../ptx/bench");

/// Returns the engines, with the kernels.
fn engines() -> &'static [TestEngine] {
    let engines = warpnest_tests::engines();
    for engine in engines {
        engine.device.load(&KERNELS).unwrap();
    }
    engines
}

/// Returns the error as an error of a property.
fn fail(error: warpnest::Error) -> proptest::prelude::TestCaseError {
    proptest::prelude::TestCaseError::fail(error.to_string())
}
