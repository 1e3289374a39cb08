//! Tables and primitives in several streams, without explicit waits.
//!
//! The tests run on the engines of the tests of `runtime/streams.rs`.

use crate::deferred::on_all;
use warpnest::primitives::{BitField, Scratch, exclusive_scan, exclusive_scan_in_place, partition_pairs, sort_pairs};
use warpnest::{Buffer, CuckooConfig, TwoLevelConfig, TwoLevelMap};
use warpnest_tests::distinct_keys;

/// Checks three streams without explicit waits: one rebuilds a map, another looks up keys in it,
/// and a third copies the answers.
#[test]
fn a_map_that_is_rebuilt_while_others_look_up_and_copy_gives_each_round_its_answers() {
    const ROUNDS: usize = 6;
    on_all(|device, most| {
        let n = most.min(1 << 18);
        let [build, look_up, copy] = [(); 3].map(|()| device.stream().unwrap());
        let keys: Vec<u32> = distinct_keys(n + n / 2, 77);
        let queries = Buffer::from_slice(device, &keys).unwrap();
        // The keys of round r start at index r·n/12, and their values tell the round.
        let first = |round: usize| round * n / 12;
        let value = |round: usize, i: usize| (round << 24 | i) as u64 + (1 << 40);
        let inputs: Vec<(Buffer<u32>, Buffer<u64>)> = (0..ROUNDS)
            .map(|round| {
                let values: Vec<u64> = (0..n).map(|i| value(round, first(round) + i)).collect();
                let keys = Buffer::from_slice(device, &keys[first(round)..][..n]).unwrap();
                (keys, Buffer::from_slice(device, &values).unwrap())
            })
            .collect();
        let config = CuckooConfig::default().seed(3).restarts(100);
        let mut map = config.build(&build.device(), &inputs[0].0, &inputs[0].1).unwrap();
        let mut answers = map.get_many_on(&look_up, &queries).unwrap();
        let words = queries.len().div_ceil(32);
        let mut copies = Vec::new();
        for (keys, values) in &inputs {
            map.on(&build).unwrap().rebuild(keys, values).unwrap();
            map.get_many_into(&look_up, &queries, &mut answers).unwrap();
            let mut copied: Buffer<u64> = Buffer::zeroed(device, queries.len()).unwrap();
            let mut found: Buffer<u32> = Buffer::zeroed(device, words).unwrap();
            copied.copy_from(&copy, answers.values()).unwrap();
            found.copy_from(&copy, answers.found()).unwrap();
            copies.push((copied, found));
        }
        drop(answers);
        drop(queries);
        for (round, (copied, found)) in copies.iter().enumerate() {
            let (values, found) = (copied.download(&copy).unwrap(), found.download(device.default_stream()).unwrap());
            for i in 0..keys.len() {
                let there = (first(round)..first(round) + n).contains(&i);
                assert_eq!(found[i / 32] >> (i % 32) & 1 == 1, there, "round {round}, query {i} on {}", device.name());
                assert_eq!(values[i], if there { value(round, i) } else { 0 }, "round {round} on {}", device.name());
            }
        }
    });
}
#[test]
fn answers_that_no_lookup_has_filled_have_found_nothing() {
    on_all(|device, _| {
        let answers = warpnest::Answers::<u64>::new(device, 45).unwrap();
        assert_eq!(answers.download(&device.stream().unwrap()).unwrap(), [None; 45]);
    });
}

/// Checks two streams that alternately use one scratch, which grows meanwhile, without explicit
/// waits.
#[test]
fn streams_that_share_a_scratch_do_not_disturb_each_other() {
    on_all(|device, most| {
        let streams = [(); 2].map(|()| device.stream().unwrap());
        let mut scratch = Scratch::new(device);
        let sizes = [most / 4, most / 2, most / 3, most];
        let sorts: Vec<_> = sizes
            .iter()
            .enumerate()
            .map(|(round, &n)| {
                let keys: Vec<u32> = distinct_keys::<u32>(n, round as u64).iter().map(|key| key % 64).collect();
                let values: Vec<u64> = (0..n as u64).collect();
                let (stream, other) = (&streams[round % 2], &streams[1 - round % 2]);
                let mut on_device = Buffer::from_slice(device, &keys).unwrap();
                let mut values = Buffer::from_slice(device, &values).unwrap();
                let numbers = Buffer::from_slice(device, &(0..n as u64).collect::<Vec<_>>()).unwrap();
                let mut sums = Buffer::zeroed(device, n + 1).unwrap();
                // One stream sorts and the other sums up another array, so they share nothing
                // except the scratch.
                sort_pairs(stream, &mut scratch, &mut on_device, &mut values).unwrap();
                exclusive_scan(other, &mut scratch, &numbers, &mut sums).unwrap();
                (keys, on_device, values, sums)
            })
            .collect();
        scratch.release();
        for (round, (keys, sorted, values, sums)) in sorts.iter().enumerate() {
            let mut expected: Vec<(u32, u64)> = keys.iter().copied().zip(0..).collect();
            expected.sort_unstable();
            let stream = &streams[round % 2];
            let (sorted, values) = (sorted.download(stream).unwrap(), values.download(stream).unwrap());
            let found: Vec<(u32, u64)> = sorted.into_iter().zip(values.iter().copied()).collect();
            assert!(found == expected, "sort {round} on {}", device.name());
            let expected: Vec<u64> = (0..=values.len() as u64).map(|end| end * end.saturating_sub(1) / 2).collect();
            assert!(sums.download(stream).unwrap() == expected, "scan {round} on {}", device.name());
        }
    });
}

/// Checks that a lookup waits for the sort of its queries, and that the next sort waits for the
/// lookup that reads them.
#[test]
fn a_lookup_on_one_stream_sees_its_queries_between_two_sorts_on_another() {
    on_all(|device, most| {
        let n = most.min(1 << 16);
        let [sort, look_up] = [(); 2].map(|()| device.stream().unwrap());
        let mut scratch = Scratch::new(device);
        let keys: Vec<u32> = distinct_keys(n, 3);
        let indices: Vec<u32> = (0..n as u32).collect();
        let map = TwoLevelConfig::default().seed(1).build(device, &keys, &indices).unwrap();
        let mut queries = Buffer::from_slice(device, &keys).unwrap();
        let mut order = Buffer::from_slice(device, &indices).unwrap();
        let before = map.get_many_on(&look_up, &queries).unwrap();
        sort_pairs(&sort, &mut scratch, &mut queries, &mut order).unwrap();
        let sorted = map.get_many_on(&look_up, &queries).unwrap();
        // The queries return to the order of the input, by the indices that were sorted with them.
        sort_pairs(&sort, &mut scratch, &mut order, &mut queries).unwrap();
        let after = map.get_many_on(&look_up, &queries).unwrap();
        exclusive_scan_in_place(&sort, &mut scratch, &mut queries).unwrap();
        drop((map, queries));
        let expected: Vec<Option<u32>> = indices.iter().copied().map(Some).collect();
        let mut by_key = indices.clone();
        by_key.sort_unstable_by_key(|&index| keys[index as usize]);
        let in_order: Vec<Option<u32>> = by_key.into_iter().map(Some).collect();
        assert!(after.download(&sort).unwrap() == expected, "on {}", device.name());
        assert!(sorted.download(&sort).unwrap() == in_order, "on {}", device.name());
        assert!(before.download(&sort).unwrap() == expected, "on {}", device.name());
    });
}

/// Checks the two-level map in rounds. One stream rebuilds it, with or without a sort, and another
/// stream looks up keys; buffers are dropped immediately.
#[test]
fn a_two_level_map_that_is_rebuilt_while_others_look_up_gives_each_round_its_answers() {
    on_all(|device, most| {
        let n = most.min(1 << 16);
        let [build, look_up] = [(); 2].map(|()| device.stream().unwrap());
        let keys: Vec<u64> = distinct_keys(n, 9);
        let config = TwoLevelConfig::default().bucket_capacity(64).items_per_bucket(40.0).sub_tables(3, 32).seed(3);
        let mut map: TwoLevelMap<u64, u32> = config.build(device, &[], &[]).unwrap();
        let queries = Buffer::from_slice(device, &keys).unwrap();
        // There are few pairs or many; every other round has more copies of one key than a bucket
        // holds.
        let rounds: Vec<_> = (0..6)
            .map(|round| {
                let pairs = if round % 3 == 1 { n / 3 } else { n };
                let mut of_round = keys[..pairs].to_vec();
                if round % 2 == 1 {
                    of_round.resize(pairs + 70, keys[5]);
                }
                let values: Vec<u32> = (0..of_round.len() as u32).map(|i| round << 24 | i).collect();
                let on_device = Buffer::from_slice(device, &of_round).unwrap();
                let last: std::collections::HashMap<u64, u32> = of_round.into_iter().zip(values.clone()).collect();
                map.on(&build).unwrap().rebuild(&on_device, &Buffer::from_slice(device, &values).unwrap()).unwrap();
                drop(on_device);
                assert_eq!(map.report().sorted, round % 2 == 1, "round {round} on {}", device.name());
                (map.get_many_on(&look_up, &queries).unwrap(), last)
            })
            .collect();
        drop((map, queries));
        for (round, (answers, last)) in rounds.iter().enumerate() {
            let expected: Vec<Option<u32>> = keys.iter().map(|key| last.get(key).copied()).collect();
            assert!(answers.download(&build).unwrap() == expected, "round {round} on {}", device.name());
        }
    });
}

#[test]
fn what_a_partition_puts_out_is_read_on_another_stream_when_it_is_there() {
    on_all(|device, most| {
        let n = most.min(1 << 16);
        let [first, second, third, fourth] = [(); 4].map(|()| device.stream().unwrap());
        let mut scratch = Scratch::new(device);
        let keys: Vec<u32> = distinct_keys(n, 12);
        let values: Vec<u32> = (0..n as u32).collect();
        let (on_device, mut values_on_device) =
            (Buffer::from_slice(device, &keys).unwrap(), Buffer::from_slice(device, &values).unwrap());
        let (mut keys_out, mut values_out) = (Buffer::zeroed(device, n).unwrap(), Buffer::zeroed(device, n).unwrap());
        let mut starts = Buffer::zeroed(device, 16).unwrap();
        let field = BitField { shift: 3, bits: 4 };
        let input = (&on_device, &values_on_device);
        partition_pairs(&first, &mut scratch, input, field, (&mut keys_out, &mut values_out), &mut starts).unwrap();
        // The input is overwritten as soon as it has been read, and not before.
        values_on_device.fill(&fourth, 0xee).unwrap();
        let mut copies = (Buffer::<u32>::zeroed(device, n).unwrap(), Buffer::<u32>::zeroed(device, 16).unwrap());
        copies.0.copy_from(&second, &values_out).unwrap();
        copies.1.copy_from(&third, &starts).unwrap();
        let digit = |&index: &u32| keys[index as usize] >> 3 & 15;
        let mut expected = values;
        expected.sort_by_key(digit);
        let expected_starts: Vec<u32> =
            (0..16).map(|value| expected.partition_point(|index| digit(index) < value) as u32).collect();
        // These are the streams of the copies, and each waits only for the outputs that its copy
        // needs.
        assert!(copies.0.download(&second).unwrap() == expected, "on {}", device.name());
        assert_eq!(copies.1.download(&third).unwrap(), expected_starts, "on {}", device.name());
    });
}
