//! Rows encoded by dictionaries on the cores of a CPU. In order of appearance, ids do not depend on
//! the count of threads; in any order, each id's key, count and rows agree.

use super::rows::rows_of;
use rayon::ThreadPoolBuilder;
use std::collections::HashMap;
use warpnest::primitives::Scratch;
use warpnest::relational::{Order, Unique};
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device};
use warpnest_tests::{at, distinct_keys, parameterized};

/// Sizes around bounds: the rows that are hashed at once (128), the keys of a dictionary before its
/// table grows (512 and 2048), and the fewest rows of one chunk (16,384) and of two, which are
/// sampled and may be divided.
const SIZES: [usize; 20] = [
    0, 1, 2, 127, 128, 129, 255, 257, 511, 513, 2050, 16_383, 16_385, 32_767, 32_768, 32_769, 49_153, 65_536, 150_001,
    300_007,
];

/// Returns the different keys in order of appearance, each row's index among them, and each key's
/// first row.
fn in_order<K: Key>(rows: &[K]) -> (Vec<K>, Vec<u32>, Vec<u32>) {
    let mut ids = vec![0; rows.len()];
    let groups = rows_of(rows);
    for (id, (_, of_key)) in (0..).zip(&groups) {
        of_key.iter().for_each(|&row| ids[row] = id);
    }
    let firsts = groups.iter().map(|(_, of_key)| of_key[0] as u32).collect();
    (groups.into_iter().map(|(key, _)| key).collect(), ids, firsts)
}

/// Fails unless rows are encoded correctly, with slices and with buffers.
fn right<K: Key>(what: &str, rows: &[K]) {
    let (keys, ids, firsts) = in_order(rows);
    let mut counts = vec![0u32; keys.len()];
    ids.iter().for_each(|&id| counts[id as usize] += 1);
    for threads in [1, 2, 3, 8] {
        let _at = at(format!("{} rows, {what}, {threads} threads", rows.len()));
        ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let device = Device::cpu();
            let stream = device.default_stream();
            let all = Unique::of(rows).ids().counts().first_rows();
            let unique = all.order(Order::FirstSeen).run(&device).unwrap();
            assert!(unique.keys == keys && unique.ids == ids && unique.counts == counts);
            assert_eq!(unique.first_rows, firsts);
            let in_any_order = Unique::of(rows).ids().counts().run(&device).unwrap();
            let counted = Unique::of(rows).counts().run(&device).unwrap();
            let (of_rows, of_keys) = (&in_any_order.ids, &in_any_order.counts);
            same_but_for_order((&in_any_order.keys, of_rows, of_keys), (&keys, &ids, &counts));
            let count_of: HashMap<K, u32> = keys.iter().copied().zip(counts.iter().copied()).collect();
            assert_eq!(counted.keys.iter().copied().zip(counted.counts).collect::<HashMap<_, _>>(), count_of);
            assert_eq!(counted.keys.len(), keys.len());
            let (buffer, mut scratch) = (Buffer::from_slice(&device, rows).unwrap(), Scratch::new(&device));
            let query = Unique::of(&buffer).ids().counts();
            let mut found = query.run_on(stream, &mut scratch).unwrap();
            for _ in 0..2 {
                let of_ids = found.keys.download(stream).unwrap();
                let of_rows = found.ids.download(stream).unwrap();
                let of_keys = found.counts.download(stream).unwrap();
                same_but_for_order((&of_ids, &of_rows, &of_keys), (&keys, &ids, &counts));
                query.run_into(stream, &mut scratch, &mut found).unwrap();
            }
        });
    }
}

/// The keys, the id of each row, and the count of rows of each id.
type Encoded<'e, K> = (&'e [K], &'e [u32], &'e [u32]);

/// Fails unless both encodings have the same keys with the same counts of rows, under any ids.
fn same_but_for_order<K: Key>((keys, ids, counts): Encoded<'_, K>, other: Encoded<'_, K>) {
    assert_eq!((keys.len(), counts.len(), ids.len()), (other.0.len(), other.0.len(), other.1.len()));
    // Both have equally many ids, each with one key, so no key has two.
    assert!(ids.iter().zip(other.1).all(|(&id, &of_row)| {
        let (id, of_row) = (id as usize, of_row as usize);
        (keys[id], counts[id]) == (other.0[of_row], other.2[of_row])
    }));
}

#[parameterized(each_width)]
fn rows_have_ids_in_order_of_appearance<K: Key>() {
    for n in SIZES {
        let keys = distinct_keys::<K>(n, 8);
        right("different", &keys);
        right("one key", &vec![K::ALL_ONES; n]);
        right("two keys", &(0..n).map(|i| if i % 3 == 0 { K::ALL_ONES } else { K::default() }).collect::<Vec<_>>());
        right("eight rows a key", &(0..n).map(|i| keys[i * 7919 % n / 8]).collect::<Vec<_>>());
        // Most rows have few keys, and later chunks have keys that earlier chunks do not have.
        right("skewed", &(0..n).map(|i| keys[i >> (((i * 2_654_435_761) >> 20) % 16)]).collect::<Vec<_>>());
        // Half of all rows have the same key, and most other keys are there once.
        right("half of one key", &(0..n).map(|i| keys[if i % 2 == 0 { 0 } else { i }]).collect::<Vec<_>>());
        right("neighbours", &(0..n).map(|i| K::from_u64(i as u64 / 2)).collect::<Vec<_>>());
    }
}

#[test]
fn keys_have_their_ids_under_all_constants_whose_tables_grow_and_keys_meet() {
    let keys: Vec<u32> = (0..1500).collect();
    for seed in 0..200 {
        let _at = at(format!("seed {seed}"));
        let query = Unique::of(&keys).ids().counts().order(Order::FirstSeen).seed(seed);
        let unique = query.run(&Device::cpu()).unwrap();
        assert!(unique.keys == keys && unique.ids == keys && unique.counts == vec![1; keys.len()]);
    }
}
