//! Global memory through the seam's CPU back end: every access and every atomic, in every scope, on
//! both widths, and the atomics of 128-bit words.

use gpu_kernels::double_word::Double;
use gpu_kernels::seam::{Atomic, AtomicNumber, BlockScope, DeviceScope, Global, Scope, SystemScope};
use gpu_kernels::types::{KeyWord, Scalar};
use std::collections::HashSet;
use std::sync::Barrier;
use std::time::{Duration, Instant};
use warpnest_tests::{null, parameterized};

/// Words that are aligned as [`Global::new`] requires.
#[repr(align(16))]
struct Aligned<T, const N: usize>([T; N]);

fn global<T, const N: usize>(words: &mut Aligned<T, N>) -> Global<T> {
    // SAFETY: the tests stay inside the array while it lives, and access words of several threads
    // atomically.
    unsafe { Global::new(words.0.as_mut_ptr()) }
}

fn plain_accesses<K: KeyWord>() {
    let word = |i: u64| K::from_u64(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut words = Aligned(std::array::from_fn::<K, 16, _>(|i| word(i as u64)));
    let memory = global(&mut words);
    for i in 0..16 {
        memory.prefetch(i);
        let loads = [memory.load(i), memory.load_streaming(i), memory.load_read_only(i), memory.atomic(i).load()];
        assert_eq!(loads, [word(i); 4]);
    }
    // A prefetch accesses nothing, wherever it points.
    memory.prefetch(1 << 40);
    for i in (0..16).step_by(2) {
        let loads = [memory.load_pair_read_only(i), memory.load_pair_streaming(i), memory.load_pair_relaxed(i)];
        assert_eq!(loads, [[word(i), word(i + 1)]; 3]);
    }
    for i in (0..16).step_by(4) {
        let four = [0, 1, 2, 3].map(|j| word(i + j));
        assert_eq!([memory.load_four(i), memory.load_four_streaming(i)], [four; 2]);
    }
    memory.store(3, K::ALL_ONES);
    memory.store_streaming(4, K::default());
    memory.store_pair(6, [14, 15].map(word));
    memory.store_four_streaming(8, [12, 13, 14, 15].map(word));
    let mut expected: [K; 16] = std::array::from_fn(|i| word(i as u64));
    (expected[3], expected[4]) = (K::ALL_ONES, K::default());
    expected.copy_within(14..16, 6);
    expected.copy_within(12..16, 8);
    assert_eq!(words.0, expected, "a store changes its own word and no other");
}

#[test]
fn plain_loads_and_stores_reach_the_word_that_they_name() {
    plain_accesses::<u32>();
    plain_accesses::<u64>();
}

#[test]
fn null_is_null_and_a_cast_keeps_the_address() {
    assert!(null::<u64>().is_null() && null::<u64>().cast::<u32>().is_null());
    let mut words = Aligned([0x1111_2222_3333_4444u64, 5]);
    let memory = global(&mut words);
    assert!(!memory.is_null());
    let halves: Global<u32> = memory.cast();
    let expected = if cfg!(target_endian = "little") { [0x3333_4444, 0x1111_2222] } else { [0x1111_2222, 0x3333_4444] };
    assert_eq!(halves.load_pair_read_only(0), expected);
    assert_eq!(halves.cast::<u64>().load(1), 5);
}

/// Checks each operation on one word, by one thread.
fn one_thread<K: KeyWord, S: Scope>() {
    let k = K::from_u64;
    let mut words = Aligned([k(10), k(20), k(30)]);
    let memory = global(&mut words);
    let word: Atomic<K, S> = memory.atomic(1).scoped();
    assert_eq!(word.load(), k(20));
    word.store(k(21));
    assert_eq!(word.exchange(k(22)), k(21));
    assert_eq!(word.compare_exchange(k(21), k(99)), k(22), "it holds another word: it fails, and says what it holds");
    assert_eq!(word.load(), k(22));
    assert_eq!(word.compare_exchange(k(22), k(23)), k(22));
    assert_eq!(word.fetch_add(k(7)), k(23));
    assert_eq!(word.fetch_max(k(29)), k(30));
    assert_eq!(word.fetch_max(k(31)), k(30));
    assert_eq!(word.fetch_add(K::ALL_ONES), k(31));
    assert_eq!(word.exchange(K::ALL_ONES), k(30), "adding all ones subtracts one");
    assert_eq!(word.fetch_add(k(2)), K::ALL_ONES);
    assert_eq!(word.load(), k(1), "additions wrap");
    word.store(k(1 << (K::BITS - 1)));
    assert_eq!(word.fetch_max(k(5)), k(1 << (K::BITS - 1)), "the comparison has no sign");
    assert_eq!(words.0, [k(10), k(1 << (K::BITS - 1)), k(30)], "the neighbours are as they were");
}

/// Checks several threads at one word of each kind: no operation is lost, and no result is returned
/// twice.
fn many_threads<K: KeyWord, S: Scope>() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 3000;
    let mut words = Aligned([K::default(); 4]);
    let memory = global(&mut words);
    let mut seen: Vec<[Vec<u64>; 3]> = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    let word = |index| memory.atomic(index).scoped::<S>();
                    let mut seen: [Vec<u64>; 3] = Default::default();
                    for round in 0..ROUNDS {
                        let own = K::from_u64(1 + thread * ROUNDS + round);
                        seen[0].push(word(0).fetch_add(K::from_u64(1)).to_u64());
                        seen[1].push(word(1).exchange(own).to_u64());
                        word(2).fetch_max(own);
                        // This loop increments the word by compare-and-exchange.
                        let mut old = word(3).load();
                        loop {
                            let current = word(3).compare_exchange(old, K::from_u64(old.to_u64() + 1));
                            if current == old {
                                break seen[2].push(old.to_u64());
                            }
                            old = current;
                        }
                    }
                    seen
                })
            })
            .collect();
        seen = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
    });
    let all = |kind: usize| seen.iter().flat_map(|seen| seen[kind].iter().copied()).collect::<Vec<u64>>();
    let sorted = |mut numbers: Vec<u64>| {
        numbers.sort_unstable();
        numbers
    };
    let total = THREADS * ROUNDS;
    assert_eq!(sorted(all(0)), (0..total).collect::<Vec<_>>());
    assert_eq!(sorted(all(2)), (0..total).collect::<Vec<_>>());
    let exchanged: HashSet<u64> = all(1).into_iter().chain([words.0[1].to_u64()]).collect();
    assert_eq!(exchanged, (0..=total).collect::<HashSet<_>>());
    assert_eq!([words.0[0], words.0[2], words.0[3]], [K::from_u64(total); 3]);
}

#[parameterized(each_width)]
fn atomics_lose_nothing_and_return_what_was_there<K: KeyWord>() {
    one_thread::<K, BlockScope>();
    one_thread::<K, DeviceScope>();
    one_thread::<K, SystemScope>();
    many_threads::<K, BlockScope>();
    many_threads::<K, DeviceScope>();
    many_threads::<K, SystemScope>();
}

/// Checks the accesses to floats; `bits` returns the bits of a float.
fn floats<T: AtomicNumber + From<f32> + PartialOrd + std::fmt::Debug, S: Scope>(bits: impl Fn(T) -> u64) {
    const THREADS: usize = 4;
    const ROUNDS: usize = 100_000;
    let float = |number: f32| T::from(number);
    let mut words = Aligned([1.5, 2.5, -0.0, 0.0].map(float));
    let memory = global(&mut words);
    for (i, number) in [(0, 1.5), (1, 2.5)] {
        memory.prefetch(i);
        let loads = [memory.load(i), memory.load_streaming(i), memory.load_read_only(i), memory.atomic(i).load()];
        assert_eq!(loads, [float(number); 4]);
    }
    memory.store(1, float(-7.25));
    let word: Atomic<T, S> = memory.atomic(0).scoped();
    assert_eq!([word.fetch_add(float(0.25)), word.exchange(float(3.0)), word.load()], [1.5, 1.75, 3.0].map(float));
    let zero: Atomic<T, S> = memory.atomic(2).scoped();
    assert_eq!(bits(zero.compare_exchange(float(0.0), float(4.0))), bits(float(-0.0)), "its bits are others: it fails");
    assert_eq!(bits(zero.load()), bits(float(-0.0)));
    zero.compare_exchange(float(-0.0), float(4.0));
    let all_there = Barrier::new(THREADS);
    let add = || {
        all_there.wait();
        Vec::from_iter((0..ROUNDS).map(|_| memory.atomic(3).scoped::<S>().fetch_add(float(0.25))))
    };
    let mut seen: Vec<T> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS).map(|_| scope.spawn(add)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    seen.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let all = Vec::from_iter((0..THREADS * ROUNDS).map(|i| float(i as f32 / 4.0)));
    assert_eq!(seen, all, "nothing is lost and nothing is seen twice");
    assert_eq!(words.0, [3.0, -7.25, 4.0, (THREADS * ROUNDS) as f32 / 4.0].map(float));
}

#[test]
fn floats_are_read_written_and_added_to() {
    floats::<f32, BlockScope>(|float| float.to_bits().into());
    floats::<f32, DeviceScope>(|float| float.to_bits().into());
    floats::<f64, DeviceScope>(f64::to_bits);
    floats::<f64, SystemScope>(f64::to_bits);
}

/// Returns a word of a number and its complement.
fn complements<W: Double>(number: u64) -> W {
    let upper = W::Half::from_u64(number);
    W::of(upper, !upper)
}

fn doubles<W: Double>() {
    let word = complements::<W>;
    let mut words: Aligned<W, 8> = Aligned(std::array::from_fn(|i| word(i as u64)));
    let memory = global(&mut words);
    for i in 0..8 {
        let loads = [memory.load(i), memory.load_streaming(i), memory.load_read_only(i), memory.atomic(i).load()];
        assert_eq!(loads, [word(i); 4]);
        assert_eq!((loads[0].upper().to_u64(), loads[0].lower()), (i, !W::Half::from_u64(i)));
    }
    for first in (0..8).step_by(W::IN_SECTOR as usize) {
        let sector: Vec<W> = (first..first + W::IN_SECTOR as u64).map(word).collect();
        assert_eq!(W::read_sector(memory, first).as_ref(), sector);
        assert_eq!(W::load_sector_relaxed(memory, first).as_ref(), sector);
    }
    memory.store(2, word(20));
    let atomic = memory.atomic(5).scoped::<SystemScope>();
    assert_eq!(atomic.exchange(word(50)), word(5));
    assert_eq!(atomic.compare_exchange(word(5), word(51)), word(50), "it holds another word: it fails");
    for half in [W::of(word(50).upper(), word(7).lower()), W::of(word(7).upper(), word(50).lower())] {
        assert_eq!(atomic.compare_exchange(half, word(51)), word(50), "only half of it is the same: it fails");
    }
    assert_eq!(atomic.compare_exchange(word(50), W::ALL_ONES), word(50));
    assert_eq!(atomic.load(), W::of(!W::Half::default(), !W::Half::default()));
    let expected: [W; 8] = [0, 1, 20, 3, 4, 5, 6, 7].map(word);
    assert!((0..8).all(|i| words.0[i] == if i == 5 { W::ALL_ONES } else { expected[i] }), "{:?}", words.0);
}

#[test]
fn words_of_two_halves_are_read_and_changed_as_one() {
    doubles::<u64>();
    doubles::<u128>();
}

/// Checks that no thread reads halves of different words. For a second, two threads exchange a
/// word, one compares and exchanges it, and one reads it.
fn never_torn<W: Double>() {
    let mut words: Aligned<W, 1> = Aligned([complements(0)]);
    let memory = global(&mut words);
    let end = Instant::now() + Duration::from_secs(1);
    let rounds = || (0..).take_while(|round: &u64| !round.is_multiple_of(1024) || Instant::now() < end);
    let check = |seen: W| assert!(seen.lower() == !seen.upper(), "{seen:x?}");
    std::thread::scope(|scope| {
        for thread in 1..3 {
            scope.spawn(move || rounds().for_each(|i| check(memory.atomic(0).exchange(complements(i * thread)))));
        }
        scope.spawn(move || {
            rounds().fold(complements(0), |seen: W, i| {
                let now = memory.atomic(0).compare_exchange(seen, complements(i));
                check(now);
                now
            });
        });
        scope.spawn(move || rounds().for_each(|_| check(memory.atomic(0).load())));
    });
}

#[test]
fn words_of_two_halves_are_never_torn() {
    never_torn::<u64>();
    never_torn::<u128>();
}
