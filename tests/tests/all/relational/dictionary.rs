//! Rows encoded by dictionaries on the cores of a CPU: ids in the order of appearance, whatever the
//! number of threads, and dictionaries that have no slot left for a key.

use super::rows::rows_of;
use gpu_kernels::page::{Encode, EncodeParams, PROGRESS_WORDS, dictionary_layout};
use rayon::ThreadPoolBuilder;
use std::collections::HashMap;
use warpnest::primitives::Scratch;
use warpnest::relational::{Order, Unique};
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device};
use warpnest_tests::{at, distinct_keys};

/// Sizes around the rows that are processed at once (32), the keys of the first dictionary (512),
/// the fewest rows of a chunk (8192), and the fewest that are sorted if most keys differ (262,144).
const SIZES: [usize; 19] =
    [0, 1, 2, 31, 32, 33, 63, 65, 511, 513, 2050, 8191, 16_383, 16_385, 24_577, 40_000, 150_001, 262_144, 300_007];

/// Returns the different keys in the order in which they appear, each row's number among them, and
/// the first rows.
fn in_order<K: Key>(rows: &[K]) -> (Vec<K>, Vec<u32>, Vec<u32>) {
    let mut ids = vec![0; rows.len()];
    let groups = rows_of(rows);
    for (id, (_, of_key)) in (0..).zip(&groups) {
        of_key.iter().for_each(|&row| ids[row] = id);
    }
    let firsts = groups.iter().map(|(_, of_key)| of_key[0] as u32).collect();
    (groups.into_iter().map(|(key, _)| key).collect(), ids, firsts)
}

/// Fails unless rows are encoded right, with slices and with buffers.
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

/// Keys, the id of each row, and the number of rows with each.
type Encoded<'e, K> = (&'e [K], &'e [u32], &'e [u32]);

/// Fails unless rows have other ids for the same keys, with as many rows of each.
fn same_but_for_order<K: Key>((keys, ids, counts): Encoded<'_, K>, other: Encoded<'_, K>) {
    assert_eq!((keys.len(), counts.len(), ids.len()), (other.0.len(), other.0.len(), other.1.len()));
    // Of as many ids each has one key, so no key has two.
    assert!(ids.iter().zip(other.1).all(|(&id, &of_row)| {
        let (id, of_row) = (id as usize, of_row as usize);
        (keys[id], counts[id]) == (other.0[of_row], other.2[of_row])
    }));
}

fn every_size_and_skew<K: Key>() {
    for n in SIZES {
        let keys = distinct_keys::<K>(n, 8);
        right("different", &keys);
        right("one key", &vec![K::ALL_ONES; n]);
        right("two keys", &(0..n).map(|i| if i % 3 == 0 { K::ALL_ONES } else { K::default() }).collect::<Vec<_>>());
        right("eight rows a key", &(0..n).map(|i| keys[i * 7919 % n / 8]).collect::<Vec<_>>());
        // Most rows have few keys, and later chunks have keys that earlier ones lack.
        right("skewed", &(0..n).map(|i| keys[i >> (((i * 2_654_435_761) >> 20) % 16)]).collect::<Vec<_>>());
        right("neighbours", &(0..n).map(|i| K::from_u64(i as u64 / 2)).collect::<Vec<_>>());
    }
}

#[test]
fn rows_of_narrow_keys_have_ids_in_order_of_appearance() {
    every_size_and_skew::<u32>();
}

#[test]
fn rows_of_wide_keys_have_ids_in_order_of_appearance() {
    every_size_and_skew::<u64>();
}

/// Encodes `rows` by one dictionary of `buckets` buckets that never counts as full, and returns the
/// progress, the ids, and the keys and their counts.
fn encoded<K: Key>(rows: &[K], buckets: u32, seed: u64, known: &[K]) -> ([u64; 3], Vec<u32>, Vec<K>, Vec<u32>) {
    let (device, n) = (Device::cpu(), rows.len() + known.len());
    let stream = device.default_stream();
    let layout = dictionary_layout::<K>(seed, !seed, buckets);
    let keys = Buffer::from_slice(&device, rows).unwrap();
    let mut keys_out = Buffer::<K>::zeroed(&device, n).unwrap();
    keys_out.slice_mut(..known.len()).unwrap().upload(stream, known).unwrap();
    let [mut ids, mut counts] = [rows.len(), n].map(|length| Buffer::<u32>::zeroed(&device, length).unwrap());
    let mut words = Buffer::<u64>::zeroed(&device, buckets as usize * 4 * K::BITS as usize / 32).unwrap();
    let mut progress = Buffer::from_slice(&device, &[0, known.len() as u64, 0]).unwrap();
    let plan = EncodeParams {
        layout,
        rows: rows.len() as u64,
        chunk_rows: rows.len() as u64,
        limit: n as u64 + 1,
        restore: 1,
    };
    // SAFETY: the arrays are as long as the rows, the dictionary has the words of its layout, and
    // the kernel's documentation allows no weights.
    unsafe {
        stream.launch(1, |uses| Encode::<K> {
            keys: uses.read(&keys),
            weights: gpu_kernels::seam::Global::null(),
            ids: uses.write(&mut ids),
            keys_out: uses.write(&mut keys_out),
            counts: uses.write(&mut counts),
            words: uses.write(&mut words),
            progress: uses.write(&mut progress),
            plan,
        })
    }
    .unwrap();
    let state = progress.download(stream).unwrap();
    assert_eq!(state.len() as u64, PROGRESS_WORDS);
    let progress = [state[0], state[1], state[2]];
    (progress, ids.download(stream).unwrap(), keys_out.download(stream).unwrap(), counts.download(stream).unwrap())
}

/// Checks dictionaries with fewer slots than keys: they say so, and what they did so far is right.
fn full_dictionaries<K: Key>() {
    // Each key twice, one soon after the other.
    let distinct = distinct_keys::<K>(300, 5);
    let rows: Vec<K> = (0..600).map(|i| distinct[(i / 32 * 16 + i % 16).min(299)]).collect();
    let (keys, ids, _) = in_order(&rows);
    let mut stopped = 0;
    for seed in 0..40 {
        for buckets in [16, 18, 40, 76, 78, 200] {
            let ([done, length, failed], encoded_ids, found, counts) = encoded(&rows, buckets, seed, &[]);
            let _at = at(format!("{buckets} buckets, seed {seed}: {done} rows, {length} keys, {failed}"));
            assert_eq!(done == rows.len() as u64, failed == 0);
            assert!(length <= 4 * buckets as u64 && (buckets < 200 || failed == 0));
            assert_eq!(encoded_ids[..done as usize], ids[..done as usize]);
            assert_eq!(found[..length as usize], keys[..length as usize]);
            assert_eq!(counts.iter().sum::<u32>() as u64, done);
            stopped += failed;
            // Keys that are known already need their slots, too; with enough they keep their ids.
            let ([_, known, failed], again, ..) = encoded(&rows, buckets, seed, &keys);
            assert_eq!(known, keys.len() as u64);
            assert!(failed == 1 && again.iter().all(|&id| id == 0) || failed == 0 && again == ids);
        }
    }
    assert!(stopped > 100, "{stopped} dictionaries were full");
}

#[test]
fn a_dictionary_without_a_slot_for_a_key_says_so() {
    full_dictionaries::<u32>();
    full_dictionaries::<u64>();
}
