//! Geometric hashing in ordinary Rust, with `HashMap`. The kernels must return the same results to
//! the last bit, and be faster.

use std::collections::HashMap;
use warpnest_applications_kernels::images::{
    Frame, HYPOTHESES, LEVELS, MIN_VOTES, NEIGHBOURS, POSITIONS, STEPS, TOLERANCE,
};
use warpnest_find_image::hypothesis::Hypothesis;

/// A feature of a point: its key, and the index of the farthest of its neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feature {
    pub key: u32,
    pub far: usize,
}

/// A vote: the indices of a basis's point and end in the scene, then in the reference.
pub type Vote = [usize; 4];

/// Returns the squared distances and indices of a point's nearest neighbours, nearest first.
pub fn neighbours(points: &[[f32; 2]], of: usize) -> Vec<(f32, usize)> {
    let distance = |i: usize| {
        let (dx, dy) = (points[i][0] - points[of][0], points[i][1] - points[of][1]);
        dx * dx + dy * dy
    };
    let mut others: Vec<(f32, usize)> = (0..points.len()).filter(|&i| i != of).map(|i| (distance(i), i)).collect();
    let by_distance = |a: &(f32, usize), b: &(f32, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if others.len() > NEIGHBOURS {
        others.select_nth_unstable_by(NEIGHBOURS, by_distance);
        others.truncate(NEIGHBOURS);
    }
    others.sort_by(by_distance);
    others
}

/// Returns the features of a point in their order. A feature is `None` if its neighbours are
/// missing or coincide with the point.
pub fn features(points: &[[f32; 2]], of: usize) -> Vec<Option<Feature>> {
    let near = neighbours(points, of);
    let cell = |rank: usize, far: usize| {
        let from = |i: usize| [points[i][0] - points[of][0], points[i][1] - points[of][1]];
        let ([x, y], [u, v]) = (from(near[rank].1), from(near[far].1));
        let half = LEVELS as f32 / 2.0;
        let factor = half / near[far].0;
        let level = |position: f32| (position as i64).clamp(0, LEVELS as i64 - 1) as u32;
        level((x * u + y * v) * factor + half) * LEVELS + level((y * u - x * v) * factor + half)
    };
    let mut features = Vec::new();
    for far in 3..NEIGHBOURS {
        for c in 2..far {
            for b in 1..c {
                for a in 0..b {
                    let is_there = near.get(far).is_some_and(|&(distance, _)| distance > 0.0);
                    features.push(is_there.then(|| {
                        let mut cells = [a, b, c].map(|rank| cell(rank, far));
                        cells.sort_unstable();
                        let key = cells.into_iter().fold(0, |key, cell| key * 512 + cell);
                        Feature { key, far: near[far].1 }
                    }));
                }
            }
        }
    }
    features
}

/// A set of points and its frame.
pub type Set = (Vec<[f32; 2]>, Frame);

/// References, and a map from keys to features, each as the indices of set, point and basis end.
pub struct Plain {
    references: Vec<Set>,
    map: HashMap<u32, Vec<[usize; 3]>>,
    most: usize,
}

impl Plain {
    /// Hashes the features of references. Keys with over `most` features do not vote.
    pub fn new(references: Vec<Set>, most: usize) -> Self {
        let mut map: HashMap<u32, Vec<[usize; 3]>> = HashMap::new();
        for (set, (points, _)) in references.iter().enumerate() {
            for point in 0..points.len() {
                for feature in features(points, point).into_iter().flatten() {
                    map.entry(feature.key).or_default().push([set, point, feature.far]);
                }
            }
        }
        Self { references, map, most }
    }

    /// Returns all votes of a scene, grouped by reference and pose.
    pub fn votes(&self, (points, frame): &Set) -> HashMap<(usize, u32), Vec<Vote>> {
        let mut votes: HashMap<_, Vec<Vote>> = HashMap::new();
        for here in 0..points.len() {
            for Feature { key, far } in features(points, here).into_iter().flatten() {
                let found = self.map.get(&key).map(Vec::as_slice).unwrap_or_default();
                for &[set, there, there_far] in found.iter().take(if found.len() > self.most { 0 } else { self.most }) {
                    let (reference, reference_frame) = &self.references[set];
                    let from = [reference[there], reference[there_far]];
                    if let Some(pose) = pose(from, [points[here], points[far]], middle(reference_frame), frame) {
                        votes.entry((set, pose)).or_default().push([here, far, there, there_far]);
                    }
                }
            }
        }
        votes
    }

    /// Returns the hypotheses of a scene, best first.
    pub fn find(&self, scene: &Set) -> Vec<Hypothesis> {
        let votes = self.votes(scene);
        let mut best: HashMap<usize, (usize, u32)> = HashMap::new();
        for (&(reference, pose), votes) in &votes {
            if votes.len() >= MIN_VOTES as usize {
                let best = best.entry(reference).or_default();
                *best = (*best).max((votes.len(), pose));
            }
        }
        let mut order: Vec<(usize, usize, u32)> =
            best.into_iter().map(|(reference, (count, pose))| (count, reference, pose)).collect();
        order.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        order.truncate(HYPOTHESES);
        order.iter().map(|&(_, reference, pose)| self.verify(scene, reference, &votes[&(reference, pose)])).collect()
    }

    /// Fits a pose to votes, refits it twice to the points that match, and counts the matches.
    pub fn verify(&self, scene: &Set, reference: usize, votes: &[Vote]) -> Hypothesis {
        let (points, frame) = scene;
        let (there, there_frame) = &self.references[reference];
        let middles = [middle(there_frame), middle(frame)];
        let tolerance = TOLERANCE * (frame.width * frame.height) / points.len() as f32;
        let pairs: Vec<[[f32; 2]; 2]> = votes
            .iter()
            .flat_map(|vote| [[there[vote[2]], points[vote[0]]], [there[vote[3]], points[vote[1]]]])
            .collect();
        let mut pose = fit(&pairs, middles).unwrap_or_default();
        for within in [4.0 * tolerance, tolerance] {
            let nearest =
                |point: &[f32; 2]| Some([*point, points[nearest(scene, pose.at(middles[0], *point), within)?]]);
            let pairs: Vec<[[f32; 2]; 2]> = there.iter().filter_map(nearest).collect();
            pose = fit(&pairs, middles).unwrap_or(pose);
        }
        let mut matched = vec![false; points.len()];
        let mut around = 0;
        for point in there {
            let at = pose.at(middles[0], *point);
            if let Some(found) = nearest(scene, at, tolerance) {
                matched[found] = true;
            }
            if is_inside(frame, at) {
                let ring = 4.0 * tolerance..9.0 * tolerance;
                around += points.iter().filter(|point| ring.contains(&square(**point, at))).count() as u32;
            }
        }
        let matches = matched.into_iter().filter(|&is| is).count() as u32;
        let Pose { factor, middle } = pose;
        Hypothesis { reference, factor, middle, matches, around, votes: votes.len() as u32 }
    }
}

fn middle(frame: &Frame) -> [f32; 2] {
    [frame.left + frame.width / 2.0, frame.top + frame.height / 2.0]
}

/// Returns the quantised scale, rotation and position of the pose that maps one basis to another.
fn pose(from: [[f32; 2]; 2], to: [[f32; 2]; 2], middle: [f32; 2], frame: &Frame) -> Option<u32> {
    let along = |basis: [[f32; 2]; 2]| [basis[1][0] - basis[0][0], basis[1][1] - basis[0][1]];
    let ([dx, dy], [ex, ey]) = (along(from), along(to));
    let square = dx * dx + dy * dy;
    let (a, b) = ((ex * dx + ey * dy) / square, (ey * dx - ex * dy) / square);
    let size = a * a + b * b;
    let halves = (-8..8).flat_map(|octave| [2f32.powi(octave), 1.5 * 2f32.powi(octave)]);
    let scale = halves.take_while(|step| *step <= size).count().checked_sub(1)? as u32;
    if size >= 2f32.powi(8) {
        return None;
    }
    let part = b / (a.abs() + b.abs());
    let turn = ((if a >= 0.0 { 1.0 + part } else { 3.0 - part }) * 8.0).floor().min(31.0) as u32;
    let (mx, my) = (middle[0] - from[0][0], middle[1] - from[0][1]);
    let density = POSITIONS / frame.width.max(frame.height);
    let cell = |position: f32, start: f32| {
        let cell = (position - start) * density + POSITIONS / 2.0;
        (0.0..2.0 * POSITIONS).contains(&cell).then_some(cell as u32)
    };
    let x = cell(to[0][0] + (a * mx - b * my), frame.left)?;
    let y = cell(to[0][1] + (a * my + b * mx), frame.top)?;
    Some(((scale * 32 + turn) * 32 + x) * 32 + y)
}

/// A pose: a complex factor, and the position of the reference's middle in the scene.
#[derive(Clone, Copy, Debug, Default)]
struct Pose {
    factor: [f32; 2],
    middle: [f32; 2],
}

impl Pose {
    fn at(&self, middle: [f32; 2], [x, y]: [f32; 2]) -> [f32; 2] {
        let (x, y) = (x - middle[0], y - middle[1]);
        let [a, b] = self.factor;
        [self.middle[0] + (a * x - b * y), self.middle[1] + (a * y + b * x)]
    }
}

/// Returns the least-squares pose of pairs, or `None` if their reference points all coincide.
fn fit(pairs: &[[[f32; 2]; 2]], [from, to]: [[f32; 2]; 2]) -> Option<Pose> {
    let steps = |at: [f32; 2], middle: [f32; 2]| [0, 1].map(|i| ((at[i] - middle[i]) * STEPS) as i64);
    let rows: Vec<[i64; 4]> = pairs
        .iter()
        .map(|pair| {
            let ([x, y], [u, v]) = (steps(pair[0], from), steps(pair[1], to));
            [x, y, u, v]
        })
        .collect();
    let sum = |of: &dyn Fn(&[i64; 4]) -> i64| rows.iter().map(of).sum::<i64>() as f64;
    let [x, y, u, v] = [0, 1, 2, 3].map(|i| sum(&|row| row[i]));
    let count = rows.len() as f64;
    let spread = count * sum(&|[x, y, _, _]| x * x + y * y) - (x * x + y * y);
    if spread <= 0.0 {
        return None;
    }
    let a = (count * sum(&|[x, y, u, v]| x * u + y * v) - (x * u + y * v)) / spread;
    let b = (count * sum(&|[x, y, u, v]| x * v - y * u) - (x * v - y * u)) / spread;
    let mean = |of: f64| of / (STEPS as f64 * count);
    let middle = [mean(u - (a * x - b * y)) as f32 + to[0], mean(v - (a * y + b * x)) as f32 + to[1]];
    Some(Pose { factor: [a as f32, b as f32], middle })
}

fn square(a: [f32; 2], b: [f32; 2]) -> f32 {
    let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
    dx * dx + dy * dy
}

fn is_inside(frame: &Frame, [x, y]: [f32; 2]) -> bool {
    (0.0..=frame.width).contains(&(x - frame.left)) && (0.0..=frame.height).contains(&(y - frame.top))
}

/// Returns the index of the first point nearest to a position in the frame, if it is near enough.
fn nearest((points, frame): &Set, at: [f32; 2], within: f32) -> Option<usize> {
    if !is_inside(frame, at) {
        return None;
    }
    let squares = points.iter().map(|point| square(*point, at)).enumerate();
    let (index, square) = squares.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (square <= within).then_some(index)
}
