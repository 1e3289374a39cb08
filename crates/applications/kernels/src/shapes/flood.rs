//! The flood over a surface: voxels that touch, even at a corner, get the same root, unless one of
//! them is a wall.
//!
//! A surface's voxels are sorted by key, so runs along x are contiguous, and each run begins as one
//! tree. Trees of neighbours, whose ranks a page table finds, are joined (union-find, with links
//! from larger to smaller ranks). So the root of a region is the least of its voxels, in whatever
//! order threads run.
//!
//! **Why walls separate inside from outside.** The walls are the voxels that both surfaces touch.
//! Two voxels of surface A that touch each other share a point. If surface B touches neither, it
//! does not separate this point from either, so both lie on the same side of B.

use super::{COORDINATE_BITS, MAX_SIDE, unpack};
use gpu_kernels::refs::PageRef;
use gpu_kernels::seam::{Block, Global, Tile, opaque};

/// The voxels of a surface, and the bits of its walls.
#[derive(Clone, Copy)]
struct Flooded {
    keys: Global<u32>,
    walls: Global<u32>,
    voxels: u64,
}

impl Flooded {
    /// Returns whether a voxel with this rank exists and is no wall.
    #[inline(always)]
    fn is_open(&self, rank: u64) -> bool {
        rank < self.voxels && !is_set(self.walls, rank)
    }

    /// Returns whether an open voxel has an open left neighbour, which has the previous rank.
    #[inline(always)]
    fn has_left(&self, rank: u64) -> bool {
        let key = self.keys.load_read_only(rank);
        let [x, ..] = unpack(key);
        x > 0 && rank > 0 && self.keys.load_read_only(rank - 1) == key - 1 && self.is_open(rank - 1)
    }
}

gpu_kernels::kernel! {
    /// Makes trees of runs along x: `parents[i]` becomes the first voxel of its run in the same
    /// warp. If the run begins before this warp, it becomes the previous warp's last voxel. One
    /// thread per voxel.
    ///
    /// Bit `i mod 32` of `walls[i / 32]` says whether voxel `i` is a wall.
    Runs<>, "shapes_runs", threads 256;
    { keys: Global<u32>, walls: Global<u32>, parents: Global<u32>, voxels: u64 }
}

impl Runs {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let flooded = Flooded { keys: args.keys, walls: args.walls, voxels: args.voxels };
        let block_first = block.first_thread();
        block.tiles(|warp| {
            let first = block_first + warp.first_thread() as u64;
            let mut joined = warp.local(|lane| {
                let rank = first + lane as u64;
                flooded.is_open(rank) && flooded.has_left(rank)
            });
            let joined_lanes = warp.ballot(&joined, |_, &joined| joined);
            warp.each(&mut joined, |lane, _| {
                let rank = first + lane as u64;
                if rank < flooded.voxels {
                    // The count of consecutive lanes, up to this one, whose voxels have an open
                    // left neighbour.
                    let back = (joined_lanes << (31 - lane)).leading_ones();
                    args.parents.store(rank, rank as u32 - back);
                }
            });
        });
    }
}

gpu_kernels::kernel! {
    /// Links each voxel that is no wall with its neighbours of smaller keys in other rows. One
    /// thread per voxel.
    ///
    /// `parents` is as [`Runs`] wrote it. `ranks` has the rank of each key.
    Link<>, "shapes_link", threads 256;
    { keys: Global<u32>, walls: Global<u32>, ranks: PageRef<u32, u32>, parents: Global<u32>, voxels: u64 }
}

/// The rows along x that contain a voxel's neighbours of smaller keys, except the voxel's own row.
/// Each row has two bits, beginning with the lowest: its step along y, plus 1. The first row is in
/// the voxel's layer, the other three are in the layer before.
const ROWS: u32 = 0b10_01_00_00;

impl Link {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let flooded = Flooded { keys: args.keys, walls: args.walls, voxels: args.voxels };
        let first = block.first_thread();
        block.each_thread(|thread| {
            let rank = first + thread as u64;
            if !flooded.is_open(rank) {
                return;
            }
            let [x, y, z] = unpack(args.keys.load_read_only(rank));
            let left = flooded.has_left(rank);
            // A row is searched at the middle voxel, then right and left of it. The loop is not
            // unrolled, so its code has one lookup.
            let mut step = 0;
            while step < opaque(12) {
                let (row, place) = (step / 3, step % 3);
                step += 1;
                let (down, layer) = (y + (ROWS >> (2 * row) & 3), z + (row == 0) as u32);
                let beside = (place == 1 && x + 1 == MAX_SIDE) || (place == 2 && x == 0);
                if beside || down == 0 || down > MAX_SIDE || layer == 0 {
                    continue;
                }
                if place == 2 && left {
                    // The voxel to the left links itself with this neighbour.
                    continue;
                }
                let across = match place {
                    0 => x,
                    1 => x + 1,
                    _ => x - 1,
                };
                let neighbour = across | (down - 1) << COORDINATE_BITS | (layer - 1) << (2 * COORDINATE_BITS);
                if let Some(found) = args.ranks.get(neighbour)
                    && flooded.is_open(found as u64)
                {
                    // If both have open left neighbours, another thread links these, or voxels
                    // further left.
                    let linked = place == 0 && left && flooded.has_left(found as u64);
                    if !linked {
                        unite(args.parents, rank as u32, found);
                    }
                    if place == 0 {
                        // The other voxels of this row are neighbours of the middle voxel.
                        step += 2;
                    }
                }
            }
        });
    }
}

gpu_kernels::kernel! {
    /// Sets `parents[i]` to the root of voxel `i`, and flags the roots: bit `i mod 32` of
    /// `roots[i / 32]` is set if voxel `i` is a root and no wall. One thread per voxel.
    Flatten<>, "shapes_flatten", threads 256;
    { walls: Global<u32>, parents: Global<u32>, roots: Global<u32>, voxels: u64 }
}

impl Flatten {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let voxels = args.voxels;
        let block_first = block.first_thread();
        block.tiles(|warp| {
            let first = block_first + warp.first_thread() as u64;
            let mut is_root = warp.local(|lane| {
                let rank = first + lane as u64;
                if rank >= voxels || is_set(args.walls, rank) {
                    return false;
                }
                let root = final_root_of(args.parents, rank as u32);
                args.parents.atomic(rank).store(root);
                root as u64 == rank
            });
            let roots = warp.ballot(&is_root, |_, &root| root);
            warp.each(&mut is_root, |lane, _| {
                if lane == 0 && first < voxels {
                    args.roots.store(first / 32, roots);
                }
            });
        });
    }
}

/// Returns whether bit `index` is set in an array that the launch does not write.
#[inline(always)]
pub fn is_set(bits: Global<u32>, index: u64) -> bool {
    bits.load_read_only(index / 32) >> (index % 32) & 1 != 0
}

/// Returns the root of the tree of `rank`, after all roots have been linked.
///
/// This does not halve the path, because a thread that stores an outdated parent could undo another
/// thread's [`Flatten`].
#[inline(always)]
fn final_root_of(parents: Global<u32>, mut rank: u32) -> u32 {
    // At most as many steps as ranks, because a parent is less than its child.
    loop {
        let parent = parents.atomic(rank as u64).load();
        if parent == rank {
            return rank;
        }
        rank = parent;
    }
}

/// Returns the root of the tree of `rank`, while other threads may be linking roots.
#[inline(always)]
fn root_of(parents: Global<u32>, mut rank: u32) -> u32 {
    // At most as many steps as ranks, because a parent is less than its child.
    loop {
        let parent = parents.atomic(rank as u64).load();
        if parent == rank {
            return rank;
        }
        let above = parents.atomic(parent as u64).load();
        if above == parent {
            return parent;
        }
        // The path is halved for later searches. Every value stored here is further up the same
        // tree, so it does not matter which thread stores last.
        parents.atomic(rank as u64).store(above);
        rank = above;
    }
}

/// Joins the trees of `a` and `b`. The smaller root stays a root.
#[inline(always)]
fn unite(parents: Global<u32>, mut a: u32, mut b: u32) {
    // At most as many steps as ranks, because each failure leads to a smaller one.
    loop {
        (a, b) = (root_of(parents, a), root_of(parents, b));
        if a == b {
            return;
        }
        let (lower, upper) = if a < b { (a, b) } else { (b, a) };
        // Parents are smaller than their children, so there is no cycle. If another thread has
        // linked `upper` first, only its new parent and `lower` are left to unite.
        let held = parents.atomic(upper as u64).compare_exchange(upper, lower);
        if held == upper {
            return;
        }
        (a, b) = (held, lower);
    }
}
