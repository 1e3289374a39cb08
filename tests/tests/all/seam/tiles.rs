//! Tile operations besides votes: state that outlives the tile, and counting in order; the block's
//! barrier, and casts. `seam/tile_sums.rs` tests sums.
//!
//! Every kernel runs on the plain CPU back end, and 50 times on the checking one in shuffled order,
//! and is compared with a reference.

use super::everywhere::{everywhere, global};
use gpu_kernels::kernel;
use gpu_kernels::seam::{Block, Global, Kernel, Shared, Tile, checked::Checker};
use gpu_kernels::types::KeyWord;
use std::fmt::Debug;

/// Checks that `kernel` on the words of `fresh` always gives `expected`.
pub(super) fn makes<T: Copy + PartialEq + Debug, K: Kernel>(
    blocks: u32,
    fresh: &[T],
    kernel: impl Fn(Global<T>) -> K,
    expected: &[T],
) {
    assert_eq!(everywhere(blocks, fresh, kernel, <[T]>::to_vec), expected);
}

const THREADS: usize = 64;

kernel! {
    /// State of the block's threads in tiles, in two blocks. Each thread's state goes through tiles
    /// twice, with a phase of the block in between. The output is two words a thread.
    Kept<>, "test_kept", threads 64, shared words: u64 = 64;
    { out: Global<u64> }
}

impl Kept {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u64>) {
        let args = self;
        let first = block.first_thread();
        let mut held = block.local(|thread| [thread as u64, 7]);
        block.tiles_of(&mut held, |tile, held| {
            let in_block = tile.first_thread() as u64;
            tile.each(held, |lane, held| held[1] = held[0] * 1000 + in_block + lane as u64);
        });
        block.phase(&mut held, |thread, held| {
            held[1] += 1_000_000;
            words.set(thread, held[1]);
        });
        block.tiles_of(&mut held, |tile, held| {
            let in_block = tile.first_thread();
            // The mirrored thread is in another tile, so the barrier matters.
            tile.each(held, |lane, held| held[0] = words.get(63 - in_block - lane));
            let votes = tile.ballot(held, |_, held| held[1] % 3 == 0);
            tile.each(held, |_, held| held[1] += (votes as u64) << 32);
        });
        block.each(&mut held, |thread, held| {
            args.out.store(2 * (first + thread as u64), held[0]);
            args.out.store(2 * (first + thread as u64) + 1, held[1]);
        });
    }
}

#[test]
fn what_a_tiles_lanes_keep_is_their_threads_part_of_the_blocks_state() {
    let held: Vec<u64> = (0..THREADS as u64).map(|thread| 1_000_000 + thread * 1001).collect();
    let mut expected = Vec::new();
    for thread in (0..THREADS).cycle().take(2 * THREADS) {
        let tile = &held[thread / 32 * 32..][..32];
        let votes = tile.iter().enumerate().fold(0, |votes, (lane, held)| votes | u64::from(held % 3 == 0) << lane);
        expected.extend([held[THREADS - 1 - thread], held[thread] + (votes << 32)]);
    }
    makes(2, &[0; 4 * THREADS], |out| Kept { out }, &expected);
}

kernel! {
    /// Writes in tiles, and reads the words that the other tile wrote; `missing` leaves out the
    /// barrier in between.
    Sync<>, "test_sync", threads 64, shared words: u32 = 64;
    { out: Global<u32>, missing: u32 }
}

impl Sync {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>) {
        let args = self;
        let mut held = block.local(|_| 0u32);
        block.tiles_of(&mut held, |tile, held| {
            let first = tile.first_thread();
            tile.each(held, |lane, held| {
                *held = first + lane;
                words.set(first + lane, 3 * (first + lane));
            });
        });
        if args.missing == 0 {
            block.sync();
        }
        block.tiles_of(&mut held, |tile, held| {
            tile.each(held, |_, held| *held = *held * 1000 + words.get(63 - *held));
        });
        block.each(&mut held, |thread, held| args.out.store(thread as u64, *held));
    }
}

#[test]
fn a_barrier_between_tiles_is_one_and_the_lack_of_it_is_reported() {
    let expected: Vec<u32> = (0..64).map(|thread| thread * 1000 + 3 * (63 - thread)).collect();
    makes(1, &[0; 64], |out| Sync { out, missing: 0 }, &expected);
    for seed in 0..50 {
        let (mut out, checker) = ([0; 64], Checker::new(seed));
        // SAFETY: the array has a word for each thread.
        unsafe { Sync { out: global(&mut out), missing: 1 }.run_checked(0, 1, &checker) };
        assert_eq!(checker.conflicts(), 64, "each word is written by one thread and read by another");
    }
}

/// The words with counters: each of two tiles has 2^10 counters, two in a word; some words are
/// before and after.
const COUNTER_WORDS: usize = 1024 + 64;

/// A kernel in which two tiles of 32 lanes count 32·ROWS classes each, twice. It writes two words
/// an item, then the counters.
macro_rules! count_kernel {
    ($name:ident, $entry:literal, $rows:literal) => {
        kernel! {
            /// Counts in order; the counters begin at index `first`.
            $name<>, $entry, threads 64, shared counters: u32 = COUNTER_WORDS;
            { classes: Global<u32>, out: Global<u32>, first: u32, bits: u32 }
        }

        impl $name {
            #[inline(always)]
            fn run<B: Block>(self, block: &mut B, counters: B::Shared<u32>) {
                let args = self;
                let mut held = block.local(|thread| (thread, [[u32::MAX; $rows]; 2]));
                block.phase(&mut held, |thread, _| {
                    for word in 0..COUNTER_WORDS as u32 / 64 {
                        counters.set(word * 64 + thread, 0);
                    }
                });
                block.tiles_of(&mut held, |tile, held| {
                    // Each tile has its own counters.
                    let of_tile = args.first + (tile.first_thread() / 32 << args.bits);
                    for time in 0..2 {
                        tile.count_in_order::<_, $rows>(
                            held,
                            counters,
                            of_tile,
                            args.bits,
                            |(thread, _), row| args.classes.load((row as u32 * 64 + thread) as u64),
                            |(_, told), row, rank| told[time][row] = rank,
                        );
                    }
                });
                block.sync();
                block.each(&mut held, |thread, (_, told)| {
                    for row in 0..$rows {
                        for time in 0..2 {
                            args.out.store(2 * (row as u64 * 64 + thread as u64) + time as u64, told[time][row]);
                        }
                    }
                    for word in 0..COUNTER_WORDS as u32 / 64 {
                        let word = word * 64 + thread;
                        args.out.store(2 * 64 * $rows + word as u64, counters.get(word));
                    }
                });
            }
        }
    };
}
count_kernel!(Count1, "test_count_1", 1);
count_kernel!(Count3, "test_count_3", 3);
count_kernel!(Count4, "test_count_4", 4);
count_kernel!(Count12, "test_count_12", 12);

fn counts<K: Kernel>(
    rows: usize,
    (first, bits): (u32, u32),
    class: impl Fn(u32) -> u32,
    kernel: impl Fn(Global<u32>, Global<u32>) -> K,
) {
    let mut classes: Vec<u32> = (0..64 * rows as u32).map(class).collect();
    let mut expected = vec![0; 2 * 64 * rows];
    let mut counters = vec![0u32; 2 * COUNTER_WORDS];
    for tile in 0..2 {
        for (time, row) in (0..2).flat_map(|time| (0..rows).map(move |row| (time, row))) {
            for item in (0..32).map(|lane| row * 64 + tile * 32 + lane) {
                let counter = &mut counters[first as usize + (tile << bits) + classes[item] as usize];
                expected[2 * item + time] = *counter;
                *counter += 1;
            }
        }
    }
    expected.extend(counters.chunks(2).map(|pair| pair[0] | pair[1] << 16));
    let fresh = vec![0; expected.len()];
    let classes = global(&mut classes);
    makes(1, &fresh, |out| kernel(classes, out), &expected);
}

#[test]
fn items_are_counted_row_by_row_and_lane_by_lane() {
    for (first, bits) in [(0, 1), (6, 2), (0, 5), (100, 8), (126, 10)] {
        let any = |i: u32| i.wrapping_mul(0x9e37_79b9) >> (32 - bits);
        let highest = |_| (1 << bits) - 1;
        let two = |i: u32| i / 3 % 2;
        let classes: [&dyn Fn(u32) -> u32; 3] = [&any, &highest, &two];
        for class in classes {
            let counters_at = (first, bits);
            counts(1, counters_at, class, |classes, out| Count1 { classes, out, first, bits });
            counts(3, counters_at, class, |classes, out| Count3 { classes, out, first, bits });
            counts(4, counters_at, class, |classes, out| Count4 { classes, out, first, bits });
            counts(12, counters_at, class, |classes, out| Count12 { classes, out, first, bits });
        }
    }
}

kernel! {
    /// Writes words of one type and reads them as the other type; `beyond` reads one word too far.
    Cast<>, "test_cast", threads 32, shared narrow: u32 = 64, shared wide: u64 = 32;
    { out: Global<u64>, beyond: u32 }
}

impl Cast {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, narrow: B::Shared<u32>, wide: B::Shared<u64>) {
        let args = self;
        let mut nothing = block.local(|_| ());
        block.phase(&mut nothing, |thread, _| {
            narrow.set(2 * thread, 10 + thread);
            narrow.set(2 * thread + 1, 20 + thread);
            wide.cast::<u32>().set(thread, 100 + thread);
            wide.cast::<u32>().fetch_add(32 + thread, 0);
        });
        block.phase(&mut nothing, |thread, _| {
            wide.cast::<u32>().exchange(32 + thread, 200 + thread);
            args.out.store(thread as u64, narrow.cast::<u64>().get(thread + args.beyond));
        });
        block.each(&mut nothing, |thread, _| {
            args.out.store(32 + thread as u64, wide.get(thread));
            args.out.store(64 + thread as u64, wide.cast::<u32>().cast::<u64>().get(thread));
        });
    }
}

#[test]
fn shared_memory_cast_to_words_of_another_type_is_the_same_memory() {
    let narrow = (0..32).map(|thread| (10 + thread) | ((20 + thread) << 32));
    let half = |i: u64| if i < 32 { 100 + i } else { 200 + i - 32 };
    let wide: Vec<u64> = (0..32).map(|thread| half(2 * thread) | half(2 * thread + 1) << 32).collect();
    let expected: Vec<u64> = narrow.chain(wide.iter().copied()).chain(wide.iter().copied()).collect();
    makes(1, &[0; 96], |out| Cast { out, beyond: 0 }, &expected);
    // The index of the array's end depends on the width of its words.
    let mut out = [0; 96];
    let mut caught = |checked: bool| {
        let launch = Cast { out: global(&mut out), beyond: 1 };
        let run = || match checked {
            // SAFETY: the array has a word for each store; the index beyond the shared array is
            // refused before it is used.
            true => unsafe { launch.run_checked(0, 1, &Checker::new(1)) },
            // SAFETY: the array has a word for each store; the index beyond is refused.
            false => unsafe { launch.run_on_cpu(0..1, 1) },
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err()
    };
    assert!(caught(false) && caught(true));
}

kernel! {
    /// A conflict that only casts can hide: one thread writes a 64-bit word, and another reads one
    /// of its halves.
    Halves<>, "test_halves", threads 32, shared wide: u64 = 2;
    { out: Global<u32>, half: u32 }
}

impl Halves {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, wide: B::Shared<u64>) {
        let args = self;
        let mut nothing = block.local(|_| ());
        block.phase(&mut nothing, |thread, _| {
            if thread == 3 {
                wide.set(0, 5);
            }
            if thread == 9 {
                args.out.store(0, wide.cast::<u32>().get(args.half));
            }
        });
    }
}

#[test]
fn a_conflict_over_a_half_of_a_word_is_reported() {
    for half in [0, 1] {
        let (mut out, checker) = ([0], Checker::new(1));
        // SAFETY: the kernel writes only one word.
        unsafe { Halves { out: global(&mut out), half }.run_checked(0, 1, &checker) };
        assert!(checker.conflicts() > 0, "half {half}");
    }
}

kernel! {
    /// Tells each lane its twin: one of the lanes with its word, the same for all of them. A lane
    /// with word 0 is its own twin.
    Twins<K: KeyWord>, "test_twins", threads 64;
    { words: Global<K>, out: Global<u32> }
}

impl<K: KeyWord> Twins<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let first = block.first_thread();
        let mut held = block.local(|thread| (self.words.load(first + thread as u64), u32::MAX));
        block.tiles_of(&mut held, |tile, held| {
            let word = |_, &(word, _): &(K, u32)| (word != K::default()).then(|| (word, word.bits_from(0)));
            tile.twins(held, word, |_, (_, told), twin| *told = twin);
        });
        block.each(&mut held, |thread, (_, twin)| self.out.store(first + thread as u64, *twin));
    }
}

fn twins_of<K: KeyWord>() {
    let mut words: Vec<K> = (0..128u64).map(|i| K::from_u64(i * i % 11)).collect();
    let read = words.clone();
    let words = global(&mut words);
    everywhere(
        2,
        &[u32::MAX; 128],
        |out| Twins { words, out },
        |told| {
            for (lanes, told) in read.chunks(32).zip(told.chunks(32)) {
                for (lane, &twin) in told.iter().enumerate() {
                    let twin = twin as usize;
                    assert!(twin >= lane && lanes[twin] == lanes[lane] && told[twin] as usize == twin);
                    assert!(twin == lane || lanes[lane] != K::default(), "it holds no word");
                }
            }
        },
    );
}

#[test]
fn a_lane_is_told_one_that_holds_the_same_word_and_is_told_itself() {
    twins_of::<u32>();
    twins_of::<u64>();
}
