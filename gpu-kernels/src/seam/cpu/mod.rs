//! The CPU's back end: a block is one CPU thread, which runs the block's threads one after the
//! other in each phase.

pub(super) mod memory;
mod storage;

pub use storage::SharedStorage;

use super::{Block, Global, Shared, Tile, Word};

/// A block of `THREADS` threads on this CPU thread.
#[derive(Debug)]
pub struct CpuBlock<const THREADS: usize> {
    alone: AloneBlock,
}

impl<const THREADS: usize> CpuBlock<THREADS> {
    /// The block with number `index` of a grid of `grid` blocks.
    pub fn new(index: u32, grid: u32) -> Self {
        Self { alone: AloneBlock { index, grid } }
    }
}

impl<const THREADS: usize> Block for CpuBlock<THREADS> {
    type Local<T> = [T; THREADS];
    type Shared<T: Word> = CpuShared<T>;
    type Tile<const LANES: usize> = CpuTile<LANES>;
    type Strided = AloneBlock;
    const IN_TURN: bool = true;

    #[inline(always)]
    fn strided(&mut self) -> &mut AloneBlock {
        &mut self.alone
    }
    #[inline(always)]
    fn index(&self) -> u32 {
        self.alone.index
    }
    #[inline(always)]
    fn grid(&self) -> u32 {
        self.alone.grid
    }
    #[inline(always)]
    fn threads(&self) -> u32 {
        THREADS as u32
    }
    #[inline(always)]
    fn local<T>(&mut self, initial: impl Fn(u32) -> T + Sync) -> [T; THREADS] {
        core::array::from_fn(|thread| initial(thread as u32))
    }
    #[inline(always)]
    fn each<T>(&mut self, local: &mut [T; THREADS], work: impl Fn(u32, &mut T) + Sync) {
        for (thread, state) in local.iter_mut().enumerate() {
            work(thread as u32, state);
        }
    }
    #[inline(always)]
    fn phase<T>(&mut self, local: &mut [T; THREADS], work: impl Fn(u32, &mut T) + Sync) {
        self.each(local, work);
    }
    #[inline(always)]
    fn count<T>(&mut self, local: &mut [T; THREADS], work: impl Fn(u32, &mut T) -> bool + Sync) -> u32 {
        local.iter_mut().enumerate().map(|(thread, state)| work(thread as u32, state) as u32).sum()
    }
    #[inline(always)]
    fn tiles<const LANES: usize>(&mut self, work: impl Fn(&mut CpuTile<LANES>) + Sync) {
        for first in (0..THREADS as u32).step_by(LANES) {
            work(&mut CpuTile { first });
        }
    }
    #[inline(always)]
    fn tiles_of<const LANES: usize, T>(
        &mut self,
        local: &mut [T; THREADS],
        work: impl Fn(&mut CpuTile<LANES>, &mut [T; LANES]) + Sync,
    ) {
        for (tile, local) in local.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            work(&mut CpuTile { first: (tile * LANES) as u32 }, local);
        }
    }
    #[inline(always)]
    fn sync(&mut self) {}
}

/// A block of one thread: strided work is done in one loop, in order.
#[derive(Debug)]
pub struct AloneBlock {
    index: u32,
    grid: u32,
}

impl Block for AloneBlock {
    type Local<T> = [T; 1];
    type Shared<T: Word> = CpuShared<T>;
    type Tile<const LANES: usize> = CpuTile<1>;
    type Strided = Self;
    const IN_TURN: bool = true;

    #[inline(always)]
    fn strided(&mut self) -> &mut Self {
        self
    }
    #[inline(always)]
    fn index(&self) -> u32 {
        self.index
    }
    #[inline(always)]
    fn grid(&self) -> u32 {
        self.grid
    }
    #[inline(always)]
    fn threads(&self) -> u32 {
        1
    }
    #[inline(always)]
    fn local<T>(&mut self, initial: impl Fn(u32) -> T + Sync) -> [T; 1] {
        [initial(0)]
    }
    #[inline(always)]
    fn each<T>(&mut self, [state]: &mut [T; 1], work: impl Fn(u32, &mut T) + Sync) {
        work(0, state);
    }
    #[inline(always)]
    fn phase<T>(&mut self, local: &mut [T; 1], work: impl Fn(u32, &mut T) + Sync) {
        self.each(local, work);
    }
    #[inline(always)]
    fn count<T>(&mut self, [state]: &mut [T; 1], work: impl Fn(u32, &mut T) -> bool + Sync) -> u32 {
        work(0, state) as u32
    }
    #[inline(always)]
    fn tiles<const LANES: usize>(&mut self, work: impl Fn(&mut CpuTile<1>) + Sync) {
        work(&mut CpuTile { first: 0 });
    }
    #[inline(always)]
    fn tiles_of<const LANES: usize, T>(
        &mut self,
        local: &mut [T; 1],
        work: impl Fn(&mut CpuTile<1>, &mut [T; 1]) + Sync,
    ) {
        work(&mut CpuTile { first: 0 }, local);
    }
    #[inline(always)]
    fn sync(&mut self) {}
}

/// A tile of `LANES` threads of a block, run one after the other.
#[derive(Debug)]
pub struct CpuTile<const LANES: usize> {
    pub(super) first: u32,
}

impl<const LANES: usize> Tile for CpuTile<LANES> {
    type Local<T> = [T; LANES];

    #[inline(always)]
    fn first_thread(&self) -> u32 {
        self.first
    }
    #[inline(always)]
    fn local<T>(&mut self, initial: impl Fn(u32) -> T + Sync) -> [T; LANES] {
        core::array::from_fn(|lane| initial(lane as u32))
    }
    #[inline(always)]
    fn each<T>(&mut self, local: &mut [T; LANES], work: impl Fn(u32, &mut T) + Sync) {
        for (lane, state) in local.iter_mut().enumerate() {
            work(lane as u32, state);
        }
    }
    #[inline(always)]
    fn ballot<T>(&mut self, local: &[T; LANES], test: impl Fn(u32, &T) -> bool + Sync) -> u32 {
        let lanes = local.iter().enumerate();
        lanes.fold(0, |votes, (lane, state)| votes | (test(lane as u32, state) as u32) << lane)
    }
    #[inline(always)]
    fn pick<T>(&mut self, local: &[T; LANES], lane: u32, read: impl Fn(&T) -> u32 + Sync) -> u32 {
        read(&local[lane as usize % LANES])
    }
    #[inline(always)]
    fn exclusive_sum<T, N: Word>(
        &mut self,
        local: &mut [T; LANES],
        read: impl Fn(u32, &T) -> N + Sync,
        tell: impl Fn(u32, &mut T, N, N) + Sync,
    ) {
        let lanes = local.iter().enumerate();
        let total = lanes.fold(N::default(), |sum, (lane, state)| sum.plus(read(lane as u32, state)));
        let mut before = N::default();
        for (lane, state) in local.iter_mut().enumerate() {
            let value = read(lane as u32, state);
            tell(lane as u32, state, before, total);
            before = before.plus(value);
        }
    }
    #[inline(always)]
    fn count_in_order<T, const ROWS: usize>(
        &mut self,
        local: &mut [T; LANES],
        counters: impl Shared<u32>,
        first: u32,
        _bits: u32,
        class: impl Fn(&T, usize) -> u32 + Sync,
        tell: impl Fn(&mut T, usize, u32) + Sync,
    ) {
        for row in 0..ROWS {
            for state in local.iter_mut() {
                tell(state, row, count_one(counters, first + class(state, row)));
            }
        }
    }
}

/// Adds one to 16-bit counter `number` and returns what it held.
#[inline(always)]
pub(super) fn count_one(counters: impl Shared<u32>, number: u32) -> u32 {
    let half = number % 2 * 16;
    counters.fetch_add(number / 2, 1 << half) >> half & 0xffff
}

/// A handle of a shared array.
#[derive(Clone, Copy, Debug)]
pub struct CpuShared<T> {
    words: *mut T,
    length: u32,
}

// SAFETY: all threads of a block run on one CPU thread (`SharedStorage::handle` demands it); the
// bound is for closures.
unsafe impl<T> Sync for CpuShared<T> {}

/// Panics out of line, and takes its arguments by value: a message that borrows index and length
/// keeps them in memory.
#[cold]
#[inline(never)]
fn beyond(index: u32, length: u32) -> ! {
    panic!("index {index} is beyond a shared array of {length}");
}

impl<T: Word> CpuShared<T> {
    #[inline(always)]
    fn at(self, index: u32) -> *mut T {
        if index >= self.length {
            beyond(index, self.length);
        }
        self.words.wrapping_add(index as usize)
    }
    #[inline(always)]
    fn update(self, index: u32, change: impl Fn(T) -> T) -> T {
        let old = self.get(index);
        self.set(index, change(old));
        old
    }
}

impl<T: Word> Shared<T> for CpuShared<T> {
    type As<U: Word> = CpuShared<U>;
    const IN_PLACE: bool = true;
    #[inline(always)]
    fn staged(self, target: Global<T>, length: u32) -> Self {
        CpuShared { words: target.address(), length }
    }
    #[inline(always)]
    fn cast<U: Word>(self) -> CpuShared<U> {
        let bytes = self.length as usize * size_of::<T>();
        CpuShared { words: self.words.cast(), length: (bytes / size_of::<U>()) as u32 }
    }
    #[inline(always)]
    fn get(self, index: u32) -> T {
        // SAFETY: `at` checked the index, and `SharedStorage::handle` that the storage lives and is
        // used by this thread.
        unsafe { self.at(index).read() }
    }
    #[inline(always)]
    fn set(self, index: u32, value: T) {
        // SAFETY: as in `get`.
        unsafe { self.at(index).write(value) }
    }
    #[inline(always)]
    fn clear(self, first: u32, count: u32) {
        let end = first as u64 + count as u64;
        assert!(end <= self.length as u64, "{count} words from {first} on are beyond a shared array");
        // SAFETY: as in `get`, for all of these words; a word of zeros is one of `T`, a u32 or u64.
        unsafe { self.words.wrapping_add(first as usize).write_bytes(0, count as usize) }
    }
    #[inline(always)]
    fn fetch_add(self, index: u32, value: T) -> T {
        self.update(index, |old| old.plus(value))
    }
    #[inline(always)]
    fn fetch_max(self, index: u32, value: T) -> T {
        self.update(index, |old| old.larger(value))
    }
    #[inline(always)]
    fn exchange(self, index: u32, value: T) -> T {
        self.update(index, |_| value)
    }
    #[inline(always)]
    fn fetch_or(self, index: u32, value: T) -> T {
        self.update(index, |old| old.either(value))
    }
    #[inline(always)]
    fn compare_exchange(self, index: u32, expected: T, value: T) -> T {
        self.update(index, |old| if old == expected { value } else { old })
    }
    #[inline(always)]
    fn load_relaxed(self, index: u32) -> T {
        self.get(index)
    }
}

/// The items that a kernel declaration adds on the host: the `Kernel` implementation, and an
/// [`Entry`](crate::seam::Entry) for each choice of types, named as the GPU's entry points are.
#[doc(hidden)]
#[macro_export]
macro_rules! backend_kernel {
    ($name:ident [] [] $entry:literal, $($rest:tt)*) => {
        $crate::host_kernel! { { $($rest)* } $name [] 0; [[] $entry] }
    };
    ($name:ident [$key:ident : $key_bound:ident] [$($atomics:ident)?] $entry:literal, $($rest:tt)*) => {
        $crate::host_kernel! {
            { $($rest)* }
            $name [$key : $key_bound] <$key as $crate::types::Scalar>::INDEX;
            [[$key = u32] concat!($entry, "_u32")]
            [[$key = u64] concat!($entry, "_u64")]
        }
    };
    (
        $name:ident [$key:ident : $key_bound:ident, $value:ident : Payload] [] $entry:literal, $($rest:tt)*
    ) => {
        $crate::host_kernel! {
            { $($rest)* }
            $name [$key : $key_bound, $value : Payload]
            <$key as $crate::types::Scalar>::INDEX * 3 + <$value as $crate::types::Payload>::PAYLOAD_INDEX;
            [[$key = u32, $value = u32] concat!($entry, "_u32_u32")]
            [[$key = u32, $value = u64] concat!($entry, "_u32_u64")]
            [[$key = u32, $value = $crate::types::Nothing] concat!($entry, "_u32")]
            [[$key = u64, $value = u32] concat!($entry, "_u64_u32")]
            [[$key = u64, $value = u64] concat!($entry, "_u64_u64")]
            [[$key = u64, $value = $crate::types::Nothing] concat!($entry, "_u64")]
        }
    };
    (
        $name:ident [$key:ident : $key_bound:ident, $value:ident : $value_bound:ident] [$($atomics:ident)?]
        $entry:literal, $($rest:tt)*
    ) => {
        $crate::host_kernel! {
            { $($rest)* }
            $name [$key : $key_bound, $value : $value_bound]
            <$key as $crate::types::Scalar>::INDEX * 2 + <$value as $crate::types::Scalar>::INDEX;
            [[$key = u32, $value = u32] concat!($entry, "_u32_u32")]
            [[$key = u32, $value = u64] concat!($entry, "_u32_u64")]
            [[$key = u64, $value = u32] concat!($entry, "_u64_u32")]
            [[$key = u64, $value = u64] concat!($entry, "_u64_u64")]
        }
    };
}

/// The `Kernel` implementation over a table of entries, from which only the types choose.
#[doc(hidden)]
#[macro_export]
macro_rules! host_kernel {
    (
        { [$($const:literal)?], $($declaration:tt)* }
        $name:ident [$($generic:ident : $bound:ident),*] $index:expr;
        $([$types:tt $entry:expr])*
    ) => {
        const _: () = {
            static ENTRIES: &[$crate::seam::Entry] = $crate::host_entries! {
                $name [$($const)?] { $($declaration)* } $([$types $entry])*
            };

            // SAFETY: `entry` is for the types of `self`, and `values` is `self`.
            unsafe impl<$($generic: $bound),*> $crate::seam::Kernel for $name<$($generic,)* $($const)?> {
                fn entry(&self) -> &'static $crate::seam::Entry {
                    &ENTRIES[$index]
                }
                fn values(&self) -> *const () {
                    (&raw const *self).cast()
                }
            }
        };
    };
}

/// The entries of all choices of types.
#[doc(hidden)]
#[macro_export]
macro_rules! host_entries {
    ($name:ident $const:tt $declaration:tt $([$types:tt $entry:expr])*) => {
        &[$( $crate::host_entry! { $name $types $const $entry, $declaration } ),*]
    };
}

/// The entry for one choice of types.
#[doc(hidden)]
#[macro_export]
macro_rules! host_entry {
    (
        $name:ident [$($generic:ident = $concrete:ty),*] [$($const:literal)?] $entry:expr,
        {
            $threads:literal, [$($resident:literal)?],
            [$($shared:ident : $word:ty = $length:expr),*] [$($argument:ident : $type:ty),*]
        }
    ) => {{
        $( type $generic = $concrete; )*
        type Arguments = $name<$($generic,)* $($const)?>;
        $crate::seam::Entry {
            name: $entry,
            threads: $threads,
            shared_bytes: 0 $(+ size_of::<$word>() * ($length) as usize)*,
            size: size_of::<Arguments>(),
            parameters: &[$( (core::mem::offset_of!(Arguments, $argument), size_of::<$type>()) ),*],
            run: $crate::run_blocks! { Arguments, $threads, [$($shared : $word = $length),*] },
            check: $crate::check_block! { Arguments, $threads, [$($shared : $word = $length),*] },
        }
    }};
}

/// The function that runs blocks on the CPU.
#[cfg(feature = "cpu")]
#[doc(hidden)]
#[macro_export]
macro_rules! run_blocks {
    ($arguments:ty, $threads:literal, [$($shared:ident : $word:ty = $length:expr),*]) => {{
        unsafe fn run(values: *const (), blocks: core::ops::Range<u32>, grid: u32) {
            // SAFETY: the caller gives the address of the entry's struct.
            let kernel = unsafe { *values.cast::<$arguments>() };
            $(
                let mut storage = $crate::seam::cpu::SharedStorage::<$word, { $length }>::new();
                // SAFETY: the storage outlives the blocks, which run here on this thread, one after
                // the other.
                let $shared = unsafe { storage.handle() };
            )*
            for index in blocks {
                kernel.run(&mut $crate::seam::cpu::CpuBlock::<$threads>::new(index, grid) $(, $shared)*);
            }
        }
        Some(run as $crate::seam::RunBlocks)
    }};
}

#[cfg(not(feature = "cpu"))]
#[doc(hidden)]
#[macro_export]
macro_rules! run_blocks {
    ($($declaration:tt)*) => {
        None
    };
}

/// The function that runs a block on the checking back end.
#[cfg(feature = "checked")]
#[doc(hidden)]
#[macro_export]
macro_rules! check_block {
    ($arguments:ty, $threads:literal, [$($shared:ident : $word:ty = $length:expr),*]) => {{
        unsafe fn check(values: *const (), block: u32, grid: u32, checker: &$crate::seam::checked::Checker) {
            // SAFETY: the caller gives the address of the entry's struct.
            let kernel = unsafe { *values.cast::<$arguments>() };
            let mut block = $crate::seam::checked::CheckedBlock::<$threads>::new(block, grid, checker);
            $(
                // SAFETY: the block lives to the end of this function, which runs on one thread.
                let $shared = unsafe { block.shared::<$word>($length) };
            )*
            kernel.run(&mut block $(, $shared)*);
        }
        Some(check as $crate::seam::CheckBlock)
    }};
}

#[cfg(not(feature = "checked"))]
#[doc(hidden)]
#[macro_export]
macro_rules! check_block {
    ($($declaration:tt)*) => {
        None
    };
}
