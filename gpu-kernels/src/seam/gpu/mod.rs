//! The GPU's back end: `core::arch::nvptx`, LLVM's NVPTX intrinsics and inline PTX, under
//! rust-cuda's names.
//!
//! [`thread`] and [`warp`] use the names of rust-cuda's `cuda_std`, which no available compiler can
//! build (docs/toolchain.md). Two rules matter only here. Convergent operations are intrinsics,
//! never inline assembly. Atomic operations do not order other accesses. `memory` contains the
//! accesses to the device's memory in inline PTX, and `shared` the arrays of a block.

pub mod memory;
#[macro_use]
mod shared;
pub mod thread;
pub mod warp;

pub use shared::{GpuShared, dynamic_array};

use self::warp::LaneWord;
use super::block::LANES;
use super::{Block, Shared, Tile, Word};

/// The block that this thread belongs to.
pub struct GpuBlock<const THREADS: u32>;

/// A register: the state that this thread keeps.
pub struct Register<T>(T);

impl<const THREADS: u32> Block for GpuBlock<THREADS> {
    type Local<T> = Register<T>;
    type Shared<T: Word> = GpuShared<T>;
    type Tile = GpuTile;
    type Strided = Self;

    #[inline(always)]
    fn strided(&mut self) -> &mut Self {
        self
    }

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
    fn tiles(&mut self, work: impl Fn(&mut GpuTile) + Sync) {
        work(&mut GpuTile);
    }
    #[inline(always)]
    fn tiles_of<T>(&mut self, local: &mut Register<T>, work: impl Fn(&mut GpuTile, &mut Register<T>) + Sync) {
        work(&mut GpuTile, local);
    }
    #[inline(always)]
    fn sync(&mut self) {
        thread::sync_threads();
    }
}

/// The warp that this thread belongs to.
pub struct GpuTile;

/// The mask of all lanes of a warp.
const ALL: u32 = u32::MAX;

impl GpuTile {
    #[inline(always)]
    fn lane() -> u32 {
        thread::thread_idx_x() % LANES as u32
    }

    /// Returns the lanes of `peers` whose class has the same value in bit `bit` as this lane's
    /// class.
    #[inline(always)]
    fn peers(peers: u32, class: u32, bit: u32) -> u32 {
        // The bit's mask is opaque, since LLVM would otherwise test it twice, for the vote and for
        // the choice.
        let set = class & memory::opaque(1 << bit) != 0;
        let votes = warp::warp_vote_ballot(ALL, set);
        peers & (votes ^ if set { 0 } else { u32::MAX })
    }
}

impl Tile for GpuTile {
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
        warp::warp_vote_ballot(ALL, test(Self::lane(), &local.0))
    }
    #[inline(always)]
    fn pick<T>(&mut self, local: &Register<T>, lane: u32, read: impl Fn(&T) -> u32 + Sync) -> u32 {
        warp::warp_shuffle_idx(ALL, read(&local.0), lane % LANES as u32)
    }
    #[inline(always)]
    fn exclusive_sum<T, N: Word>(
        &mut self,
        local: &mut Register<T>,
        read: impl Fn(u32, &T) -> N + Sync,
        tell: impl Fn(u32, &mut T, N, N) + Sync,
    ) {
        let lane = Self::lane();
        let value = read(lane, &local.0);
        // These are doubling steps (Hillis and Steele, 1986). Each step doubles the count of lanes,
        // up to and including this lane, whose values `sum` contains.
        let mut sum = value;
        let mut distance = 1;
        while distance < LANES as u32 {
            let earlier = sum.from_lane(ALL, lane.wrapping_sub(distance) & (LANES as u32 - 1));
            if lane >= distance {
                sum = sum.plus(earlier);
            }
            distance *= 2;
        }
        let total = sum.from_lane(ALL, LANES as u32 - 1);
        tell(lane, &mut local.0, sum.minus(value), total);
    }
    #[inline(always)]
    fn sum_floats<T>(&mut self, local: &Register<T>, read: impl Fn(u32, &T) -> u64 + Sync) -> u64 {
        let lane = Self::lane();
        let mut sum = f64::from_bits(read(lane, &local.0));
        for step in 0..LANES.ilog2() {
            sum += f64::from_bits(sum.to_bits().from_lane(ALL, lane ^ (1 << step)));
        }
        sum.to_bits()
    }
    #[inline(always)]
    fn twins<T, N: Word>(
        &mut self,
        local: &mut Register<T>,
        read: impl Fn(u32, &T) -> Option<(N, u32)> + Sync,
        tell: impl Fn(u32, &mut T, u32) + Sync,
    ) {
        let lane = Self::lane();
        let held = read(lane, &local.0);
        let (word, class) = held.unwrap_or_default();
        let mut peers = warp::warp_vote_ballot(ALL, held.is_some());
        for bit in 0..8 {
            peers = Self::peers(peers, class, bit);
        }
        // A lane that holds no word may have no peers, not even itself.
        let own = warp::lane_id();
        let highest = if held.is_some() { warp::highest_bit(peers) } else { own };
        let is_twin = word.from_lane(ALL, highest) == word;
        tell(lane, &mut local.0, if is_twin { highest } else { lane });
    }
    #[inline(always)]
    fn count_in_order<T, const ROWS: usize>(
        &mut self,
        local: &mut Register<T>,
        counters: impl Shared<u32>,
        first: u32,
        bits: u32,
        class: impl Fn(&T, usize) -> u32 + Sync,
        tell: impl Fn(&mut T, usize, u32) + Sync,
    ) {
        let earlier_lanes = (1 << warp::lane_id()) - 1;
        let (mut peers, mut held) = ([ALL; ROWS], [0; ROWS]);
        // One vote for each bit is faster than `match.any` (docs/two-level.md, "Tried and
        // dropped").
        for row in 0..ROWS {
            for bit in 0..8 {
                peers[row] = Self::peers(peers[row], class(&local.0, row), bit);
            }
        }
        if bits > 8 {
            for row in 0..ROWS {
                for bit in 8..10 {
                    peers[row] = Self::peers(peers[row], class(&local.0, row), bit);
                }
            }
        }
        // Row after row, the last lane of each class adds the count of all lanes of that class.
        for row in 0..ROWS {
            let class = class(&local.0, row);
            if warp::highest_bit(peers[row]) == warp::lane_id() {
                held[row] = counters.fetch_add(first / 2 + class / 2, peers[row].count_ones() << (class % 2 * 16));
            }
            warp::sync_warp(ALL);
        }
        for row in 0..ROWS {
            let word = warp::warp_shuffle_idx(ALL, held[row], warp::highest_bit(peers[row]));
            let before = (peers[row] & earlier_lanes).count_ones();
            let half = class(&local.0, row) % 2 * 16;
            tell(&mut local.0, row, (word >> half & 0xffff) + before);
        }
    }
}

/// The items that a kernel declaration adds on the GPU: an entry point for each type that the
/// kernel is generic over.
#[doc(hidden)]
#[macro_export]
macro_rules! backend_kernel {
    ($name:ident [] [] $entry:literal, $($rest:tt)*) => {
        $crate::entry_point! { $name [] $entry, $($rest)* }
    };
    ($name:ident [$key:ident : $key_bound:ident] [$($atomics:ident)?] $entry:literal, $($rest:tt)*) => {
        $crate::entry_point! { $name [$key = u32] concat!($entry, "_u32"), $($rest)* }
        $crate::with_atomics! { [$($atomics)?]
            $crate::entry_point! { $name [$key = u64] concat!($entry, "_u64"), $($rest)* }
        }
    };
    (
        $name:ident [$key:ident : $key_bound:ident, $value:ident : Payload] [] $entry:literal, $($rest:tt)*
    ) => {
        $crate::backend_kernel! { $name [$key : $key_bound, $value : ValueWord] [] $entry, $($rest)* }
        $crate::entry_point! { $name [$key = u32, $value = $crate::types::Nothing] concat!($entry, "_u32"), $($rest)* }
        $crate::entry_point! { $name [$key = u64, $value = $crate::types::Nothing] concat!($entry, "_u64"), $($rest)* }
    };
    (
        $name:ident [$key:ident : $key_bound:ident, $value:ident : Row] [] $entry:literal, $($rest:tt)*
    ) => {
        $crate::backend_kernel! { $name [$key : $key_bound, $value : Payload] [] $entry, $($rest)* }
        $crate::entry_point! {
            $name [$key = u32, $value = $crate::types::Columns] concat!($entry, "_u32_columns"), $($rest)*
        }
        $crate::entry_point! {
            $name [$key = u64, $value = $crate::types::Columns] concat!($entry, "_u64_columns"), $($rest)*
        }
    };
    (
        $name:ident [$key:ident : $key_bound:ident, $value:ident : $value_bound:ident] [$($atomics:ident)?]
        $entry:literal, $($rest:tt)*
    ) => {
        $crate::entry_point! { $name [$key = u32, $value = u32] concat!($entry, "_u32_u32"), $($rest)* }
        $crate::with_atomics! { [$($atomics)?]
            $crate::entry_point! { $name [$key = u32, $value = u64] concat!($entry, "_u32_u64"), $($rest)* }
            $crate::entry_point! { $name [$key = u64, $value = u32] concat!($entry, "_u64_u32"), $($rest)* }
            $crate::entry_point! { $name [$key = u64, $value = u64] concat!($entry, "_u64_u64"), $($rest)* }
        }
    };
}

/// The given entry points, which are left out if they need atomics of 128 bits and the target has
/// none.
#[doc(hidden)]
#[macro_export]
macro_rules! with_atomics {
    ([] $($entries:tt)*) => { $($entries)* };
    ([atomics] $($entries:item)*) => {
        $(
            #[cfg(all(target_feature = "sm_90", target_feature = "ptx83"))]
            $entries
        )*
    };
}

/// The method that computes the length of a dynamic array. Only the host has it.
#[doc(hidden)]
#[macro_export]
macro_rules! dynamic_length {
    ($($declaration:tt)*) => {};
}

/// The items that a `cores_kernel!` declaration adds on the GPU, which are none.
#[doc(hidden)]
#[macro_export]
macro_rules! backend_cores_kernel {
    ($($declaration:tt)*) => {};
}

/// An entry point in the PTX.
///
/// The entry points exist only in the crate that is compiled to PTX. The crates that it depends on
/// have their own PTX. `warpnest-build` sets the `cfg` `warpnest_entry_points` for that one crate.
/// To build only some kernels, it sets their names instead, and looks for the `@kernel` comments.
#[doc(hidden)]
#[macro_export]
macro_rules! entry_point {
    (
        $name:ident [$($generic:ident = $concrete:ty),*] $entry:expr, [$($const:literal)?], $threads:literal,
        [$($resident:literal)?], $cores:tt,
        [[$($dynamic:ident : $dynamic_word:ty)?] $($shared:ident : $word:ty = $length:expr),*]
        [$($argument:ident : $type:ty),*]
    ) => {
        #[cfg($name)]
        core::arch::global_asm!(concat!("//@kernel ", stringify!($name)));
        $(
            // `warpnest-build` turns this comment in the PTX into directives, since Rust has no
            // attribute for them.
            #[cfg(any(warpnest_entry_points, $name))]
            core::arch::global_asm!(concat!(
                "//@launch_bounds ", $entry, " maxntid=", stringify!($threads), " minnctapersm=", stringify!($resident)
            ));
        )?
        #[cfg(any(warpnest_entry_points, $name))]
        const _: () = {
            $( type $generic = $concrete; )*
            #[unsafe(export_name = $entry)]
            pub unsafe extern "ptx-kernel" fn entry($($argument: $type),*) {
                $( let $dynamic = $crate::seam::gpu::dynamic_array::<$dynamic_word>(); )?
                $( let $shared = $crate::shared_array!($word, $length); )*
                let mut block = $crate::seam::gpu::GpuBlock::<$threads>;
                $name::<$($generic,)* $($const)?> { $($argument),* }.run(&mut block $(, $dynamic)? $(, $shared)*);
            }
        };
    };
}

/// Handles a panic, which would be a bug. With `-Cpanic=immediate-abort` no panic is compiled in,
/// but the item must exist.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: a trap ends the launch and accesses no memory.
    unsafe { core::arch::nvptx::trap() }
}
