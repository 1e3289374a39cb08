//! Shared memory, which is accessed by 32-bit addresses and inline PTX, since accesses through a
//! generic pointer are slow.

use super::super::{Global, Shared, Word};
use core::marker::PhantomData;

/// An array in the block's shared memory, represented by its 32-bit address.
pub struct GpuShared<T>(u32, PhantomData<T>);

impl<T> Clone for GpuShared<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for GpuShared<T> {}

impl<T> GpuShared<T> {
    /// Returns the array at `address`.
    ///
    /// # Safety
    /// `address` must be the address of a shared array of this kernel that is long enough for every
    /// index that is used.
    #[inline(always)]
    pub unsafe fn new(address: u32) -> Self {
        Self(address, PhantomData)
    }

    #[inline(always)]
    fn at(self, index: u32) -> u32 {
        self.0 + index * size_of::<T>() as u32
    }
}

impl<T: Word> Shared<T> for GpuShared<T> {
    type As<U: Word> = GpuShared<U>;
    const IN_PLACE: bool = false;
    #[inline(always)]
    fn staged(self, _: Global<T>, _: u32) -> Self {
        self
    }
    #[inline(always)]
    fn cast<U: Word>(self) -> GpuShared<U> {
        GpuShared(self.0, PhantomData)
    }
    #[inline(always)]
    fn get(self, index: u32) -> T {
        // SAFETY: the caller of `GpuShared::new` vouched for the array.
        unsafe { T::shared_load(self.at(index)) }
    }
    #[inline(always)]
    fn set(self, index: u32, value: T) {
        // SAFETY: as in `get`.
        unsafe { T::shared_store(self.at(index), value) }
    }
    #[inline(always)]
    fn fetch_add(self, index: u32, value: T) -> T {
        // SAFETY: as in `get`.
        unsafe { T::shared_add(self.at(index), value) }
    }
    #[inline(always)]
    fn add_float(self, index: u32, value: T) {
        // SAFETY: as in `get`.
        unsafe { T::shared_add_float(self.at(index), value) }
    }
    #[inline(always)]
    fn fetch_max(self, index: u32, value: T) -> T {
        // SAFETY: as in `get`.
        unsafe { T::shared_max(self.at(index), value) }
    }
    #[inline(always)]
    fn exchange(self, index: u32, value: T) -> T {
        // SAFETY: as in `get`.
        unsafe { T::shared_exchange(self.at(index), value) }
    }
    #[inline(always)]
    fn fetch_or(self, index: u32, value: T) -> T {
        // SAFETY: as in `get`.
        unsafe { T::shared_or(self.at(index), value) }
    }
    #[inline(always)]
    fn compare_exchange(self, index: u32, expected: T, value: T) -> T {
        // SAFETY: as in `get`.
        unsafe { T::shared_compare_exchange(self.at(index), expected, value) }
    }
    #[inline(always)]
    fn load_relaxed(self, index: u32) -> T {
        // SAFETY: as in `get`.
        unsafe { T::shared_load_relaxed(self.at(index)) }
    }
    #[inline(always)]
    fn load_pair_relaxed(self, index: u32) -> [T; 2] {
        // SAFETY: as in `get`; an even index keeps the alignment of two words.
        unsafe { T::shared_load_pair_relaxed(self.at(index)) }
    }
}

// The memory behind all other shared arrays. Each launch has as much of it as it requested.
core::arch::global_asm!(".extern .shared .align 16 .b8 dynamic_words[];");

/// Returns the block's dynamic shared array.
#[inline(always)]
pub fn dynamic_array<T>() -> GpuShared<T> {
    let address: u32;
    // SAFETY: the instruction reads an address. The launch requests as many bytes as the kernel's
    // own method returns, and a kernel's indices stay below that length.
    unsafe {
        core::arch::asm!("mov.u32 {}, dynamic_words;", out(reg32) address, options(pure, nomem, nostack));
        GpuShared::new(address)
    }
}

/// Declares a shared array. Each expansion declares another array, so only `kernel!` uses this
/// macro, once for each array and entry.
#[doc(hidden)]
#[macro_export]
macro_rules! shared_array {
    ($word:ty, $length:expr) => {{
        let address: u32;
        // SAFETY: the block declares its own array and reads its address. A kernel's indices stay
        // below its length.
        unsafe {
            core::arch::asm!(
                "{{ .shared .align 16 .b8 shared_words[{bytes}]; mov.u32 {address}, shared_words; }}",
                bytes = const $length * size_of::<$word>(),
                address = out(reg32) address,
                options(nomem, nostack)
            );
            $crate::seam::gpu::GpuShared::<$word>::new(address)
        }
    }};
}
