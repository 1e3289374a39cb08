//! Tests of the roofline's kernels on every engine.

use std::collections::BTreeSet;
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device};
use warpnest_bench_kernels::roofline::{Access, Copy, Random, RandomParams, Strided, StridedParams};
use warpnest_tests::distinct_keys;

use crate::engines;

/// Runs `Random` over `words` words with the values 1000000 plus index, and returns words and
/// output.
fn random(device: &Device, access: Access, accesses: u64, words: u64) -> (Vec<u64>, Vec<u32>) {
    let initial: Vec<u64> = (0..words).map(|word| 1_000_000 + word).collect();
    let mut memory = Buffer::from_slice(device, &initial).unwrap();
    let input = Buffer::<u32>::zeroed(device, 2 * accesses as usize).unwrap();
    let mut output = Buffer::<u32>::zeroed(device, accesses as usize).unwrap();
    let plan = RandomParams { accesses, words, seed: 9, access: access as u32, padding: 0 };
    let stream = device.default_stream();
    // SAFETY: the buffers are as long as the kernel's documentation demands.
    unsafe {
        stream.launch(accesses as usize, |uses| {
            let memory = uses.write(&mut memory);
            Random { memory, input: uses.read(&input), output: uses.write(&mut output), plan }
        })
    }
    .unwrap();
    (memory.download(stream).unwrap(), output.download(stream).unwrap())
}

#[test]
fn random_accesses_have_the_same_effects_everywhere() {
    const ACCESSES: u64 = 300;
    const WORDS: u64 = 97;
    let initial: Vec<u64> = (0..WORDS).map(|word| 1_000_000 + word).collect();
    // A lookup writes down which word it read, so access i goes to word `goes_to[i]` on every
    // engine.
    let goes_to: Vec<u64> =
        random(&Device::cpu(), Access::Find, ACCESSES, WORDS).1.iter().map(|&read| read as u64 - 1_000_000).collect();
    let reached: BTreeSet<u64> = goes_to.iter().copied().collect();
    assert!(reached.len() > 80 && reached.iter().all(|&word| word < WORDS), "{} words were reached", reached.len());
    for engine in engines() {
        let run = |access| random(&engine.device, access, ACCESSES, WORDS);
        let (memory, output) = run(Access::Find);
        assert_eq!(memory, initial);
        assert!(output.iter().zip(&goes_to).all(|(&read, word)| read as u64 == 1_000_000 + word));
        for access in [Access::Read, Access::CompareExchange] {
            assert_eq!(run(access), (initial.clone(), vec![0; ACCESSES as usize]), "{access:?}");
        }
        for access in [Access::Write, Access::Exchange, Access::Insert] {
            let (memory, output) = run(access);
            assert_eq!(output, vec![0; ACCESSES as usize]);
            for (word, &found) in memory.iter().enumerate() {
                // The word has the value of one of the accesses to it, the last one.
                let written = reached.contains(&(word as u64));
                let fits =
                    if written { goes_to.get(found as usize) == Some(&(word as u64)) } else { found == initial[word] };
                assert!(fits, "{access:?}: word {word} holds {found} on {}", engine.device.name());
            }
        }
    }
}

/// Updates words that all have the value 7 except one, with a stride. Returns their contents and
/// the count of words with a wrong value.
fn strided<T: Key>(device: &Device, words_log2: u32, stride_log2: u32, atomic: u32) -> (Vec<T>, u32) {
    let stream = device.default_stream();
    let mut initial = vec![T::from_u64(7); 1 << words_log2];
    initial[0] = T::from_u64(8);
    let mut memory = Buffer::from_slice(device, &initial).unwrap();
    let mut wrong = Buffer::<u32>::zeroed(device, 1).unwrap();
    let plan = StridedParams { before: 7, after: 9, words_log2, stride_log2, atomic, padding: 0 };
    // SAFETY: the buffers are as long as the kernel's documentation demands.
    unsafe {
        stream.launch(1 << words_log2, |uses| Strided {
            memory: uses.write(&mut memory),
            wrong: uses.write(&mut wrong),
            plan,
        })
    }
    .unwrap();
    (memory.download(stream).unwrap(), wrong.download(stream).unwrap()[0])
}

#[test]
fn strided_updates_reach_every_word_once_and_count_what_is_wrong() {
    for engine in engines() {
        for (words_log2, stride_log2) in [(0, 0), (1, 1), (5, 2), (9, 0), (9, 1), (9, 4), (9, 9)] {
            for atomic in [0, 1] {
                let (words, wrong) = strided::<u32>(&engine.device, words_log2, stride_log2, atomic);
                assert!(words.iter().all(|&word| word == 9) && wrong == 1, "{words_log2} {stride_log2} {atomic}");
                let (words, wrong) = strided::<u64>(&engine.device, words_log2, stride_log2, atomic);
                assert!(words.iter().all(|&word| word == 9) && wrong == 1, "{words_log2} {stride_log2} {atomic}");
            }
        }
    }
}

#[test]
fn strided_words_are_a_stride_apart_and_neighbours_far_apart_in_time() {
    let words_of = |stride_log2| {
        let plan = StridedParams { before: 0, after: 0, words_log2: 10, stride_log2, atomic: 0, padding: 0 };
        (0..1024).map(|thread| plan.word_of(thread)).collect::<Vec<_>>()
    };
    assert!(words_of(0).into_iter().eq(0..1024));
    for stride_log2 in 1..=10 {
        let words = words_of(stride_log2);
        assert_eq!(words.iter().copied().collect::<BTreeSet<_>>().len(), 1024);
        let round = 1024 >> stride_log2;
        assert!(words.chunks(round).all(|round| round.is_sorted_by(|a, b| b - a == 1 << stride_log2)));
        let mut reached = vec![0usize; 1024];
        words.iter().enumerate().for_each(|(thread, &word)| reached[word as usize] = thread);
        // The second half of the rounds reaches the odd words.
        assert!(reached.chunks(2).all(|pair| pair[1] == pair[0] + 512), "{stride_log2}");
    }
}

#[test]
fn copying_copies_all_words_and_no_more() {
    for engine in engines() {
        let stream = engine.device.default_stream();
        for words in [0, 2, 510, 512, 514, 1000usize] {
            let source = Buffer::from_slice(&engine.device, &distinct_keys::<u64>(words, 3)).unwrap();
            let mut target = Buffer::from_slice(&engine.device, &vec![7u64; words + 6]).unwrap();
            // SAFETY: both buffers have at least `words` words.
            unsafe {
                stream.launch(words / 2, |uses| Copy {
                    source: uses.read(&source),
                    target: uses.write(&mut target),
                    words: words as u64,
                })
            }
            .unwrap();
            let copied = target.download(stream).unwrap();
            assert_eq!(copied[..words], source.download(stream).unwrap(), "{words} on {}", engine.device.name());
            assert_eq!(copied[words..], [7; 6]);
        }
    }
}
