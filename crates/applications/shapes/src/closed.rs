//! The test of whether a mesh is closed.

use std::collections::HashMap;

use warpnest_voxels::mesh::Mesh;

/// Returns the number of a mesh's edges that are not used equally often in both directions.
///
/// If it is 0, the mesh has no border and its triangles are oriented consistently, so "inside" is
/// defined. Corners at the same position count as one, because many files repeat each corner.
pub fn open_edges(mesh: &Mesh) -> usize {
    let mut numbers = HashMap::with_capacity(mesh.corners.len());
    let welded: Vec<u32> = mesh
        .corners
        .iter()
        .map(|corner| {
            // Adding 0 makes -0 and 0 the same position.
            let position = corner.to_array().map(|x| (x + 0.0).to_bits());
            let next = numbers.len() as u32;
            *numbers.entry(position).or_insert(next)
        })
        .collect();
    let mut edges: Vec<(u32, u32, i32)> = Vec::with_capacity(3 * mesh.triangles.len());
    for triangle in &mesh.triangles {
        let [a, b, c] = triangle.map(|corner| welded[corner as usize]);
        for (from, to) in [(a, b), (b, c), (c, a)] {
            if from != to {
                edges.push(if from < to { (from, to, 1) } else { (to, from, -1) });
            }
        }
    }
    edges.sort_unstable();
    let same_edge = |a: &(u32, u32, i32), b: &(u32, u32, i32)| (a.0, a.1) == (b.0, b.1);
    edges.chunk_by(same_edge).filter(|uses| uses.iter().map(|edge| edge.2).sum::<i32>() != 0).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpnest_voxels::models;

    #[test]
    fn made_up_models_are_closed_and_a_missing_or_turned_triangle_shows() {
        for mesh in [models::torus_knot(60, 8), models::wavy_sphere(20, 10)] {
            assert_eq!(open_edges(&mesh), 0);
            let mut hole = mesh.clone();
            hole.triangles.remove(17);
            assert_eq!(open_edges(&hole), 3);
            let mut turned = mesh.clone();
            turned.triangles[17].swap(0, 1);
            assert_eq!(open_edges(&turned), 3);
            let apart = Mesh {
                corners: mesh.triangles.iter().flatten().map(|corner| mesh.corners[*corner as usize]).collect(),
                triangles: (0..mesh.triangles.len() as u32).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect(),
            };
            assert_eq!(open_edges(&apart), 0, "corners at one position are one");
        }
        assert_eq!(open_edges(&Mesh::default()), 0);
    }
}
