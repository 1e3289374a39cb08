//! Memory operations on the CPU. The scope of an atomic makes no difference here.
//!
//! Loads acquire and stores release, which the seam does not promise. A scan in place reads a tile
//! and publishes its sum, and another block then writes the tile. On a GPU the dependence of the
//! sum on the words that were read orders these accesses; Rust needs the order stated.

use super::super::access::{AddedWord, GlobalWord, Scope, WholeWord};
use super::super::work::{LaneWork, Narrow, Work};
use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use portable_atomic::{AtomicF32, AtomicF64, AtomicU128};

/// Whether threads run in step, so that a branch that some threads take costs time on all threads.
pub const IN_STEP: bool = false;

/// The factor by which an array that is [`staged`](super::super::Shared::staged) may be larger than
/// on a GPU. An array of this size fits the caches of a core.
pub const STAGED_TIMES: usize = 64;

/// The operations on a word in shared memory, which only one CPU thread accesses.
#[allow(missing_docs)]
pub trait SharedWord: Sized {
    fn larger(self, other: Self) -> Self;
}

/// Yields to other threads. Blocks run on all cores, and there may be more threads than cores, so
/// the thread that this one waits for must get a chance to run.
pub fn pause() {
    super::super::std::thread::yield_now();
}

/// Returns `word` as it is, since the CPU's compiler may optimize as it likes.
#[inline(always)]
pub fn opaque(word: u32) -> u32 {
    word
}

/// Returns the upper half of a product.
#[inline(always)]
pub fn upper_product(a: u32, b: u32) -> u32 {
    ((a as u64 * b as u64) >> 32) as u32
}

/// Returns the square root, rounded to the nearest number.
#[inline(always)]
pub fn square_root(number: f64) -> f64 {
    number.sqrt()
}

/// Returns the sum of a product and `addend`, wrapping.
#[inline(always)]
pub fn wide_product(a: u32, b: u32, addend: u64) -> u64 {
    (a as u64 * b as u64).wrapping_add(addend)
}

/// Runs `work`, compiled for AVX2 and the bit operations that came with it, if this CPU has them.
///
/// With debug assertions there is only the version that every CPU can run, since with a second
/// version of all work the kernels take 1.6 times as long to compile.
#[inline(always)]
pub fn vectorized<W: Work>(work: W) -> W::Output {
    #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
    {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn wide<W: Work>(work: W) -> W::Output {
            work.run()
        }
        if Wide::of_this_cpu().is_some() {
            // SAFETY: the CPU has the features.
            return unsafe { wide(work) };
        }
    }
    work.run()
}

/// Runs `work` as [`vectorized`] does, and passes it the vectors that this CPU has.
#[inline(always)]
pub fn vectorized_by_lanes<W: LaneWork>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn wide<W: LaneWork>(work: W, lanes: Wide) -> W::Output {
            work.run(lanes)
        }
        if let Some(lanes) = Wide::of_this_cpu() {
            // SAFETY: the CPU has the features.
            return unsafe { wide(work, lanes) };
        }
    }
    work.run(Narrow)
}

/// The vectors of AVX2. A value proves that this CPU has AVX2, BMI1, BMI2, LZCNT and POPCNT.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub struct Wide(());

#[cfg(target_arch = "x86_64")]
impl Wide {
    #[inline(always)]
    fn of_this_cpu() -> Option<Self> {
        use super::super::std::is_x86_feature_detected;
        let has_bits = is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2");
        let has_counts = is_x86_feature_detected!("lzcnt") && is_x86_feature_detected!("popcnt");
        (has_bits && has_counts && is_x86_feature_detected!("avx2")).then_some(Self(()))
    }
}

#[cfg(target_arch = "x86_64")]
impl super::super::work::Lanes for Wide {
    #[inline(always)]
    fn compare_eight(self, words: [u64; 8], upper: u32) -> u32 {
        use core::arch::x86_64::{
            __m256i, _mm256_and_si256, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cmpeq_epi32,
            _mm256_loadu_si256, _mm256_movemask_ps, _mm256_permute4x64_epi64, _mm256_set1_epi32, _mm256_shuffle_ps,
        };
        #[inline]
        #[target_feature(enable = "avx2")]
        fn compare(words: &[u64; 8], upper: u32) -> u32 {
            // SAFETY: the two loads of 32 bytes read the 64 bytes of the array.
            let [a, b] = [0, 1].map(|i| unsafe { _mm256_loadu_si256((&raw const *words).cast::<__m256i>().add(i)) });
            let (a, b) = (_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
            // A shuffle works within 128 bits, so the words are now in the order 0, 1, 4, 5, 2, 3,
            // 6, 7.
            let uppers = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(a, b));
            let lowers = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(a, b));
            let (uppers, both) = (
                _mm256_permute4x64_epi64::<0b11_01_10_00>(uppers),
                _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_and_si256(uppers, lowers)),
            );
            let equal = |a, b: u32| {
                let equal = _mm256_cmpeq_epi32(a, _mm256_set1_epi32(b as i32));
                _mm256_movemask_ps(_mm256_castsi256_ps(equal)) as u32
            };
            equal(uppers, upper) | equal(both, u32::MAX) << 8 | equal(uppers, u32::MAX) << 16
        }
        // SAFETY: the CPU has AVX2, since otherwise no `Wide` would exist.
        unsafe { compare(&words, upper) }
    }
    #[inline(always)]
    fn nonzero(self, bytes: [u8; 32]) -> u32 {
        use core::arch::x86_64::{_mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_setzero_si256};
        #[inline]
        #[target_feature(enable = "avx2")]
        fn nonzero(bytes: &[u8; 32]) -> u32 {
            // SAFETY: the load of 32 bytes reads the whole array.
            let bytes = unsafe { _mm256_loadu_si256((&raw const *bytes).cast()) };
            !_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256())) as u32
        }
        // SAFETY: the CPU has AVX2, since otherwise no `Wide` would exist.
        unsafe { nonzero(&bytes) }
    }
}

/// Compares four words at once.
#[inline(always)]
pub fn equal_of_four(words: [u32; 4], mask: u32, other: u32) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_mm_and_si128, _mm_cmpeq_epi32, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi32};
        // SAFETY: SSE2 is part of x86-64, and the four words are the 16 bytes that are loaded.
        unsafe {
            let held = _mm_and_si128(_mm_loadu_si128((&raw const words).cast()), _mm_set1_epi32(mask as i32));
            let equal = _mm_cmpeq_epi32(held, _mm_set1_epi32(other as i32));
            _mm_movemask_epi8(equal) as u32
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let bit = |i: usize| ((words[i] & mask == other) as u32) << (4 * i);
        bit(0) | bit(1) | bit(2) | bit(3)
    }
}

#[inline(always)]
fn prefetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch accesses nothing, whatever the address; SSE is part of x86-64.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch accesses nothing, whatever the address.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) at, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = at;
}

macro_rules! cpu_whole_word {
    ($word:ty, $atomic:ty) => {
        impl WholeWord for $word {
            #[inline(always)]
            fn prefetch(at: *const Self) {
                prefetch(at.cast())
            }
            #[inline(always)]
            unsafe fn load_streaming(at: *const Self) -> Self {
                // SAFETY: the caller vouches for the word.
                unsafe { at.read() }
            }
            #[inline(always)]
            unsafe fn load_read_only(at: *const Self) -> Self {
                // SAFETY: the caller vouches for the word.
                unsafe { at.read() }
            }
            #[inline(always)]
            unsafe fn atomic_load<S: Scope>(at: *mut Self) -> Self {
                // SAFETY: the caller vouches for the word, which threads change by atomics only.
                unsafe { <$atomic>::from_ptr(at) }.load(Acquire)
            }
            #[inline(always)]
            unsafe fn atomic_exchange<S: Scope>(at: *mut Self, value: Self) -> Self {
                // SAFETY: the caller vouches for the word, which threads change by atomics only.
                unsafe { <$atomic>::from_ptr(at) }.swap(value, Relaxed)
            }
            #[inline(always)]
            unsafe fn atomic_compare_exchange<S: Scope>(at: *mut Self, expected: Self, value: Self) -> Self {
                // SAFETY: the caller vouches for the word, which threads change by atomics only.
                let word = unsafe { <$atomic>::from_ptr(at) };
                word.compare_exchange(expected, value, Relaxed, Relaxed).unwrap_or_else(|current| current)
            }
        }
    };
}
cpu_whole_word!(u128, AtomicU128);

macro_rules! cpu_number {
    ($word:ty, $atomic:ty) => {
        cpu_whole_word!($word, $atomic);

        impl AddedWord for $word {
            #[inline(always)]
            unsafe fn atomic_add<S: Scope>(at: *mut Self, value: Self) -> Self {
                // SAFETY: the caller vouches for the word, which threads change by atomics only.
                unsafe { <$atomic>::from_ptr(at) }.fetch_add(value, Relaxed)
            }
        }
    };
}
cpu_number!(u32, AtomicU32);
cpu_number!(u64, AtomicU64);
cpu_number!(f32, AtomicF32);
cpu_number!(f64, AtomicF64);

macro_rules! cpu_word {
    ($word:ty, $atomic:ty) => {
        impl SharedWord for $word {
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                self.max(other)
            }
        }

        impl GlobalWord for $word {
            #[inline(always)]
            fn prefetch_far(_: *const Self) {}
            #[inline(always)]
            unsafe fn load_pair_read_only(at: *const Self) -> [Self; 2] {
                // SAFETY: the caller vouches for both words.
                unsafe { at.cast::<[Self; 2]>().read() }
            }
            #[inline(always)]
            unsafe fn load_pair_streaming(at: *const Self) -> [Self; 2] {
                // SAFETY: the caller vouches for both words.
                unsafe { at.cast::<[Self; 2]>().read() }
            }
            #[inline(always)]
            unsafe fn store_pair(at: *mut Self, values: [Self; 2]) {
                // SAFETY: the caller vouches for both words.
                unsafe { at.cast::<[Self; 2]>().write(values) }
            }
            #[inline(always)]
            unsafe fn atomic_load_pair(at: *mut Self) -> [Self; 2] {
                // SAFETY: the caller vouches for both words, which threads change by atomics only.
                let pair = unsafe { [<$atomic>::from_ptr(at), <$atomic>::from_ptr(at.wrapping_add(1))] };
                pair.map(|word| word.load(Relaxed))
            }
            #[inline(always)]
            unsafe fn load_four(at: *const Self) -> [Self; 4] {
                // SAFETY: the caller vouches for the four words.
                unsafe { at.cast::<[Self; 4]>().read() }
            }
            #[inline(always)]
            unsafe fn load_four_read_only(at: *const Self) -> [Self; 4] {
                // SAFETY: the caller vouches for the four words.
                unsafe { at.cast::<[Self; 4]>().read() }
            }
            #[inline(always)]
            unsafe fn load_four_streaming(at: *const Self) -> [Self; 4] {
                // SAFETY: the caller vouches for the four words.
                unsafe { at.cast::<[Self; 4]>().read() }
            }
            #[inline(always)]
            unsafe fn store_four_streaming(at: *mut Self, values: [Self; 4]) {
                // SAFETY: the caller vouches for the four words.
                unsafe { at.cast::<[Self; 4]>().write(values) }
            }
            #[inline(always)]
            unsafe fn store_streaming(at: *mut Self, value: Self) {
                // SAFETY: the caller vouches for the word.
                unsafe { at.write(value) }
            }
            #[inline(always)]
            unsafe fn atomic_store<S: Scope>(at: *mut Self, value: Self) {
                // SAFETY: the caller vouches for the word, which threads change by atomics only.
                unsafe { <$atomic>::from_ptr(at) }.store(value, Release)
            }
            #[inline(always)]
            unsafe fn atomic_max<S: Scope>(at: *mut Self, value: Self) -> Self {
                // SAFETY: the caller vouches for the word, which threads change by atomics only.
                unsafe { <$atomic>::from_ptr(at) }.fetch_max(value, Relaxed)
            }
        }
    };
}
cpu_word!(u32, AtomicU32);
cpu_word!(u64, AtomicU64);
