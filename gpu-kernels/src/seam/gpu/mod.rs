//! The GPU's back end: `core::arch::nvptx`, LLVM's NVPTX intrinsics and inline PTX, under rust-cuda's names.
//!
//! [`thread`] and [`warp`] carry the names of rust-cuda's `cuda_std`, which cannot be built with any compiler to be had
//! (docs/toolchain.md). Two rules hold here and nowhere else matter: convergent operations are intrinsics, never inline
//! assembly; atomic operations order nothing.

pub mod memory;
#[macro_use]
mod shared;
pub mod thread;
pub mod warp;

pub use shared::GpuShared;

use super::{Block, Tile, Word};

/// The block that this thread belongs to.
pub struct GpuBlock<const THREADS: u32>;

/// A register: what this thread keeps.
pub struct Register<T>(T);

impl<const THREADS: u32> Block for GpuBlock<THREADS> {
    type Local<T> = Register<T>;
    type Shared<T: Word> = GpuShared<T>;
    type Tile<const LANES: usize> = GpuTile<LANES>;

    #[inline(always)]
    fn index(&self) -> u32 {
        thread::block_idx_x()
    }
    #[inline(always)]
    fn grid(&self) -> u32 {
        thread::grid_dim_x()
    }
    #[inline(always)]
    fn threads(&self) -> u32 {
        THREADS
    }
    #[inline(always)]
    fn local<T>(&mut self, initial: impl Fn(u32) -> T + Sync) -> Register<T> {
        Register(initial(thread::thread_idx_x()))
    }
    #[inline(always)]
    fn each<T>(&mut self, local: &mut Register<T>, work: impl Fn(u32, &mut T) + Sync) {
        work(thread::thread_idx_x(), &mut local.0);
    }
    #[inline(always)]
    fn phase<T>(&mut self, local: &mut Register<T>, work: impl Fn(u32, &mut T) + Sync) {
        work(thread::thread_idx_x(), &mut local.0);
        thread::sync_threads();
    }
    #[inline(always)]
    fn count<T>(&mut self, local: &mut Register<T>, work: impl Fn(u32, &mut T) -> bool + Sync) -> u32 {
        let counts = work(thread::thread_idx_x(), &mut local.0);
        thread::sync_threads_count(counts as u32)
    }
    #[inline(always)]
    fn tiles<const LANES: usize>(&mut self, work: impl Fn(&mut GpuTile<LANES>) + Sync) {
        work(&mut GpuTile);
    }
}

/// The tile of `LANES` lanes that this thread belongs to.
pub struct GpuTile<const LANES: usize>;

impl<const LANES: usize> GpuTile<LANES> {
    #[inline(always)]
    fn lane() -> u32 {
        thread::thread_idx_x() % LANES as u32
    }

    /// The warp's lane that is the first of this tile.
    #[inline(always)]
    fn shift() -> u32 {
        if LANES == 32 { 0 } else { warp::lane_id() & !(LANES as u32 - 1) }
    }

    /// The tile's lanes in the warp's mask.
    #[inline(always)]
    fn mask() -> u32 {
        if LANES == 32 { u32::MAX } else { ((1 << LANES) - 1) << Self::shift() }
    }
}

impl<const LANES: usize> Tile for GpuTile<LANES> {
    type Local<T> = Register<T>;

    #[inline(always)]
    fn first_thread(&self) -> u32 {
        thread::thread_idx_x() & !(LANES as u32 - 1)
    }
    #[inline(always)]
    fn local<T>(&mut self, initial: impl Fn(u32) -> T + Sync) -> Register<T> {
        Register(initial(Self::lane()))
    }
    #[inline(always)]
    fn each<T>(&mut self, local: &mut Register<T>, work: impl Fn(u32, &mut T) + Sync) {
        work(Self::lane(), &mut local.0);
    }
    #[inline(always)]
    fn ballot<T>(&mut self, local: &Register<T>, test: impl Fn(u32, &T) -> bool + Sync) -> u32 {
        let votes = warp::warp_vote_ballot(Self::mask(), test(Self::lane(), &local.0));
        if LANES == 32 { votes } else { votes >> Self::shift() & ((1 << LANES) - 1) }
    }
    #[inline(always)]
    fn pick<T>(&mut self, local: &Register<T>, lane: u32, read: impl Fn(&T) -> u32 + Sync) -> u32 {
        warp::warp_shuffle_idx(Self::mask(), read(&local.0), Self::shift() + lane % LANES as u32)
    }
}

/// What a kernel declaration adds on the GPU: an entry point for each type that the kernel is generic over.
#[doc(hidden)]
#[macro_export]
macro_rules! backend_kernel {
    ($name:ident [] $entry:literal, $($rest:tt)*) => {
        $crate::entry_point! { $name [] $entry, $($rest)* }
    };
    ($name:ident [$key:ident : $key_bound:ident] $entry:literal, $($rest:tt)*) => {
        $crate::entry_point! { $name [$key = u32] concat!($entry, "_u32"), $($rest)* }
        $crate::entry_point! { $name [$key = u64] concat!($entry, "_u64"), $($rest)* }
    };
    ($name:ident [$key:ident : $key_bound:ident, $value:ident : $value_bound:ident] $entry:literal, $($rest:tt)*) => {
        $crate::entry_point! { $name [$key = u32, $value = u32] concat!($entry, "_u32_u32"), $($rest)* }
        $crate::entry_point! { $name [$key = u32, $value = u64] concat!($entry, "_u32_u64"), $($rest)* }
        $crate::entry_point! { $name [$key = u64, $value = u32] concat!($entry, "_u64_u32"), $($rest)* }
        $crate::entry_point! { $name [$key = u64, $value = u64] concat!($entry, "_u64_u64"), $($rest)* }
    };
}

/// One entry point in the PTX.
#[doc(hidden)]
#[macro_export]
macro_rules! entry_point {
    (
        $name:ident [$($generic:ident = $concrete:ident),*] $entry:expr, $threads:literal,
        [$($shared:ident : $word:ty = $length:expr),*] [$($argument:ident : $type:ty),*]
    ) => {
        const _: () = {
            $( type $generic = $concrete; )*
            #[unsafe(export_name = $entry)]
            pub unsafe extern "ptx-kernel" fn entry($($argument: $type),*) {
                $( let $shared = $crate::shared_array!($word, $length); )*
                $name::<$($generic),*> { $($argument),* }.run(&mut $crate::seam::gpu::GpuBlock::<$threads> $(, $shared)*);
            }
        };
    };
}

/// A panic is a bug; with `-Cpanic=immediate-abort` none is compiled in, but the item must exist.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: a trap ends the launch; it touches nothing.
    unsafe { core::arch::nvptx::trap() }
}
