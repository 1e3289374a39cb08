//! The computation of the voxels that a mesh's surface touches in a uniform grid.
//!
//! Every voxel (a closed cube) that shares a point with a triangle (which is closed, too) belongs
//! to the surface. So the voxels of a closed surface have no gap: no path from voxel to voxel, even
//! over corners, leads from outside to inside.

use glam::DVec3;
use rayon::prelude::*;

use crate::mesh::Mesh;

/// The number of triangles that one task voxelizes before it removes repeated voxels.
const TASK: usize = 2048;

/// The length, in voxels, by which cubes are enlarged, so that rounding may add a voxel to a
/// surface but never loses one.
const SLACK: f64 = 1e-9;

/// The voxels of a surface, each once, in ascending order of their keys.
#[derive(Debug, Default, PartialEq)]
pub struct Surface {
    /// The voxels' packed coordinates.
    pub keys: Vec<u64>,
    /// The first triangle that touches each voxel.
    pub triangles: Vec<u32>,
}

/// The finest grid whose voxels have keys of 32 bits: three coordinates of ten bits each.
pub const FINEST_NARROW: u32 = 1 << NARROW_BITS;
const NARROW_BITS: u32 = 10;

/// Returns the 64-bit key of a voxel, with 21 bits for each coordinate, on every grid.
pub fn pack([x, y, z]: [u32; 3]) -> u64 {
    u64::from(x) | u64::from(y) << 21 | u64::from(z) << 42
}

/// Returns the coordinates of a key that [`pack`] returned.
pub fn unpack(key: u64) -> [u32; 3] {
    [0, 21, 42].map(|shift| (key >> shift) as u32 & 0x1f_ffff)
}

/// Returns the 32-bit key of a voxel in a grid of at most [`FINEST_NARROW`] voxels per side. The
/// order of keys is kept.
pub fn narrow(key: u64) -> u32 {
    let [x, y, z] = unpack(key);
    x | y << NARROW_BITS | z << (2 * NARROW_BITS)
}

/// Returns the voxels that the surface of `mesh` touches in a grid of unit cubes, with `grid` cubes
/// per side.
///
/// `done` is called from any thread with the number of further triangles that are finished.
pub fn voxelize(mesh: &Mesh, grid: u32, done: impl Fn(u64) + Sync) -> Surface {
    let tasks: Vec<Vec<(u64, u32)>> = (0..mesh.triangles.len())
        .step_by(TASK)
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|first| {
            let last = mesh.triangles.len().min(first + TASK);
            let mut voxels = Vec::new();
            for triangle in first..last {
                touched(mesh.triangle(triangle), grid, &mut |voxel| voxels.push((pack(voxel), triangle as u32)));
            }
            // Neighbours in a file are mostly neighbours in space, so this removes most repetitions
            // before the large sort.
            sort_unique(&mut voxels);
            done((last - first) as u64);
            voxels
        })
        .collect();
    let mut voxels: Vec<(u64, u32)> = tasks.into_par_iter().flatten_iter().collect();
    voxels.par_sort_unstable();
    voxels.dedup_by_key(|(key, _)| *key);
    let (keys, triangles) = voxels.into_iter().unzip();
    Surface { keys, triangles }
}

fn sort_unique(voxels: &mut Vec<(u64, u32)>) {
    voxels.sort_unstable();
    voxels.dedup_by_key(|(key, _)| *key);
}

/// Calls `found` once for every voxel that the triangle touches.
fn touched(corners: [DVec3; 3], grid: u32, found: &mut impl FnMut([u32; 3])) {
    let [a, b, c] = corners;
    let last = DVec3::splat(f64::from(grid - 1));
    let voxel_at = |at: DVec3| at.floor().clamp(DVec3::ZERO, last).to_array().map(|x| x as u32);
    // A corner on the plane between two voxels touches both voxels.
    let (low, high) = (voxel_at(a.min(b).min(c) - SLACK), voxel_at(a.max(b).max(c) + SLACK));
    Separation::new(corners).descend(low, high, found);
}

/// The test of separating axes: a triangle and a box are apart exactly if their projections on one
/// of thirteen lines are apart.
///
/// Three lines are the box's axes, which `touched` has tested already. The other ten are in arrays,
/// so that the compiler tests several at once.
struct Separation {
    axes: [[f64; 10]; 3],
    low: [f64; 10],
    high: [f64; 10],
}

impl Separation {
    fn new(corners: [DVec3; 3]) -> Separation {
        let [a, b, c] = corners;
        let edges = [(a, b), (b, c), (c, a)].map(|(from, to)| to - from);
        let mut separation = Separation { axes: [[0.0; 10]; 3], low: [0.0; 10], high: [0.0; 10] };
        for line in 0..10 {
            let axis = match line {
                9 => edges[0].cross(edges[1]),
                _ => edges[line / 3].cross(DVec3::AXES[line % 3]),
            };
            // If an edge has no length, the axis is zero and separates nothing. An inexact axis
            // never separates what touches, because the projections use the same inexact axis.
            let axis = axis.normalize_or_zero();
            let [a, b, c] = corners.map(|corner| axis.dot(corner));
            (0..3).for_each(|i| separation.axes[i][line] = axis[i]);
            separation.low[line] = a.min(b).min(c) - SLACK;
            separation.high[line] = a.max(b).max(c) + SLACK;
        }
        separation
    }

    /// Halves the box from voxel `low` to voxel `high` as long as it may touch the triangle.
    ///
    /// So the cost of a large triangle grows with its surface, and not with the volume of its box.
    fn descend(&self, low: [u32; 3], high: [u32; 3], found: &mut impl FnMut([u32; 3])) {
        let sides: [u32; 3] = std::array::from_fn(|i| high[i] - low[i] + 1);
        let volume: u64 = sides.iter().map(|side| u64::from(*side)).product();
        // For a box of a few voxels, a separate test is not worth its time.
        if (volume == 1 || volume > 8) && !self.touches(low, sides) {
            return;
        }
        if volume == 1 {
            return found(low);
        }
        let longest = (0..3).max_by_key(|i| sides[*i]).unwrap_or(0);
        let half = low[longest] + sides[longest] / 2;
        let (mut until, mut from) = (high, low);
        (until[longest], from[longest]) = (half - 1, half);
        self.descend(low, until, found);
        self.descend(from, high, found);
    }

    fn touches(&self, low: [u32; 3], sides: [u32; 3]) -> bool {
        let reach = sides.map(|side| 0.5 * f64::from(side));
        let middle: [f64; 3] = std::array::from_fn(|i| f64::from(low[i]) + reach[i]);
        let [x, y, z] = &self.axes;
        let mut apart = false;
        for i in 0..10 {
            let at = x[i] * middle[0] + y[i] * middle[1] + z[i] * middle[2];
            let around = x[i].abs() * reach[0] + y[i].abs() * reach[1] + z[i].abs() * reach[2];
            apart |= (at - around > self.high[i]) | (at + around < self.low[i]);
        }
        !apart
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::models;
    use crate::placement::fit_to_grid;

    fn voxels_of(corners: [DVec3; 3], grid: u32) -> HashSet<[u32; 3]> {
        let mut voxels = HashSet::new();
        touched(corners, grid, &mut |voxel| assert!(voxels.insert(voxel), "{voxel:?} was found twice"));
        voxels
    }

    fn cells(grid: u32) -> impl Iterator<Item = [u32; 3]> {
        (0..grid).flat_map(move |x| (0..grid).flat_map(move |y| (0..grid).map(move |z| [x, y, z])))
    }

    /// Tests the same by clipping: whether a part of the triangle is left after cuts at the voxel's
    /// six planes.
    ///
    /// Each plane is moved outwards by `slack`.
    fn clip_leaves_something(corners: [DVec3; 3], voxel: [u32; 3], slack: f64) -> bool {
        let mut polygon = corners.to_vec();
        for axis in 0..3 {
            for (plane, sign) in [(f64::from(voxel[axis]) - slack, 1.0), (f64::from(voxel[axis]) + 1.0 + slack, -1.0)] {
                let mut kept = Vec::new();
                for (i, &to) in polygon.iter().enumerate() {
                    let from = polygon[(i + polygon.len() - 1) % polygon.len()];
                    let (f, t) = ((from[axis] - plane) * sign, (to[axis] - plane) * sign);
                    if (f < 0.0) != (t < 0.0) {
                        kept.push(from + (to - from) * (f / (f - t)));
                    }
                    if t >= 0.0 {
                        kept.push(to);
                    }
                }
                polygon = kept;
            }
        }
        !polygon.is_empty()
    }

    #[test]
    fn an_axis_aligned_triangle_covers_its_samples_and_nothing_apart_from_it() {
        let corners = [[1.3, 2.2, 5.5], [11.8, 2.2, 5.5], [1.3, 9.7, 5.5]].map(DVec3::from_array);
        let voxels = voxels_of(corners, 16);
        let mut sampled = HashSet::new();
        for i in 0..=600_u32 {
            for j in 0..=600 - i {
                let (u, v) = (f64::from(i) / 600.0, f64::from(j) / 600.0);
                let [a, b, c] = corners;
                let at = a + u * (b - a) + v * (c - a);
                sampled.insert(at.floor().to_array().map(|x| x as u32));
            }
        }
        assert!(sampled.is_subset(&voxels));
        // Samples may miss a voxel only if the triangle touches less of it than their spacing.
        assert!(voxels.iter().all(|voxel| clip_leaves_something(corners, *voxel, 0.0)));
        assert!(voxels.iter().all(|voxel| voxel[2] == 5));
    }

    #[test]
    fn tilted_and_thin_triangles_agree_with_clipping() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / (1 << 24) as f64
        };
        for round in 0..200 {
            let size = [0.4, 3.0, 10.0][round % 3];
            let base = DVec3::from_array([0; 3].map(|_| 1.0 + 4.0 * random()));
            let mut corners = [0; 3].map(|_| base.map(|x| (x + size * random()).min(11.9)));
            if round % 5 == 0 {
                corners[2] = corners[0] * 0.6 + corners[1] * 0.4;
            }
            let voxels = voxels_of(corners, 12);
            for voxel in cells(12) {
                assert_eq!(
                    voxels.contains(&voxel),
                    clip_leaves_something(corners, voxel, 0.0),
                    "{corners:?} {voxel:?}"
                );
            }
        }
    }

    #[test]
    fn a_triangle_between_voxels_touches_both_sides() {
        let corners = [[2.5, 2.5, 4.0], [3.5, 2.5, 4.0], [2.5, 3.5, 4.0]];
        let voxels = voxels_of(corners.map(DVec3::from_array), 8);
        assert!(voxels.contains(&[2, 2, 3]) && voxels.contains(&[2, 2, 4]));
        assert_eq!(voxels_of([DVec3::splat(4.0); 3], 8).len(), 8);
    }

    #[test]
    fn nothing_leaks_into_a_closed_surface() {
        let grid = 48;
        let (mesh, _) =
            fit_to_grid(models::wavy_sphere(40, 20), Mesh { corners: vec![DVec3::ZERO], triangles: vec![] }, grid)
                .unwrap();
        let surface = voxelize(&mesh, grid, |_| ());
        let mut walls: HashSet<u64> = surface.keys.iter().copied().collect();
        let count = walls.len();
        let mut open = vec![[0; 3]];
        walls.insert(pack([0; 3]));
        // The search goes from the grid's corner to all twenty-six neighbours of every voxel that
        // it reaches.
        while let Some(at) = open.pop() {
            for step in cells(3) {
                let next: [u32; 3] = std::array::from_fn(|i| (at[i] + step[i]).wrapping_sub(1));
                if next.iter().all(|x| *x < grid) && walls.insert(pack(next)) {
                    open.push(next);
                }
            }
        }
        assert!(!walls.contains(&pack([grid / 2; 3])));
        assert!(walls.len() > count + 10_000, "the walk did go around the outside");
    }

    #[test]
    fn a_surface_is_sorted_and_unique_and_its_triangles_touch_it() {
        let (mesh, other) = fit_to_grid(models::torus_knot(200, 20), models::wavy_sphere(60, 30), 64).unwrap();
        for mesh in [mesh, other] {
            let finished = std::sync::atomic::AtomicU64::new(0);
            let surface = voxelize(&mesh, 64, |count| {
                finished.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
            });
            assert_eq!(finished.into_inner(), mesh.triangles.len() as u64);
            assert!(surface.keys.is_sorted_by(|a, b| a < b));
            for (key, triangle) in surface.keys.iter().zip(&surface.triangles) {
                assert!(clip_leaves_something(mesh.triangle(*triangle as usize), unpack(*key), 2.0 * SLACK));
            }
        }
    }

    #[test]
    fn narrow_keys_are_unique_and_in_the_same_order() {
        let last = FINEST_NARROW - 1;
        let sides = [0, 1, 2, 511, 512, last];
        let mut keys: Vec<u64> = Vec::new();
        for z in sides {
            for y in sides {
                keys.extend(sides.map(|x| pack([x, y, z])));
            }
        }
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert!(keys.iter().map(|key| narrow(*key)).is_sorted_by(|a, b| a < b));
        assert_eq!(narrow(pack([last; 3])), (1 << 30) - 1);
    }
}
