//! The device's memory: plain, wide and hinted accesses, and atomics with their scope.

use super::access::{DeviceScope, Scope};
use super::word::{AtomicNumber, AtomicWord, Word};
use core::marker::PhantomData;

/// A pointer to an array in the device's memory, as a kernel gets it among its arguments.
///
/// The code that makes a `Global` vouches for every access that a kernel makes through it. The
/// methods are safe to call because each kernel's algorithm exists once and is checked on every
/// back end.
#[derive(Debug)]
#[repr(transparent)]
pub struct Global<T>(*mut T);

// These are written by hand, since an address can be copied whatever type it points to.
impl<T> Clone for Global<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Global<T> {}

// SAFETY: a `Global` is an address. The caller of `Global::new` vouches for all accesses, including
// those by other threads.
unsafe impl<T> Send for Global<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Global<T> {}

impl<T> Global<T> {
    /// Wraps an address on the device.
    ///
    /// # Safety
    /// While the kernel runs, every element that it accesses through this pointer must be
    /// allocated. The array's start must be aligned to 16 bytes. No access may race with a plain
    /// load or store of the same element.
    #[inline(always)]
    pub const unsafe fn new(pointer: *mut T) -> Self {
        Self(pointer)
    }

    /// Returns the array at an address that the host wrote to memory and a kernel read. On a GPU
    /// only wide, hinted and atomic accesses may be made through it, since the compiler does not
    /// know that the address is in the device's memory. The PTX lint finds plain accesses.
    ///
    /// # Safety
    /// As for [`Global::new`].
    #[inline(always)]
    pub unsafe fn at_address(address: u64) -> Self {
        Self(core::ptr::with_exposed_provenance_mut(address as usize))
    }

    /// Returns the address as a word, from which [`Global::at_address`] makes it again.
    #[inline(always)]
    pub fn address_word(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    /// Returns the null pointer, which stands for no array in a kernel's optional inputs and
    /// outputs.
    ///
    /// # Safety
    /// The kernel must not access it; the kernel's documentation says that this argument may be
    /// null.
    #[inline(always)]
    pub const unsafe fn null() -> Self {
        Self(core::ptr::null_mut())
    }

    /// Returns the address, for code that takes pointers.
    #[inline(always)]
    pub const fn as_ptr(self) -> *mut T {
        self.0
    }

    /// Returns whether this is [`Global::null`].
    #[inline(always)]
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns whether this array begins at the same address as `other`.
    #[inline(always)]
    pub fn is_at<U>(self, other: Global<U>) -> bool {
        core::ptr::addr_eq(self.0, other.0)
    }

    /// Returns the same address as an array of another type.
    #[inline(always)]
    pub fn cast<U>(self) -> Global<U> {
        Global(self.0.cast())
    }

    /// Returns the array that begins at element `index`.
    #[inline(always)]
    pub fn offset(self, index: u64) -> Self {
        Self(self.at(index))
    }

    /// Returns the address.
    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    pub(super) fn address(self) -> *mut T {
        self.0
    }

    #[inline(always)]
    fn at(self, index: u64) -> *mut T {
        self.0.wrapping_add(index as usize)
    }
}

impl<T: AtomicWord> Global<T> {
    /// Loads an element plainly. No other thread may write the element concurrently.
    #[inline(always)]
    pub fn load(self, index: u64) -> T {
        // SAFETY: the maker of the pointer vouched for the kernel's accesses.
        unsafe { self.at(index).read() }
    }

    /// Loads an element that is read once and should not stay in the caches.
    #[inline(always)]
    pub fn load_streaming(self, index: u64) -> T {
        // SAFETY: as in `load`.
        unsafe { T::load_streaming(self.at(index)) }
    }

    /// Loads an element that no thread of this launch writes.
    #[inline(always)]
    pub fn load_read_only(self, index: u64) -> T {
        // SAFETY: as in `load`.
        unsafe { T::load_read_only(self.at(index)) }
    }

    /// Stores an element plainly.
    #[inline(always)]
    pub fn store(self, index: u64, value: T) {
        // SAFETY: as in `load`.
        unsafe { self.at(index).write(value) }
    }

    /// Prefetches element `index`, which will be read soon. This helps a CPU, which runs threads
    /// one after the other. It does nothing on a GPU, which hides the latency behind its other
    /// warps.
    #[inline(always)]
    pub fn prefetch(self, index: u64) {
        T::prefetch(self.at(index));
    }

    /// Returns the element as an atomic with device scope.
    #[inline(always)]
    pub fn atomic(self, index: u64) -> Atomic<T, DeviceScope> {
        Atomic(self.at(index), PhantomData)
    }
}

impl<T: Word> Global<T> {
    /// Loads two adjacent elements in one access; `index` must be even. No thread of this launch
    /// may write them.
    #[inline(always)]
    pub fn load_pair_read_only(self, index: u64) -> [T; 2] {
        // SAFETY: as in `load`; an even index keeps the alignment of two words.
        unsafe { T::load_pair_read_only(self.at(index)) }
    }

    /// Loads two adjacent elements in one access. They are read once and should not stay in the
    /// caches. `index` must be even.
    #[inline(always)]
    pub fn load_pair_streaming(self, index: u64) -> [T; 2] {
        // SAFETY: as in `load_pair_read_only`.
        unsafe { T::load_pair_streaming(self.at(index)) }
    }

    /// Stores two adjacent elements in one access; `index` must be even.
    #[inline(always)]
    pub fn store_pair(self, index: u64, values: [T; 2]) {
        // SAFETY: as in `load_pair_read_only`.
        unsafe { T::store_pair(self.at(index), values) }
    }

    /// Loads two adjacent elements in one access while other threads may be changing them by atomic
    /// operations. Each word is whole, but the two may be of different moments. `index` must be
    /// even.
    #[inline(always)]
    pub fn load_pair_relaxed(self, index: u64) -> [T; 2] {
        // SAFETY: as in `load_pair_read_only`.
        unsafe { T::atomic_load_pair(self.at(index)) }
    }

    /// Loads four adjacent elements, 16 bytes at a time. They are read once and should not stay in
    /// the caches. `index` must be a multiple of 4.
    #[inline(always)]
    pub fn load_four_streaming(self, index: u64) -> [T; 4] {
        // SAFETY: as in `load`; an index that is a multiple of 4 keeps the alignment of 16 bytes.
        unsafe { T::load_four_streaming(self.at(index)) }
    }

    /// Loads four adjacent elements, 16 bytes at a time. `index` must be a multiple of 4. No other
    /// thread may write them concurrently.
    #[inline(always)]
    pub fn load_four(self, index: u64) -> [T; 4] {
        // SAFETY: as in `load_four_streaming`.
        unsafe { T::load_four(self.at(index)) }
    }

    /// Loads four adjacent elements, 16 bytes at a time. `index` must be a multiple of 4. No thread
    /// of this launch may write them.
    #[inline(always)]
    pub fn load_four_read_only(self, index: u64) -> [T; 4] {
        // SAFETY: as in `load_four_streaming`.
        unsafe { T::load_four_read_only(self.at(index)) }
    }

    /// Stores four adjacent elements, 16 bytes at a time, that are not read again soon. `index`
    /// must be a multiple of 4.
    #[inline(always)]
    pub fn store_four_streaming(self, index: u64, values: [T; 4]) {
        // SAFETY: as in `load_four_streaming`.
        unsafe { T::store_four_streaming(self.at(index), values) }
    }

    /// Stores an element that is not read again soon and should not stay in the caches.
    #[inline(always)]
    pub fn store_streaming(self, index: u64, value: T) {
        // SAFETY: as in `load`.
        unsafe { T::store_streaming(self.at(index), value) }
    }

    /// Prefetches the 128-byte line that contains element `index` into the L2 cache.
    #[inline(always)]
    pub fn prefetch_far(self, index: u64) {
        T::prefetch_far(self.at(index));
    }
}

impl Global<u8> {
    /// Stores a byte plainly, at the end of an array that does not consist of whole words. No other
    /// thread may access the same byte.
    #[inline(always)]
    pub fn store_byte(self, index: u64, byte: u8) {
        // SAFETY: as in `load`.
        unsafe { self.at(index).write(byte) }
    }
}

/// A word of the device's memory that many threads change. All operations are relaxed: they do not
/// order accesses to other words.
#[derive(Clone, Copy, Debug)]
pub struct Atomic<T, S: Scope>(*mut T, PhantomData<S>);

impl<T: AtomicWord, S: Scope> Atomic<T, S> {
    /// Returns the same word in another scope.
    #[inline(always)]
    pub fn scoped<Other: Scope>(self) -> Atomic<T, Other> {
        Atomic(self.0, PhantomData)
    }

    /// Loads the word.
    #[inline(always)]
    pub fn load(self) -> T {
        // SAFETY: the caller of `Global::new` vouched for all accesses that the kernel makes
        // through it.
        unsafe { T::atomic_load::<S>(self.0) }
    }

    /// Replaces the word. Returns the old value.
    #[inline(always)]
    pub fn exchange(self, value: T) -> T {
        // SAFETY: as in `load`.
        unsafe { T::atomic_exchange::<S>(self.0, value) }
    }

    /// Replaces the word if it equals `expected`, bit by bit. Returns the old value.
    #[inline(always)]
    pub fn compare_exchange(self, expected: T, value: T) -> T {
        // SAFETY: as in `load`.
        unsafe { T::atomic_compare_exchange::<S>(self.0, expected, value) }
    }
}

impl<T: AtomicNumber, S: Scope> Atomic<T, S> {
    /// Adds to the word. Returns the old value. Integers wrap. The sum of floats depends on the
    /// order of the threads, and a GPU treats subnormal numbers of 32 bits as zeros.
    ///
    /// There is no other arithmetic operation for floats:
    ///
    /// ```compile_fail,E0599
    /// # use gpu_kernels::seam::Global;
    /// fn raise(largest: Global<f32>, value: f32) {
    ///     largest.atomic(0).fetch_add(value);
    ///     largest.atomic(0).fetch_max(value);
    /// }
    /// ```
    #[inline(always)]
    pub fn fetch_add(self, value: T) -> T {
        // SAFETY: as in `load`.
        unsafe { T::atomic_add::<S>(self.0, value) }
    }
}

impl<T: Word, S: Scope> Atomic<T, S> {
    /// Stores the word.
    #[inline(always)]
    pub fn store(self, value: T) {
        // SAFETY: as in `load`.
        unsafe { T::atomic_store::<S>(self.0, value) }
    }

    /// Raises the word to at least `value`. Returns the old value.
    #[inline(always)]
    pub fn fetch_max(self, value: T) -> T {
        // SAFETY: as in `load`.
        unsafe { T::atomic_max::<S>(self.0, value) }
    }
}
