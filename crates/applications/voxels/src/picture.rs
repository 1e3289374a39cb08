//! The picture: on the left both surfaces in the light, and on the right an x-ray of them. Common
//! voxels glow in both panels.
//!
//! Along parallel rays every voxel has the same outline, so its pixels are computed once (`Stamp`)
//! and then drawn at the position of each voxel; the nearest voxel is visible. Everything is drawn
//! at twice the size and scaled down.

use std::{fs::File, io, io::BufWriter, path::Path};

use glam::DVec3;
use rayon::prelude::*;

use crate::{
    blur::blur,
    camera::{Camera, Stamp, middle},
    mesh::Mesh,
    voxelize::Surface,
};

/// The size of the finished picture, in pixels.
pub const SIZE: (usize, usize) = (1600, 900);

/// The pixels of a panel before it is scaled down: twice half the picture's width, and twice its
/// height.
const PANEL: (usize, usize) = (SIZE.0, 2 * SIZE.1);

type Colour = [f32; 3];
const COLOURS: [Colour; 2] = [[0.10, 0.26, 0.80], [0.12, 0.62, 0.56]];
const HOT: Colour = [1.0, 0.30, 0.035];

/// A surface: its voxels, and the mesh of which they were made, in voxel coordinates.
pub struct Body<'a> {
    pub mesh: &'a Mesh,
    pub surface: &'a Surface,
}

/// Draws both bodies and their common voxels, as seen from `yaw` and `pitch` degrees.
///
/// The result has three bytes per pixel, from the top left.
pub fn draw(bodies: &[Body; 2], common: &[u64], [yaw, pitch]: [f64; 2]) -> Vec<u8> {
    let keys = || bodies.iter().flat_map(|body| &body.surface.keys);
    let toward = |yaw: f64, pitch: f64| {
        let ((sin_yaw, cos_yaw), (sin, cos)) = (yaw.to_radians().sin_cos(), pitch.to_radians().sin_cos());
        (DVec3::new(cos_yaw, 0.0, -sin_yaw), DVec3::new(sin_yaw * cos, sin, cos_yaw * cos))
    };
    let camera = Camera::around(keys(), toward(yaw, pitch), PANEL);
    let light = Camera::around(keys(), toward(yaw - 38.0, pitch + 32.0), (1400, 1400));

    let mut shadows = vec![f32::NEG_INFINITY; light.size.0 * light.size.1];
    let stamp = Stamp::new(&light, 0.5);
    for key in keys() {
        stamp.set_down(light.place(*key), light.size, |pixel, depth, _| shadows[pixel] = shadows[pixel].max(depth));
    }

    let mut scene = vec![Pixel::default(); PANEL.0 * PANEL.1];
    let mut haze = [vec![0.0; scene.len()], vec![0.0; scene.len()]];
    let solid = Stamp::new(&camera, 0.5);
    let exact = Stamp::new(&camera, 0.0);
    for (index, body) in bodies.iter().enumerate() {
        let normals = corner_normals(body.mesh);
        for (key, triangle) in body.surface.keys.iter().zip(&body.surface.triangles) {
            let normal = normal_at(body.mesh, &normals, *triangle as usize, middle(*key));
            let facing = normal.dot(camera.toward);
            let lit = light.light_at(&shadows, *key, normal);
            let (shade, shine) = shade(if facing < -0.3 { -normal } else { normal }, lit, &camera, &light);
            solid.set_down(camera.place(*key), PANEL, |pixel, depth, face| {
                if depth > scene[pixel].depth {
                    scene[pixel] = Pixel { depth, shade: shade * face, shine, body: index };
                }
            });
            // In the x-ray a surface is denser if it is seen more nearly edge on.
            let density = 0.022 + 0.42 * (1.0 - facing.abs()).powi(3) as f32;
            exact.set_down(camera.place(*key), PANEL, |pixel, _, _| haze[index][pixel] += density);
        }
    }

    // The curve must stay visible if voxels are smaller than pixels, so it is at least two and a
    // half pixels of the result wide.
    let mut hot = vec![Glow { depth: f32::NEG_INFINITY, face: 0.0 }; scene.len()];
    let thick = Stamp::new(&camera, (2.5 - 0.5 * camera.scale).max(0.5));
    for key in common {
        thick.set_down(camera.place(*key), PANEL, |pixel, depth, face| {
            if depth > hot[pixel].depth {
                hot[pixel] = Glow { depth, face };
            }
        });
    }
    let haze =
        haze.map(|density| blur(density, PANEL, if camera.scale < 6.0 { camera.scale.ceil() as usize } else { 1 }));
    let panels = [lit_panel(&scene, &hot, &camera), xray_panel(&haze, &hot)];
    to_bytes(&panels)
}

/// Writes the picture as a PNG file.
pub fn write(path: &Path, pixels: &[u8]) -> io::Result<()> {
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), SIZE.0 as u32, SIZE.1 as u32);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    Ok(writer.finish()?)
}

/// The nearest voxel of the bodies at a pixel.
#[derive(Clone, Copy)]
struct Pixel {
    depth: f32,
    shade: f32,
    shine: f32,
    body: usize,
}

/// The nearest common voxel at a pixel, and the brightness of its visible face.
#[derive(Clone, Copy)]
struct Glow {
    depth: f32,
    face: f32,
}

impl Default for Pixel {
    fn default() -> Pixel {
        Pixel { depth: f32::NEG_INFINITY, shade: 0.0, shine: 0.0, body: 0 }
    }
}

/// Returns the unit normal of each corner, the average over its triangles.
fn corner_normals(mesh: &Mesh) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; mesh.corners.len()];
    for (index, triangle) in mesh.triangles.iter().enumerate() {
        let [a, b, c] = mesh.triangle(index);
        let normal = (b - a).cross(c - a);
        triangle.iter().for_each(|corner| normals[*corner as usize] += normal);
    }
    normals.into_par_iter().map(DVec3::normalize_or_zero).collect()
}

/// Returns the surface's direction near `at`, interpolated between the triangle's corners as on a
/// rounded surface.
fn normal_at(mesh: &Mesh, normals: &[DVec3], triangle: usize, at: DVec3) -> DVec3 {
    let [a, b, c] = mesh.triangle(triangle);
    let [ab, ac, ap] = [b, c, at].map(|to| to - a);
    let face = ab.cross(ac);
    let area = face.length_squared();
    if area == 0.0 {
        return DVec3::ZERO;
    }
    let [v, w] = [ap.cross(ac), ab.cross(ap)].map(|part| (part.dot(face) / area).clamp(0.0, 1.0));
    let weights = [(1.0 - v - w).max(0.0), v, w];
    let face = face.normalize_or_zero();
    let mut normal = DVec3::ZERO;
    for (corner, weight) in mesh.triangles[triangle].iter().zip(weights) {
        let smooth = normals[*corner as usize];
        // At a sharp edge a corner belongs to faces with different directions, and only this face's
        // direction is right here.
        let direction = if smooth.dot(face) > 0.5 { smooth } else { face };
        normal += direction * weight;
    }
    normal.normalize_or_zero()
}

/// Returns the diffuse light and the highlight on a surface with direction `normal`.
fn shade(normal: DVec3, lit: f64, camera: &Camera, light: &Camera) -> (f32, f32) {
    let key = normal.dot(light.toward).max(0.0) * lit;
    let fill = 0.5 + 0.5 * normal.dot((camera.up + camera.right * 0.6).normalize_or_zero());
    let half = (light.toward + camera.toward).normalize_or_zero();
    let shine = normal.dot(half).max(0.0).powi(48) * lit;
    ((0.10 + 0.26 * fill + 0.85 * key) as f32, (0.28 * shine) as f32)
}

/// Returns the background, which is dark and a little brighter behind the bodies.
fn backdrop(pixel: usize) -> Colour {
    let (x, y) = (pixel % PANEL.0, pixel / PANEL.0);
    let (x, y) = (x as f32 / PANEL.0 as f32 - 0.5, y as f32 / PANEL.1 as f32 - 0.46);
    let glow = (-5.0 * (x * x + y * y)).exp();
    [0.003 + 0.010 * glow, 0.005 + 0.015 * glow, 0.010 + 0.030 * glow]
}

/// Adds the glowing voxels: each pixel's `strength`, and a halo around them.
fn add_glow(panel: &mut [Colour], strength: Vec<f32>, halo: f32) {
    let near = blur(strength.clone(), PANEL, 4);
    let wide = blur(strength.clone(), PANEL, 18);
    panel.par_iter_mut().enumerate().for_each(|(i, colour)| {
        let core = strength[i];
        for channel in 0..3 {
            let white_hot = [1.25, 0.80, 0.32][channel];
            colour[channel] = if core > 0.0 { white_hot * core * core } else { colour[channel] };
            colour[channel] += HOT[channel] * halo * (0.55 * near[i] + 1.3 * wide[i]);
        }
    });
}

fn lit_panel(scene: &[Pixel], hot: &[Glow], camera: &Camera) -> Vec<Colour> {
    // If the surroundings of a pixel are nearer on average, the pixel is in a hollow, which
    // receives less light.
    let far = scene.iter().map(|pixel| pixel.depth).filter(|depth| depth.is_finite()).fold(f32::INFINITY, f32::min);
    let depths: Vec<f32> = scene.iter().map(|pixel| pixel.depth.max(far)).collect();
    let around = blur(depths.clone(), PANEL, 14);
    let depth_range = (PANEL.0 as f64 / camera.scale) as f32;
    let mut panel: Vec<Colour> = (0..scene.len())
        .into_par_iter()
        .map(|i| {
            if scene[i].depth == f32::NEG_INFINITY {
                return backdrop(i);
            }
            let hollow = ((around[i] - depths[i]) / depth_range * 22.0).clamp(0.0, 0.65);
            let light = scene[i].shade * (1.0 - hollow);
            COLOURS[scene[i].body].map(|channel| channel * light * 1.25 + scene[i].shine * (1.0 - hollow))
        })
        .collect();
    // The curve lies between voxels of both bodies, so it is visible even a few voxels behind
    // others.
    let slack = 3.0 + 4.0 / camera.scale as f32;
    let strength = |i: usize| match hot[i] {
        Glow { depth, face } if depth.is_finite() && depth + slack >= scene[i].depth => face,
        _ => 0.0,
    };
    add_glow(&mut panel, (0..scene.len()).map(strength).collect(), 0.9);
    panel
}

fn xray_panel(haze: &[Vec<f32>; 2], hot: &[Glow]) -> Vec<Colour> {
    let mut panel: Vec<Colour> = (0..hot.len()).into_par_iter().map(backdrop).collect();
    panel.par_iter_mut().enumerate().for_each(|(i, colour)| {
        for (density, tint) in haze.iter().zip(COLOURS) {
            let opacity = 1.0 - (-0.9 * density[i]).exp();
            (0..3).for_each(|channel| colour[channel] += 0.75 * tint[channel] * opacity);
        }
    });
    add_glow(&mut panel, hot.iter().map(|glow| glow.face).collect(), 1.0);
    panel
}

/// Returns both panels side by side; the mean of four pixels becomes one pixel.
fn to_bytes(panels: &[Vec<Colour>; 2]) -> Vec<u8> {
    // Highlights are compressed before the four pixels are averaged, so that a glowing edge is as
    // smooth as others.
    let display = |x: f32| x / (1.0 + x * x).sqrt();
    let mut bytes = vec![0; 3 * SIZE.0 * SIZE.1];
    bytes.par_chunks_mut(3).enumerate().for_each(|(pixel, out)| {
        let (x, y) = (pixel % SIZE.0, pixel / SIZE.0);
        let half = SIZE.0 / 2;
        let panel = &panels[x / half];
        let first = 2 * y * PANEL.0 + 2 * (x % half);
        for channel in 0..3 {
            let four = [first, first + 1, first + PANEL.0, first + PANEL.0 + 1];
            let mean = four.iter().map(|i| display(panel[*i][channel])).sum::<f32>() / 4.0;
            out[channel] = (255.0 * mean.powf(1.0 / 2.2)).round() as u8;
        }
    });
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::fit_to_grid;
    use crate::{models, voxelize};

    #[test]
    fn the_common_voxels_glow_in_both_panels() {
        let (a, b) = fit_to_grid(models::wavy_sphere(60, 30), models::torus_knot(200, 16), 40).unwrap();
        let surfaces = [&a, &b].map(|mesh| voxelize::voxelize(mesh, 40, |_| ()));
        let bodies = [Body { mesh: &a, surface: &surfaces[0] }, Body { mesh: &b, surface: &surfaces[1] }];
        let common: Vec<u64> =
            surfaces[0].keys.iter().copied().filter(|key| surfaces[1].keys.binary_search(key).is_ok()).collect();
        assert!(!common.is_empty());
        let hot = |pixels: &[u8], panel: usize| {
            assert_eq!(pixels.len(), 3 * SIZE.0 * SIZE.1);
            let is_hot = |rgb: &[u8]| rgb[0] > 200 && rgb[0].abs_diff(rgb[2]) > 60;
            pixels.chunks(3).enumerate().filter(|(i, rgb)| i % SIZE.0 / (SIZE.0 / 2) == panel && is_hot(rgb)).count()
        };
        let with = draw(&bodies, &common, [28.0, 34.0]);
        let without = draw(&bodies, &[], [28.0, 34.0]);
        for panel in 0..2 {
            assert!(hot(&with, panel) > 1000 && hot(&without, panel) == 0);
        }
    }

    #[test]
    fn flat_and_empty_bodies_can_be_drawn_from_everywhere() {
        let line =
            Mesh { corners: vec![DVec3::new(4.5, 4.5, 1.5), DVec3::new(4.5, 4.5, 6.5)], triangles: vec![[0, 1, 1]] };
        let line_surface = voxelize::voxelize(&line, 8, |_| ());
        let (nothing, no_surface) = (Mesh::default(), Surface::default());
        let bodies = [Body { mesh: &line, surface: &line_surface }, Body { mesh: &nothing, surface: &no_surface }];
        for view in [[0.0, 0.0], [1e9, -1e9]] {
            assert_eq!(draw(&bodies, &line_surface.keys, view).len(), 3 * SIZE.0 * SIZE.1);
        }
    }
}
