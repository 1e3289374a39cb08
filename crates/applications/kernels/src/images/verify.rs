//! The fit of poses to their votes and to points, and the count of points that match.

use super::{Frame, MAX_SET, NO_VOTE, POSE_BITS, REFERENCE_BITS, RESULT_WORDS, STEPS, TOLERANCE, point};
use gpu_kernels::seam::{Block, Global, Shared};

/// The number of sums of a fit: pairs, two coordinates in the reference and two in the scene,
/// squared lengths in the reference, and two parts of the points' complex products.
const SUMS: usize = 8;
/// The number of shared words of a pose: its complex factor, and the position of the reference's
/// middle.
const POSE: usize = 4;
/// The number of shared counters: matches, and points around.
const COUNTERS: usize = 2;

/// The scalar arguments of [`Verify`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct VerifyParams {
    /// The number of votes.
    pub votes: u64,
}

gpu_kernels::kernel! {
    /// Fits the pose of each hypothesis to its votes, then twice to the pairs of points that match,
    /// and writes pose, matches, points around and votes to its [`RESULT_WORDS`] words. One block
    /// per hypothesis; nothing is written for [`NO_VOTE`].
    ///
    /// `keys` and `votes` are as [`Vote`](super::Vote) writes them, but sorted. Points, starts and
    /// frames are as for it.
    Verify<>, "images_verify", threads 128,
        shared sums: u64 = SUMS, shared seen: u32 = MAX_SET / 32,
        shared pose: u32 = POSE, shared counters: u32 = COUNTERS;
    {
        hypotheses: Global<u64>, keys: Global<u64>, votes: Global<u64>,
        points: Global<u64>, starts: Global<u32>, frames: Global<u32>,
        reference_points: Global<u64>, reference_starts: Global<u32>, reference_frames: Global<u32>,
        results: Global<u32>, plan: VerifyParams,
    }
}

impl Verify {
    #[inline(always)]
    fn run<B: Block>(
        self,
        block: &mut B,
        sums: B::Shared<u64>,
        seen: B::Shared<u32>,
        pose: B::Shared<u32>,
        counters: B::Shared<u32>,
    ) {
        let args = self;
        let result = block.index() as u64 * RESULT_WORDS as u64;
        let key = args.hypotheses.load_read_only(block.index() as u64);
        if key == NO_VOTE {
            return;
        }
        let first = lower_bound(args.keys, args.plan.votes, key);
        let end = lower_bound(args.keys, args.plan.votes, key + 1);
        let scene = Set::load((args.points, args.starts, args.frames), key >> REFERENCE_BITS);
        let number = key >> POSE_BITS & ((1 << (REFERENCE_BITS - POSE_BITS)) - 1);
        let arrays = (args.reference_points, args.reference_starts, args.reference_frames);
        let reference = Set::load(arrays, number);
        let fit = Fit { scene: scene.frame.middle(), reference: reference.frame.middle() };
        let area = scene.frame.width * scene.frame.height;
        let tolerance = TOLERANCE * area / (scene.count as f32);

        let block = block.strided();
        let votes = Votes { all: args.votes, first, end };
        let matching = Matching { scene, reference, fit };
        begin(block, scene.count, (sums, seen, pose, counters));
        votes.add_up(block, &matching, sums);
        fit.solve_once(block, sums, pose);
        // The first round allows more, since a pose of few votes may be far off at the other end.
        for round in 0..2 {
            let within = if round == 0 { 4.0 * tolerance } else { tolerance };
            matching.add_up(block, within, sums, pose);
            fit.solve_once(block, sums, pose);
        }
        matching.count(block, tolerance, (seen, pose, counters));
        block.each_thread(|thread| {
            if thread == 0 {
                for i in 0..POSE {
                    args.results.store(result + i as u64, pose.get(i as u32));
                }
                args.results.store(result + 4, counters.get(0));
                args.results.store(result + 5, counters.get(1));
                args.results.store(result + 6, (end - first) as u32);
            }
        });
    }
}

/// Sets the block's shared memory to 0.
#[inline(always)]
fn begin<B: Block>(
    block: &mut B,
    points: u32,
    (sums, seen, pose, counters): (impl Shared<u64>, impl Shared<u32>, impl Shared<u32>, impl Shared<u32>),
) {
    let stride = block.threads();
    let mut nothing = block.local(|_| ());
    block.phase(&mut nothing, |thread, _| {
        if thread == 0 {
            sums.clear(0, SUMS as u32);
            pose.clear(0, POSE as u32);
            counters.clear(0, COUNTERS as u32);
        }
        let mut word = thread;
        while word < points.div_ceil(32) {
            seen.set(word, 0);
            word += stride;
        }
    });
}

/// The votes of a hypothesis.
struct Votes {
    all: Global<u64>,
    first: u64,
    end: u64,
}

impl Votes {
    /// Adds the pairs of points of all votes to the sums of a fit.
    #[inline(always)]
    fn add_up<B: Block>(&self, block: &mut B, matching: &Matching, sums: impl Shared<u64>) {
        let &Matching { scene, reference, fit } = matching;
        let stride = block.threads();
        let mut nothing = block.local(|_| ());
        block.phase(&mut nothing, |thread, _| {
            let mut own = [0; SUMS];
            let mut index = self.first + thread as u64;
            while index < self.end {
                let vote = self.all.load_read_only(index);
                for half in 0..2 {
                    let [here, there] = [vote >> (16 * half), vote >> (32 + 16 * half)].map(|number| number & 0xffff);
                    fit.add(&mut own, reference.point(there as u32), scene.point(here as u32));
                }
                index += stride as u64;
            }
            publish(sums, own);
        });
    }
}

/// A scene and a reference whose points are matched.
struct Matching {
    scene: Set,
    reference: Set,
    fit: Fit,
}

impl Matching {
    /// Adds the pairs of points that the pose brings within a squared distance of each other to the
    /// sums of a fit.
    #[inline(always)]
    fn add_up<B: Block>(&self, block: &mut B, within: f32, sums: impl Shared<u64>, pose: impl Shared<u32>) {
        let &Self { scene, reference, fit } = self;
        let stride = block.threads();
        let mut nothing = block.local(|_| ());
        block.phase(&mut nothing, |thread, _| {
            let placed = Placed::load(pose);
            let mut own = [0; SUMS];
            let mut index = thread;
            while index < reference.count {
                let from = reference.point(index);
                let nearest = scene.nearest(placed.at(fit.reference, from), within, false);
                if nearest.square <= within {
                    fit.add(&mut own, from, scene.point(nearest.index));
                }
                index += stride;
            }
            publish(sums, own);
        });
    }

    /// Counts the points that match under the pose, and the points in the rings around.
    #[inline(always)]
    fn count<B: Block>(
        &self,
        block: &mut B,
        tolerance: f32,
        (seen, pose, counters): (impl Shared<u32>, impl Shared<u32>, impl Shared<u32>),
    ) {
        let &Self { scene, reference, fit } = self;
        let stride = block.threads();
        let mut nothing = block.local(|_| ());
        block.phase(&mut nothing, |thread, _| {
            let placed = Placed::load(pose);
            let (mut matches, mut around) = (0, 0);
            let mut index = thread;
            while index < reference.count {
                let at = placed.at(fit.reference, reference.point(index));
                let nearest = scene.nearest(at, tolerance, true);
                around += nearest.around;
                if nearest.square <= tolerance {
                    // Each point of the scene matches one point of the reference at most.
                    let bit = 1 << (nearest.index % 32);
                    matches += (seen.fetch_or(nearest.index / 32, bit) & bit == 0) as u32;
                }
                index += stride;
            }
            counters.fetch_add(0, matches);
            counters.fetch_add(1, around);
        });
    }
}

/// Returns the index of the first of `count` sorted keys that is not less than `key`.
#[inline(always)]
fn lower_bound(keys: Global<u64>, count: u64, key: u64) -> u64 {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if keys.load_read_only(middle) < key {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// A set of points.
#[derive(Clone, Copy)]
struct Set {
    points: Global<u64>,
    count: u32,
    frame: Frame,
}

/// The point of a set that is nearest to a position.
struct Nearest {
    square: f32,
    index: u32,
    /// The number of points at two to three times the tolerance.
    around: u32,
}

impl Set {
    #[inline(always)]
    fn load((points, starts, frames): (Global<u64>, Global<u32>, Global<u32>), set: u64) -> Self {
        let (start, end) = (starts.load_read_only(set), starts.load_read_only(set + 1));
        Self { points: points.offset(start as u64), count: end - start, frame: Frame::load(frames, set) }
    }

    #[inline(always)]
    fn point(self, index: u32) -> [f32; 2] {
        point(self.points.load_read_only(index as u64))
    }

    /// Finds the first point nearest to a position, within a squared distance. A position outside
    /// the frame has no nearest point. If `with_ring`, it also counts the points in the ring.
    #[inline(always)]
    fn nearest(self, [x, y]: [f32; 2], within: f32, with_ring: bool) -> Nearest {
        let mut nearest = Nearest { square: f32::INFINITY, index: 0, around: 0 };
        let (dx, dy) = (x - self.frame.left, y - self.frame.top);
        if dx >= 0.0 && dy >= 0.0 && dx <= self.frame.width && dy <= self.frame.height {
            let limit = if with_ring { 9.0 * within } else { within };
            for index in 0..self.count {
                let [there_x, there_y] = self.point(index);
                let (dx, dy) = (there_x - x, there_y - y);
                let square = dx * dx + dy * dy;
                // Few points are this near.
                if square <= limit {
                    if square < nearest.square {
                        nearest.square = square;
                        nearest.index = index;
                    }
                    nearest.around += (with_ring && square >= 4.0 * within && square < limit) as u32;
                }
            }
        }
        nearest
    }
}

/// Adds a thread's sums to the block's.
#[inline(always)]
fn publish(sums: impl Shared<u64>, own: [i64; SUMS]) {
    for i in 0..SUMS {
        sums.fetch_add(i as u32, own[i] as u64);
    }
}

/// A fit of poses by least squares, with the middles of both pictures as the origins of
/// coordinates.
#[derive(Clone, Copy)]
struct Fit {
    scene: [f32; 2],
    reference: [f32; 2],
}

impl Fit {
    /// Adds a pair of points.
    #[inline(always)]
    fn add(self, sums: &mut [i64; SUMS], reference: [f32; 2], scene: [f32; 2]) {
        let steps = |at: f32, middle: f32| ((at - middle) * STEPS) as i32 as i64;
        let (x, y) = (steps(reference[0], self.reference[0]), steps(reference[1], self.reference[1]));
        let (u, v) = (steps(scene[0], self.scene[0]), steps(scene[1], self.scene[1]));
        let added = [1, x, y, u, v, x * x + y * y, x * u + y * v, x * v - y * u];
        for i in 0..SUMS {
            sums[i] += added[i];
        }
    }

    /// Calls [`Fit::solve`] in one thread of the block.
    #[inline(always)]
    fn solve_once<B: Block>(self, block: &mut B, sums: impl Shared<u64>, pose: impl Shared<u32>) {
        let mut nothing = block.local(|_| ());
        block.phase(&mut nothing, |thread, _| {
            if thread == 0 {
                self.solve(sums, pose);
            }
        });
    }

    /// Writes the least-squares pose, and sets the sums to 0. If the pairs determine no pose, the
    /// pose is not changed.
    #[inline(always)]
    fn solve(self, sums: impl Shared<u64>, pose: impl Shared<u32>) {
        let sum = |i: u32| sums.get(i) as i64 as f64;
        let [count, x, y, u, v, square, along, across] = [0, 1, 2, 3, 4, 5, 6, 7].map(sum);
        sums.clear(0, SUMS as u32);
        // All terms are multiplied by the number of pairs, so integers stay integers.
        let spread = count * square - (x * x + y * y);
        if spread > 0.0 {
            let a = (count * along - (x * u + y * v)) / spread;
            let b = (count * across - (x * v - y * u)) / spread;
            let steps = STEPS as f64 * count;
            pose.set(0, (a as f32).to_bits());
            pose.set(1, (b as f32).to_bits());
            pose.set(2, (((u - (a * x - b * y)) / steps) as f32 + self.scene[0]).to_bits());
            pose.set(3, (((v - (a * y + b * x)) / steps) as f32 + self.scene[1]).to_bits());
        }
    }
}

/// A pose: a complex factor, and the position of the reference's middle in the scene.
#[derive(Clone, Copy)]
struct Placed {
    factor: [f32; 2],
    middle: [f32; 2],
}

impl Placed {
    #[inline(always)]
    fn load(pose: impl Shared<u32>) -> Self {
        let [a, b, x, y] = [0, 1, 2, 3].map(|i| f32::from_bits(pose.get(i)));
        Self { factor: [a, b], middle: [x, y] }
    }

    /// Returns the position to which the pose maps a point of a reference with this middle.
    #[inline(always)]
    fn at(self, middle: [f32; 2], [x, y]: [f32; 2]) -> [f32; 2] {
        let (x, y) = (x - middle[0], y - middle[1]);
        let [a, b] = self.factor;
        [self.middle[0] + (a * x - b * y), self.middle[1] + (a * y + b * x)]
    }
}
