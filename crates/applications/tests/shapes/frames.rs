//! Tests that compare frames of two moving shapes with the results of plain programs on the host.

use super::reference;
use glam::{DMat3, DVec3};
use warpnest::{Device, Error};
use warpnest_shapes::{FrameError, MAX_SIDE, Motion, Scene, open_edges};
use warpnest_tests::planted::Operation::{Allocate, Launch};
use warpnest_tests::planted::{SINGLE_FAULTS, all_failed, in_each_operation, is_planted, planted};
use warpnest_tests::{at, failing, is_thorough, on_all, only, parameterized};
use warpnest_voxels::mesh::Mesh;
use warpnest_voxels::models::{torus_knot, wavy_sphere};

/// Returns a motion that scales by `size` and moves the centre to `to`.
fn place(size: f64, to: [f64; 3]) -> Motion {
    let turn = [[size, 0.0, 0.0], [0.0, size, 0.0], [0.0, 0.0, size]];
    Motion { corners: 0, twist: 0.0, swell: 0.0, turn, shift: to }
}

/// Returns a motion that also turns by angles about x, y and z, twists and swells.
fn turned(size: f64, to: [f64; 3], angles: [f64; 3], twist: f64, swell: f64) -> Motion {
    let [x, y, z] = angles;
    let turn = DMat3::from_rotation_z(z) * DMat3::from_rotation_y(y) * DMat3::from_rotation_x(x) * size;
    let rows = turn.transpose().to_cols_array_2d();
    Motion { corners: 0, twist, swell, turn: rows, shift: to }
}

/// Returns a cube with corners at -1 and 1, whose triangles face outwards.
fn cube() -> Mesh {
    let corners = (0..8).map(|i| DVec3::from_array([0, 1, 2].map(|axis| f64::from(i >> axis & 1) * 2.0 - 1.0)));
    let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles = faces.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect();
    Mesh { corners: corners.collect(), triangles }
}

/// Returns a mesh with the triangles of both meshes.
fn both(a: &Mesh, b: &Mesh) -> Mesh {
    let first = a.corners.len() as u32;
    let mut mesh = a.clone();
    mesh.corners.extend(&b.corners);
    mesh.triangles.extend(b.triangles.iter().map(|triangle| triangle.map(|corner| first + corner)));
    mesh
}

/// The expected counts of regions and of regions inside, for each shape if they are obvious.
type Expected = [Option<(usize, usize)>; 2];

/// Checks frames of two meshes, one after the other in the same scene. `Expected` has the number of
/// each shape's regions, and of regions inside, if obvious.
fn check(device: &Device, name: &str, meshes: [&Mesh; 2], side: u32, frames: &[([Motion; 2], Expected)]) {
    let closed = meshes.map(|mesh| open_edges(mesh) == 0);
    let mut scene = Scene::new(device, meshes, side).unwrap();
    for (number, (motions, expected)) in frames.iter().enumerate() {
        let _at = at(format!("{name}, frame {number}, grid {side}"));
        let frame = scene.frame(motions).unwrap();
        let moved = [0, 1].map(|i| reference::moved(meshes[i], &motions[i]));
        let right = reference::frame(moved.each_ref(), side, closed);
        let voxels = scene.voxels().unwrap();
        for own in 0..2 {
            let (right, regions) = &right[own];
            assert_eq!(voxels[own], *right, "shape {own}");
            let counts = frame.counts[own];
            let number_of = |bits: &[bool]| bits.iter().filter(|bit| **bit).count();
            assert_eq!(counts.voxels, right.keys.len());
            assert_eq!(counts.common, number_of(&right.common));
            assert_eq!(counts.inside, closed[1 - own].then(|| number_of(&right.inside)));
            assert_eq!(counts.regions, *regions);
            assert!(counts.touched >= counts.voxels as u64);
            if let Some((regions, inside)) = expected[own] {
                assert_eq!((counts.regions, counts.inside.unwrap() > 0), (regions, inside > 0));
            }
        }
        assert_eq!(frame.counts[0].common, frame.counts[1].common);
        assert!(frame.milliseconds.iter().all(|time| *time >= 0.0));
    }
}

#[parameterized]
fn shapes_that_move_and_deform(device: &Device) {
    let (knot, sphere) = (torus_knot(40, 6), wavy_sphere(12, 6));
    let frames: Vec<_> = (0..3)
        .map(|i| {
            let t = f64::from(i) * 0.7;
            let a = turned(4.2, [8.1, 7.9, 8.3], [t, 0.3, 0.1], 0.4 * t, 0.2 * t);
            let b = turned(5.5, [8.0 + t, 8.0, 8.4], [0.2, t, 0.5], -0.3, 0.1);
            ([a, b], [None, None])
        })
        .collect();
    check(device, "knot and sphere", [&knot, &sphere], 16, &frames);
}

#[parameterized]
fn one_shape_in_the_other_beside_it_and_across_it(device: &Device) {
    let (sphere, cube) = (wavy_sphere(10, 6), cube());
    let within = [place(2.0, [8.0; 3]), place(6.5, [8.0; 3])];
    let beside = [place(2.0, [3.2, 3.0, 3.0]), place(3.0, [12.0, 11.5, 12.0])];
    let around = [place(6.9, [8.0; 3]), place(1.0, [8.5, 8.0, 8.2])];
    // The cube's faces lie in the planes between voxels.
    let across = [place(3.0, [8.3, 8.1, 8.2]), place(4.0, [12.0, 8.0, 8.0])];
    let frames = [
        (within, [Some((1, 1)), Some((1, 0))]),
        (beside, [Some((1, 0)), Some((1, 0))]),
        (around, [Some((1, 0)), Some((1, 1))]),
        (across, [Some((2, 1)), Some((2, 1))]),
    ];
    check(device, "sphere and cube", [&sphere, &cube], 16, &frames);
}

#[parameterized]
fn shapes_of_several_parts(device: &Device) {
    let ball = |size: f64, to: f64| wavy_sphere(8, 5).moved(|at| size * at + DVec3::new(to, 0.0, 0.0));
    let apart = both(&ball(0.4, -0.5), &ball(0.4, 0.5));
    // The winding number at the middle of the inner ball is 2, which also counts as inside.
    let nested = both(&ball(0.9, 0.0), &ball(0.4, 0.0));
    let small = [place(6.0, [8.0; 3]), place(1.0, [11.0, 8.0, 8.0])];
    let central = [place(6.0, [8.0; 3]), place(1.0, [8.0, 8.0, 8.0])];
    let moved = [small, central].map(|motions| (motions, [None, None]));
    check(device, "two balls and a cube", [&apart, &cube()], 16, &moved);
    check(device, "a ball in a ball and a cube", [&nested, &cube()], 16, &moved);
    check(device, "two balls and two balls", [&apart, &nested], 16, &[([small[0], small[0]], [None, None])]);
}

#[parameterized]
fn shapes_at_the_border_and_beyond(device: &Device) {
    let (sphere, cube) = (wavy_sphere(10, 6), cube());
    let to_the_border = [place(4.0, [4.0; 3]), place(4.0, [8.0; 3])];
    let beyond = [place(5.0, [1.0, 6.0, 11.5]), place(5.0, [6.0, 10.0, 12.0])];
    let all_beyond = [place(2.0, [-20.0, 5.0, 5.0]), place(2.0, [5.0, 50.0, 5.0])];
    let frames = [to_the_border, beyond, all_beyond, to_the_border].map(|motions| (motions, [None, None]));
    check(device, "at the border", [&cube, &sphere], 12, &frames);
    let end = f64::from(MAX_SIDE);
    let far = [place(3.0, [end - 2.0; 3]), place(3.0, [end - 3.0, end - 1.0, end - 4.0])];
    check(device, "at the last voxel", [&cube, &sphere], MAX_SIDE, &[(far, [None, None])]);
}

#[parameterized]
fn meshes_of_one_triangle_of_none_and_without_area(device: &Device) {
    let corners = vec![DVec3::new(-1.0, -1.0, 0.2), DVec3::new(1.0, -0.8, 0.0), DVec3::new(0.1, 0.9, -0.3)];
    let one = Mesh { corners: corners.clone(), triangles: vec![[0, 1, 2]] };
    let flat = Mesh { corners, triangles: vec![[0, 1, 1], [2, 2, 2], [0, 2, 0]] };
    let (none, cube) = (Mesh::default(), cube());
    let motions = [place(5.0, [8.0, 8.25, 7.5]), place(4.0, [8.0, 9.0, 6.5])];
    let frames = [(motions, [None, None])];
    for (name, mesh) in [("one triangle", &one), ("no area", &flat), ("no triangle", &none)] {
        check(device, name, [mesh, &cube], 16, &frames);
        check(device, name, [mesh, mesh], 16, &frames);
    }
}

/// Returns triangles whose third corner is about `width` from the line through the other two.
fn needles(width: f64) -> Mesh {
    let mut mesh = Mesh::default();
    for i in 0..24 {
        let part = |step: f64| (0.37 + step * f64::from(i)).fract() * 2.0 - 1.0;
        let (from, to) = (DVec3::new(part(0.618), part(0.414), part(0.732)), DVec3::new(part(0.236), 0.9, part(0.646)));
        let beside = DVec3::new(part(0.317), part(0.162), part(0.303)) * width;
        mesh.corners.extend([from, to, from.lerp(to, 0.5 + 0.4 * part(0.55)) + beside]);
        mesh.triangles.push([3 * i, 3 * i + 1, 3 * i + 2]);
    }
    mesh
}

/// Returns a prism over a triangle of width `width`.
fn rod(width: f64) -> Mesh {
    let (from, to) = (DVec3::new(-0.9, -0.7, -0.8), DVec3::new(0.8, 0.9, 0.55));
    let around = [DVec3::ZERO, DVec3::X * width, DVec3::Y * width];
    let sides = [[0, 1, 4, 3], [1, 2, 5, 4], [2, 0, 3, 5]];
    let halves = sides.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]);
    Mesh {
        corners: [from, to].into_iter().flat_map(|end| around.map(|beside| end + beside)).collect(),
        triangles: halves.chain([[0, 2, 1], [3, 4, 5]]).collect(),
    }
}

#[test]
fn triangles_that_are_nearly_lines_lose_no_voxel() {
    on_all(|device| {
        let cube = cube();
        let motions = [place(7.0, [8.1, 7.9, 8.2]), place(2.0, [8.5; 3])];
        for width in [1e-9, 1e-13, 1e-15] {
            check(device, &format!("needles {width:e}"), [&needles(width), &cube], 16, &[(motions, [None, None])]);
            check(device, &format!("rod {width:e}"), [&rod(width), &cube], 16, &[(motions, [None, None])]);
        }
    });
    let motions = [place(120.0, [128.1, 127.9, 128.2]), place(20.0, [128.5; 3])];
    for mesh in [needles(1e-14), rod(1e-14)] {
        check(&Device::cpu(), "a finer grid", [&mesh, &cube()], 256, &[(motions, [None, None])]);
    }
}

#[parameterized]
fn a_mesh_with_a_hole_has_no_inside(device: &Device) {
    let mut open = cube();
    open.triangles.pop();
    let sphere = wavy_sphere(10, 6);
    let motions = [place(4.0, [8.0; 3]), place(4.0, [10.0, 9.0, 8.5])];
    check(device, "a hole", [&open, &sphere], 16, &[(motions, [None, None])]);
    let mut scene = Scene::new(device, [&open, &sphere], 16).unwrap();
    assert_eq!(scene.open_edges(), [3, 0]);
    let frame = scene.frame(&motions).unwrap();
    assert!(frame.counts[0].inside.unwrap() > 0);
    assert_eq!(frame.counts[1].inside, None);
}

#[test]
fn many_motions_at_a_finer_grid() {
    let (knot, sphere) = (torus_knot(60, 8), wavy_sphere(20, 10));
    let frames: Vec<_> = (0..if is_thorough() { 40 } else { 6 })
        .map(|i| {
            let t = f64::from(i);
            let a = turned(11.0, [20.0 + t.sin(), 20.0, 20.0], [t, 0.7 * t, 0.1], (0.3 * t).sin(), 0.1 * t.cos());
            let b = turned(13.0, [20.0, 20.0 + 3.0 * t.cos(), 20.0], [0.2, 1.1 * t, t], 0.2, -0.1);
            ([a, b], [None, None])
        })
        .collect();
    check(&Device::cpu(), "many motions", [&knot, &sphere], 40, &frames);
}

#[test]
fn what_cannot_be_is_refused() {
    let cube = cube();
    for side in [0, 7, MAX_SIDE + 1, u32::MAX] {
        let error = Scene::new(&Device::cpu(), [&cube, &cube], side).unwrap_err();
        assert!(matches!(error, FrameError::Side { .. }) && error.to_string().contains(&side.to_string()));
    }
    // These triangles are as large as the grid, so each has 2^20 columns.
    let corners = vec![DVec3::new(-1.0, -1.0, 0.0), DVec3::new(1.0, -1.0, 0.0), DVec3::new(0.0, 1.0, 0.0)];
    let sheets = Mesh { corners, triangles: vec![[0, 1, 2]; 70_000] };
    let mut scene = Scene::new(&Device::cpu(), [&sheets, &cube], MAX_SIDE).unwrap();
    let error = scene.frame(&[place(511.0, [512.0; 3]), place(1.0, [5.0; 3])]).unwrap_err();
    assert!(matches!(error, FrameError::TooManyVoxels { touched, limit } if touched > limit), "{error}");
}

#[test]
fn after_a_failed_launch_the_next_frame_is_right() {
    let (device, launches) = failing();
    let (sphere, cube) = (wavy_sphere(10, 6), cube());
    let motions = [place(3.0, [8.3, 8.1, 8.2]), place(4.0, [12.0, 8.0, 8.0])];
    let mut scene = Scene::new(&device, [&sphere, &cube], 16).unwrap();
    scene.frame(&motions).unwrap();
    let right = scene.voxels().unwrap();
    for good in 0.. {
        match only(&launches, good, || scene.frame(&motions)) {
            Ok(_) => break,
            Err(FrameError::Warpnest(Error::Kernel { .. })) => {}
            Err(other) => panic!("{other}"),
        }
        scene.frame(&motions).unwrap();
        assert_eq!(scene.voxels().unwrap(), right, "after {good} launches");
    }
}

/// Makes each operation of a frame fail, above all each allocation, after a frame with other sizes.
/// The voxels are then refused, and the next frame is right.
#[test]
fn whatever_fails_of_a_frame_the_next_one_is_right() {
    let (device, plan) = planted();
    let (sphere, cube) = (wavy_sphere(10, 6), cube());
    let small = [place(1.0, [8.3, 8.1, 8.2]), place(1.5, [9.0, 8.0, 8.0])];
    let large = [place(3.0, [8.3, 8.1, 8.2]), place(4.0, [12.0, 8.0, 8.0])];
    let scene = |motions: &[Motion; 2]| {
        let mut scene = Scene::new(&device, [&sphere, &cube], 16).unwrap();
        scene.frame(motions).unwrap();
        scene
    };
    let right = scene(&large).voxels().unwrap();
    let begin = || scene(&small);
    let seen = in_each_operation(
        &plan,
        &SINGLE_FAULTS,
        begin,
        |scene| scene.frame(&large).map(drop),
        |mut scene, done| {
            match done {
                // If a buffer cannot grow by more than it needs, it grows by what it needs.
                Ok(()) => assert_eq!(scene.voxels().unwrap(), right),
                Err(FrameError::Warpnest(error)) => {
                    assert!(is_planted(&error), "{error}");
                    let error = scene.voxels().unwrap_err();
                    assert!(matches!(error, FrameError::NoFrame), "{error}");
                }
                Err(other) => panic!("{other}"),
            }
            scene.frame(&large).unwrap();
            assert_eq!(scene.voxels().unwrap(), right);
        },
    );
    all_failed(&seen, &[Allocate, Launch]);
}

/// Moves shapes to coordinates that are infinite or NaN.
#[test]
fn motions_without_bounds_are_no_panic() {
    let (sphere, cube) = (wavy_sphere(10, 6), cube());
    let mut scene = Scene::new(&Device::cpu(), [&sphere, &cube], 16).unwrap();
    for size in [1e10, 1e160, 1e200, f64::MAX, f64::INFINITY, f64::NAN, -1e160] {
        for to in [8.0, 1e160, f64::NAN] {
            let (twist, swell) = (size.min(1e200), 0.5 * size);
            let motions = [Motion { twist, swell, ..place(size, [to; 3]) }, place(size, [8.0, to, 8.0])];
            scene.frame(&motions).unwrap();
        }
    }
    scene.frame(&[place(3.0, [8.3, 8.1, 8.2]), place(4.0, [12.0, 8.0, 8.0])]).unwrap();
    assert!(scene.voxels().unwrap().iter().all(|voxels| !voxels.keys.is_empty()));
}
