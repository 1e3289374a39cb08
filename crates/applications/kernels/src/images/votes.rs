//! Votes: pairs of a scene's feature and a reference's feature with the same key.

use super::keys::far_rank;
use super::{Frame, NO_VOTE, POSE_BITS, POSITIONS, REFERENCE_BITS, point};
use gpu_kernels::hash::Divisor;
use gpu_kernels::seam::{Block, Global};

/// The scalar arguments of [`LimitRuns`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LimitRunsParams {
    /// The number of queries.
    pub queries: u64,
    /// The maximum values of a key that is used.
    pub most: u64,
}

gpu_kernels::kernel! {
    /// Writes the number of values of each query to `offsets`, or 0 if this is more than `most`. A
    /// last 0 follows the queries. One thread per query, and one more.
    LimitRuns<>, "images_limit_runs", threads 256;
    { counts: Global<u32>, offsets: Global<u64>, plan: LimitRunsParams }
}

impl LimitRuns {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let LimitRunsParams { queries, most } = args.plan;
        let first = block.first_thread();
        block.each_thread(|thread| {
            let query = first + thread as u64;
            if query <= queries {
                let count = if query < queries { args.counts.load_streaming(query) as u64 } else { 0 };
                args.offsets.store(query, if count <= most { count } else { 0 });
            }
        });
    }
}

/// The scalar arguments of [`Vote`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct VoteParams {
    /// The number of queries: the features of all points of the scenes.
    pub queries: u64,
    /// The number of points of all scenes.
    pub points: Divisor,
    /// The number of points of all references.
    pub reference_points: Divisor,
}

gpu_kernels::kernel! {
    /// Writes the votes of each query from `offsets[query]` up to `offsets[query + 1]`: one for
    /// each value. One thread per query.
    ///
    /// The values begin at `values[runs[query]]`, and are ids of the references' features. The sort
    /// key of a vote is its scene, its reference and its pose ([`NO_VOTE`] for a pose out of
    /// bounds). The vote itself is four 16-bit indices of points within their sets. From the low
    /// bits, these are the point and the end of the basis in the scene, then in the reference. Both
    /// have arrays of points, sets, starts, frames and far neighbours, as for
    /// [`Keys`](super::Keys).
    Vote<>, "images_vote", threads 256;
    {
        runs: Global<u32>, offsets: Global<u64>, values: Global<u32>,
        points: Global<u64>, sets: Global<u32>, starts: Global<u32>, frames: Global<u32>, far: Global<u32>,
        reference_points: Global<u64>, reference_sets: Global<u32>, reference_starts: Global<u32>,
        reference_frames: Global<u32>, reference_far: Global<u32>,
        keys_out: Global<u64>, votes_out: Global<u64>, plan: VoteParams,
    }
}

impl Vote {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let plan = args.plan;
        block.each_item(plan.queries, |query| {
            let (begin, end) = (args.offsets.load_read_only(query), args.offsets.load_read_only(query + 1));
            if begin == end {
                return;
            }
            let run = args.runs.load_read_only(query) as u64;
            let (feature, at) = plan.points.divided(query);
            let scene = args.sets.load_read_only(at) as u64;
            let start = args.starts.load_read_only(scene) as u64;
            let far = args.far.load_read_only(far_rank(feature) * plan.points.get() as u64 + at) as u64;
            let here = Basis {
                from: point(args.points.load_read_only(at)),
                to: point(args.points.load_read_only(start + far)),
            };
            let grid = Grid::over(Frame::load(args.frames, scene));
            let own = (at - start) | (far << 16);
            for i in 0..end - begin {
                let value = args.values.load_read_only(run + i) as u64;
                let (feature, at) = plan.reference_points.divided(value);
                let reference = args.reference_sets.load_read_only(at) as u64;
                let start = args.reference_starts.load_read_only(reference) as u64;
                let rank = far_rank(feature) * plan.reference_points.get() as u64;
                let far = args.reference_far.load_read_only(rank + at) as u64;
                let there = Basis {
                    from: point(args.reference_points.load_read_only(at)),
                    to: point(args.reference_points.load_read_only(start + far)),
                };
                let middle = Frame::load(args.reference_frames, reference).middle();
                let key = match pose(there, here, middle, grid) {
                    Some(pose) => scene << REFERENCE_BITS | reference << POSE_BITS | pose as u64,
                    None => NO_VOTE,
                };
                args.keys_out.store(begin + i, key);
                args.votes_out.store(begin + i, own | ((at - start) | (far << 16)) << 32);
            }
        });
    }
}

/// The two points at which the axis of a coordinate frame begins and ends.
#[derive(Clone, Copy)]
struct Basis {
    from: [f32; 2],
    to: [f32; 2],
}

/// The grid of positions over a scene, with a margin of half its longer side or more.
#[derive(Clone, Copy)]
struct Grid {
    left: f32,
    top: f32,
    /// The number of cells per unit of coordinates.
    density: f32,
}

impl Grid {
    #[inline(always)]
    fn over(frame: Frame) -> Self {
        let longer = if frame.width > frame.height { frame.width } else { frame.height };
        Self { left: frame.left, top: frame.top, density: POSITIONS / longer }
    }

    /// Returns the index (below 32) of a position's cell along one axis.
    #[inline(always)]
    fn cell(self, position: f32, from: f32) -> Option<u32> {
        let cell = (position - from) * self.density + 0.5 * POSITIONS;
        (0.0..2.0 * POSITIONS).contains(&cell).then_some(cell as u32)
    }
}

/// Returns the pose that maps the basis `there` to `here`, quantised. Scale, rotation and the two
/// coordinates of the mapped `middle` have 5 bits each.
#[inline(always)]
fn pose(there: Basis, here: Basis, middle: [f32; 2], grid: Grid) -> Option<u32> {
    let (dx, dy) = (there.to[0] - there.from[0], there.to[1] - there.from[1]);
    let (ex, ey) = (here.to[0] - here.from[0], here.to[1] - here.from[1]);
    let square = dx * dx + dy * dy;
    // Rotation and scale are one complex factor.
    let a = (ex * dx + ey * dy) / square;
    let b = (ey * dx - ex * dy) / square;
    // The exponent and the first mantissa bit of a float count half octaves, here of the squared
    // scale, beginning at 2^-8.
    let size = a * a + b * b;
    let scale = (size.to_bits() >> 22).wrapping_sub((127 - 8) << 1);
    if scale >= 32 {
        return None;
    }
    // The angle needs no trigonometry: it is a position along the sides of a square on its corner.
    let along = b / (a.abs() + b.abs());
    let angle = if a >= 0.0 { 1.0 + along } else { 3.0 - along };
    let turn = ((angle * 8.0) as u32).min(31);
    let (mx, my) = (middle[0] - there.from[0], middle[1] - there.from[1]);
    let x = grid.cell(here.from[0] + (a * mx - b * my), grid.left)?;
    let y = grid.cell(here.from[1] + (a * my + b * mx), grid.top)?;
    Some(((scale << 5 | turn) << 5 | x) << 5 | y)
}
