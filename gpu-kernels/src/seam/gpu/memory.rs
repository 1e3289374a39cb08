//! Memory operations in inline PTX. Loads, stores and atomics need no convergence, so inline
//! assembly is right for them.

use super::super::access::{AddedWord, GlobalWord, Scope, WholeWord};
use super::super::work::{LaneWork, Narrow, Work};
use super::warp::LaneWord;
use core::arch::asm;

/// Whether threads run in step, so that a branch that some threads take costs time on all threads.
pub const IN_STEP: bool = true;

/// Compares four words one after the other.
#[inline(always)]
pub fn equal_of_four(words: [u32; 4], mask: u32, other: u32) -> u32 {
    let bit = |i: usize| ((words[i] & mask == other) as u32) << (4 * i);
    bit(0) | bit(1) | bit(2) | bit(3)
}

/// Runs `work` as it is, since a GPU's vectors are its threads.
#[inline(always)]
pub fn vectorized<W: Work>(work: W) -> W::Output {
    work.run()
}

/// Runs `work` as it is.
#[inline(always)]
pub fn vectorized_by_lanes<W: LaneWork>(work: W) -> W::Output {
    work.run(Narrow)
}

/// The factor by which an array that is [`staged`](super::super::Shared::staged) may be larger than
/// shared memory.
pub const STAGED_TIMES: usize = 1;

/// The operations on a word in shared memory.
///
/// # Safety
/// The methods access `at`, the address of a word in the block's shared memory.
#[allow(clippy::missing_safety_doc, missing_docs)]
pub trait SharedWord: LaneWord {
    unsafe fn shared_load(at: u32) -> Self;
    unsafe fn shared_store(at: u32, value: Self);
    unsafe fn shared_add(at: u32, value: Self) -> Self;
    unsafe fn shared_add_float(at: u32, value: Self);
    unsafe fn shared_max(at: u32, value: Self) -> Self;
    unsafe fn shared_exchange(at: u32, value: Self) -> Self;
    unsafe fn shared_or(at: u32, value: Self) -> Self;
    unsafe fn shared_compare_exchange(at: u32, expected: Self, value: Self) -> Self;
    unsafe fn shared_load_relaxed(at: u32) -> Self;
    unsafe fn shared_load_pair_relaxed(at: u32) -> [Self; 2];
}

/// Waits for a short time.
#[inline(always)]
pub fn pause() {
    // SAFETY: the instruction accesses no memory.
    unsafe { asm!("nanosleep.u32 32;", options(nomem, nostack)) };
}

/// Returns `word` as a word of unknown origin (see [`opaque`](crate::seam::opaque)). This costs
/// nothing, since ptxas removes the move.
#[inline(always)]
pub fn opaque(word: u32) -> u32 {
    let same: u32;
    // SAFETY: this only computes, and needs no convergence.
    unsafe { asm!("mov.b32 {}, {};", out(reg32) same, in(reg32) word, options(nomem, nostack)) };
    same
}

/// Returns the upper half of a product.
#[inline(always)]
pub fn upper_product(a: u32, b: u32) -> u32 {
    let upper: u32;
    // SAFETY: this only computes, and needs no convergence.
    unsafe {
        asm!("mul.hi.u32 {}, {}, {};", out(reg32) upper, in(reg32) a, in(reg32) b, options(pure, nomem, nostack));
    }
    upper
}

/// Returns the sum of a product and `addend`, wrapping.
#[inline(always)]
pub fn wide_product(a: u32, b: u32, addend: u64) -> u64 {
    let sum: u64;
    // SAFETY: this only computes, and needs no convergence.
    unsafe {
        asm!("mad.wide.u32 {}, {}, {}, {};", out(reg64) sum, in(reg32) a, in(reg32) b, in(reg64) addend, options(pure, nomem, nostack));
    }
    sum
}

/// Returns the square root, rounded to the nearest number.
#[inline(always)]
pub fn square_root(number: f64) -> f64 {
    let root: u64;
    let bits = number.to_bits();
    // SAFETY: this only computes, and needs no convergence.
    unsafe { asm!("sqrt.rn.f64 {}, {};", out(reg64) root, in(reg64) bits, options(pure, nomem, nostack)) };
    f64::from_bits(root)
}

/// Expands to the instruction with the scope `$scope`.
macro_rules! scoped {
    ($scope:ty, $before:literal, $after:expr, $($operands:tt)*) => {
        match <$scope>::LEVEL {
            0 => asm!(concat!($before, ".cta.global.", $after), $($operands)*),
            1 => asm!(concat!($before, ".gpu.global.", $after), $($operands)*),
            _ => asm!(concat!($before, ".sys.global.", $after), $($operands)*),
        }
    };
}

/// Expands to a load or a store of four words, 16 bytes at a time.
macro_rules! four {
    (load $hint:literal, "32", $register:ident, $at:ident) => {{
        let (a, b, c, d): (u32, u32, u32, u32);
        asm!(concat!("ld.global", $hint, ".v4.b32 {{{}, {}, {}, {}}}, [{}];"), out($register) a, out($register) b, out($register) c, out($register) d, in(reg64) $at, options(nostack, readonly));
        [a, b, c, d]
    }};
    (load $hint:literal, "64", $register:ident, $at:ident) => {{
        let (a, b, c, d): (u64, u64, u64, u64);
        asm!(concat!("ld.global", $hint, ".v2.b64 {{{}, {}}}, [{}];"), out($register) a, out($register) b, in(reg64) $at, options(nostack, readonly));
        asm!(concat!("ld.global", $hint, ".v2.b64 {{{}, {}}}, [{}+16];"), out($register) c, out($register) d, in(reg64) $at, options(nostack, readonly));
        [a, b, c, d]
    }};
    (store "32", $register:ident, $at:ident, $($value:ident),*) => {
        asm!("st.global.cs.v4.b32 [{}], {{{}, {}, {}, {}}};", in(reg64) $at, $(in($register) $value),*, options(nostack))
    };
    (store "64", $register:ident, $at:ident, $a:ident, $b:ident, $c:ident, $d:ident) => {{
        asm!("st.global.cs.v2.b64 [{}], {{{}, {}}};", in(reg64) $at, in($register) $a, in($register) $b, options(nostack));
        asm!("st.global.cs.v2.b64 [{}+16], {{{}, {}}};", in(reg64) $at, in($register) $c, in($register) $d, options(nostack));
    }};
}

macro_rules! gpu_number {
    ($word:ty, $register:ident, $bits:literal, $sum:literal) => {
        impl WholeWord for $word {
            #[inline(always)]
            fn prefetch(_: *const Self) {}
            #[inline(always)]
            unsafe fn load_streaming(at: *const Self) -> Self {
                let value: Self;
                // SAFETY: the caller vouches for the word, and this accesses no other.
                unsafe { asm!(concat!("ld.global.cs.b", $bits, " {}, [{}];"), out($register) value, in(reg64) at, options(nostack, readonly)) };
                value
            }
            #[inline(always)]
            unsafe fn load_read_only(at: *const Self) -> Self {
                let value: Self;
                // SAFETY: the caller vouches for the word, and this accesses no other.
                unsafe { asm!(concat!("ld.global.nc.b", $bits, " {}, [{}];"), out($register) value, in(reg64) at, options(nostack, pure, readonly)) };
                value
            }
            #[inline(always)]
            unsafe fn atomic_load<S: Scope>(at: *mut Self) -> Self {
                let value: Self;
                // SAFETY: the caller vouches for the word, and this accesses no other.
                unsafe { scoped!(S, "ld.relaxed", concat!("b", $bits, " {}, [{}];"), out($register) value, in(reg64) at, options(nostack)) };
                value
            }
            #[inline(always)]
            unsafe fn atomic_exchange<S: Scope>(at: *mut Self, value: Self) -> Self {
                let old: Self;
                // SAFETY: the caller vouches for the word, and this accesses no other.
                unsafe { scoped!(S, "atom.relaxed", concat!("exch.b", $bits, " {}, [{}], {};"), out($register) old, in(reg64) at, in($register) value, options(nostack)) };
                old
            }
            #[inline(always)]
            unsafe fn atomic_compare_exchange<S: Scope>(at: *mut Self, expected: Self, value: Self) -> Self {
                let old: Self;
                // SAFETY: the caller vouches for the word, and this accesses no other.
                unsafe { scoped!(S, "atom.relaxed", concat!("cas.b", $bits, " {}, [{}], {}, {};"), out($register) old, in(reg64) at, in($register) expected, in($register) value, options(nostack)) };
                old
            }
        }

        impl AddedWord for $word {
            #[inline(always)]
            unsafe fn atomic_add<S: Scope>(at: *mut Self, value: Self) -> Self {
                let old: Self;
                // SAFETY: the caller vouches for the word, and this accesses no other.
                unsafe { scoped!(S, "atom.relaxed", concat!("add.", $sum, " {}, [{}], {};"), out($register) old, in(reg64) at, in($register) value, options(nostack)) };
                old
            }
        }
    };
}
gpu_number!(u32, reg32, "32", "u32");
gpu_number!(u64, reg64, "64", "u64");
gpu_number!(f32, reg32, "32", "f32");
gpu_number!(f64, reg64, "64", "f64");

macro_rules! gpu_word {
    ($word:ty, $register:ident, $bits:tt) => {
        impl GlobalWord for $word {
            #[inline(always)]
            fn prefetch_far(at: *const Self) {
                // SAFETY: a prefetch accesses nothing that a program can see, whatever the address.
                unsafe { asm!("prefetch.global.L2 [{}];", in(reg64) at, options(nostack)) };
            }
            #[inline(always)]
            unsafe fn load_pair_read_only(at: *const Self) -> [Self; 2] {
                let (first, second): (Self, Self);
                // SAFETY: the caller vouches for both words, and this accesses no others.
                unsafe { asm!(concat!("ld.global.nc.v2.b", $bits, " {{{}, {}}}, [{}];"), out($register) first, out($register) second, in(reg64) at, options(nostack, pure, readonly)) };
                [first, second]
            }
            #[inline(always)]
            unsafe fn load_pair_streaming(at: *const Self) -> [Self; 2] {
                let (first, second): (Self, Self);
                // SAFETY: the caller vouches for both words, and this accesses no others.
                unsafe { asm!(concat!("ld.global.cs.v2.b", $bits, " {{{}, {}}}, [{}];"), out($register) first, out($register) second, in(reg64) at, options(nostack, readonly)) };
                [first, second]
            }
            #[inline(always)]
            unsafe fn store_pair(at: *mut Self, [first, second]: [Self; 2]) {
                // SAFETY: the caller vouches for both words, and this accesses no others.
                unsafe { asm!(concat!("st.global.v2.b", $bits, " [{}], {{{}, {}}};"), in(reg64) at, in($register) first, in($register) second, options(nostack)) };
            }
            #[inline(always)]
            unsafe fn atomic_load_pair(at: *mut Self) -> [Self; 2] {
                let (first, second): (Self, Self);
                // SAFETY: the caller vouches for both words, and this accesses no others.
                unsafe { asm!(concat!("ld.relaxed.gpu.global.v2.b", $bits, " {{{}, {}}}, [{}];"), out($register) first, out($register) second, in(reg64) at, options(nostack)) };
                [first, second]
            }
            #[inline(always)]
            unsafe fn load_four(at: *const Self) -> [Self; 4] {
                // SAFETY: the caller vouches for the four words, and this accesses no others.
                unsafe { four!(load "", $bits, $register, at) }
            }
            #[inline(always)]
            unsafe fn load_four_read_only(at: *const Self) -> [Self; 4] {
                // SAFETY: the caller vouches for the four words, and this accesses no others.
                unsafe { four!(load ".nc", $bits, $register, at) }
            }
            #[inline(always)]
            unsafe fn load_four_streaming(at: *const Self) -> [Self; 4] {
                // SAFETY: the caller vouches for the four words, and this accesses no others.
                unsafe { four!(load ".cs", $bits, $register, at) }
            }
            #[inline(always)]
            unsafe fn store_four_streaming(at: *mut Self, [a, b, c, d]: [Self; 4]) {
                // SAFETY: the caller vouches for the four words, and this accesses no others.
                unsafe { four!(store $bits, $register, at, a, b, c, d) }
            }
            #[inline(always)]
            unsafe fn store_streaming(at: *mut Self, value: Self) {
                // SAFETY: the caller vouches for the word, and this accesses no other.
                unsafe { asm!(concat!("st.global.cs.b", $bits, " [{}], {};"), in(reg64) at, in($register) value, options(nostack)) };
            }
            #[inline(always)]
            unsafe fn atomic_store<S: Scope>(at: *mut Self, value: Self) {
                // SAFETY: the caller vouches for the word, and this accesses no other.
                unsafe { scoped!(S, "st.relaxed", concat!("b", $bits, " [{}], {};"), in(reg64) at, in($register) value, options(nostack)) };
            }
            #[inline(always)]
            unsafe fn atomic_max<S: Scope>(at: *mut Self, value: Self) -> Self {
                let old: Self;
                // SAFETY: the caller vouches for the word, and this accesses no other.
                unsafe { scoped!(S, "atom.relaxed", concat!("max.u", $bits, " {}, [{}], {};"), out($register) old, in(reg64) at, in($register) value, options(nostack)) };
                old
            }
        }

        // No Rust reference reaches shared memory, so `nomem` is correct. Without `pure` these
        // instructions keep their order among themselves and relative to the barriers.
        impl SharedWord for $word {
            #[inline(always)]
            unsafe fn shared_load(at: u32) -> Self {
                let value: Self;
                // SAFETY: the caller vouches for the word; no Rust reference reaches shared memory.
                unsafe { asm!(concat!("ld.shared.b", $bits, " {}, [{}];"), out($register) value, in(reg32) at, options(nomem, nostack)) };
                value
            }
            #[inline(always)]
            unsafe fn shared_store(at: u32, value: Self) {
                // SAFETY: the caller vouches for the word; no Rust reference reaches shared memory.
                unsafe { asm!(concat!("st.shared.b", $bits, " [{}], {};"), in(reg32) at, in($register) value, options(nomem, nostack)) };
            }
            #[inline(always)]
            unsafe fn shared_add(at: u32, value: Self) -> Self {
                let old: Self;
                // SAFETY: the caller vouches for the word; no Rust reference reaches shared memory.
                unsafe { asm!(concat!("atom.shared.add.u", $bits, " {}, [{}], {};"), out($register) old, in(reg32) at, in($register) value, options(nomem, nostack)) };
                old
            }
            #[inline(always)]
            unsafe fn shared_add_float(at: u32, value: Self) {
                // SAFETY: the caller vouches for the word; no Rust reference reaches shared memory.
                unsafe { asm!(concat!("{{ .reg .f", $bits, " value; mov.b", $bits, " value, {1}; red.shared.add.f", $bits, " [{0}], value; }}"), in(reg32) at, in($register) value, options(nomem, nostack)) };
            }
            #[inline(always)]
            unsafe fn shared_max(at: u32, value: Self) -> Self {
                let old: Self;
                // SAFETY: the caller vouches for the word; no Rust reference reaches shared memory.
                unsafe { asm!(concat!("atom.shared.max.u", $bits, " {}, [{}], {};"), out($register) old, in(reg32) at, in($register) value, options(nomem, nostack)) };
                old
            }
            #[inline(always)]
            unsafe fn shared_exchange(at: u32, value: Self) -> Self {
                let old: Self;
                // SAFETY: the caller vouches for the word; no Rust reference reaches shared memory.
                unsafe { asm!(concat!("atom.shared.exch.b", $bits, " {}, [{}], {};"), out($register) old, in(reg32) at, in($register) value, options(nomem, nostack)) };
                old
            }
            #[inline(always)]
            unsafe fn shared_or(at: u32, value: Self) -> Self {
                let old: Self;
                // SAFETY: the caller vouches for the word; no Rust reference reaches shared memory.
                unsafe { asm!(concat!("atom.shared.or.b", $bits, " {}, [{}], {};"), out($register) old, in(reg32) at, in($register) value, options(nomem, nostack)) };
                old
            }
            #[inline(always)]
            unsafe fn shared_compare_exchange(at: u32, expected: Self, value: Self) -> Self {
                let old: Self;
                // SAFETY: the caller vouches for the word; no Rust reference reaches shared memory.
                unsafe { asm!(concat!("atom.shared.cas.b", $bits, " {}, [{}], {}, {};"), out($register) old, in(reg32) at, in($register) expected, in($register) value, options(nomem, nostack)) };
                old
            }
            #[inline(always)]
            unsafe fn shared_load_relaxed(at: u32) -> Self {
                let value: Self;
                // SAFETY: the caller vouches for the word; no Rust reference reaches shared memory.
                unsafe { asm!(concat!("ld.relaxed.cta.shared.b", $bits, " {}, [{}];"), out($register) value, in(reg32) at, options(nomem, nostack)) };
                value
            }
            #[inline(always)]
            unsafe fn shared_load_pair_relaxed(at: u32) -> [Self; 2] {
                let (first, second): (Self, Self);
                // SAFETY: the caller vouches for both words; no Rust reference reaches shared
                // memory.
                unsafe { asm!(concat!("ld.relaxed.cta.shared.v2.b", $bits, " {{{}, {}}}, [{}];"), out($register) first, out($register) second, in(reg32) at, options(nomem, nostack)) };
                [first, second]
            }
        }
    };
}
gpu_word!(u32, reg32, "32");
gpu_word!(u64, reg64, "64");

/// Joins two registers into a word of 128 bits.
#[inline(always)]
fn joined(low: u64, high: u64) -> u128 {
    (high as u128) << 64 | low as u128
}

/// The accesses to words of 128 bits. The atomics need compute capability 9.0 and PTX 8.3. So does
/// the relaxed load. Other loads may read the two halves (`v2.b64`) at different moments.
impl WholeWord for u128 {
    #[inline(always)]
    fn prefetch(_: *const Self) {}
    #[inline(always)]
    unsafe fn load_streaming(at: *const Self) -> Self {
        let (low, high);
        // SAFETY: the caller vouches for the word, and this accesses no other.
        unsafe {
            asm!("ld.global.cs.v2.b64 {{{}, {}}}, [{}];", out(reg64) low, out(reg64) high, in(reg64) at, options(nostack, readonly))
        };
        joined(low, high)
    }
    #[inline(always)]
    unsafe fn load_read_only(at: *const Self) -> Self {
        let (low, high);
        // SAFETY: the caller vouches for the word, and this accesses no other.
        unsafe {
            asm!("ld.global.nc.v2.b64 {{{}, {}}}, [{}];", out(reg64) low, out(reg64) high, in(reg64) at, options(nostack, pure, readonly))
        };
        joined(low, high)
    }
    #[inline(always)]
    unsafe fn atomic_load<S: Scope>(at: *mut Self) -> Self {
        let (low, high): (u64, u64);
        // SAFETY: the caller vouches for the word; the 128-bit registers are local to the assembly.
        unsafe {
            scoped!(S, "{{ .reg .b128 whole; ld.relaxed", "b128 whole, [{2}]; mov.b128 {{{0}, {1}}}, whole; }}",
                out(reg64) low, out(reg64) high, in(reg64) at, options(nostack))
        };
        joined(low, high)
    }
    #[inline(always)]
    unsafe fn atomic_exchange<S: Scope>(at: *mut Self, value: Self) -> Self {
        let (low, high): (u64, u64);
        // SAFETY: the caller vouches for the word; the 128-bit registers are local to the assembly.
        unsafe {
            scoped!(S, "{{ .reg .b128 old, new; mov.b128 new, {{{3}, {4}}}; atom.relaxed", "exch.b128 old, [{2}], new; mov.b128 {{{0}, {1}}}, old; }}",
                out(reg64) low, out(reg64) high, in(reg64) at, in(reg64) value as u64, in(reg64) (value >> 64) as u64, options(nostack))
        };
        joined(low, high)
    }
    #[inline(always)]
    unsafe fn atomic_compare_exchange<S: Scope>(at: *mut Self, expected: Self, value: Self) -> Self {
        let (low, high): (u64, u64);
        // SAFETY: the caller vouches for the word; the 128-bit registers are local to the assembly.
        unsafe {
            scoped!(S, "{{ .reg .b128 old, expected, new; mov.b128 expected, {{{3}, {4}}}; mov.b128 new, {{{5}, {6}}}; atom.relaxed",
                "cas.b128 old, [{2}], expected, new; mov.b128 {{{0}, {1}}}, old; }}",
                out(reg64) low, out(reg64) high, in(reg64) at, in(reg64) expected as u64, in(reg64) (expected >> 64) as u64,
                in(reg64) value as u64, in(reg64) (value >> 64) as u64, options(nostack))
        };
        joined(low, high)
    }
}
