//! Tests of modules of other packages. They use the PTX of docs/examples/own-kernel, with a header
//! as if this package had declared the kernel.

use crate::Session;
use gpu_kernels::kernel;
use gpu_kernels::refs::PageRef;
use gpu_kernels::seam::{Block, Global, Kernel};
use std::sync::LazyLock;
use warpnest::{Buffer, Device, Error, Module, PageMap, Result};

pub(crate) const BASELINE: &str = include_str!("../../../../docs/examples/own-kernel/ptx/own_kernel_sm75.ptx");
pub(crate) const HOPPER: &str = include_str!("../../../../docs/examples/own-kernel/ptx/own_kernel_sm90.ptx");

/// Returns a module of PTX texts, with headers that name this package.
pub(crate) fn module(ptx: &[&str]) -> Module {
    let of_this = |ptx: &&str| &*ptx.replacen("from own-kernel.", "from fake-cuda-driver.", 1).leak();
    Module::new(ptx.iter().map(of_this).collect::<Vec<_>>().leak())
}

/// Returns a module whose header names the library's package.
fn library() -> Module {
    Module::new(vec![&*BASELINE.replacen("from own-kernel.", "from gpu-kernels.", 1).leak()].leak())
}

/// The module of both targets, which is equal at each use.
static BOTH: LazyLock<Module> = LazyLock::new(|| module(&[BASELINE, HOPPER]));

kernel! {
    /// Adds each word's weight to the total of its id, if the map contains the word. Uses one
    /// thread per word.
    AddWeights<>, "add_weights", threads 128;
    { words: Global<u64>, weights: Global<f32>, map: PageRef<u64, u32>, totals: Global<f32>, rows: u64 }
}

impl AddWeights {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        block.each_item(self.rows, |row| {
            if let Some(id) = self.map.get(self.words.load_streaming(row)) {
                self.totals.atomic(id as u64).fetch_add(self.weights.load_streaming(row));
            }
        });
    }
}

kernel! {
    /// Is a different kernel with the same name, as after a change of the sources.
    CountOthers<>, "add_weights", threads 128;
    { words: Global<u64>, counts: Global<u32>, rows: u32 }
}

impl CountOthers {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        block.each_item(self.rows as u64, |row| {
            self.counts.atomic(self.words.load(row)).fetch_add(1);
        });
    }
}

kernel! {
    /// Is missing in the PTX.
    CountNone<>, "count_none", threads 128;
    { counts: Global<u32> }
}

impl CountNone {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        block.each_item(1, |row| self.counts.store(row, 0));
    }
}

/// Adds up the weights of three words by the kernel.
pub(crate) fn added(device: &Device) -> Result<Vec<f32>> {
    let map: PageMap<u64, u32> = PageMap::build(device, &[7, 8, u64::MAX], &[0, 1, 2])?;
    let words: Vec<u64> = (0..300).map(|row| [7, 9, u64::MAX, 7][row % 4]).collect();
    let (words, weights) = (Buffer::from_slice(device, &words)?, Buffer::from_slice(device, &[0.5f32; 300])?);
    let mut totals = Buffer::zeroed(device, 3)?;
    let stream = device.default_stream();
    // SAFETY: the map's ids are below 3, and there are `rows` words and `rows` weights.
    unsafe {
        stream.launch(words.len(), |uses| AddWeights {
            words: uses.read(&words),
            weights: uses.read(&weights),
            map: uses.table(&map),
            totals: uses.write(&mut totals),
            rows: words.len() as u64,
        })?;
    }
    totals.download(stream)
}

fn fault(error: &Error) -> &str {
    let Error::Kernel { fault, .. } = error else { panic!("{error}") };
    fault
}

#[test]
fn a_kernel_runs_once_its_module_is_loaded() {
    let session = Session::new();
    for ordinal in [0, 1] {
        let device = session.device(ordinal);
        let error = added(&device).unwrap_err();
        let missing = fault(&error);
        assert!(missing.contains("no module of fake-cuda-driver") && missing.contains("Device::load"), "{error}");
        device.load(&BOTH).unwrap();
        assert_eq!(added(&device), Ok(vec![75.0, 0.0, 37.5]));
        let modules = session.driver.held(ordinal as usize).modules;
        // The module is loaded already.
        device.load(&BOTH).unwrap();
        assert_eq!(added(&device), Ok(vec![75.0, 0.0, 37.5]));
        assert_eq!(session.driver.held(ordinal as usize).modules, modules);
        // Another module of the package replaces the first one, and then the first one replaces the
        // other.
        let baseline = module(&[BASELINE]);
        for (number, module) in [&baseline, &BOTH].into_iter().enumerate() {
            device.load(module).unwrap();
            assert_eq!(added(&device), Ok(vec![75.0, 0.0, 37.5]));
            assert_eq!(session.driver.held(ordinal as usize).modules, modules + 1 + number);
        }
    }
}

#[test]
fn a_module_that_the_device_cannot_take_is_refused_with_what_to_do() {
    let session = Session::new();
    let device = session.device(1);
    for (module, word) in [
        (module(&[HOPPER]), "none of its PTX is for fake device"),
        (Module::new(&[]), "it has no PTX"),
        (library(), "the library's own kernels"),
        (Module::new(&[".version 8.3\n"]), "build it by `cargo warpnest build-ptx`"),
    ] {
        let error = device.load(&module).unwrap_err();
        assert!(matches!(error, Error::Module { .. }) && error.to_string().contains(word), "{error}");
    }
    let error = added(&device).unwrap_err();
    assert!(fault(&error).contains("no module"), "{error}");
}

#[test]
fn ptx_of_other_sources_is_not_launched() {
    let session = Session::new();
    let device = session.device(0);
    device.load(&BOTH).unwrap();
    let (words, mut counts) =
        (Buffer::from_slice(&device, &[0u64]).unwrap(), Buffer::<u32>::zeroed(&device, 1).unwrap());
    // SAFETY: there is a word, and a count for it.
    let others = unsafe {
        device.default_stream().launch(1, |uses| CountOthers {
            words: uses.read(&words),
            counts: uses.write(&mut counts),
            rows: 1,
        })
    };
    let error = others.unwrap_err();
    let said = fault(&error);
    assert!(
        said.contains("[8, 8, 56, 8, 8] bytes there and of [8, 8, 4]")
            && said.contains("run `cargo warpnest build-ptx`"),
        "{error}"
    );
    // SAFETY: there is a count.
    let none = unsafe { device.default_stream().launch(1, |uses| CountNone { counts: uses.write(&mut counts) }) };
    let error = none.unwrap_err();
    assert!(
        fault(&error).contains("no entry point") && fault(&error).contains("`cargo warpnest build-ptx`"),
        "{error}"
    );
    assert_eq!(added(&device), Ok(vec![75.0, 0.0, 37.5]));
    // The entry point is now loaded by the kernel for which it was compiled.
    // SAFETY: there is a word, and a count for it.
    let others = unsafe {
        device.default_stream().launch(1, |uses| CountOthers {
            words: uses.read(&words),
            counts: uses.write(&mut counts),
            rows: 1,
        })
    };
    assert!(fault(&others.unwrap_err()).contains("[8, 8, 4]"));
}

#[test]
fn every_kernel_knows_the_package_that_declares_it() {
    assert_eq!(AddWeights::ENTRY.package, "fake-cuda-driver");
    assert_eq!(gpu_kernels::primitives::iota::Iota::ENTRY.package, gpu_kernels::PACKAGE);
    // SAFETY: nothing accesses the pointer.
    let counts = unsafe { Global::null() };
    assert_eq!(CountNone { counts }.entry().package, "fake-cuda-driver");
}
