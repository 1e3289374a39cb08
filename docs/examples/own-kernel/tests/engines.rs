//! The kernel on every engine: the CPU, the one that finds conflicts, its PTX in the interpreter,
//! and a GPU if there is one.

use own_kernel::CountWords;
use warpnest::{Buffer, Device, Error, Module, PageMap, Result};

static KERNELS: Module = warpnest::module!("../ptx/own_kernel");

/// Counts `words` by the kernel.
fn counted(device: &Device, keys: &[u64], words: &[u64]) -> Result<Vec<u32>> {
    let numbers: Vec<u32> = (0..keys.len() as u32).collect();
    let map: PageMap<u64, u32> = PageMap::build(device, keys, &numbers)?;
    let (words, mut counts) = (Buffer::from_slice(device, words)?, Buffer::zeroed(device, keys.len())?);
    let stream = device.default_stream();
    // SAFETY: the map's numbers are those of counts; there are `rows` words.
    unsafe {
        stream.launch(words.len(), |uses| CountWords {
            words: uses.read(&words),
            map: uses.table(&map),
            counts: uses.write(&mut counts),
            rows: words.len() as u64,
        })?;
    }
    counts.download(stream)
}

#[test]
fn all_engines_count_what_a_loop_counts() {
    let keys: Vec<u64> = (0..70).map(|key| key * key).collect();
    let words: Vec<u64> = (0..500).map(|row| row * 7 % 300).collect();
    let expected: Vec<u32> = keys.iter().map(|key| words.iter().filter(|word| *word == key).count() as u32).collect();
    for device in warpnest_testing::devices(1) {
        device.load(&KERNELS).unwrap();
        assert_eq!(counted(&device, &keys, &words).unwrap(), expected, "{}", device.name());
    }
}

#[test]
fn without_its_module_a_launch_says_which_one_is_missing() {
    let device = warpnest_testing::interpreting(1);
    let error = counted(&device, &[1], &[1]).unwrap_err();
    assert!(matches!(error, Error::Kernel { .. }) && error.to_string().contains("own-kernel"), "{error}");
}
