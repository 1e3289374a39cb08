//! The runner of short kernels on the CPU back ends: the plain back end and the checking one.

use gpu_kernels::seam::{Global, Kernel, checked::Checker};
use std::fmt::Debug;

/// Returns the array as a kernel argument.
pub fn global<T>(words: &mut [T]) -> Global<T> {
    // SAFETY: the callers launch kernels on the array while it lives and nothing else uses it. Only
    // loads of pairs need the alignment to 16 bytes, and these kernels have none.
    unsafe { Global::new(words.as_mut_ptr()) }
}

/// Runs `kernel` on the plain back end and 50 times checked, on the words of `fresh`. All answers
/// must agree, without a conflict.
pub fn everywhere<T: Copy, A: PartialEq + Debug, K: Kernel>(
    blocks: u32,
    fresh: &[T],
    kernel: impl Fn(Global<T>) -> K,
    answer: impl Fn(&[T]) -> A,
) -> A {
    let mut words = fresh.to_vec();
    // SAFETY: the callers' kernels stay inside the arrays that their tests make.
    unsafe { kernel(global(&mut words)).run_on_cpu(0..blocks, blocks) };
    let expected = answer(&words);
    for seed in 0..50 {
        let mut words = fresh.to_vec();
        let (launch, checker) = (kernel(global(&mut words)), Checker::new(seed));
        for block in 0..blocks {
            // SAFETY: the kernels stay inside their arrays.
            unsafe { launch.run_checked(block, blocks, &checker) };
        }
        assert_eq!(checker.conflicts(), 0, "conflicts with seed {seed}");
        assert_eq!(answer(&words), expected, "with seed {seed}");
    }
    expected
}
