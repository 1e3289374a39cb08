//! The seam through short kernels: a block, its shared memory and its tiles on the CPU back ends.
//!
//! Every kernel runs on the plain CPU back end, and 50 times on the checking one in shuffled order.
//! `seam/checked.rs` has the kernels that are wrong on purpose.

use super::everywhere::{everywhere, global};
use gpu_kernels::kernel;
use gpu_kernels::seam::{Block, Global, Kernel, Shared, Tile, checked::Checker};
use gpu_kernels::types::KeyWord;
use warpnest_tests::null;

kernel! {
    /// Writes the indices of each thread, which are four words a thread.
    Places<>, "test_places", threads 64;
    { out: Global<u64> }
}

impl Places {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let (index, grid, threads, first) = (block.index(), block.grid(), block.threads(), block.first_thread());
        let mut numbers = block.local(|thread| first + thread as u64);
        block.each(&mut numbers, |thread, number| {
            let row = 4 * *number;
            args.out.store(row, index as u64);
            args.out.store(row + 1, grid as u64);
            args.out.store(row + 2, threads as u64);
            args.out.store(row + 3, thread as u64);
        });
    }
}

#[test]
fn every_thread_of_every_block_runs_once_and_knows_its_place() {
    let found = everywhere(3, &[u64::MAX; 4 * 3 * 64], |out| Places { out }, <[u64]>::to_vec);
    for (number, row) in found.chunks(4).enumerate() {
        assert_eq!(row, [number as u64 / 64, 3, 64, number as u64 % 64]);
    }
    let mut out = vec![u64::MAX; 4 * 3 * 64];
    // SAFETY: the array has four words for each of three times 64 threads.
    unsafe { Places { out: global(&mut out) }.run_on_cpu(1..2, 3) };
    assert!(out[..256].iter().chain(&out[512..]).all(|&word| word == u64::MAX), "a block that was not asked for ran");
    assert_eq!(&out[256..260], [1, 3, 64, 0]);
}

kernel! {
    /// Passes numbers around a ring `rounds` times, with state in registers and a barrier after
    /// each step.
    Ring<>, "test_ring", threads 64, shared ring: u32 = 64;
    { out: Global<u32>, rounds: u32 }
}

impl Ring {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, ring: B::Shared<u32>) {
        let args = self;
        let first = block.first_thread();
        let mut held = block.local(|thread| thread * 10);
        for _ in 0..args.rounds {
            block.phase(&mut held, |thread, held| ring.set(thread, *held));
            block.phase(&mut held, |thread, held| *held = ring.get((thread + 1) % 64) + 1);
        }
        block.each(&mut held, |thread, held| args.out.store(first + thread as u64, *held));
    }
}

#[test]
fn a_phase_ends_with_a_barrier_and_local_state_lasts() {
    for rounds in [0, 1, 5, 64] {
        let found = everywhere(2, &[0; 128], |out| Ring { out, rounds }, <[u32]>::to_vec);
        let expected: Vec<u32> = (0..128).map(|i| (i % 64 + rounds) % 64 * 10 + rounds).collect();
        assert_eq!(found, expected);
    }
}

kernel! {
    /// Counts the threads whose input is odd, and lets every thread write the count; counting is a
    /// barrier, too.
    Odd<>, "test_odd", threads 32, shared seen: u32 = 32;
    { numbers: Global<u32>, out: Global<u32> }
}

impl Odd {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, seen: B::Shared<u32>) {
        let args = self;
        let first = block.first_thread();
        let mut sums = block.local(|_| 0);
        let odd = block.count(&mut sums, |thread, _| {
            let number = args.numbers.load(first + thread as u64);
            seen.set(thread, number);
            number % 2 == 1
        });
        block.each(&mut sums, |thread, sum| {
            *sum = odd * 1000 + seen.get(31 - thread);
            args.out.store(first + thread as u64, *sum);
        });
    }
}

#[test]
fn a_count_tells_all_threads_for_how_many_it_was_true_and_ends_with_a_barrier() {
    let mut numbers: Vec<u32> = (0..96)
        .map(|i| {
            if i < 32 {
                2 * i
            } else if i < 64 {
                2 * i + 1
            } else {
                i * i
            }
        })
        .collect();
    let copy = numbers.clone();
    let numbers = global(&mut numbers);
    let found = everywhere(3, &[0; 96], |out| Odd { numbers, out }, <[u32]>::to_vec);
    for (i, &found) in found.iter().enumerate() {
        let odd = [0, 32, 16][i / 32];
        assert_eq!(found, odd * 1000 + copy[i / 32 * 32 + 31 - i % 32]);
    }
}

kernel! {
    /// Writes the results of each atomic operation on shared memory: first two results of each
    /// thread, then six words of the block.
    SharedAtomics<K: KeyWord>, "test_shared_atomics", threads 64, shared words: K = 3, shared bins: K = 8;
    { out: Global<K> }
}

impl<K: KeyWord> SharedAtomics<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<K>, bins: B::Shared<K>) {
        let args = self;
        let mut returned = block.local(|_| (K::default(), K::default()));
        block.phase(&mut returned, |thread, _| {
            if thread < 3 {
                words.set(thread, K::from_u64(if thread == 0 { u64::MAX } else { 1000 }));
            }
            if thread < 8 {
                bins.set(thread, K::default());
            }
        });
        block.phase(&mut returned, |thread, returned| {
            returned.0 = words.fetch_add(0, K::from_u64(1));
            words.fetch_max(1, K::from_u64(990 + thread as u64 % 32));
            returned.1 = words.exchange(2, K::from_u64(thread as u64));
            bins.fetch_add(thread % 8, K::from_u64(thread as u64));
        });
        block.each(&mut returned, |thread, returned| {
            args.out.store(thread as u64, returned.0);
            args.out.store(64 + thread as u64, returned.1);
            if thread < 3 {
                args.out.store(128 + thread as u64, words.get(thread));
            }
            if thread < 8 {
                args.out.store(131 + thread as u64, bins.get(thread));
            }
        });
    }
}

fn shared_atomics<K: KeyWord>() {
    everywhere(
        1,
        &[K::default(); 139],
        |out| SharedAtomics { out },
        |found| {
            // The order of the threads determines which thread gets which result, but together they
            // must get each result once.
            let mut added: Vec<u64> = found[..64].iter().map(|word| word.to_u64()).collect();
            added.sort_unstable();
            let wrapped = K::ALL_ONES.to_u64();
            assert_eq!(added, (0..63).chain([wrapped]).collect::<Vec<u64>>());
            let mut exchanged: Vec<u64> = found[64..128].iter().map(|word| word.to_u64()).collect();
            exchanged.push(found[130].to_u64());
            exchanged.sort_unstable();
            assert_eq!(exchanged, (0..64).chain([1000]).collect::<Vec<u64>>());
            assert_eq!([found[128].to_u64(), found[129].to_u64()], [63, 1021]);
            let bins: Vec<u64> = found[131..].iter().map(|word| word.to_u64()).collect();
            assert_eq!(bins, (0..8).map(|bin| 8 * bin + 8 * 28).collect::<Vec<u64>>());
        },
    );
}

#[test]
fn atomics_on_shared_memory_lose_nothing_and_return_what_was_there() {
    shared_atomics::<u32>();
    shared_atomics::<u64>();
}

kernel! {
    /// Reads past the end of a shared array.
    Beyond<>, "test_beyond", threads 4, shared words: u32 = 4;
    { by: u32 }
}

impl Beyond {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>) {
        let args = self;
        let mut nothing = block.local(|_| ());
        block.phase(&mut nothing, |thread, _| words.set(thread + args.by, 1));
    }
}

#[test]
fn an_index_beyond_a_shared_array_is_caught_on_both_back_ends() {
    let caught = |work: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err();
    // SAFETY: the kernel accesses no global memory.
    assert!(caught(&|| unsafe { Beyond { by: 1 }.run_on_cpu(0..1, 1) }));
    // SAFETY: the kernel accesses no global memory.
    assert!(caught(&|| unsafe { Beyond { by: 1 }.run_checked(0, 1, &Checker::new(1)) }));
    // SAFETY: the kernel accesses no global memory.
    unsafe { Beyond { by: 0 }.run_on_cpu(0..1, 1) };
}

kernel! {
    /// Votes and picks in tiles, which are five words a thread.
    Tiles<>, "test_tiles", threads 64;
    { words: Global<u32>, out: Global<u32>, lanes_started: Global<u32> }
}

impl Tiles {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let block_first = block.first_thread();
        block.tiles(|tile| {
            let in_block = tile.first_thread();
            let first = block_first + in_block as u64;
            let mut held = tile.local(|lane| {
                args.lanes_started.atomic(first + lane as u64).fetch_add(1);
                args.words.load(first + lane as u64)
            });
            tile.each(&mut held, |lane, word| *word = word.wrapping_mul(3) ^ lane);
            let odd = tile.ballot(&held, |_, word| word % 2 == 1);
            let all = tile.ballot(&held, |lane, _| lane < 32);
            // All lanes must pick the same lane, so its index follows from a vote. Lanes are
            // counted modulo 32.
            let picked = tile.pick(&held, odd.count_ones() + 16, |word| *word);
            tile.each(&mut held, |lane, word| {
                let row = 5 * (first + lane as u64);
                args.out.store(row, *word);
                args.out.store(row + 1, odd);
                args.out.store(row + 2, all);
                args.out.store(row + 3, picked);
                args.out.store(row + 4, in_block);
            });
        });
    }
}

#[test]
fn tiles_vote_and_pick_among_their_own_lanes() {
    let mut words: Vec<u32> = (0..128u32).map(|i| i.wrapping_mul(0x9e37_79b9) >> 7).collect();
    let held: Vec<u32> = words.iter().enumerate().map(|(i, word)| word.wrapping_mul(3) ^ (i % 32) as u32).collect();
    let (input, mut started) = (global(&mut words), vec![0; 128]);
    let started = global(&mut started);
    let kernel = |out| Tiles { words: input, out, lanes_started: started };
    let found = everywhere(2, &[0; 5 * 128], kernel, <[u32]>::to_vec);
    for (i, row) in found.chunks(5).enumerate() {
        let tile = &held[i / 32 * 32..][..32];
        let odd = tile.iter().enumerate().fold(0, |votes, (lane, word)| votes | (word % 2) << lane);
        let picked = tile[(odd.count_ones() as usize + 16) % 32];
        assert_eq!(row, [held[i], odd, u32::MAX, picked, i as u32 % 64 / 32 * 32], "thread {i}");
    }
}

#[test]
fn a_tile_makes_the_state_of_each_lane_once() {
    let (mut words, mut out) = (vec![0; 128], vec![0; 5 * 128]);
    let (words, out) = (global(&mut words), global(&mut out));
    let kernel = |lanes_started| Tiles { words, out, lanes_started };
    let started = everywhere(2, &[0; 128], kernel, <[u32]>::to_vec);
    assert_eq!(started, [1; 128], "a lane's state must be made once, as on the GPU");
}

kernel! {
    /// A kernel with a parameter of each kind.
    Parameters<K: KeyWord, V: KeyWord>, "test_parameters", threads 128;
    { first: Global<K>, second: Global<V>, plan: [u64; 3], flag: u32 }
}

impl<K: KeyWord, V: KeyWord> Parameters<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let _ = (args.plan, args.flag, block.index());
    }
}

#[test]
fn a_kernel_shows_its_name_threads_and_arguments() {
    let (first, plan) = (0x1230 as *mut u32, [1, 2, 3]);
    // SAFETY: no memory is accessed.
    let launch = Parameters::<u32, u64> { first: unsafe { Global::new(first) }, second: null(), plan, flag: 9 };
    assert_eq!((launch.name(), launch.threads()), ("test_parameters_u32_u64", 128));
    let other = Parameters::<u64, u32> { first: null(), second: null(), plan, flag: 9 };
    assert_eq!(other.name(), "test_parameters_u64_u32");
    assert_eq!(SharedAtomics::<u64> { out: null() }.name(), "test_shared_atomics_u64");
    let mut shown = Vec::new();
    launch.arguments(&mut |argument, bytes| {
        // SAFETY: the kernel passes its own arguments, which have no padding.
        shown.push(unsafe { std::slice::from_raw_parts(argument.cast::<u8>(), bytes) }.to_vec());
    });
    let expected = [
        0x1230u64.to_ne_bytes().to_vec(),
        0u64.to_ne_bytes().to_vec(),
        plan.iter().flat_map(|word: &u64| word.to_ne_bytes()).collect(),
        9u32.to_ne_bytes().to_vec(),
    ];
    assert_eq!(shown, expected);
}
