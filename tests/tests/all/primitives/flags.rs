//! Flags expanded to bytes, counts of flags, and defaults for items without a flag, compared with
//! plain loops.

use proptest::prelude::*;
use std::fmt::Debug;
use warpnest::error::InputError;
use warpnest::primitives::{Scratch, count_flags, expand_flags, fill_absent};
use warpnest::types::Value;
use warpnest::{Buffer, Device, Error};
use warpnest_tests::{
    assert_lengths, assert_wrong_device, at, elsewhere, on_each_engine, on_every_engine, parameterized, planted,
    the_cpu_engine,
};

/// Lengths around the parts of a word, the 16 bytes of a thread, and the ends of blocks. A block
/// has 4,096 items of an expansion, 8,192 of a filling, and 32,768 of a count.
const LENGTHS: [usize; 26] = [
    0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 8191, 8192, 8193, 32_767,
    32_900,
];

/// The byte before and after an output.
const GUARD: u8 = 0xa5;

/// Returns the words of flags. The bits after the last item are set, and must be ignored.
fn words_of(flags: &[bool]) -> Vec<u32> {
    let mut words = vec![0u32; flags.len().div_ceil(32)];
    flags.iter().enumerate().for_each(|(i, &flag)| words[i / 32] |= (flag as u32) << (i % 32));
    if let (Some(last), rest @ 1..) = (words.last_mut(), flags.len() % 32) {
        *last |= u32::MAX << rest;
    }
    words
}

/// Returns flags that repeat a pattern of 64 bits.
fn flags(items: usize, pattern: u64) -> Vec<bool> {
    (0..items).map(|i| pattern.rotate_left((i / 64) as u32) >> (i % 64) & 1 != 0).collect()
}

/// Checks all three functions, with values of types that kernels support and of another type.
fn check(device: &Device, flags: &[bool]) -> Result<(), TestCaseError> {
    let stream = device.default_stream();
    let words = Buffer::from_slice(device, &words_of(flags)).unwrap();
    // The output is a part of a buffer, whose other bytes must stay.
    let mut whole = Buffer::from_slice(device, &vec![GUARD; 16 + flags.len() + 40]).unwrap();
    expand_flags(stream, &words, &mut whole.slice_mut(16..16 + flags.len()).unwrap()).unwrap();
    let bytes = whole.download(stream).unwrap();
    let (before, rest) = bytes.split_at(16);
    let (found, behind) = rest.split_at(flags.len());
    prop_assert!(found.iter().zip(flags).all(|(&byte, &flag)| byte == flag as u8), "{found:?}");
    prop_assert!(before.iter().chain(behind).all(|&byte| byte == GUARD), "{before:?} {behind:?}");

    let count = count_flags(stream, &mut Scratch::new(device), &words, flags.len()).unwrap();
    prop_assert_eq!(count, flags.iter().filter(|&&flag| flag).count());

    fill(device, &words, flags, |i| i as u32 ^ 0x5555, u32::MAX)?;
    fill(device, &words, flags, |i| (i as u64) << 33 | 1, 7 << 40)?;
    fill(device, &words, flags, |i| i as f32, -0.5)
}

/// Checks that values without a flag become the default, and that nothing else changes.
fn fill<V: Value + PartialEq + Debug>(
    device: &Device,
    words: &Buffer<u32>,
    flags: &[bool],
    value: impl Fn(usize) -> V,
    default: V,
) -> Result<(), TestCaseError> {
    let stream = device.default_stream();
    let before: Vec<V> = (0..flags.len() + 12).map(value).collect();
    let mut whole = Buffer::from_slice(device, &before).unwrap();
    fill_absent(stream, words, default, &mut whole.slice_mut(4..4 + flags.len()).unwrap()).unwrap();
    let mut expected = before;
    expected[4..].iter_mut().zip(flags).filter(|(_, flag)| !**flag).for_each(|(value, _)| *value = default);
    prop_assert_eq!(whole.download(stream).unwrap(), expected);
    Ok(())
}

#[test]
fn flags_of_every_length_around_words_threads_and_blocks() {
    let engines = |test: &dyn Fn(&Device, usize)| {
        on_each_engine(|engine| test(&engine.device, if engine.max_items < 1000 { 9000 } else { usize::MAX }));
        the_cpu_engine().into_iter().for_each(|engine| test(&engine.device, usize::MAX));
    };
    engines(&|device, most| {
        for items in LENGTHS.into_iter().filter(|&items| items <= most) {
            // No item is found, all are, whole words are, or some are.
            for pattern in [0, u64::MAX, 0xffff_ffff, 0x9e37_79b9_7f4a_7c15] {
                let _at = at(format!("{items} items of {pattern:#x}"));
                check(device, &flags(items, pattern)).unwrap();
            }
        }
    });
}

#[test]
fn any_flags() {
    let lengths = |most: usize| 0..if most < 1000 { 1200 } else { 20_000 };
    on_every_engine(
        |engine| (prop::collection::vec(any::<bool>(), lengths(engine.max_items)), 0..4u32),
        |engine, (mut flags, dense)| {
            // Most flags are set, few flags are set, or any are.
            match dense {
                0 => flags.iter_mut().enumerate().for_each(|(i, flag)| *flag |= i % 97 != 0),
                1 => flags.iter_mut().enumerate().for_each(|(i, flag)| *flag &= i % 97 == 0),
                _ => {}
            }
            check(&engine.device, &flags)
        },
    );
}

#[test]
fn nothing_is_written_behind_an_allocation() {
    // When an allocation is freed, this engine checks the bytes after it.
    let (device, _plan) = planted::planted();
    let stream = device.default_stream();
    for items in [17, 18, 19, 20, 31, 33, 47, 4095, 4097] {
        let flags = flags(items, 0x9e37_79b9_7f4a_7c15);
        let words = Buffer::from_slice(&device, &words_of(&flags)).unwrap();
        let mut output = Buffer::<u8>::zeroed(&device, items).unwrap();
        expand_flags(stream, &words, &mut output).unwrap();
        let expected: Vec<u8> = flags.iter().map(|&flag| flag as u8).collect();
        assert_eq!(output.download(stream).unwrap(), expected);
        let mut values = Buffer::<u32>::zeroed(&device, items).unwrap();
        fill_absent(stream, &words, 1, &mut values).unwrap();
        let expected: Vec<u32> = flags.iter().map(|&flag| !flag as u32).collect();
        assert_eq!(values.download(stream).unwrap(), expected);
    }
}

#[test]
fn foreign_memory_of_any_length_is_written_to_its_end() {
    let Some(engine) = the_cpu_engine() else { return };
    let (device, stream) = (&engine.device, engine.device.default_stream());
    for items in [1, 3, 6, 21, 100] {
        let flags = flags(items, 0x9e37_79b9_7f4a_7c15);
        let words = Buffer::from_slice(device, &words_of(&flags)).unwrap();
        let mut theirs = vec![u128::from_ne_bytes([GUARD; 16]); items / 16 + 2];
        // SAFETY: nothing else uses the memory meanwhile.
        unsafe {
            let address = theirs.as_mut_ptr().expose_provenance();
            let mut output = Buffer::<u8>::from_foreign(device, address, items).unwrap();
            expand_flags(stream, &words, &mut output).unwrap();
            output.hand_back(stream).unwrap();
        }
        let bytes: &[u8] = bytemuck::cast_slice(&theirs);
        assert!(bytes[..items].iter().zip(&flags).all(|(&byte, &flag)| byte == flag as u8), "{bytes:?}");
        assert!(bytes[items..].iter().all(|&byte| byte == GUARD), "{bytes:?}");
    }
}

#[parameterized]
fn the_first_of_more_flags_are_counted_in_any_scratch(device: &Device) {
    let stream = device.default_stream();
    let all = Buffer::from_slice(device, &[u32::MAX; 300]).unwrap();
    let mut scratch = Scratch::new(device);
    for items in [0, 1, 31, 32, 33, 127, 128, 200, 9600] {
        assert_eq!(count_flags(stream, &mut scratch, &all, items).unwrap(), items);
    }
    assert_eq!(scratch.memory_bytes(), 8);
    let error = count_flags(stream, &mut scratch, &all, 9601).unwrap_err();
    assert_eq!(error, Error::Input(InputError::Range { start: 0, end: 301, length: 300 }));
}

#[parameterized]
fn other_lengths_devices_and_addresses_are_refused(device: &Device) {
    let (stream, there) = (device.default_stream(), elsewhere());
    let words = Buffer::from_slice(device, &[5u32, 6]).unwrap();
    let mut bytes = Buffer::<u8>::zeroed(device, 65).unwrap();
    let (items, flags) = (("the items, in words of 32,", 3), ("the flags", 2));
    assert_lengths(expand_flags(stream, &words, &mut bytes).unwrap_err(), items, flags);
    let mut values = Buffer::<u64>::zeroed(device, 65).unwrap();
    assert_lengths(fill_absent(stream, &words, 1, &mut values).unwrap_err(), items, flags);
    let error = expand_flags(stream, &words, &mut bytes.slice_mut(8..64).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Input(InputError::Misaligned { alignment: 16, .. })), "{error:?}");
    assert!(bytes.download(stream).unwrap().iter().all(|&byte| byte == 0));

    let theirs = Buffer::from_slice(&there, &[5u32, 6]).unwrap();
    let error = expand_flags(stream, &theirs, &mut bytes.slice_mut(..64).unwrap()).unwrap_err();
    assert_wrong_device(error, "a buffer", &there, device);
    let error = fill_absent(stream, &theirs, 1, &mut values.slice_mut(..64).unwrap()).unwrap_err();
    assert_wrong_device(error, "a buffer", &there, device);
    let error = count_flags(stream, &mut Scratch::new(device), &theirs, 64).unwrap_err();
    assert_wrong_device(error, "a buffer", &there, device);
}
