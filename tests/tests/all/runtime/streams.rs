//! Work over several streams: buffers order the work themselves, and memory is freed only when no
//! work uses it.
//!
//! The tests run on every engine, and on one that defers work and runs it in the least convenient
//! order that the events allow.

use crate::deferred::{self, on_all};
use proptest::prelude::*;
use warpnest::{Buffer, CuckooConfig, Device, Error, Graph, Result, Stream};
use warpnest_tests::random::run_property;
use warpnest_tests::{copy_words, distinct_keys, on_every_engine};

/// A step of a random program with four buffers and three streams.
#[derive(Clone, Debug)]
enum Step {
    Fill { buffer: usize, stream: usize, byte: u8 },
    Copy { from: usize, to: usize, stream: usize },
    Launch { from: usize, to: usize, stream: usize },
    Upload { buffer: usize, stream: usize, seed: u64 },
    Check { buffer: usize, stream: usize },
    Replace { buffer: usize },
    Wait { stream: usize, earlier: usize },
    Capture { from: usize, to: usize, stream: usize },
    Again { graph: usize, stream: usize },
}

/// Queues a copy of all words of a buffer to another of the same length.
fn copy_by_launch(stream: &Stream, source: &Buffer<u64>, target: &mut Buffer<u64>) -> Result<()> {
    assert_eq!(source.len(), target.len());
    let words = source.len();
    // SAFETY: both buffers have `words` words, one for each thread.
    unsafe { stream.launch(words, |uses| copy_words(uses.read(source), uses.write(target), words as u64)) }
}

const BUFFERS: usize = 4;
const STREAMS: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    let (buffer, stream) = (0..BUFFERS, 0..STREAMS);
    let different = (0..BUFFERS, 1..BUFFERS, 0..STREAMS).prop_map(|(from, by, stream)| (from, (from + by) % 4, stream));
    let different_too = different.clone();
    prop_oneof![
        4 => (buffer.clone(), stream.clone(), any::<u8>()).prop_map(|(buffer, stream, byte)| Step::Fill { buffer, stream, byte }),
        4 => different.clone().prop_map(|(from, to, stream)| Step::Copy { from, to, stream }),
        4 => different.prop_map(|(from, to, stream)| Step::Launch { from, to, stream }),
        1 => (buffer.clone(), stream.clone(), any::<u64>()).prop_map(|(buffer, stream, seed)| Step::Upload { buffer, stream, seed }),
        1 => (buffer.clone(), stream.clone()).prop_map(|(buffer, stream)| Step::Check { buffer, stream }),
        1 => different_too.prop_map(|(from, to, stream)| Step::Capture { from, to, stream }),
        4 => (any::<usize>(), stream.clone()).prop_map(|(graph, stream)| Step::Again { graph, stream }),
        2 => buffer.prop_map(|buffer| Step::Replace { buffer }),
        1 => (stream.clone(), stream).prop_map(|(stream, earlier)| Step::Wait { stream, earlier }),
    ]
}

/// Runs a program on the device, and in order on the host, and compares the results.
fn run(device: &Device, words: usize, steps: &[Step]) -> Result<(), TestCaseError> {
    let streams: Vec<Stream> = (0..STREAMS).map(|_| device.stream().unwrap()).collect();
    let mut buffers: Vec<Buffer<u64>> = (0..BUFFERS).map(|_| Buffer::zeroed(device, words).unwrap()).collect();
    let mut model = vec![vec![0u64; words]; BUFFERS];
    // Graphs that copy a buffer to another one, and change the first.
    let mut graphs: Vec<(Graph, usize, usize)> = Vec::new();
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
                // The old buffer is dropped, whatever work is queued with it; the new buffer may
                // get its memory.
                buffers[buffer] = Buffer::zeroed(device, words).unwrap();
                model[buffer].fill(0);
                graphs.retain(|&(_, from, to)| from != buffer && to != buffer);
            }
            Step::Capture { from, to, stream } => {
                let [from_buffer, to_buffer] = buffers.get_disjoint_mut([from, to]).unwrap();
                let stream = &streams[stream];
                let graph = stream.capture(|| {
                    copy_by_launch(stream, from_buffer, to_buffer)?;
                    from_buffer.fill(stream, 3)
                });
                graphs.push((graph.unwrap(), from, to));
            }
            Step::Again { graph, stream } if !graphs.is_empty() => {
                let (graph, from, to) = &graphs[graph % graphs.len()];
                // SAFETY: no table was captured, and one thread uses the buffers.
                unsafe { graph.launch(&streams[stream]).unwrap() };
                model[*to] = std::mem::take(&mut model[*from]);
                model[*from] = vec![u64::from_ne_bytes([3; 8]); words];
            }
            Step::Again { .. } => {}
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
            // This buffer may get the memory of `source`.
            let mut other = Buffer::<u32>::zeroed(device, n).unwrap();
            other.fill(&first, 0xee).unwrap();
            assert_eq!(target.download(&second).unwrap(), vec![u32::from_ne_bytes([round; 4]); n]);
            // Here the buffer that is written is dropped while its work is still queued.
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

/// Checks that a buffer does not remember every stream that ever read it, but only the streams
/// whose reads are not done.
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

/// Checks direct launches of a kernel on three streams: a read after a write, and a write after
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

/// Checks that an error about one buffer leaves the other buffers as they were, and that all can be
/// used afterwards.
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
