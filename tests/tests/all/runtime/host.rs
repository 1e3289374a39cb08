//! The memory of engines on the host: it is aligned, zero at first, and not touched before it is
//! used.

use warpnest::low_level::engine::{Cores, Engine, HostEngine};

/// Sizes around all bounds between the methods by which memory is allocated.
const SIZES: [usize; 9] = [1, 16, 255, 256, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (8 << 20) + 24];

#[test]
fn allocations_are_aligned_and_zero_and_all_of_them_can_be_written() {
    let engine = HostEngine::new(Cores);
    for _ in 0..3 {
        let held = SIZES.map(|bytes| (engine.allocate(bytes).unwrap(), bytes));
        for (address, bytes) in held {
            assert_eq!(address % 256, 0, "{bytes} bytes");
            // SAFETY: the engine's memory is the host's, and nobody else uses these bytes.
            let all = unsafe { std::slice::from_raw_parts_mut(address as *mut u8, bytes) };
            assert!(all.iter().all(|&byte| byte == 0), "{bytes} bytes");
            all.fill(0xa5);
        }
        for (address, bytes) in held {
            // SAFETY: the memory comes from `allocate`, and nothing uses it any more.
            unsafe { engine.free(address, bytes) };
        }
    }
    let error = engine.allocate(usize::MAX).unwrap_err();
    assert!(matches!(error, warpnest::Error::OutOfMemory { asked: u64::MAX, .. }), "{error}");
    engine.allocate(0).unwrap_err();
}

/// Returns the size in bytes of the mapping that contains `address`, and its resident bytes, as
/// Linux reports them.
#[cfg(target_os = "linux")]
fn mapping(address: usize) -> (usize, usize) {
    let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let range = |line: &str| {
        let (first, end) = line.split_whitespace().next()?.split_once('-')?;
        Some(usize::from_str_radix(first, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
    };
    let found = text.lines().skip_while(|line| !range(line).is_some_and(|range| range.contains(&address)));
    let kib = |name: &str| -> usize {
        let line = found.clone().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    (kib("Size:") << 10, kib("Rss:") << 10)
}

/// Checks that the host does not clear a new buffer that will be filled anyway: that would take a
/// second a gigabyte.
#[test]
#[cfg(target_os = "linux")]
fn a_large_allocation_is_not_in_memory_before_it_is_used() {
    let engine = HostEngine::new(Cores);
    let bytes = 64 << 20;
    let address = engine.allocate(bytes).unwrap();
    let (mapped, resident) = mapping(address);
    assert!(mapped - resident >= bytes - (4 << 20), "{resident} bytes of {mapped} are in memory");
    // SAFETY: the memory comes from `allocate`, and nothing uses it.
    unsafe { engine.free(address, bytes) };
}
