//! The kernel on every engine: the CPU, the one that finds conflicts, its PTX in the interpreter,
//! and a GPU if there is one.

use own_kernel::AddWeights;
use warpnest::{Buffer, Device, Error, Module, PageMap, Result};

static KERNELS: Module = warpnest::module!("../ptx/own_kernel");

/// Adds up the weights of `words` by the kernel.
fn added(device: &Device, keys: &[u64], words: &[u64], weights: &[f32]) -> Result<Vec<f32>> {
    let ids: Vec<u32> = (0..keys.len() as u32).collect();
    let map: PageMap<u64, u32> = PageMap::build(device, keys, &ids)?;
    let (words, weights) = (Buffer::from_slice(device, words)?, Buffer::from_slice(device, weights)?);
    let mut totals = Buffer::zeroed(device, keys.len())?;
    let stream = device.default_stream();
    // SAFETY: the map's ids are those of totals; there are `rows` words, and as many weights.
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

#[test]
fn all_engines_add_what_a_loop_adds() {
    let keys: Vec<u64> = (0..70).map(|key| key * key).collect();
    let words: Vec<u64> = (0..500).map(|row| row * 7 % 300).collect();
    // Quarters, so that sums are the same in any order.
    let weights: Vec<f32> = (0..500).map(|row| (row % 13) as f32 / 4.0 - 1.0).collect();
    let total = |key| words.iter().zip(&weights).filter(|(word, _)| *word == key).map(|(_, weight)| weight).sum();
    let expected: Vec<f32> = keys.iter().map(total).collect();
    for device in warpnest_testing::devices(1) {
        device.load(&KERNELS).unwrap();
        assert_eq!(added(&device, &keys, &words, &weights).unwrap(), expected, "{}", device.name());
    }
}

#[test]
fn without_its_module_a_launch_says_which_one_is_missing() {
    let device = warpnest_testing::interpreting(1);
    let error = added(&device, &[1], &[1], &[1.0]).unwrap_err();
    assert!(matches!(error, Error::Kernel { .. }) && error.to_string().contains("own-kernel"), "{error}");
}
