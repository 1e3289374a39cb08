//! Rays through voxels that are the keys of a `PageMap`: one thread a pixel.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

use gpu_kernels::refs::PageRef;
use gpu_kernels::seam::{Block, Global};

#[cfg(not(target_arch = "nvptx64"))]
pub mod scene;

/// A point or a direction, in voxels.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Vector {
    pub x: f32,
    pub y: f32,
    pub z: f32,
}

impl Vector {
    /// Returns the point that is reached from this one by `times` this direction.
    #[inline(always)]
    pub fn plus(self, times: f32, direction: Vector) -> Vector {
        let Vector { x, y, z } = direction;
        Vector { x: self.x + times * x, y: self.y + times * y, z: self.z + times * z }
    }

    #[inline(always)]
    pub fn dot(self, other: Vector) -> f32 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }
}

/// Returns the key of a voxel, whose coordinates are below 1024.
#[inline(always)]
pub const fn key(x: u32, y: u32, z: u32) -> u32 {
    x | y << 10 | z << 20
}

/// What a picture shows, without padding: the kernel gets its bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct View {
    /// The eye.
    pub eye: Vector,
    /// The way from the eye to the middle of the picture.
    pub forward: Vector,
    /// The way from the middle of the picture to its right edge.
    pub right: Vector,
    /// The way from the middle of the picture to its upper edge.
    pub up: Vector,
    /// The direction of the light, of length 1.
    pub light: Vector,
    /// The pixels of a row, and the rows.
    pub width: u32,
    pub height: u32,
    /// The voxels along each edge of the cube that has all.
    pub side: u32,
}

gpu_kernels::kernel! {
    /// Sets `pixels[i]` to the colour of pixel `i`: red, green and blue, from the lowest byte on. One
    /// thread a pixel.
    ///
    /// The value of a voxel is its normal: three signed bytes.
    Raycast<>, "raycast", threads 128;
    { voxels: PageRef<u32, u32>, pixels: Global<u32>, view: View }
}

impl Raycast {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let view = args.view;
        block.each_item(view.width as u64 * view.height as u64, |pixel| {
            let (column, row) = (pixel as u32 % view.width, pixel as u32 / view.width);
            let across = (2 * column + 1) as f32 / view.width as f32 - 1.0;
            let down = (2 * row + 1) as f32 / view.height as f32 - 1.0;
            let ray = view.forward.plus(across, view.right).plus(-down, view.up);
            args.pixels.store_streaming(pixel, colour(&args.voxels, &view, ray, down));
        });
    }
}

/// Returns the colour that a ray from the eye ends at.
#[inline(always)]
fn colour(voxels: &PageRef<u32, u32>, view: &View, ray: Vector, down: f32) -> u32 {
    let Some((distance, normal)) = first_hit(voxels, view.side, view.eye, ray) else {
        let sky = 40.0 - 16.0 * down;
        return rgb(sky * 0.55, sky * 0.7, sky);
    };
    let part = |shift: u32| (normal >> shift) as u8 as i8 as f32 / 127.0;
    let normal = Vector { x: part(0), y: part(8), z: part(16) };
    // The surface has two sides, of two colours; that is seen which looks at the eye.
    let front = normal.dot(ray) < 0.0;
    let lit = if front { normal.dot(view.light) } else { -normal.dot(view.light) };
    let mut light = 0.25;
    if lit > 0.0 {
        // Two voxels off the surface, so that it does not hide the light from itself.
        let off = if front { 2.0 } else { -2.0 };
        let from = view.eye.plus(distance, ray).plus(off, normal);
        if first_hit(voxels, view.side, from, view.light).is_none() {
            light += 0.75 * lit;
        }
    }
    if front {
        rgb(250.0 * light, 170.0 * light, 90.0 * light)
    } else {
        rgb(80.0 * light, 140.0 * light, 230.0 * light)
    }
}

#[inline(always)]
fn rgb(red: f32, green: f32, blue: f32) -> u32 {
    red as u8 as u32 | (green as u8 as u32) << 8 | (blue as u8 as u32) << 16
}

/// One coordinate of a ray that goes from voxel to voxel.
#[derive(Clone, Copy)]
struct Axis {
    cell: i32,
    step: i32,
    /// The time at which the ray comes to the next voxel.
    next: f32,
    /// The time that it takes through one.
    each: f32,
}

impl Axis {
    #[inline(always)]
    fn new(at: f32, speed: f32, now: f32, side: u32) -> Self {
        let cell = (at as i32).clamp(0, side as i32 - 1);
        let (step, edge) = if speed > 0.0 { (1, cell + 1) } else { (-1, cell) };
        let each = 1.0 / speed;
        Self { cell, step, next: now + (edge as f32 - at) * each, each: if each > 0.0 { each } else { -each } }
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.cell += self.step;
        self.next += self.each;
    }
}

/// Returns the time at which a ray comes to its first voxel, and the voxel's value.
///
/// It goes from voxel to voxel (Amanatides and Woo, A Fast Voxel Traversal Algorithm for Ray
/// Tracing, 1987), and looks each one up.
#[inline(always)]
fn first_hit(voxels: &PageRef<u32, u32>, side: u32, from: Vector, ray: Vector) -> Option<(f32, u32)> {
    // No direction is along an axis quite exactly: then nothing is divided by 0.
    let nudged = |speed: f32| if speed > -1e-6 && speed < 1e-6 { 1e-6 } else { speed };
    let ray = Vector { x: nudged(ray.x), y: nudged(ray.y), z: nudged(ray.z) };
    let (mut now, mut end) = (0.0, 1e30);
    let mut cut = |from: f32, speed: f32| {
        let (a, b) = (-from / speed, (side as f32 - from) / speed);
        let (enters, leaves) = if a < b { (a, b) } else { (b, a) };
        now = if enters > now { enters } else { now };
        end = if leaves < end { leaves } else { end };
    };
    cut(from.x, ray.x);
    cut(from.y, ray.y);
    cut(from.z, ray.z);
    if now >= end {
        return None;
    }
    let at = from.plus(now, ray);
    let mut x = Axis::new(at.x, ray.x, now, side);
    let mut y = Axis::new(at.y, ray.y, now, side);
    let mut z = Axis::new(at.z, ray.z, now, side);
    while (x.cell as u32) < side && (y.cell as u32) < side && (z.cell as u32) < side {
        if let Some(value) = voxels.get(key(x.cell as u32, y.cell as u32, z.cell as u32)) {
            return Some((now, value));
        }
        if x.next <= y.next && x.next <= z.next {
            now = x.next;
            x.advance();
        } else if y.next <= z.next {
            now = y.next;
            y.advance();
        } else {
            now = z.next;
            z.advance();
        }
    }
    None
}
