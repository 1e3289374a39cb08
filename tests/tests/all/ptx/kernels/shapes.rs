//! The kernels of the application `shapes`.

use gpu_kernels::page::Layout;
use gpu_kernels::seam::Kernel;
use gpu_kernels::shapes::{
    Classify, ClassifyParams, CountPieces, Flatten, FloodParams, Link, Motion, MoveCorners, Runs, SurfaceParams,
    Voxelize, Wind, WindParams,
};
use warpnest_tests::null;

/// All of them.
pub fn all() -> Vec<Box<dyn Kernel>> {
    let motion = Motion { corners: 0, twist: 0.0, swell: 0.0, turn: [[0.0; 3]; 3], shift: [0.0; 3] };
    let plan = SurfaceParams { triangles: 0, pieces: 0, side: 8, padding: 0 };
    let (corners, triangles, starts, offsets, keys, numbers) = (null(), null(), null(), null(), null(), null());
    let count = Voxelize::<false> { corners, triangles, starts, offsets, keys, numbers, plan };
    let flood = FloodParams { layout: Layout::new::<u32, u32>(0, 0, 0, 20), voxels: 0 };
    let (walls, parents, roots, words) = (null(), null(), null(), null());
    let (ranks, windings, inside, counts) = (null(), null(), null(), null());
    let wind = WindParams { triangles: 0, side: 8, padding: 0 };
    vec![
        Box::new(MoveCorners { corners, moved: corners, plan: motion }),
        Box::new(CountPieces { corners, triangles, pieces: starts, plan }),
        Box::new(count),
        Box::new(count.variant::<true>()),
        Box::new(Runs { keys, walls, parents, plan: flood }),
        Box::new(Link { keys, walls, words, parents, plan: flood }),
        Box::new(Flatten { walls, parents, roots, plan: flood }),
        Box::new(Wind { corners, triangles, seeds: keys, ranks, count: counts, windings, plan: wind }),
        Box::new(Classify { walls, roots, windings, inside, counts, plan: ClassifyParams { voxels: 0 } }),
    ]
}
