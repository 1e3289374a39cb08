//! Tests that the committed PTX is clean, complete and as documented, and that the interpreter that
//! runs it can fail.

use super::kernels::{entries, wide_linear};
use gpu_kernels::seam::{Entry, Kernel};
use ptx_tools::{Fault, Module, Regions, Schedule};
use std::collections::BTreeSet;
use warpnest::low_level::engine::{HostEngine, Runner};
use warpnest::low_level::ptx::{baseline, hopper};
use warpnest::{CuckooConfig, Device, Error, PageConfig, Result};
use warpnest_tests::{PtxRunner, distinct_keys};

#[test]
fn the_lint_finds_nothing() {
    for ptx in [baseline(), hopper()] {
        assert_eq!(ptx_tools::lint(ptx), []);
    }
    assert_ne!(ptx_tools::lint(&baseline().replace("ld.global", "ld")), [], "the lint can find something");
}

#[test]
fn targets_and_versions_are_as_documented() {
    let documented = include_str!("../../../../docs/toolchain.md");
    for (ptx, target, version, flag) in [(baseline(), "sm_75", "7.4", "+ptx74"), (hopper(), "sm_90", "8.3", "+ptx83")] {
        let module = Module::parse(ptx).unwrap();
        assert_eq!((module.target.as_str(), module.version.as_str()), (target, version));
        assert!(documented.contains(target) && documented.contains(version));
        let header = |name: &str| {
            let line = ptx.lines().take(6).find_map(|line| line.strip_prefix(&format!("// {name}: ")));
            line.unwrap_or_else(|| panic!("the header of {target} has no {name}"))
        };
        assert!(header("flags").contains(&format!("-Ctarget-cpu={target}")) && header("flags").contains(flag));
        assert!(header("flags").contains("-Zmir-enable-passes=-JumpThreading"));
        assert!(header("compiler").starts_with("rustc "));
        let digest = header("sources-sha256");
        assert!(digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{digest}");
    }
}

#[test]
fn every_kernel_has_its_entry_and_every_entry_its_kernel() {
    for ptx in [baseline(), hopper()] {
        let names: BTreeSet<&str> = entries(ptx).iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), entries(ptx).len(), "two kernels have one name");
        let module = Module::parse(ptx).unwrap();
        let compiled: BTreeSet<&str> = module.entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(compiled, names);
        assert_eq!(compiled.len(), module.entries.len());
    }
}

/// Checks that the driver receives each kernel as a separate module.
#[test]
fn every_kernel_is_a_module_by_itself() {
    for ptx in [baseline(), hopper()] {
        let whole = Module::parse(ptx).unwrap();
        assert_eq!(warpnest::low_level::ptx::kernels(ptx).collect::<BTreeSet<_>>().len(), whole.entries.len());
        let mut bytes = 0;
        for kernel in warpnest::low_level::ptx::kernels(ptx) {
            let text = warpnest::low_level::ptx::module_of(ptx, kernel).unwrap();
            assert_eq!(ptx_tools::lint(&text), []);
            let module = Module::parse(&text).unwrap();
            assert_eq!(module.entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), [kernel]);
            assert_eq!((&module.target, &module.version), (&whole.target, &whole.version));
            bytes += text.len() - text.find(".visible .entry").unwrap();
        }
        assert_eq!(bytes, ptx.len() - ptx.find(".visible .entry").unwrap(), "every line is in one of them");
        assert_eq!(warpnest::low_level::ptx::module_of(ptx, "no_such_kernel"), None);
    }
}

/// Checks the loads of 128-bit words. Two registers that are loaded separately may have words of
/// different moments.
#[test]
fn words_of_128_bits_that_others_change_are_loaded_as_one() {
    assert!(!baseline().contains("b128"));
    for name in wide_linear().iter().map(|entry| entry.name) {
        let text = warpnest::low_level::ptx::module_of(hopper(), name).unwrap();
        assert!(!text.contains("ld.relaxed.gpu.global.v2"), "{name}");
        let (loads, changes) = (text.contains("ld.relaxed.gpu.global.b128"), text.contains("cas.b128"));
        assert_eq!(loads, changes, "{name}");
        assert_eq!(changes, ["apply", "combine", "insert", "rehash"].iter().any(|kind| name.contains(kind)), "{name}");
    }
}

#[test]
fn parameters_in_the_ptx_are_the_arguments_of_the_kernels() {
    for ptx in [baseline(), hopper()] {
        let module = Module::parse(ptx).unwrap();
        for &Entry { name, threads, parameters, .. } in entries(ptx) {
            let entry = module.entry(name).unwrap();
            let given: Vec<usize> = parameters.iter().map(|&(_, size)| size).collect();
            let expected: Vec<usize> = entry.params.iter().map(|param| param.size).collect();
            assert_eq!(given, expected, "{name}");
            // Each argument is copied to an offset that follows from its alignment, which is at
            // most 8.
            assert!(entry.params.iter().all(|param| param.align <= 8));
            assert!(entry.max_threads.is_none_or(|most| threads == most), "{name}");
            assert!(entry.shared_bytes <= 48 << 10, "{name}: more needs an attribute of the function");
        }
    }
}

#[test]
fn the_interpreter_knows_every_instruction() {
    for ptx in [baseline(), hopper()] {
        let module = Module::parse(ptx).unwrap();
        for &Entry { name, threads, parameters, .. } in entries(ptx) {
            let zeros: Vec<Vec<u8>> = parameters.iter().map(|&(_, size)| vec![0; size]).collect();
            let arguments: Vec<&[u8]> = zeros.iter().map(Vec::as_slice).collect();
            let done = module.launch(name, 1, threads, &arguments, &Regions::new(), Schedule::default());
            // All instructions of an entry are parsed before it runs. If all arguments are zeros,
            // most kernels have nothing to do. Some kernels read memory that does not exist, or
            // trap at a size of 0, which no table has.
            let is_known = matches!(done, Ok(()) | Err(Fault::OutOfBounds { .. } | Fault::Trap { .. }));
            assert!(is_known, "{done:?}");
        }
    }
}

/// An interpreter that reports allocations of one size as shorter than they are.
#[derive(Debug)]
struct CutShort {
    inner: PtxRunner,
    bytes: usize,
    by: usize,
}

// SAFETY: the interpreter runs the launch.
unsafe impl Runner for CutShort {
    fn name(&self) -> &str {
        "cut short"
    }
    unsafe fn run(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        // SAFETY: the caller upholds the contract.
        unsafe { self.inner.run(kernel, blocks) }
    }
    fn allocated(&self, address: usize, bytes: usize) {
        self.inner.allocated(address, if bytes == self.bytes { bytes - self.by } else { bytes });
    }
    fn freed(&self, address: usize) {
        self.inner.freed(address);
    }
}

#[test]
fn an_access_beyond_a_buffer_is_an_error_that_names_the_kernel() {
    let keys: Vec<u32> = distinct_keys(300, 2);
    let values: Vec<u64> = vec![1; 300];
    // These cut off the last slot, the last key, the last value, and all of the header except the
    // cell of the all-ones key.
    let cuts =
        [(16 * 401, 16, "cuckoo_"), (1200, 4, "cuckoo_insert"), (2400, 8, "cuckoo_store"), (56, 40, "cuckoo_insert")];
    for (bytes, by, kernel) in cuts {
        for runner in [PtxRunner::baseline, PtxRunner::hopper] {
            let build = |by| {
                let device = Device::from_engine(HostEngine::new(CutShort { inner: runner(5), bytes, by })).unwrap();
                let map = CuckooConfig::default().seed(1).slots(401).build(&device, &keys, &values)?;
                map.get_many(&[u32::MAX])
            };
            assert_eq!(build(0), Ok(vec![None]));
            let error = build(by).unwrap_err();
            let Error::Kernel { kernel: found, fault } = &error else { panic!("{error:?}") };
            assert!(
                found.starts_with(kernel) && fault.contains("out of bounds") && fault.contains("global"),
                "{error}"
            );
        }
    }
}

#[test]
fn an_access_of_the_page_map_beyond_a_buffer_is_an_error_that_names_the_kernel() {
    let keys: Vec<u32> = distinct_keys(301, 2);
    let values: Vec<u64> = vec![1; 301];
    // There are four pages, so the pairs are split.
    let config = PageConfig::default().seed(1).load(301.0 * 12.0 / (5.0 * 300.0 * 64.0));
    for config in [config.clone(), config.assume_unique()] {
        let table = config.memory_bytes::<u32, u64>(301).unwrap();
        let scratch = config.scratch_bytes::<u32, u64>(301).unwrap();
        // These cut off the last key, the last value, the last bucket's last values, and most of
        // the scratch.
        let inputs = [(1204, 4, "page_split"), (2408, 8, "page_split")];
        let others = [(table, 16, "page_build"), (scratch, scratch - scratch / 8, "page_")];
        for (bytes, by, kernel) in inputs.into_iter().chain(others) {
            for runner in [PtxRunner::baseline, PtxRunner::hopper] {
                let build = |by| {
                    let device =
                        Device::from_engine(HostEngine::new(CutShort { inner: runner(5), bytes, by })).unwrap();
                    let map = config.build(&device, &keys, &values)?;
                    map.get_many(&[keys[300]])
                };
                assert_eq!(build(0), Ok(vec![Some(1)]));
                let error = build(by).expect_err(&format!("{by} of {bytes} bytes are missing"));
                let Error::Kernel { kernel: found, fault } = &error else { panic!("{error:?}") };
                assert!(
                    found.starts_with(kernel) && fault.contains("out of bounds") && fault.contains("global"),
                    "{bytes} bytes: {error}"
                );
            }
        }
    }
}
