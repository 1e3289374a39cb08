//! The keys of features.

use super::{CELL_BITS, FEATURES, FIRST_FAR, LEVELS, NEIGHBOURS, point};
use gpu_kernels::seam::{Block, Global};

/// The number of pairs of neighbours.
const PAIRS: usize = NEIGHBOURS * (NEIGHBOURS - 1) / 2;

/// Returns the index of the pair of neighbour `near` in the frame of neighbour `far`.
const fn pair(near: usize, far: usize) -> usize {
    far * (far - 1) / 2 + near
}

/// The ranks of each pair's neighbours, the farther one last.
const PAIR_RANKS: [[usize; 2]; PAIRS] = {
    let mut pairs = [[0; 2]; PAIRS];
    let mut far = 1;
    while far < NEIGHBOURS {
        let mut near = 0;
        while near < far {
            pairs[pair(near, far)] = [near, far];
            near += 1;
        }
        far += 1;
    }
    pairs
};

/// Each feature's three pairs with its farthest neighbour, then the rank of this neighbour, by
/// which features are ordered.
const FEATURE_PAIRS: [[usize; 4]; FEATURES] = {
    let mut features = [[0; 4]; FEATURES];
    let (mut i, mut far) = (0, FIRST_FAR);
    while far < NEIGHBOURS {
        let mut c = 2;
        while c < far {
            let mut b = 1;
            while b < c {
                let mut a = 0;
                while a < b {
                    features[i] = [pair(a, far), pair(b, far), pair(c, far), far];
                    i += 1;
                    a += 1;
                }
                b += 1;
            }
            c += 1;
        }
        far += 1;
    }
    assert!(i == FEATURES);
    features
};

/// Returns the rank of a feature's farthest neighbour, less [`FIRST_FAR`].
#[inline(always)]
pub(super) fn far_rank(feature: u64) -> u64 {
    // The farthest neighbour has rank 3 in 1 feature, at most 4 in 5, and at most 5 in 15 features.
    (feature >= 1) as u64 + (feature >= 5) as u64 + (feature >= 15) as u64
}

/// The scalar arguments of [`Keys`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct KeysParams {
    /// The number of points of all sets.
    pub points: u64,
    /// The key of a feature that lacks neighbours.
    pub no_key: u32,
    /// Unused.
    pub padding: u32,
}

gpu_kernels::kernel! {
    /// Writes the keys of the features of all points. One thread per point.
    ///
    /// The key of feature `f` of point `p` is `keys[f · points + p]`. Its neighbour with rank
    /// [`FIRST_FAR`]` + r` has the index `far[r · points + p]` within the set, which is valid if a
    /// feature with a key has it as its farthest neighbour. Ranks are by distance, then by index.
    Keys<>, "images_keys", threads 128;
    {
        points: Global<u64>, sets: Global<u32>, starts: Global<u32>, far: Global<u32>, keys: Global<u32>,
        plan: KeysParams,
    }
}

impl Keys {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let KeysParams { points, no_key, .. } = args.plan;
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            let index = first + thread as u64;
            if index >= points {
                return;
            }
            let set = args.sets.load_read_only(index) as u64;
            let (start, end) = (args.starts.load_read_only(set), args.starts.load_read_only(set + 1));
            let [x, y] = point(args.points.load_read_only(index));

            let mut distances = [f32::INFINITY; NEIGHBOURS];
            let mut numbers = [start; NEIGHBOURS];
            for other in start..end {
                let [there_x, there_y] = point(args.points.load_read_only(other as u64));
                let (dx, dy) = (there_x - x, there_y - y);
                let distance = dx * dx + dy * dy;
                if distance < distances[NEIGHBOURS - 1] && other as u64 != index {
                    distances[NEIGHBOURS - 1] = distance;
                    numbers[NEIGHBOURS - 1] = other;
                    for back in 1..NEIGHBOURS {
                        let rank = NEIGHBOURS - back;
                        let swap = distances[rank] < distances[rank - 1];
                        let (low, high) = (distances[rank - 1], distances[rank]);
                        distances[rank - 1] = if swap { high } else { low };
                        distances[rank] = if swap { low } else { high };
                        let (low, high) = (numbers[rank - 1], numbers[rank]);
                        numbers[rank - 1] = if swap { high } else { low };
                        numbers[rank] = if swap { low } else { high };
                    }
                }
            }

            // Neighbours relative to this point, and factors that scale a basis to half of the
            // grid's side.
            let mut offsets = [[0f32; 2]; NEIGHBOURS];
            let mut factors = [0f32; NEIGHBOURS];
            for rank in 0..NEIGHBOURS {
                if distances[rank] < f32::INFINITY {
                    let [there_x, there_y] = point(args.points.load_read_only(numbers[rank] as u64));
                    offsets[rank] = [there_x - x, there_y - y];
                    factors[rank] = (LEVELS / 2) as f32 / distances[rank];
                }
                if rank >= FIRST_FAR {
                    args.far.store((rank - FIRST_FAR) as u64 * points + index, numbers[rank] - start);
                }
            }
            let mut cells = [0u32; PAIRS];
            for i in 0..PAIRS {
                let [near, far] = PAIR_RANKS[i];
                cells[i] = cell(offsets[near], offsets[far], factors[far]);
            }
            for i in 0..FEATURES {
                let [a, b, c, far] = FEATURE_PAIRS[i];
                let is_basis = distances[far] > 0.0 && distances[far] < f32::INFINITY;
                let key = if is_basis { key_of(cells[a], cells[b], cells[c]) } else { no_key };
                args.keys.store(i as u64 * points + index, key);
            }
        });
    }
}

/// Returns the cell of a neighbour in the frame whose basis ends at a farther neighbour.
#[inline(always)]
fn cell([x, y]: [f32; 2], [far_x, far_y]: [f32; 2], factor: f32) -> u32 {
    let half = (LEVELS / 2) as f32;
    let along = (x * far_x + y * far_y) * factor + half;
    let across = (y * far_x - x * far_y) * factor + half;
    (along as u32).min(LEVELS - 1) * LEVELS + (across as u32).min(LEVELS - 1)
}

/// Returns the key of three cells in any order, because noise may change which neighbour is nearer.
#[inline(always)]
fn key_of(a: u32, b: u32, c: u32) -> u32 {
    let (low, high) = (a.min(b), a.max(b));
    let (least, middle) = (low.min(c), low.max(c));
    let (middle, most) = (middle.min(high), middle.max(high));
    (least << CELL_BITS | middle) << CELL_BITS | most
}
