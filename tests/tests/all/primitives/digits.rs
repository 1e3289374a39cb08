//! Counting and partition by digits of every kind, of pairs and of keys alone, in two portions. The
//! kernels are launched directly, since no table uses all of these cases.

use gpu_kernels::hash::{Formula, HashFunctions};
use gpu_kernels::primitives::radix::{
    Digit, DigitOf, Histogram, HistogramParams, Partition, PartitionParams, state_words, tile,
};
use gpu_kernels::types::{Payload, Scalar, WordOf};
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device};
use warpnest_tests::{at, distinct_keys, on_all};

/// The constants of the functions.
const CONSTANTS: [u64; 2] = [0x0123_4567_89ab_cdef, 0x0edc_ba98_7654_3210];

/// Returns digits of the key, of the mixed key, and of the bucket indices that each formula gives.
fn digits<K: Key>() -> Vec<Digit> {
    let digit = |of: DigitOf, formula, shift, bits| {
        let mut constants = CONSTANTS.into_iter().cycle();
        let functions =
            HashFunctions::new(formula, 1, 1000, 334_214_459, K::BITS, || constants.next().unwrap_or_default());
        Digit { functions, of: of as u32, shift, bits, padding: 0 }
    };
    let of_buckets = |formula| digit(DigitOf::Bucket, formula, 3, 7);
    vec![
        digit(DigitOf::Key, Formula::Mix, K::BITS - 9, 9),
        digit(DigitOf::MixedKey, Formula::Mix, 5, 6),
        of_buckets(Formula::Mix),
        of_buckets(Formula::Linear),
        of_buckets(Formula::LinearWrapping),
        of_buckets(Formula::Xor),
        of_buckets(Formula::XorWrapping),
    ]
}

/// Returns the key as a pass writes it, and its digit.
fn reference<K: Key>(digit: &Digit, key: K) -> (K, usize) {
    let mixed = key.mixed(CONSTANTS[0], CONSTANTS[1]);
    let (key, word) = match digit.of {
        of if of == DigitOf::MixedKey as u32 => (mixed, mixed.to_u64()),
        of if of == DigitOf::Bucket as u32 => (key, digit.functions.slot(0, key) as u64),
        _ => (key, key.to_u64()),
    };
    (key, (word >> digit.shift) as usize & (digit.bins() as usize - 1))
}

/// Counts and moves such keys and their payloads; the first `portion` of them have a launch of
/// their own.
fn pass<K: Key, V: Payload>(device: &Device, digit: Digit, keys: &[K], portion: usize) {
    let (stream, n, bins) = (device.default_stream(), keys.len(), digit.bins() as usize);
    let values: Vec<WordOf<V>> = (0..n as u64).map(|i| Scalar::from_u64(i.wrapping_mul(0x1_0000_0001))).collect();
    let mut counts = vec![0u32; bins];
    keys.iter().for_each(|&key| counts[reference(&digit, key).1] += 1);
    let starts: Vec<u32> = (0..bins).map(|value| counts[..value].iter().sum()).collect();
    let mut expected: Vec<(usize, K, WordOf<V>)> = keys
        .iter()
        .zip(&values)
        .map(|(&key, &value)| (reference(&digit, key).1, reference(&digit, key).0, value))
        .collect();
    expected.sort_by_key(|item| item.0);

    let (keys_in, values_in) =
        (Buffer::from_slice(device, keys).unwrap(), Buffer::from_slice(device, &values).unwrap());
    let mut counted = Buffer::<u32>::zeroed(device, bins).unwrap();
    let plan = HistogramParams { digit, items: n as u64, digits: 1, padding: 0 };
    // SAFETY: `n` keys exist, and each digit value has a count.
    unsafe {
        stream.launch(300, |uses| Histogram::<K> { keys: uses.read(&keys_in), counts: uses.write(&mut counted), plan })
    }
    .unwrap();
    assert_eq!(counted.download(stream).unwrap(), counts);

    // The starts have an offset, as if other digits' counts came before, because a scan continues
    // from digit to digit.
    let base = 0xffff_ff00u32;
    let mut digit_starts: Vec<u32> = starts.iter().map(|start| base.wrapping_add(*start)).collect();
    let mut keys_out = Buffer::<K>::zeroed(device, n).unwrap();
    let mut values_out = Buffer::<WordOf<V>>::zeroed(device, n).unwrap();
    for (first, end, base) in [(0, portion, base), (portion, n, 0)] {
        let from = Buffer::from_slice(device, &digit_starts).unwrap();
        let mut next = Buffer::<u32>::zeroed(device, bins).unwrap();
        let items = (end - first) as u64;
        let mut state = Buffer::<u64>::zeroed(device, state_words::<K, V>(items, digit.bits) as usize).unwrap();
        let threads = items.div_ceil(tile::<K, V>()) * 512;
        // SAFETY: inputs and outputs have `n` pairs, and the words for publishing are 0.
        unsafe {
            stream.launch(threads as usize, |uses| Partition::<K, V> {
                keys: uses.read(&keys_in),
                values: uses.read(&values_in),
                keys_out: uses.write(&mut keys_out),
                values_out: uses.write(&mut values_out),
                digit_starts: uses.read(&from),
                next_starts: uses.write(&mut next),
                state: uses.write(&mut state),
                plan: PartitionParams {
                    digit,
                    first: first as u64,
                    end: end as u64,
                    base,
                    in_turn: tile::<K, V>() as u32,
                },
            })
        }
        .unwrap();
        digit_starts = next.download(stream).unwrap();
    }
    let ends: Vec<u32> = starts.iter().zip(&counts).map(|(start, count)| start + count).collect();
    assert_eq!(digit_starts, ends);
    let found: Vec<K> = keys_out.download(stream).unwrap();
    assert!(found.iter().zip(&expected).all(|(found, item)| *found == item.1), "the keys");
    if V::VALUE_BITS != 0 {
        let found = values_out.download(stream).unwrap();
        assert!(found.iter().zip(&expected).all(|(found, item)| *found == item.2), "the values");
    }
}

fn every_digit<K: Key, V: Payload>() {
    on_all(|device| {
        let mut keys: Vec<K> = distinct_keys(tile::<K, V>() as usize + 100, 7);
        // Some keys are repeated, which shows whether the order is kept.
        let n = keys.len();
        keys.copy_within(..n / 4, n / 2);
        for digit in digits::<K>() {
            let _at = at(format!("{digit:?}"));
            pass::<K, V>(device, digit, &keys, 70);
        }
    });
}

warpnest_tests::of_pairs_and_keys_alone!(every_digit);
