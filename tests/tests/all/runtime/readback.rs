//! The readback of a few words to the host: its kernel, and downloads that wait for it.

use gpu_kernels::primitives::readback::{Readback, ReadbackParams};
use std::thread;
use warpnest::Buffer;
use warpnest_tests::{TestEngine, distinct_keys, engines, parameterized};

#[parameterized]
fn words_arrive_below_their_epoch_and_nothing_else_changes(engine: &TestEngine) {
    let device = &engine.device;
    let stream = device.default_stream();
    for (epoch, n, first) in [(1, 1, 0), (0xffff_ffff, 255, 3), (7, 256, 1), (0x8000_0000, 257, 2), (2, 1024, 0)] {
        let words: Vec<u32> = distinct_keys(n + first, 1);
        let source = Buffer::from_slice(device, &words).unwrap();
        let mut readback = Buffer::from_slice(device, &vec![3u64; n + 1]).unwrap();
        let plan = ReadbackParams { first: first as u32, words: n as u32, epoch, padding: 0 };
        // SAFETY: the readback buffer has a word for each copied word, and each word has a thread.
        unsafe {
            stream.launch(n, |uses| Readback { words: uses.read(&source), readback: uses.write(&mut readback), plan })
        }
        .unwrap();
        let mut expected: Vec<u64> = words[first..].iter().map(|&word| (epoch as u64) << 32 | word as u64).collect();
        expected.push(3);
        assert_eq!(readback.download(stream).unwrap(), expected, "{n} words on {}", device.name());
    }
}

#[parameterized]
fn downloads_of_several_threads_on_one_stream_bring_each_its_own(engine: &TestEngine) {
    let device = &engine.device;
    let stream = device.stream().unwrap();
    thread::scope(|scope| {
        for number in 0..4u64 {
            let stream = &stream;
            scope.spawn(move || {
                let words: Vec<u64> = distinct_keys(100 * (number as usize + 1), number);
                let mut buffer = Buffer::<u64>::zeroed(device, words.len()).unwrap();
                for round in 0..engine.max_items.min(200) {
                    let words: Vec<u64> = words.iter().map(|word| word ^ round as u64).collect();
                    buffer.upload(stream, &words).unwrap();
                    assert_eq!(buffer.download(stream).unwrap(), words, "round {round} on {}", device.name());
                }
            });
        }
    });
}

#[test]
fn a_download_waits_for_work_that_takes_long() {
    for engine in engines().iter().filter(|engine| engine.max_items >= 100_000) {
        let device = &engine.device;
        let stream = device.default_stream();
        // On a GPU this work takes some milliseconds, which is longer than the host polls for the
        // words.
        let mut large = Buffer::<u64>::zeroed(device, 1 << 25).unwrap();
        for byte in 1..=40 {
            large.fill(stream, byte).unwrap();
        }
        let mut small = Buffer::<u64>::zeroed(device, 8).unwrap();
        // SAFETY: both arrays have at least 8 words, and each word has a thread.
        unsafe {
            stream.launch(8, |uses| Readback {
                words: uses.read(&large).cast(),
                readback: uses.write(&mut small),
                plan: ReadbackParams { first: 0, words: 8, epoch: 5, padding: 0 },
            })
        }
        .unwrap();
        assert_eq!(small.download(stream).unwrap(), [5 << 32 | 0x2828_2828; 8], "on {}", device.name());
        small.fill(stream, 0).unwrap();
        assert_eq!(small.download(stream).unwrap(), [0; 8]);
    }
}
