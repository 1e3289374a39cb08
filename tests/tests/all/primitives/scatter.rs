//! Rows of every size, scattered to the positions that their indices give, and sequences of
//! numbers.

use super::rows::Row;
use bytemuck::Zeroable;
use std::fmt::Debug;
use warpnest::primitives::{gather, iota, scatter};
use warpnest::types::Plain;
use warpnest::{Buffer, Device};
use warpnest_tests::{assert_lengths, assert_wrong_device, at, distinct_keys, elsewhere, on_all, parameterized};

/// Checks the scattering of rows to different indices, some of which are beyond the output.
fn with<T: Plain + Debug + PartialEq>(device: &Device, row: impl Fn(u32) -> T, zero: T) {
    let stream = device.default_stream();
    for (rows, targets) in [(0, 0), (0, 5), (1, 0), (1, 1), (33, 7), (257, 300), (300, 257), (2000, 5000)] {
        let _at = at(format!("{rows} rows of {} to {targets}", std::any::type_name::<T>()));
        let values: Vec<T> = (0..rows).map(&row).collect();
        // The indices are the first ones of a permutation of all indices below `end`.
        let end = rows.max(targets) * 5 / 4 + 2;
        let mut indices: Vec<u32> = (0..end).collect();
        let keys: Vec<u32> = distinct_keys(end as usize, 3);
        indices.sort_unstable_by_key(|&index| keys[index as usize]);
        indices.truncate(rows as usize);
        if let Some(last) = indices.last_mut() {
            *last = u32::MAX;
        }
        let mut expected: Vec<T> = vec![row(77); targets as usize];
        for (&index, &value) in indices.iter().zip(&values) {
            if let Some(target) = expected.get_mut(index as usize) {
                *target = value;
            }
        }
        let (values_in, indices_in) =
            (Buffer::from_slice(device, &values).unwrap(), Buffer::from_slice(device, &indices).unwrap());
        let mut output = Buffer::from_slice(device, &vec![row(77); targets as usize]).unwrap();
        scatter(stream, &values_in, &indices_in, &mut output).unwrap();
        assert_eq!(output.download(stream).unwrap(), expected);
        // Gathering by the same indices returns the rows that were kept.
        let mut back = Buffer::zeroed(device, rows as usize).unwrap();
        gather(stream, &output, &indices_in, &mut back).unwrap();
        let kept = indices.iter().zip(values).map(|(&index, value)| if index < targets { value } else { zero });
        assert_eq!(back.download(stream).unwrap(), kept.collect::<Vec<T>>());
    }
}

#[test]
fn rows_of_every_size_go_where_their_indices_say() {
    on_all(|device| {
        with(device, |i| i ^ 0x5555, 0);
        with(device, |i| (i as u64) << 33 | 1, 0);
        with(device, |i| Row([i, 1, !i]), Row::zeroed());
        with(device, |i| Row([i, 1, !i, i << 7]), Row::zeroed());
    });
    with(&Device::cpu(), |i| i as f64 - 0.5, 0.0);
    with(&Device::cpu(), |i| Row([i; 33]), Row::zeroed());
}

#[parameterized]
fn of_rows_with_the_same_index_one_remains(device: &Device) {
    let stream = device.default_stream();
    let values: Vec<u64> = distinct_keys(900, 5);
    let indices: Vec<u32> = (0..900).map(|i| i % 3).collect();
    let (values_in, indices) =
        (Buffer::from_slice(device, &values).unwrap(), Buffer::from_slice(device, &indices).unwrap());
    let mut output = Buffer::<u64>::zeroed(device, 4).unwrap();
    scatter(stream, &values_in, &indices, &mut output).unwrap();
    let output = output.download(stream).unwrap();
    for (index, found) in output[..3].iter().enumerate() {
        assert!(values.iter().skip(index).step_by(3).any(|value| value == found), "{found} at {index}");
    }
    assert_eq!(output[3], 0);
}

#[parameterized]
fn parts_are_scattered_to_parts(device: &Device) {
    let stream = device.default_stream();
    let values = Buffer::from_slice(device, &[1u32, 2, 3, 4, 5, 6, 7]).unwrap();
    let mut output = Buffer::from_slice(device, &[0u32; 12]).unwrap();
    let indices = Buffer::from_slice(device, &[2u32, 0, 4]).unwrap();
    scatter(stream, &*values.slice(4..).unwrap(), &indices, &mut output.slice_mut(4..8).unwrap()).unwrap();
    // Index 4 is outside of the part, although it is inside the buffer.
    assert_eq!(output.download(stream).unwrap(), [0, 0, 0, 0, 6, 0, 5, 0, 0, 0, 0, 0]);
}

#[parameterized]
fn other_lengths_and_other_devices_are_refused(device: &Device) {
    let (stream, there) = (device.default_stream(), elsewhere());
    let values = Buffer::from_slice(device, &[1u64, 2]).unwrap();
    let mut output = Buffer::<u64>::zeroed(device, 2).unwrap();
    let indices = Buffer::from_slice(device, &[1u32, 0, 1]).unwrap();
    let error = scatter(stream, &values, &indices, &mut output).unwrap_err();
    assert_lengths(error, ("the values", 2), ("the indices", 3));
    let theirs = Buffer::from_slice(&there, &[1u32, 0]).unwrap();
    let error = scatter(stream, &values, &theirs, &mut output).unwrap_err();
    assert_wrong_device(error, "a buffer", &there, device);
    let error = iota(stream, &mut Buffer::zeroed(&there, 3).unwrap()).unwrap_err();
    assert_wrong_device(error, "a buffer", &there, device);
    assert_eq!(output.download(stream).unwrap(), [0, 0]);
}

#[parameterized]
fn numbers_are_in_order_in_the_whole_and_in_a_part(device: &Device) {
    let stream = device.default_stream();
    for length in [0, 1, 2, 255, 256, 257, 1000] {
        let mut output = Buffer::from_slice(device, &vec![7u32; length]).unwrap();
        iota(stream, &mut output).unwrap();
        let expected: Vec<u32> = (0..length as u32).collect();
        assert_eq!(output.download(stream).unwrap(), expected);
    }
    let mut output = Buffer::from_slice(device, &[7u32; 8]).unwrap();
    iota(stream, &mut output.slice_mut(4..7).unwrap()).unwrap();
    assert_eq!(output.download(stream).unwrap(), [7, 7, 7, 7, 0, 1, 2, 7]);
}
