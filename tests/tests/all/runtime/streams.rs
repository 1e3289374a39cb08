//! Work over several streams: buffers order it by themselves, and memory is freed only when nothing
//! uses it.
//!
//! The tests run on every engine, and on one that defers work and runs it in the least convenient
//! order that the events allow.

use crate::deferred::{self, on_all};
use proptest::prelude::*;
use warpnest::primitives::{BitField, Scratch, exclusive_scan, exclusive_scan_in_place, partition_pairs, sort_pairs};
use warpnest::{Buffer, CuckooConfig, Device, Error, Result, Stream, TwoLevelConfig, TwoLevelMap};
use warpnest_tests::random::run_property;
use warpnest_tests::{copy_words, distinct_keys, on_every_engine};

/// Checks three streams without explicit waits: one rebuilds a map, another looks up in it, a third
/// copies the answers away.
#[test]
fn a_map_that_is_rebuilt_while_others_look_up_and_copy_gives_each_round_its_answers() {
    const ROUNDS: usize = 6;
    on_all(|device, most| {
        let n = most.min(1 << 18);
        let [build, look_up, copy] = [(); 3].map(|()| device.stream().unwrap());
        let keys: Vec<u32> = distinct_keys(n + n / 2, 77);
        let queries = Buffer::from_slice(device, &keys).unwrap();
        // Round r holds the keys from r·n/12 on, with values that name the round.
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
        let mut map = config.build_on(&build, device, &inputs[0].0, &inputs[0].1).unwrap();
        let mut answers = map.get_many_on(&look_up, &queries).unwrap();
        let words = queries.len().div_ceil(32);
        let mut copies = Vec::new();
        for (keys, values) in &inputs {
            map.rebuild_on(&build, keys, values).unwrap();
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

/// A step of a random program over four buffers and three streams.
#[derive(Clone, Debug)]
enum Step {
    Fill { buffer: usize, stream: usize, byte: u8 },
    Copy { from: usize, to: usize, stream: usize },
    Launch { from: usize, to: usize, stream: usize },
    Upload { buffer: usize, stream: usize, seed: u64 },
    Check { buffer: usize, stream: usize },
    Replace { buffer: usize },
    Wait { stream: usize, earlier: usize },
}

/// Queues copying all words of one buffer to another as long.
fn copy_by_launch(stream: &Stream, source: &Buffer<u64>, target: &mut Buffer<u64>) -> Result<()> {
    assert_eq!(source.len(), target.len());
    let words = source.len();
    // SAFETY: both buffers have that many words, one for each thread.
    unsafe { stream.launch(words, |uses| copy_words(uses.read(source), uses.write(target), words as u64)) }
}

const BUFFERS: usize = 4;
const STREAMS: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    let (buffer, stream) = (0..BUFFERS, 0..STREAMS);
    let different = (0..BUFFERS, 1..BUFFERS, 0..STREAMS).prop_map(|(from, by, stream)| (from, (from + by) % 4, stream));
    prop_oneof![
        4 => (buffer.clone(), stream.clone(), any::<u8>()).prop_map(|(buffer, stream, byte)| Step::Fill { buffer, stream, byte }),
        4 => different.clone().prop_map(|(from, to, stream)| Step::Copy { from, to, stream }),
        4 => different.prop_map(|(from, to, stream)| Step::Launch { from, to, stream }),
        1 => (buffer.clone(), stream.clone(), any::<u64>()).prop_map(|(buffer, stream, seed)| Step::Upload { buffer, stream, seed }),
        1 => (buffer.clone(), stream.clone()).prop_map(|(buffer, stream)| Step::Check { buffer, stream }),
        2 => buffer.prop_map(|buffer| Step::Replace { buffer }),
        1 => (stream.clone(), stream).prop_map(|(stream, earlier)| Step::Wait { stream, earlier }),
    ]
}

/// Runs a program on the device, and in order on the host, and compares the results.
fn run(device: &Device, words: usize, steps: &[Step]) -> Result<(), TestCaseError> {
    let streams: Vec<Stream> = (0..STREAMS).map(|_| device.stream().unwrap()).collect();
    let mut buffers: Vec<Buffer<u64>> = (0..BUFFERS).map(|_| Buffer::zeroed(device, words).unwrap()).collect();
    let mut model = vec![vec![0u64; words]; BUFFERS];
    for step in steps {
        match *step {
            Step::Fill { buffer, stream, byte } => {
                buffers[buffer].fill(&streams[stream], byte).unwrap();
                model[buffer].fill(u64::from_ne_bytes([byte; 8]));
            }
            Step::Copy { from, to, stream } => {
                let [from_buffer, to_buffer] = buffers.get_disjoint_mut([from, to]).unwrap();
                to_buffer.copy_from(&streams[stream], from_buffer).unwrap();
                model[to] = model[from].clone();
            }
            Step::Launch { from, to, stream } => {
                let [from_buffer, to_buffer] = buffers.get_disjoint_mut([from, to]).unwrap();
                copy_by_launch(&streams[stream], from_buffer, to_buffer).unwrap();
                model[to] = model[from].clone();
            }
            Step::Upload { buffer, stream, seed } => {
                model[buffer] = distinct_keys(words, seed);
                buffers[buffer].upload(&streams[stream], &model[buffer]).unwrap();
            }
            Step::Check { buffer, stream } => {
                prop_assert_eq!(&buffers[buffer].download(&streams[stream]).unwrap(), &model[buffer]);
            }
            Step::Replace { buffer } => {
                // Drops the old one, whatever is queued with it; the new one may get its memory.
                buffers[buffer] = Buffer::zeroed(device, words).unwrap();
                model[buffer].fill(0);
            }
            Step::Wait { stream, earlier } => {
                let event = streams[earlier].record().unwrap();
                streams[stream].wait(&event).unwrap();
            }
        }
    }
    for (buffer, model) in buffers.iter().zip(&model) {
        prop_assert_eq!(&buffer.download(device.default_stream()).unwrap(), model);
    }
    streams.iter().for_each(|stream| stream.synchronize().unwrap());
    Ok(())
}

#[test]
fn random_programs_over_several_streams_end_as_if_run_in_order() {
    on_every_engine(
        |engine| (Just(engine.max_items.min(1 << 16) & !1), prop::collection::vec(step(), 0..60)),
        |engine, (words, steps)| run(&engine.device, words, &steps),
    );
}

#[test]
fn random_programs_end_as_if_run_in_order_where_work_is_put_off() {
    let (device, complaints) = deferred::device(4);
    let property = |steps: Vec<Step>| {
        run(&device, 6, &steps)?;
        prop_assert_eq!(complaints.all(), [""; 0]);
        Ok(())
    };
    if let Err(failure) = run_property(400, prop::collection::vec(step(), 0..60), property) {
        panic!("{failure}");
    }
}

#[test]
fn buffers_may_be_dropped_right_after_work_with_them_was_queued() {
    on_all(|device, most| {
        let n = most.min(1 << 20);
        let (first, second) = (device.stream().unwrap(), device.stream().unwrap());
        for round in 0..8u8 {
            let mut source = Buffer::<u32>::zeroed(device, n).unwrap();
            let mut target = Buffer::<u32>::zeroed(device, n).unwrap();
            source.fill(&first, round).unwrap();
            target.copy_from(&second, &source).unwrap();
            drop(source);
            // This one may get the source's memory.
            let mut other = Buffer::<u32>::zeroed(device, n).unwrap();
            other.fill(&first, 0xee).unwrap();
            assert_eq!(target.download(&second).unwrap(), vec![u32::from_ne_bytes([round; 4]); n]);
            // And here the writer is dropped, its work still queued.
            other.copy_from(&first, &target).unwrap();
            drop(other);
            drop(target);
        }
        let keys: Vec<u32> = distinct_keys(n.min(1 << 16), 5);
        let map = CuckooConfig::default().build(device, &keys, &keys).unwrap();
        let queries = Buffer::from_slice(device, &keys).unwrap();
        let answers = map.get_many_on(&first, &queries).unwrap();
        drop((map, queries));
        drop(first);
        let expected: Vec<Option<u32>> = keys.iter().map(|&key| Some(key)).collect();
        assert_eq!(answers.download(&second).unwrap(), expected, "on {}", device.name());
    });
}

#[test]
fn an_event_is_passed_when_what_was_queued_before_it_is_done() {
    on_all(|device, most| {
        let stream = device.stream().unwrap();
        let mut buffer = Buffer::<u64>::zeroed(device, most).unwrap();
        let start = stream.record().unwrap();
        buffer.fill(&stream, 0xff).unwrap();
        let end = stream.record().unwrap();
        end.synchronize().unwrap();
        assert!(end.is_done().unwrap() && start.is_done().unwrap());
        let milliseconds = end.milliseconds_since(&start).unwrap();
        assert!((0.0..60_000.0).contains(&milliseconds), "{milliseconds} ms");
        assert_eq!(buffer.download(&stream).unwrap(), vec![u64::MAX; most]);
    });
}

#[test]
fn an_event_is_not_done_before_its_work_and_streams_of_other_engines_can_wait_for_it() {
    let (device, _) = deferred::device(1);
    let stream = device.stream().unwrap();
    let mut buffer = Buffer::<u64>::zeroed(&device, 10).unwrap();
    stream.synchronize().unwrap();
    buffer.fill(&stream, 1).unwrap();
    let event = stream.record().unwrap();
    assert!(!event.is_done().unwrap());
    let cpu = Device::cpu();
    cpu.default_stream().wait(&event).unwrap();
    assert!(event.is_done().unwrap());
    let other = cpu.default_stream().record().unwrap();
    assert!(other.milliseconds_since(&event).is_err(), "two clocks");
}

/// Checks that a buffer remembers not every stream that ever read it, but those whose reads are not
/// done.
#[test]
fn many_streams_read_a_buffer_before_it_is_written_and_before_it_is_dropped() {
    on_all(|device, most| {
        let n = most.min(1 << 16);
        let streams: Vec<Stream> = (0..40).map(|_| device.stream().unwrap()).collect();
        let writer = device.stream().unwrap();
        let mut source = Buffer::<u32>::zeroed(device, n).unwrap();
        let mut copies: Vec<Buffer<u32>> = (0..40).map(|_| Buffer::zeroed(device, n).unwrap()).collect();
        for round in 1..4u8 {
            source.fill(&writer, round).unwrap();
            for (i, (stream, copy)) in streams.iter().zip(&mut copies).enumerate() {
                copy.copy_from(stream, &source).unwrap();
                if i % 7 == 3 {
                    stream.synchronize().unwrap();
                }
            }
            if round == 3 {
                source = Buffer::zeroed(device, n).unwrap();
            }
            source.fill(&writer, 0x77).unwrap();
            writer.synchronize().unwrap();
            for (i, copy) in copies.iter().enumerate() {
                let copied = copy.download(&streams[39 - i]).unwrap();
                assert_eq!(copied, vec![u32::from_ne_bytes([round; 4]); n], "copy {i} on {}", device.name());
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

/// Checks two streams that take turns with one scratch, which grows meanwhile, without explicit
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
                // The one sorts, the other sums up something else: they have nothing in common but
                // the scratch.
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

/// Checks that a lookup waits for the sort of its queries, and the next sort for the lookup that
/// reads them.
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
        // Back into the order of the input, by the indices that were sorted with the queries.
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

/// Checks the two-level map in turns: a stream rebuilds, with the sort or without it, another looks
/// up, buffers are dropped at once.
#[test]
fn a_two_level_map_that_is_rebuilt_while_others_look_up_gives_each_round_its_answers() {
    on_all(|device, most| {
        let n = most.min(1 << 16);
        let [build, look_up] = [(); 2].map(|()| device.stream().unwrap());
        let keys: Vec<u64> = distinct_keys(n, 9);
        let config = TwoLevelConfig::default().bucket_capacity(64).items_per_bucket(40.0).sub_tables(3, 32).seed(3);
        let mut map: TwoLevelMap<u64, u32> = config.build(device, &[], &[]).unwrap();
        let queries = Buffer::from_slice(device, &keys).unwrap();
        // Few pairs and many, and in every other round more copies of one key than a bucket holds.
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
                map.rebuild_on(&build, &on_device, &Buffer::from_slice(device, &values).unwrap()).unwrap();
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
        // On the streams of the copies, which wait for what the copies need and for nothing else.
        assert!(copies.0.download(&second).unwrap() == expected, "on {}", device.name());
        assert_eq!(copies.1.download(&third).unwrap(), expected_starts, "on {}", device.name());
    });
}

/// Checks launches of a kernel by hand, on three streams: a read after a write, and a write after
/// both.
#[test]
fn a_launch_waits_for_the_streams_that_use_its_buffers() {
    on_all(|device, most| {
        let n = most.min(1 << 16) & !1;
        let [write, read, overwrite] = [(); 3].map(|()| device.stream().unwrap());
        let (first, second) = (distinct_keys::<u64>(n, 1), distinct_keys::<u64>(n, 2));
        let inputs = [&first, &second].map(|words| Buffer::from_slice(device, words).unwrap());
        let [mut shared, mut copied] = [(); 2].map(|()| Buffer::zeroed(device, n).unwrap());
        copy_by_launch(&write, &inputs[0], &mut shared).unwrap();
        copy_by_launch(&read, &shared, &mut copied).unwrap();
        copy_by_launch(&overwrite, &inputs[1], &mut shared).unwrap();
        assert!(shared.download(&overwrite).unwrap() == second, "on {}", device.name());
        assert!(copied.download(&read).unwrap() == first, "on {}", device.name());
    });
}

/// Checks that an error of one buffer leaves the others as they were, and that all can be used
/// afterwards.
#[test]
fn a_launch_with_a_buffer_of_another_device_is_refused() {
    for seed in 0..6 {
        let ((device, complaints), there) = (deferred::device(seed), Device::cpu());
        let [one, other] = [(); 2].map(|()| device.stream().unwrap());
        let mut source = Buffer::from_slice(&device, &[5u64, 6]).unwrap();
        let mut target = Buffer::<u64>::zeroed(&device, 2).unwrap();
        let mut foreign = Buffer::from_slice(&there, &[7u64, 8]).unwrap();
        target.fill(&other, 0x11).unwrap();
        for refused in [copy_by_launch(&one, &source, &mut foreign), copy_by_launch(&one, &foreign, &mut target)] {
            assert!(matches!(refused, Err(Error::WrongDevice { what: "a buffer", .. })), "{refused:?}");
        }
        assert_eq!(target.download(&other).unwrap(), [u64::from_ne_bytes([0x11; 8]); 2]);
        copy_by_launch(&one, &source, &mut target).unwrap();
        source.fill(&other, 0).unwrap();
        assert_eq!(target.download(&one).unwrap(), [5, 6]);
        assert_eq!(source.download(&other).unwrap(), [0, 0]);
        foreign.fill(there.default_stream(), 0).unwrap();
        drop((source, target));
        assert_eq!(complaints.all(), [""; 0], "order {seed}");
    }
}
