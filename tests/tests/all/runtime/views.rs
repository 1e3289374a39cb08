//! Parts of buffers in the place of whole buffers, compared with slices of a vector.

use proptest::prelude::*;
use std::ops::{Bound, Range};
use warpnest::error::InputError;
use warpnest::primitives::{Scratch, exclusive_scan, gather, sort_pairs};
use warpnest::types::WordKey as Key;
use warpnest::{Answers, Buffer, Device, Error, PageConfig, PageMap, Result};
use warpnest_tests::{
    TestEngine, assert_lengths, assert_wrong_device, copy_words, distinct_keys, elsewhere, on_every_engine,
    parameterized,
};

/// Returns a strategy for a length, a range in it, and a range in that.
fn nested(max: usize) -> impl Strategy<Value = (usize, Range<usize>, Range<usize>)> {
    let within = |length: usize| (0..=length, 0..=length).prop_map(|(a, b)| a.min(b)..a.max(b));
    (0..=max.min(3000))
        .prop_flat_map(move |length| (Just(length), within(length)))
        .prop_flat_map(move |(length, outer)| (Just(length), Just(outer.clone()), within(outer.len())))
}

#[parameterized(each_width)]
fn any_part_is_copied_filled_and_downloaded<K: Key>() {
    on_every_engine(
        |engine| nested(engine.max_items),
        |engine, (length, outer, inner)| {
            let (device, stream) = (&engine.device, &engine.device.stream()?);
            let mut reference: Vec<K> = distinct_keys(length, 1);
            let new: Vec<K> = distinct_keys(length, 2);
            let source = Buffer::from_slice(device, &new)?;
            let mut buffer = Buffer::from_slice(device, &reference)?;

            let mut part = buffer.slice_mut(outer.clone())?;
            prop_assert_eq!((part.len(), part.is_empty()), (outer.len(), outer.is_empty()));
            prop_assert_eq!(&part.download(stream)?, &reference[outer.clone()]);
            let mut inside = part.slice_mut(inner.clone())?;
            let at = outer.start + inner.start..outer.start + inner.end;
            inside.upload(stream, &new[at.clone()])?;
            reference[at.clone()].copy_from_slice(&new[at.clone()]);
            let mut host = vec![K::default(); at.len()];
            inside.download_into(stream, &mut host)?;
            prop_assert_eq!(&host, &new[at.clone()]);
            prop_assert_eq!(inside.get(stream, 0)?, new[at.clone()].first().copied());
            prop_assert_eq!(inside.get(stream, at.len())?, None);
            prop_assert_eq!(&buffer.download(device.default_stream())?, &reference, "what is around it stays");

            buffer.slice_mut(at.clone())?.fill(stream, 0x5a)?;
            reference[at.clone()].fill(K::from_u64(u64::from_ne_bytes([0x5a; 8])));
            prop_assert_eq!(&buffer.slice(outer.clone())?.slice(inner)?.download(stream)?, &reference[at.clone()]);
            let other = length - at.end..length - at.start;
            buffer.slice_mut(other.clone())?.copy_from(stream, &*source.slice(at.clone())?)?;
            reference[other].copy_from_slice(&new[at]);

            let (mut front, back) = buffer.split_at_mut(outer.start)?;
            prop_assert_eq!((front.len(), back.len()), (outer.start, length - outer.start));
            let both = front.len().min(back.len());
            front.slice_mut(..both)?.copy_from(stream, &*back.slice(..both)?)?;
            reference.copy_within(outer.start..outer.start + both, 0);
            prop_assert_eq!(buffer.download(stream)?, reference);
            Ok(())
        },
    );
}

#[parameterized]
fn kernels_primitives_and_lookups_take_parts(engine: &TestEngine) {
    let (device, stream) = (&engine.device, &engine.device.stream().unwrap());
    let n = engine.max_items.min(2000) / 128 * 128;
    let keys: Vec<u32> = distinct_keys(2 * n, 3);
    let all = Buffer::from_slice(device, &keys).unwrap();
    let map = PageMap::build(device, &keys[..n], &keys[..n]).unwrap();

    let queries = all.slice(n - 4..n + 9).unwrap();
    let expected: Vec<Option<u32>> = (0..13).map(|i| (i < 4).then(|| keys[n - 4 + i])).collect();
    assert_eq!(map.get_many_on(stream, &queries).unwrap().download(stream).unwrap(), expected);
    let mut answers = Answers::new(device, 13).unwrap();
    map.get_many_into(stream, &queries, &mut answers).unwrap();
    assert_eq!(answers.download(stream).unwrap(), expected);
    let mut found = Buffer::from_slice(device, &[7u32; 9]).unwrap();
    map.contains_many_into(stream, &queries, &mut found.slice_mut(4..5).unwrap()).unwrap();
    assert_eq!(found.download(stream).unwrap(), [7, 7, 7, 7, 0b1111, 7, 7, 7, 7]);
    let rebuilt =
        PageConfig::default().build(&stream.device(), &*all.slice(n..).unwrap(), &*all.slice(..n).unwrap()).unwrap();
    assert_eq!(rebuilt.get(keys[n]).unwrap(), Some(keys[0]));

    // The exclusive sums of the first half, which begin with 0, are written to the second half.
    let mut sums = Buffer::from_slice(device, &vec![1u64; n]).unwrap();
    let (ones, mut rest) = sums.split_at_mut(n / 2).unwrap();
    exclusive_scan(stream, &mut Scratch::new(device), &ones, &mut rest).unwrap();
    let expected: Vec<u64> = (0..n as u64 / 2).collect();
    assert_eq!(rest.download(stream).unwrap(), expected);
    assert_eq!(sums.slice(..n / 2).unwrap().download(stream).unwrap(), vec![1; n / 2]);

    let mut order = keys.clone();
    let (mut sorted, mut others) =
        (Buffer::from_slice(device, &keys).unwrap(), all.slice(..n).unwrap().to_device(stream, device).unwrap());
    sort_pairs(stream, &mut Scratch::new(device), &mut sorted.slice_mut(n / 4 * 4..).unwrap(), &mut others).unwrap();
    order[n..].sort_unstable();
    assert_eq!(sorted.download(stream).unwrap(), order);

    // Another stream sees the words that a kernel writes to a part.
    let mut target = Buffer::<u64>::zeroed(device, 12).unwrap();
    let source = Buffer::from_slice(device, &[5u64, 6, 7, 8]).unwrap();
    let (from, mut to) = (source.slice(2..).unwrap(), target.slice_mut(4..6).unwrap());
    // SAFETY: both parts have two words.
    unsafe { stream.launch(2, |uses| copy_words(uses.read(&from), uses.write(&mut to), 2)) }.unwrap();
    assert_eq!(target.download(device.default_stream()).unwrap(), [0, 0, 0, 0, 7, 8, 0, 0, 0, 0, 0, 0]);
}

#[parameterized]
fn ranges_beside_the_buffer_are_refused(device: &Device) {
    let mut buffer = Buffer::from_slice(device, &[1u64, 2, 3]).unwrap();
    let error =
        |start: usize, end: usize| Error::Input(InputError::Range { start: start as u64, end: end as u64, length: 3 });
    let bounds = |start, end| (Bound::Included(start), Bound::Excluded(end));
    for (start, end) in [(0, 4), (4, 4), (3, 2), (usize::MAX, 0), (0, usize::MAX)] {
        assert_eq!(buffer.slice(bounds(start, end)).unwrap_err(), error(start, end));
        assert_eq!(buffer.slice_mut(bounds(start, end)).unwrap_err(), error(start, end));
    }
    assert_eq!(buffer.slice(..=usize::MAX).unwrap_err(), error(0, usize::MAX));
    assert_eq!(buffer.slice((Bound::Excluded(usize::MAX), Bound::Unbounded)).unwrap_err(), error(usize::MAX, 3));
    assert_eq!(buffer.split_at_mut(4).unwrap_err(), error(0, 4));
    let part = buffer.slice(1..).unwrap();
    let in_part = Error::Input(InputError::Range { start: 0, end: 3, length: 2 });
    assert_eq!(part.slice(..3).unwrap_err(), in_part, "a part of a part has the length of the part");
    assert_eq!(part.slice(..=1).unwrap().len(), 2);
    for empty in [0..0, 1..1, 3..3] {
        assert!(buffer.slice(empty.clone()).unwrap().download(device.default_stream()).unwrap().is_empty());
        buffer.slice_mut(empty).unwrap().upload(device.default_stream(), &[]).unwrap();
    }
}

#[parameterized]
fn parts_that_kernels_cannot_read_are_refused_and_nothing_changes(device: &Device) {
    let stream = device.default_stream();
    let source = Buffer::from_slice(device, &(0..40u32).collect::<Vec<u32>>()).unwrap();
    let indices = Buffer::from_slice(device, &[1u32, 0]).unwrap();
    let refused = |done: Result<()>, address: usize| {
        assert_eq!(done, Err(Error::Input(InputError::Misaligned { address: address as u64, alignment: 16 })));
    };
    let mut output = Buffer::from_slice(device, &[9u32; 8]).unwrap();
    for start in [1, 2, 3, 5, 39] {
        let part = source.slice(start..).unwrap();
        refused(gather(stream, &part, &indices, &mut output.slice_mut(..2).unwrap()), part.address());
    }
    for start in [1, 2, 3, 5, 6] {
        let mut part = output.slice_mut(start..start + 2).unwrap();
        let address = part.address();
        refused(gather(stream, &source, &indices, &mut part), address);
    }
    assert_eq!(output.download(stream).unwrap(), [9; 8]);
    gather(stream, &*source.slice(36..).unwrap(), &indices, &mut output.slice_mut(4..6).unwrap()).unwrap();
    assert_eq!(output.download(stream).unwrap(), [9, 9, 9, 9, 37, 36, 9, 9]);
}

#[parameterized]
fn a_part_is_on_its_buffer_s_device_and_has_its_own_length(device: &Device) {
    let (stream, there) = (device.default_stream(), elsewhere());
    let mut buffer = Buffer::<u32>::zeroed(device, 8).unwrap();
    let mut part = buffer.slice_mut(4..).unwrap();
    assert_lengths(part.upload(stream, &[0; 8]).unwrap_err(), ("the slice", 8), ("the buffer", 4));
    assert_lengths(part.download_into(stream, &mut [0; 3]).unwrap_err(), ("the buffer", 4), ("the slice", 3));
    let foreign = Buffer::<u32>::zeroed(&there, 8).unwrap();
    let error = part.copy_from(stream, &*foreign.slice(4..).unwrap()).unwrap_err();
    assert_wrong_device(error, "a buffer", &there, device);
    assert_wrong_device(part.download(there.default_stream()).unwrap_err(), "a buffer", device, &there);
}

#[parameterized]
fn copies_on_another_device_are_equal(device: &Device) {
    let (stream, there) = (device.default_stream(), elsewhere());
    for length in [0, 1, 5, 1000] {
        let words: Vec<u64> = distinct_keys(length, 4);
        let buffer = Buffer::from_slice(device, &words).unwrap();
        for target in [device, &there] {
            let mut copy = buffer.to_device(stream, target).unwrap();
            assert_eq!(copy.download(target.default_stream()).unwrap(), words);
            let back = copy.to_device(target.default_stream(), device).unwrap();
            copy.fill(target.default_stream(), 1).unwrap();
            assert_eq!(back.download(stream).unwrap(), words);
            assert_eq!(buffer.download(stream).unwrap(), words, "a copy is its own");
        }
        let rest = buffer.slice(length / 3..).unwrap().to_device(stream, &there).unwrap();
        assert_eq!(rest.download(there.default_stream()).unwrap(), words[length / 3..]);
        let error = buffer.to_device(there.default_stream(), device).map(drop);
        let refused = error.err().or_else(|| buffer.to_device(there.default_stream(), &there).err());
        assert_wrong_device(refused.unwrap(), "a buffer", device, &there);
    }
}
