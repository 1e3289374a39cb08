//! Tests of the checking back end with kernels that are wrong on purpose, and with the same kernels
//! without the mistake.

use gpu_kernels::kernel;
use gpu_kernels::seam::{Block, Global, Kernel, Shared, checked::Checker};

/// Returns the conflicts and answers of 50 checked runs of one block.
fn checked<K: Kernel>(words: usize, kernel: impl Fn(Global<u32>) -> K) -> Vec<(u64, Vec<u32>)> {
    let run = |seed| {
        let mut out = vec![0; words];
        let checker = Checker::new(seed);
        // SAFETY: the kernels of this file access only the words that their tests name; the array
        // outlives the run.
        unsafe { kernel(Global::new(out.as_mut_ptr())).run_checked(0, 1, &checker) };
        (checker.conflicts(), out)
    };
    (0..50).map(run).collect()
}

kernel! {
    /// Every thread reads the word that its neighbour wrote; `missing` leaves out the barrier
    /// between them.
    Neighbours<>, "test_neighbours", threads 32, shared words: u32 = 32;
    { out: Global<u32>, missing: u32 }
}

impl Neighbours {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>) {
        let args = self;
        let mut nothing = block.local(|_| ());
        if args.missing == 0 {
            block.phase(&mut nothing, |thread, _| words.set(thread, thread));
        } else {
            block.each(&mut nothing, |thread, _| words.set(thread, thread));
        }
        block.each(&mut nothing, |thread, _| args.out.store(thread as u64, words.get((thread + 1) % 32)));
    }
}

#[test]
fn a_missing_barrier_is_reported_once_a_word_and_a_right_kernel_never() {
    let right: Vec<u32> = (0..32).map(|thread| (thread + 1) % 32).collect();
    for found in checked(32, |out| Neighbours { out, missing: 0 }) {
        assert_eq!(found, (0, right.clone()));
    }
    for (conflicts, _) in checked(32, |out| Neighbours { out, missing: 1 }) {
        assert_eq!(conflicts, 32);
    }
}

kernel! {
    /// Writes a word and reads a neighbour's word in one phase, which is the same mistake within a
    /// phase.
    OnePhase<>, "test_one_phase", threads 32, shared words: u32 = 32;
    { out: Global<u32> }
}

impl OnePhase {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>) {
        let args = self;
        let mut nothing = block.local(|_| ());
        block.phase(&mut nothing, |thread, _| words.set(thread, 100));
        block.phase(&mut nothing, |thread, _| {
            words.set(thread, thread);
            args.out.store(thread as u64, words.get((thread + 1) % 32));
        });
    }
}

#[test]
fn reading_what_another_thread_writes_in_the_phase_is_reported_and_its_answers_change() {
    let found = checked(32, |out| OnePhase { out });
    assert!(found.iter().all(|(conflicts, _)| *conflicts == 32));
    assert!(found.iter().any(|(_, answers)| *answers != found[0].1), "the order of the threads never changed");
}

kernel! {
    /// Lets threads access word 0 in one phase, with the kind of access that `deed` selects.
    OneWord<>, "test_one_word", threads 32, shared words: u32 = 2;
    { out: Global<u32>, deed: u32 }
}

impl OneWord {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>) {
        let args = self;
        let mut nothing = block.local(|_| ());
        block.phase(&mut nothing, |thread, _| {
            if thread == 0 {
                words.set(0, 0);
                words.set(1, 0);
            }
        });
        let deed = |thread: u32| match args.deed {
            0 => words.set(0, thread),
            1 => words.set(0, 7),
            2 => {
                words.fetch_add(0, 1);
            }
            3 => {
                words.fetch_add(0, 1);
                words.fetch_max(0, thread);
                words.exchange(1, thread);
            }
            4 => {
                words.get(0);
            }
            5 if thread == 5 => words.set(0, words.get(0) + 1),
            6 if thread == 5 => {
                words.get(0);
            }
            6 => {
                words.fetch_add(0, 1);
            }
            7 if thread == 5 => words.set(0, 1),
            7 => {
                words.get(0);
            }
            _ => {}
        };
        block.phase(&mut nothing, |thread, _| deed(thread));
        block.each(&mut nothing, |thread, _| {
            if thread == 0 {
                args.out.store(0, words.get(0));
            }
        });
    }
}

/// Returns the count of conflicts of a deed, which must be the same in every shuffle.
fn conflicts_of(deed: u32) -> u64 {
    let found = checked(1, |out| OneWord { out, deed });
    assert!(found.iter().all(|(conflicts, _)| *conflicts == found[0].0), "deed {deed}: it depends on the order");
    found[0].0
}

#[test]
fn unordered_plain_writes_to_one_word_are_reported_whatever_they_write() {
    assert_eq!([conflicts_of(0), conflicts_of(1)], [1, 1]);
    let last: Vec<u32> = checked(1, |out| OneWord { out, deed: 0 }).into_iter().map(|(_, out)| out[0]).collect();
    assert!(last.iter().any(|&winner| winner != last[0]), "the same thread always wrote last");
}

#[test]
fn atomics_reads_and_one_threads_own_words_are_not_reported() {
    assert_eq!([conflicts_of(2), conflicts_of(3), conflicts_of(4), conflicts_of(5)], [0; 4]);
}

#[test]
fn a_plain_access_beside_another_threads_atomic_or_write_is_reported() {
    assert_eq!([conflicts_of(6), conflicts_of(7)], [1, 1]);
}

kernel! {
    /// Conflicts in the last steps of a block, after which there is no barrier.
    AtTheEnd<>, "test_at_the_end", threads 32, shared words: u32 = 1;
    { out: Global<u32> }
}

impl AtTheEnd {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>) {
        let args = self;
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| words.set(0, thread));
        let _ = args.out;
    }
}

#[test]
fn a_conflict_after_the_last_barrier_is_reported() {
    assert!(checked(1, |out| AtTheEnd { out }).iter().all(|(conflicts, _)| *conflicts == 1));
}

kernel! {
    /// Writes before a count and reads after it: the count is the barrier.
    CountIsABarrier<>, "test_count_is_a_barrier", threads 32, shared words: u32 = 32;
    { out: Global<u32> }
}

impl CountIsABarrier {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>) {
        let args = self;
        let mut nothing = block.local(|_| ());
        block.count(&mut nothing, |thread, _| {
            words.set(thread, thread);
            true
        });
        block.each(&mut nothing, |thread, _| args.out.store(thread as u64, words.get(31 - thread)));
    }
}

#[test]
fn a_count_is_a_barrier_for_the_checking_back_end() {
    let right: Vec<u32> = (0..32).rev().collect();
    assert!(checked(32, |out| CountIsABarrier { out }).iter().all(|found| *found == (0, right.clone())));
}

kernel! {
    /// Sums in shared memory; `zeroed` says whether the sum starts at 0.
    Sum<>, "test_sum", threads 32, shared sum: u32 = 1;
    { out: Global<u32>, zeroed: u32 }
}

impl Sum {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, sum: B::Shared<u32>) {
        let args = self;
        let mut nothing = block.local(|_| ());
        if args.zeroed != 0 {
            block.phase(&mut nothing, |thread, _| {
                if thread == 0 {
                    sum.set(0, 0);
                }
            });
        }
        block.phase(&mut nothing, |thread, _| {
            sum.fetch_add(0, thread);
        });
        block.each(&mut nothing, |thread, _| {
            if thread == 0 {
                args.out.store(0, sum.get(0));
            }
        });
    }
}

#[test]
fn shared_memory_that_nobody_zeroed_gives_wrong_answers() {
    let right: u32 = (0..32).sum();
    assert!(checked(1, |out| Sum { out, zeroed: 1 }).iter().all(|(_, out)| out[0] == right));
    let wrong = checked(1, |out| Sum { out, zeroed: 0 });
    assert!(wrong.iter().all(|(conflicts, _)| *conflicts == 0));
    // The chance that one of 50 random 32-bit words is 0 is one in 86 million, and the seeds are
    // fixed.
    assert!(wrong.iter().all(|(_, out)| out[0] != right));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || checked(32, |out| OnePhase { out });
    assert_eq!(run(), run());
}
