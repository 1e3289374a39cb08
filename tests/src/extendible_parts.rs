//! Keys for chosen parts of the range of hashes, for tests of the extendible map.

use gpu_kernels::extendible::{Layout, span};
use warpnest::ExtendibleConfig;
use warpnest::types::WordKey as Key;

/// Returns a configuration of two segments of four buckets with eight records each, so tests can
/// follow each bucket.
pub fn small() -> ExtendibleConfig {
    ExtendibleConfig::default().segments(2).buckets(4).records(8).seed(11)
}

/// Returns `n` different keys that are spread evenly over a part of the range of hashes. Each `0`
/// or `1` of `path` selects a half, starting with the whole root `root`.
pub fn spread<K: Key>(layout: &Layout, root: u64, path: &str, n: usize) -> Vec<K> {
    let (hashes, n) = (hashes(layout, root, path), n as u64);
    assert!(n <= hashes.end - hashes.start, "{n} hashes are not in {hashes:?}");
    let at = |i: u64| hashes.start + (2 * i + 1) * (hashes.end - hashes.start) / (2 * n);
    (0..n).map(|i| key(layout, at(i), i)).collect()
}

/// Returns `n` different keys whose hashes are as close as possible. The hashes of 64-bit keys are
/// equal in all 32 bits; the hashes of other keys are neighbours.
pub fn close<K: Key>(layout: &Layout, root: u64, path: &str, n: usize) -> Vec<K> {
    let first = hashes(layout, root, path).start;
    (0..n as u64).map(|i| key(layout, if K::BITS == 64 { first } else { first + i }, i)).collect()
}

fn hashes(layout: &Layout, root: u64, path: &str) -> std::ops::Range<u64> {
    let depth = path.len() as u32;
    let half = |(number, bit): (usize, char)| if bit == '1' { span(number as u32 + 1) } else { 0 };
    let first = (root << 32) + path.chars().enumerate().map(half).sum::<u64>();
    let [begin, end] = [first, first + span(depth)].map(|hash_position| hash_position.div_ceil(layout.roots as u64));
    begin..end
}

/// Returns the key with index `number` among the keys with a hash.
fn key<K: Key>(layout: &Layout, hash: u64, number: u64) -> K {
    let below = if K::BITS == 64 { number.wrapping_mul(0x0009_e377) & 0xffff_ffff } else { 0 };
    K::from_u64(hash << (K::BITS - 32) | below).unmixed(layout.a, layout.b)
}
