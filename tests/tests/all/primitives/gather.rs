//! Rows of every size, gathered by their indices.

use super::rows::Row;
use bytemuck::Zeroable;
use std::fmt::Debug;
use warpnest::primitives::{gather, gather_found};
use warpnest::types::Plain;
use warpnest::{Answers, Buffer, Device, PageMap};
use warpnest_tests::{assert_lengths, assert_wrong_device, at, distinct_keys, elsewhere, on_all, parameterized};

/// Checks the gathering of rows by indices alone and by answers; some of the rows do not exist.
fn with<T: Plain + Debug + PartialEq>(device: &Device, row: impl Fn(u32) -> T, zero: T) {
    let stream = device.default_stream();
    for (sources, rows) in [(0, 0), (1, 0), (0, 5), (1, 1), (7, 33), (300, 257), (5000, 2000)] {
        let _at = at(format!("{rows} of {sources} rows of {}", std::any::type_name::<T>()));
        let source: Vec<T> = (0..sources).map(&row).collect();
        let on_device = Buffer::from_slice(device, &source).unwrap();
        // About one of four indices is beyond the source.
        let indices: Vec<u32> =
            distinct_keys::<u32>(rows, 3).iter().map(|key| key % (sources * 4 / 3 + 2)).chain([u32::MAX]).collect();
        let expected: Vec<T> =
            indices.iter().map(|&index| source.get(index as usize).copied().unwrap_or(zero)).collect();
        let indices_in = Buffer::from_slice(device, &indices).unwrap();
        let mut output = Buffer::from_slice(device, &vec![row(77); rows + 1]).unwrap();
        gather(stream, &on_device, &indices_in, &mut output).unwrap();
        assert_eq!(output.download(stream).unwrap(), expected);

        let keys: Vec<u32> = distinct_keys(sources as usize, 9);
        let map = PageMap::build(device, &keys, &(0..sources).collect::<Vec<u32>>()).unwrap();
        let queries: Vec<u32> = keys.iter().step_by(3).flat_map(|&key| [key, key ^ 1 << 31]).collect();
        let answers = map.get_many_on(stream, &Buffer::from_slice(device, &queries).unwrap()).unwrap();
        let found = answers.download(stream).unwrap();
        let expected: Vec<T> = found.iter().map(|found| found.map_or(zero, |number| source[number as usize])).collect();
        let mut output = Buffer::from_slice(device, &vec![row(77); queries.len()]).unwrap();
        gather_found(stream, &on_device, &answers, &mut output).unwrap();
        assert_eq!(output.download(stream).unwrap(), expected);
    }
}

#[test]
fn rows_of_every_size_go_where_their_indices_say() {
    on_all(|device| {
        with(device, |i| i ^ 0x5555, 0);
        with(device, |i| (i as u64) << 33 | 1, 0);
        with(device, |i| Row([i, 1, !i]), Row::zeroed());
        // These rows are copied in pieces of 16 bytes: one piece or three pieces a row.
        with(device, |i| Row([i, 1, !i, i << 7]), Row::zeroed());
        with(device, |i| Row(std::array::from_fn::<u32, 12, _>(|word| i ^ (word as u32) << 20)), Row::zeroed());
    });
    with(&Device::cpu(), |i| i as f64 - 0.5, 0.0);
    with(&Device::cpu(), |i| Row([i; 8]), Row::zeroed());
    with(&Device::cpu(), |i| Row([i; 33]), Row::zeroed());
}

#[parameterized]
fn other_lengths_and_other_devices_are_refused(device: &Device) {
    let (stream, there) = (device.default_stream(), elsewhere());
    let source = Buffer::from_slice(device, &[1u64, 2]).unwrap();
    let indices = Buffer::from_slice(device, &[1u32, 0, 1]).unwrap();
    let error = gather(stream, &source, &indices, &mut Buffer::zeroed(device, 2).unwrap()).unwrap_err();
    assert_lengths(error, ("the indices", 3), ("the output", 2));
    let answers = Answers::new(device, 5).unwrap();
    let error = gather_found(stream, &source, &answers, &mut Buffer::zeroed(device, 6).unwrap()).unwrap_err();
    assert_lengths(error, ("the indices", 5), ("the output", 6));
    let error = gather(stream, &source, &indices, &mut Buffer::zeroed(&there, 3).unwrap()).unwrap_err();
    assert_wrong_device(error, "a buffer", &there, device);
}
