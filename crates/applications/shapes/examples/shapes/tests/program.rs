//! Tests of arguments, pictures and errors.

use std::io::Cursor;
use std::process::Output;

use warpnest_applications_shared::testing::{Folder, program};

/// Runs the example on the CPU.
fn run(arguments: &[&str]) -> Output {
    program(&[arguments, &["--device", "cpu"]].concat()).output().unwrap()
}

/// Returns the output of a run, which must succeed.
fn printed(arguments: &[&str], folder: &Folder) -> String {
    let output = run(&[arguments, &["--output", &folder.path("out")]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_animation_is_computed_drawn_and_summed_up() {
    let folder = Folder::new();
    let text = printed(&["sphere", "knot", "--grid", "32", "--frames", "3", "--height", "40"], &folder);
    for word in ["device", "voxelize", "flood", "in common", "inside", "frames/s", "shapes.png"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    let mut reader =
        png::Decoder::new(Cursor::new(std::fs::read(folder.path("out/shapes.png")).unwrap())).read_info().unwrap();
    assert_eq!(reader.info().animation_control().unwrap().num_frames, 3);
    let mut frames = Vec::new();
    for _ in 0..3 {
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        frames.push(pixels);
    }
    assert!(frames[0] != frames[1] && frames[1] != frames[2], "the shapes move");
    assert_eq!(std::fs::read_dir(folder.path("out")).unwrap().count(), 4);
}

#[test]
fn the_fineness_is_drawn() {
    let folder = Folder::new();
    let text = printed(&["--fineness", "--grid", "48", "--frames", "2"], &folder);
    let grids: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(["16", "23", "32", "45", "48"].iter().all(|grid| grids.contains(grid)), "{text}");
    assert!(String::from_utf8(std::fs::read(folder.path("out/fineness.svg")).unwrap()).unwrap().contains("<svg"));
    assert!(std::fs::read(folder.path("out/fineness.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn a_mesh_with_a_hole_has_no_inside_and_that_is_said() {
    let folder = Folder::new();
    let path = folder.write("open.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\n");
    let text = printed(&[&path, "sphere", "--grid", "16", "--frames", "1", "--height", "20"], &folder);
    assert!(text.contains("open.obj has 3 open edges") && text.contains("not defined"), "{text}");
}

#[test]
fn a_mesh_of_any_size_is_brought_to_the_scene() {
    let folder = Folder::new();
    let voxels = ["1", "1e160", "1e200", "1e-200"].map(|size| {
        let corners = format!("0 0 0\n{size} 0 0\n0 {size} 0\n0 0 {size}\n");
        let header = "ply\nformat ascii 1.0\nelement vertex 4\nproperty double x\nproperty double y\n\
            property double z\nelement face 4\nproperty list uchar int vertex_indices\nend_header\n";
        let text = format!("{header}{corners}3 0 2 1\n3 0 1 3\n3 1 2 3\n3 2 0 3\n");
        let path = folder.write(&format!("{size}.ply"), text);
        let text = printed(&[&path, "sphere", "--grid", "16", "--frames", "1", "--no-pictures"], &folder);
        text.lines().find(|line| line.starts_with("voxels")).unwrap().split_whitespace().nth(1).unwrap().to_owned()
    });
    assert!(voxels[0] != "0" && voxels.iter().all(|count| *count == voxels[0]), "{voxels:?}");
}

#[test]
fn arguments_out_of_shape_and_bad_files_are_refused() {
    let folder = Folder::new();
    let bad = &folder.write("bad.obj", "v 0 0 nan\nf 1 1 1\n")[..];
    let point = &folder.write("point.obj", "v 3 3 3\nv 3 3 3\nf 1 2 2\n")[..];
    for (arguments, words) in [
        (["--grid", "7"], ["--grid", "8..=1024"]),
        (["--grid", "1025"], ["--grid", "8..=1024"]),
        (["--frames", "0"], ["--frames", "1..="]),
        (["--view", "1"], ["--view", "two numbers"]),
        (["--view", "25,abc,30"], ["--view", "two numbers"]),
        (["--view", "25,30,"], ["--view", "two numbers"]),
        (["--view", "25,inf"], ["--view", "two numbers"]),
        (["--sizes", "1,0.5"], ["--sizes", "0.9"]),
        (["--sizes", "0.5,x,0.5"], ["--sizes", "two numbers"]),
        (["no/such.ply", "knot"], ["no/such.ply: ", "built-in shapes"]),
        (["sphere", bad], ["bad.obj: ", "vertex 0 is not finite"]),
        (["sphere", point], ["point.obj: ", "no size"]),
        (["--output", "/dev/null/x"], ["/dev/null/x: ", "--output"]),
    ] {
        let output = run(&arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && words.iter().all(|word| text.contains(word)), "{text}");
        assert!(!text.contains("panicked"), "{text}");
    }
}
