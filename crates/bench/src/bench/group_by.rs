//! Benchmarks of group-by of many groups by hashing.

use super::input::key;
use super::record::{Record, Subject};
use super::roofline::median_ms;
use super::{Bench, is_cpu};
use std::sync::atomic::{AtomicU64, Ordering};
use warpnest::low_level::group_by_hash;
use warpnest::low_level::kernels::relational::column::ColumnParams;
use warpnest::primitives::Scratch;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Stream};

/// The constants of the mix, and of the input.
const CONSTANTS: [u64; 2] = [0x0123_4567_89ab_cdef, 0x0edc_ba98_7654_3210];

/// The binary logarithms of the numbers of groups.
const GROUPS: [u32; 6] = [15, 17, 20, 22, 23, 25];

/// Sums `n` values by keys of 2^15 to 2^25 groups, and by as many keys as rows: the operation is
/// the number of groups. Every sum is checked.
///
/// The limit is a copy of as many bytes as are read once, written and read again between the passes
/// over the rows, and written for the groups. There is one pass over the rows before the last for
/// up to 2^20 groups, otherwise two.
pub fn measure<K: Key, V: Value>(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    let few = GROUPS.into_iter().map(|lg| 1u64 << lg).filter(|&groups| groups < at.n);
    few.chain([at.n]).map(|groups| of_groups::<K, V>(&at, groups)).collect()
}

fn of_groups<K: Key, V: Value>(at: &Bench<'_>, groups: u64) -> anyhow::Result<Record> {
    let Bench { device, run, roofline, n, runs } = *at;
    let stream: &Stream = device.default_stream();
    let group = |row: u64| if groups == n { row } else { ((random(row) as u128 * groups as u128) >> 64) as u64 };
    let value = |row: u64| V::from_u64(random(!row) | 1);
    let sums: Vec<AtomicU64> = (0..groups).map(|_| AtomicU64::new(0)).collect();
    let (mut keys, mut values) = (vec![K::default(); n as usize], vec![V::default(); n as usize]);
    // Threads share the rows: there are many.
    let a_thread = n.div_ceil(std::thread::available_parallelism()?.get() as u64);
    std::thread::scope(|scope| {
        let chunks = keys.chunks_mut(a_thread as usize).zip(values.chunks_mut(a_thread as usize));
        for ((keys, values), first) in chunks.zip((0..).step_by(a_thread as usize)) {
            let sums = &sums;
            scope.spawn(move || {
                for ((key_of_row, value_of_row), row) in keys.iter_mut().zip(values).zip(first..) {
                    (*key_of_row, *value_of_row) = (key(group(row)), value(row));
                    sums[group(row) as usize].fetch_add(value(row).to_u64(), Ordering::Relaxed);
                }
            });
        }
    });
    // No sum of values is 0, so a group whose sum is has no rows.
    let sums = (0..groups).zip(sums).map(|(group, sum)| (key::<K>(group), sum.into_inner()));
    let sums: Vec<(K, u64)> = sums.filter(|&(_, sum)| sum != 0).collect();
    let (found_groups, expected) = (sums.len() as u64, checksum(sums.into_iter()));
    let (keys, values) = (Buffer::from_slice(device, &keys)?, Buffer::from_slice(device, &values)?);
    let mut scratch = Scratch::new(device);
    let mut keys_out = Buffer::<K>::zeroed(device, groups as usize)?;
    let mut sums_out = Buffer::<u64>::zeroed(device, groups as usize)?;
    let mut found = None;
    let warm_ups = if is_cpu(device) { 1 } else { 2 };
    let ms = median_ms(stream, warm_ups, runs, || {
        let out = (&mut keys_out, None, Some(&mut sums_out), None, None);
        let (guess, column) = ((groups, &[][..]), ColumnParams::unsigned());
        found = group_by_hash::<K, V>(stream, &mut scratch, &keys, Some(&values), guess, CONSTANTS, column, out)?;
        Ok(())
    })?;
    let (keys_out, sums_out) = (keys_out.download(stream)?, sums_out.download(stream)?);
    let written = keys_out.into_iter().zip(sums_out).take(found_groups as usize);
    let right = found == Some(found_groups) && checksum(written) == expected;
    drop((keys, values, scratch));

    let row_bytes = (K::BITS + V::BITS) as u64 / 8;
    let passes = if groups <= 1 << 20 { 3 } else { 5 };
    let group_bytes = (K::BITS / 8 + 8) as u64;
    let copy = roofline.copies(n, K::BITS + V::BITS)?;
    let limit = copy.gops(passes * n * row_bytes + groups * group_bytes);
    let op = format!("groups_{groups}");
    let subject =
        Subject { table: "group_by".to_owned(), op: &op, n, load: 0.0, key_bits: K::BITS, value_bits: V::BITS };
    Ok(run.record(subject, ms, limit, if right { 0 } else { groups }))
}

/// Returns a sum over the groups that does not depend on their order.
fn checksum<K: Key>(groups: impl Iterator<Item = (K, u64)>) -> u64 {
    groups.fold(0, |sum, (key, of_key)| sum.wrapping_add(random(key.to_u64() ^ random(of_key))))
}

/// Returns a word that looks random: the finalizer of SplitMix64 (Steele et al., 2014).
fn random(number: u64) -> u64 {
    let mut x = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
