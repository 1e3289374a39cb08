//! Work over several streams: buffers order it by themselves, and memory is given back only when nothing uses it.
//!
//! On every engine, and on one that puts work off and runs it in the least convenient order that the events allow.

mod deferred;

use gpu_kernels::roofline::Copy;
use proptest::prelude::*;
use warpnest::{Buffer, CuckooConfig, Device, Stream};
use warpnest_tests::{distinct_keys, engines, on_every_engine};

/// Runs `test` on every engine, and on the deferring one with several orders.
fn on_all(test: impl Fn(&Device, usize)) {
    for engine in engines() {
        test(&engine.device, engine.most_items);
    }
    for seed in 0..6 {
        let (device, complaints) = deferred::device(seed);
        test(&device, 100);
        assert_eq!(complaints.all(), [""; 0], "order {seed}");
    }
}

/// One stream rebuilds a map, another looks up in it, a third copies the answers away; nobody waits for anybody by hand.
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
            map.rebuild(&build, keys, values).unwrap();
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

/// Runs a program on the device, and in order on the host, and compares.
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
                let (from_buffer, to_buffer) = (&buffers[from], &buffers[to]);
                // SAFETY: both buffers have that many words, two for each thread, and the launch names them.
                unsafe {
                    let (source, target) = (from_buffer.global(), to_buffer.global());
                    let copy = Copy { source, target, words: words as u64 };
                    streams[stream].launch(&copy, words as u64 / 2, &[from_buffer], &[to_buffer]).unwrap();
                }
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
        |engine| (Just(engine.most_items.min(1 << 16) & !1), prop::collection::vec(step(), 0..60)),
        |engine, (words, steps)| run(&engine.device, words, &steps),
    );
}

#[test]
fn random_programs_end_as_if_run_in_order_where_work_is_put_off() {
    let (device, complaints) = deferred::device(4);
    let config = ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let property = |steps: Vec<Step>| {
        run(&device, 6, &steps)?;
        prop_assert_eq!(complaints.all(), [""; 0]);
        Ok(())
    };
    if let Err(failure) = runner.run(&prop::collection::vec(step(), 0..60), property) {
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
            // This one may lie where the source lay.
            let mut other = Buffer::<u32>::zeroed(device, n).unwrap();
            other.fill(&first, 0xee).unwrap();
            assert_eq!(target.download(&second).unwrap(), vec![u32::from_ne_bytes([round; 4]); n]);
            // And here the writer goes, its work still queued.
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

/// A buffer does not remember every stream that ever read it, but those whose reads are still to come.
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
