//! Histograms of fields with more values than fit on chip, compared with a loop, on every engine.

use proptest::prelude::*;
use warpnest::Buffer;
use warpnest::primitives::{BitField, histogram};
use warpnest::types::WordKey as Key;
use warpnest_tests::{TestEngine, on_every_engine};

/// Returns the most keys for an engine, so some cases take several tiles of 4,096 keys.
fn most(engine: &TestEngine) -> usize {
    if engine.max_items < 1000 { 9_000 } else { 60_000 }
}

/// The distribution of the values of neighbouring keys.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Nearly all values differ.
    Many,
    /// All values are equal.
    One,
    /// There are fewer different values than a block has slots.
    Few,
    /// Half of the keys have one of seven values; the other values differ.
    Skewed,
    /// Values increase, like the keys of a sorted array.
    Sorted,
}

fn input(most: usize, key_bits: u32) -> impl Strategy<Value = (BitField, Kind, Vec<u64>)> {
    let kind = prop::sample::select(vec![Kind::Many, Kind::One, Kind::Few, Kind::Skewed, Kind::Sorted]);
    // The counts of wider fields would be larger than all other data of a test.
    let field = (1u32..=18).prop_flat_map(move |bits| {
        let shifts = prop_oneof![Just(0), Just(key_bits - bits), 0..=key_bits - bits];
        shifts.prop_map(move |shift| BitField { shift, bits })
    });
    (field, kind, prop::collection::vec(any::<u64>(), 0..most))
}

fn check<K: Key>(engine: &TestEngine, field: BitField, kind: Kind, random: &[u64]) -> Result<(), TestCaseError> {
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let mask = (1u64 << field.bits) - 1;
    let key = |(i, &bits): (usize, &u64)| {
        let value = match kind {
            Kind::Many => bits,
            Kind::One => mask,
            Kind::Few => bits % 300,
            Kind::Skewed if bits & 1 == 0 => ((bits >> 1) % 7) << 9,
            Kind::Skewed => bits >> 1,
            Kind::Sorted => i as u64 / 3,
        };
        // The other bits of a key must not matter.
        let field_bits = (value & mask) << field.shift;
        K::from_u64(bits.rotate_left(17) & !(mask << field.shift) | field_bits)
    };
    let keys: Vec<K> = random.iter().enumerate().map(key).collect();
    let mut expected = vec![0u32; 1 << field.bits];
    keys.iter().for_each(|key| expected[(key.to_u64() >> field.shift & mask) as usize] += 1);

    let keys = Buffer::from_slice(device, &keys).unwrap();
    let mut counts = Buffer::from_slice(device, &vec![u32::MAX; expected.len()]).unwrap();
    histogram(stream, &keys, field, &mut counts).unwrap();
    let counts = counts.download(stream).unwrap();
    let different = (0..expected.len()).find(|&value| counts[value] != expected[value]);
    prop_assert_eq!(different.map(|value| (value, counts[value], expected[value])), None);
    Ok(())
}

#[test]
fn keys_of_32_bits() {
    on_every_engine(
        |engine| input(most(engine), 32),
        |engine, (field, kind, random)| check::<u32>(engine, field, kind, &random),
    );
}

#[test]
fn keys_of_64_bits() {
    on_every_engine(
        |engine| input(most(engine), 64),
        |engine, (field, kind, random)| check::<u64>(engine, field, kind, &random),
    );
}

#[test]
fn keys_around_the_size_of_a_tile() {
    on_every_engine(
        |_| (prop::sample::select(vec![0usize, 1, 31, 255, 257, 4095, 4096, 4097, 8193]), any::<bool>()),
        |engine, (length, equal)| {
            let random = vec![0x0123_4567_89ab_cdef; length];
            let (field, kind) = (BitField { shift: 9, bits: 13 }, if equal { Kind::One } else { Kind::Sorted });
            check::<u32>(engine, field, kind, &random)?;
            check::<u64>(engine, field, kind, &random)
        },
    );
}
