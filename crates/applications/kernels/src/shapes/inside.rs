//! The search for a surface's regions inside a closed mesh, by winding numbers about one voxel of
//! each.

use super::flood::is_set;
use super::mesh::{Mesh, Vector, cross, extent, minus};
use super::{COORDINATE_BITS, MAX_SIDE, pack, unpack};
use gpu_kernels::seam::{Block, Global, Tile};

/// The scalar arguments of [`Wind`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WindParams {
    /// The number of triangles.
    pub triangles: u64,
    /// The voxels along a side of the grid.
    pub side: u32,
    /// Unused.
    pub padding: u32,
}

gpu_kernels::kernel! {
    /// Adds, for every seed `i`, the mesh's winding number about the middle of the seed's voxel to
    /// `windings[ranks[i]]`. One thread per triangle.
    ///
    /// A winding number is the number of triangles through which a ray from the middle along x
    /// leaves the mesh, less the number through which it enters. No triangle may touch a seed's
    /// voxel. `seeds` are keys in ascending order, and `count[0]` is their count.
    Wind<>, "shapes_wind", threads 256;
    {
        corners: Global<u64>, triangles: Global<u32>, seeds: Global<u32>, ranks: Global<u32>, count: Global<u32>,
        windings: Global<u32>, plan: WindParams,
    }
}

impl Wind {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let mesh = Mesh { corners: args.corners, triangles: args.triangles };
        let side = args.plan.side;
        let first = block.first_thread();
        block.each_thread(|thread| {
            let triangle = first + thread as u64;
            let count = args.count.load_read_only(0);
            if triangle >= args.plan.triangles || count == 0 {
                return;
            }
            let corners = mesh.triangle(triangle);
            let [a, b, c] = corners;
            let ((low_y, high_y), (low_z, high_z)) = (extent(a[1], b[1], c[1]), extent(a[2], b[2], c[2]));
            if high_y < 0.0 || high_z < 0.0 {
                return;
            }
            // The voxels whose middles may lie between the triangle's least and greatest
            // coordinates.
            let (from_y, to_y) = (low_y as u32, (high_y as u32).min(side - 1));
            let mut z = low_z as u32;
            while z <= (high_z as u32).min(side - 1) && from_y <= to_y {
                let end = pack([MAX_SIDE - 1, to_y, z]);
                let mut seed = first_from(args.seeds, count, from_y << COORDINATE_BITS | z << (2 * COORDINATE_BITS));
                while seed < count {
                    let key = args.seeds.load_read_only(seed as u64);
                    if key > end {
                        break;
                    }
                    let [x, y, z] = unpack(key);
                    let middle = [x as f64 + 0.5, y as f64 + 0.5, z as f64 + 0.5];
                    let winds = winding(corners, middle);
                    if winds != 0 {
                        let rank = args.ranks.load_read_only(seed as u64);
                        args.windings.atomic(rank as u64).fetch_add(winds as u32);
                    }
                    seed += 1;
                }
                z += 1;
            }
        });
    }
}

/// Returns the index of the first seed that is not below `key`.
#[inline(always)]
fn first_from(seeds: Global<u32>, count: u32, key: u32) -> u32 {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if seeds.load_read_only(middle as u64) < key {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Returns what a triangle adds to the winding number about a point: 1 if the point's ray along x
/// leaves the mesh through it, -1 if it enters, 0 if it misses.
#[inline(always)]
fn winding([a, b, c]: [Vector; 3], from: Vector) -> i32 {
    // Seen along x, the outline winds around the ray (1 or -1) or not (0).
    let around = crossing(a, b, from) + crossing(b, c, from) + crossing(c, a, from);
    if around == 0 {
        return 0;
    }
    let (low, high) = extent(a[0], b[0], c[0]);
    let ahead = if low > from[0] {
        true
    } else if high < from[0] {
        false
    } else {
        // The distance along x from the ray's start to the triangle's plane, times the normal's x.
        let normal = cross(minus(b, a), minus(c, a));
        let to = minus(a, from);
        let distance = normal[0] * to[0] + normal[1] * to[1] + normal[2] * to[2];
        (distance > 0.0) == (normal[0] > 0.0)
    };
    if ahead { around } else { 0 }
}

/// Returns whether an edge, seen along x, crosses the half-line from `from` along y: 1 if upwards
/// in z, -1 if downwards, 0 if not at all.
///
/// The edge is always evaluated from its lower end. So both triangles that share it get the same
/// answer despite rounding, and a closed mesh has no gaps.
#[inline(always)]
fn crossing(p: Vector, q: Vector, from: Vector) -> i32 {
    let upwards = p[2] < q[2];
    let (p, q) = if upwards { (p, q) } else { (q, p) };
    if p[2] > from[2] || q[2] <= from[2] {
        return 0;
    }
    let left = (q[1] - p[1]) * (from[2] - p[2]) - (q[2] - p[2]) * (from[1] - p[1]);
    match (left > 0.0, upwards) {
        (false, _) => 0,
        (true, true) => 1,
        (true, false) => -1,
    }
}

/// The scalar arguments of [`Classify`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ClassifyParams {
    /// The number of voxels.
    pub voxels: u64,
}

gpu_kernels::kernel! {
    /// Flags the voxels inside: bit `i mod 32` of `inside[i / 32]` is set if voxel `i` is no wall
    /// and the winding number of its root is not 0. One thread per voxel.
    ///
    /// Adds the count of voxels inside to `counts[0]`, and the count of walls to `counts[1]`.
    Classify<>, "shapes_classify", threads 256;
    {
        walls: Global<u32>, roots: Global<u32>, windings: Global<u32>, inside: Global<u32>, counts: Global<u32>,
        plan: ClassifyParams,
    }
}

/// The class of a voxel; neither means outside.
#[derive(Clone, Copy)]
struct Class {
    inside: bool,
    wall: bool,
}

impl Classify {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let voxels = args.plan.voxels;
        let block_first = block.first_thread();
        let mut classes = block.local(|thread| {
            let rank = block_first + thread as u64;
            let wall = rank < voxels && is_set(args.walls, rank);
            let open = rank < voxels && !wall;
            let root = if open { args.roots.load_read_only(rank) } else { 0 };
            Class { inside: open && args.windings.load_read_only(root as u64) != 0, wall }
        });
        block.tiles_of(&mut classes, |warp, classes| {
            let first = block_first + warp.first_thread() as u64;
            let inside = warp.ballot(classes, |_, class| class.inside);
            warp.each(classes, |lane, _| {
                if lane == 0 && first < voxels {
                    args.inside.store(first / 32, inside);
                }
            });
        });
        let inside = block.count(&mut classes, |_, class| class.inside);
        let walls = block.count(&mut classes, |_, class| class.wall);
        block.each(&mut classes, |thread, _| {
            if thread == 0 {
                args.counts.atomic(0).fetch_add(inside);
                args.counts.atomic(1).fetch_add(walls);
            }
        });
    }
}
