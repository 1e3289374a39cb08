//! Rows that several cores process: answers must not depend on the count of cores.

use super::hashers::HASHERS;
use super::reference::{Reference, batches_are_right, map_is_right, unique_is_right};
use rayon::ThreadPoolBuilder;
use std::time::Instant;
use warpnest::Device;
use warpnest::strings::{RandomState, StringConfig};
use warpnest_tests::at;

/// Sizes around the fewest rows of a chunk (16,384), and of several chunks.
const SIZES: [usize; 8] = [0, 1, 16_383, 16_385, 32_767, 32_769, 49_153, 140_000];

fn right(what: &str, rows: &[Vec<u8>]) {
    let reference = Reference::of(rows);
    for threads in [1, 2, 3, 8] {
        let _at = at(format!("{} rows, {what}, {threads} threads", rows.len()));
        ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            unique_is_right(&Device::cpu(), rows, &reference, &RandomState::default());
            for hasher in HASHERS {
                unique_is_right(&Device::cpu(), rows, &reference, &hasher);
            }
        });
    }
    batches_are_right(&Device::cpu(), rows, 40_000, &RandomState::default());
    map_is_right(&Device::cpu(), &StringConfig::default(), rows);
}

#[test]
fn rows_have_the_same_ids_whatever_the_number_of_cores() {
    for n in SIZES {
        let row = |number: usize| format!("row {number}").into_bytes();
        right("different", &(0..n).map(row).collect::<Vec<_>>());
        right("equal", &vec![b"the".to_vec(); n]);
        right("eight rows a string", &(0..n).map(|i| row(i * 7919 % n / 8)).collect::<Vec<_>>());
        // Most rows have few strings, and later chunks have strings that earlier chunks do not
        // have.
        right("skewed", &(0..n).map(|i| row(i >> (((i * 2_654_435_761) >> 20) % 16))).collect::<Vec<_>>());
    }
}

#[test]
fn chosen_strings_that_share_one_hash_take_little_longer_than_others() {
    let rows: Vec<Vec<u8>> = (0..200_000).map(|i: u32| format!("chosen string {i}").into_bytes()).collect();
    let reference = Reference::of(&rows);
    let times = [HASHERS[3], HASHERS[0]].map(|hasher| {
        let start = Instant::now();
        unique_is_right(&Device::cpu(), &rows, &reference, &hasher);
        batches_are_right(&Device::cpu(), &rows, 100_000, &hasher);
        map_is_right(&Device::cpu(), &StringConfig::default().hasher(hasher), &rows);
        start.elapsed()
    });
    // If all strings were compared with each other, it would take a thousand times as long.
    assert!(times[1] < 30 * times[0], "{times:?}");
}
