//! Made-up pictures, and a scene that shows one of them turned, scaled and partly covered.

use super::load::Picture;
use super::points::{Similarity, frame_of, middle};
use super::scenes::unit;
use image::{DynamicImage, Rgb, RgbImage};
use rand_xoshiro::Xoshiro256StarStar as Random;
use rand_xoshiro::rand_core::SeedableRng;

/// The size of the made-up references, in pixels.
const SIZE: (u32, u32) = (640, 480);
/// The size of the made-up scene, in pixels.
const SCENE: (u32, u32) = (1000, 750);

type Colour = [f64; 3];
type Corners = Vec<[f64; 2]>;
/// A function that draws a picture.
type Draw = fn(&mut Random) -> RgbImage;

/// Returns the made-up references, whose names say what they show.
pub fn references() -> Vec<Picture> {
    let kinds: [(&str, Draw); 6] = [
        ("mosaic", |random| mosaic(SIZE, 150, random)),
        ("confetti", |random| shapes(SIZE, 260, 4, random)),
        ("skyline", skyline),
        ("stars", |random| shapes(SIZE, 130, 10, random)),
        ("shards", |random| shapes(SIZE, 300, 3, random)),
        ("pavement", |random| mosaic(SIZE, 320, random)),
    ];
    let picture = |(seed, (name, draw)): (usize, (&str, Draw))| {
        let image = draw(&mut Random::seed_from_u64(100 + seed as u64));
        Picture::new(name.to_owned(), DynamicImage::ImageRgb8(image))
    };
    kinds.into_iter().enumerate().map(picture).collect()
}

/// Returns a scene with one of the references, the reference's index, and its pose.
///
/// The seed chooses the reference. It lies on a mosaic, turned by any angle and scaled by .7 to
/// 1.1. Other shapes cover about 40 % of it, and every pixel has noise of 2 %.
pub fn scene(references: &[Picture], seed: u64) -> (Picture, usize, Similarity) {
    let random = &mut Random::seed_from_u64(seed);
    let of = (unit(random) * references.len() as f64) as usize % references.len().max(1);
    let picture = &references[of].colour;
    let (width, height) = picture.dimensions();
    let (degrees, scale) = (360.0 * unit(random) - 180.0, 0.7 + 0.4 * unit(random));
    let at = [SCENE.0, SCENE.1].map(|side| f64::from(side) * (0.45 + 0.1 * unit(random)));
    let from = middle(frame_of(width as f32, height as f32));
    let pose = Similarity::about(degrees, scale, from, at);
    let back = Similarity::about(-degrees, 1.0 / scale, at, from);

    let mut image = mosaic(SCENE, 90, random);
    // The background is pale, so that the reference stands out.
    image.pixels_mut().flat_map(|pixel| &mut pixel.0).for_each(|channel| *channel = 120 + *channel / 3);
    for (x, y, pixel) in image.enumerate_pixels_mut() {
        // A pixel is the mean of four samples inside it.
        let samples = [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]];
        let seen = samples.map(|[dx, dy]| sample(picture, back.at([f64::from(x) + dx, f64::from(y) + dy])));
        let seen: Vec<Colour> = seen.into_iter().flatten().collect();
        let own = (4 - seen.len()) as f64;
        let mixed = |i: usize| (own * f64::from(pixel[i]) + seen.iter().map(|colour| colour[i]).sum::<f64>()) / 4.0;
        *pixel = Rgb([0, 1, 2].map(|i| mixed(i) as u8));
    }
    cover(&mut image, at, 0.4 * scale * scale * f64::from(width) * f64::from(height), random);
    for pixel in image.pixels_mut() {
        for channel in &mut pixel.0 {
            // The sum of three uniform numbers is nearly normal, with a standard deviation of one
            // half.
            let noise = unit(random) + unit(random) + unit(random) - 1.5;
            *channel = (f64::from(*channel) + 2.0 * 0.02 * 255.0 * noise).clamp(0.0, 255.0) as u8;
        }
    }
    (Picture::new("scene".to_owned(), DynamicImage::ImageRgb8(image)), of, pose)
}

/// Returns the colour at a position between pixels, if it is in the picture.
fn sample(picture: &RgbImage, [x, y]: [f64; 2]) -> Option<Colour> {
    let (width, height) = picture.dimensions();
    if x < 0.0 || y < 0.0 || x >= f64::from(width) || y >= f64::from(height) {
        return None;
    }
    let near = |at: f64, length: u32| {
        let low = (at - 0.5).max(0.0);
        (low as u32, (low as u32 + 1).min(length - 1), low.fract())
    };
    let ((x0, x1, right), (y0, y1, down)) = (near(x, width), near(y, height));
    let pixel = |x: u32, y: u32, i: usize| f64::from(picture.get_pixel(x, y)[i]);
    Some([0, 1, 2].map(|i| {
        let above = pixel(x0, y0, i) * (1.0 - right) + pixel(x1, y0, i) * right;
        let below = pixel(x0, y1, i) * (1.0 - right) + pixel(x1, y1, i) * right;
        above * (1.0 - down) + below * down
    }))
}

/// Covers an area on one side of a position with a band of shapes.
fn cover(image: &mut RgbImage, [x, y]: [f64; 2], area: f64, random: &mut Random) {
    let (sin, cos) = (std::f64::consts::TAU * unit(random)).sin_cos();
    let side = area.sqrt();
    for _ in 0..40 {
        // The shape's middle is in a rectangle that begins a tenth of a side from the position.
        let (along, across) = (side * (0.1 + unit(random)), 1.4 * side * (unit(random) - 0.5));
        let at = [x + along * cos - across * sin, y + along * sin + across * cos];
        let (corners, radius) = (3 + (4.0 * unit(random)) as usize, side * (0.12 + 0.1 * unit(random)));
        let turn = unit(random);
        let corner = |i: usize| {
            let (sin, cos) = (std::f64::consts::TAU * (i as f64 / corners as f64 + turn)).sin_cos();
            [at[0] + radius * cos, at[1] + radius * sin]
        };
        fill(image, &(0..corners).map(corner).collect(), colour(random));
    }
}

fn colour(random: &mut Random) -> Colour {
    [(); 3].map(|()| 20.0 + 230.0 * unit(random))
}

/// Fills a polygon by the even-odd rule; each pixel is the mean of four samples.
fn fill(image: &mut RgbImage, corners: &Corners, [red, green, blue]: Colour) {
    let bound = |axis: usize, length: u32| {
        let all = corners.iter().map(|corner| corner[axis]);
        let (low, high) = all.fold((f64::MAX, f64::MIN), |(low, high), at| (low.min(at), high.max(at)));
        low.max(0.0) as u32..(high.max(0.0).ceil() as u32).min(length)
    };
    let is_inside = |x: f64, y: f64| {
        let edges = corners.iter().zip(corners.iter().cycle().skip(1));
        let crossed =
            edges.filter(|(a, b)| (a[1] > y) != (b[1] > y) && x < (b[0] - a[0]) * (y - a[1]) / (b[1] - a[1]) + a[0]);
        crossed.count() % 2 == 1
    };
    let (width, height) = image.dimensions();
    for y in bound(1, height) {
        for x in bound(0, width) {
            let samples = [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]];
            let inside = samples.iter().filter(|[dx, dy]| is_inside(f64::from(x) + dx, f64::from(y) + dy)).count();
            let share = inside as f64 / 4.0;
            let pixel = image.get_pixel_mut(x, y);
            for (channel, value) in pixel.0.iter_mut().zip([red, green, blue]) {
                *channel = (f64::from(*channel) * (1.0 - share) + value * share) as u8;
            }
        }
    }
}

/// Returns a mosaic: every pixel has the colour of the nearest stone.
fn mosaic((width, height): (u32, u32), stones: usize, random: &mut Random) -> RgbImage {
    let stones: Vec<([f64; 2], Colour)> = (0..stones)
        .map(|_| ([f64::from(width) * unit(random), f64::from(height) * unit(random)], colour(random)))
        .collect();
    // Each tile lists the few stones that can be nearest to one of its pixels.
    const TILE: u32 = 20;
    let distance = |stone: &[f64; 2], x: f64, y: f64| (stone[0] - x).hypot(stone[1] - y);
    let half = f64::from(TILE) / 2.0;
    let tiles_along = width.div_ceil(TILE);
    let tiles: Vec<Vec<([f64; 2], Colour)>> = (0..tiles_along * height.div_ceil(TILE))
        .map(|tile| {
            let [x, y] = [tile % tiles_along, tile / tiles_along].map(|i| f64::from(i * TILE) + half);
            let nearest = stones.iter().map(|stone| distance(&stone.0, x, y)).fold(f64::MAX, f64::min);
            stones.iter().copied().filter(|stone| distance(&stone.0, x, y) <= nearest + 3.0 * half).collect()
        })
        .collect();
    RgbImage::from_fn(width, height, |x, y| {
        let stones = &tiles[(y / TILE * tiles_along + x / TILE) as usize];
        let colour = |[dx, dy]: [f64; 2]| {
            let square =
                |stone: &[f64; 2]| (stone[0] - f64::from(x) - dx).powi(2) + (stone[1] - f64::from(y) - dy).powi(2);
            stones.iter().min_by(|a, b| square(&a.0).total_cmp(&square(&b.0))).map_or([0.0; 3], |stone| stone.1)
        };
        let colours = [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]].map(colour);
        Rgb([0, 1, 2].map(|i| (colours.iter().map(|colour| colour[i]).sum::<f64>() / 4.0) as u8))
    })
}

/// Draws shapes with `corners` corners. If these are more than four, every other corner is nearer
/// to the middle.
fn shapes((width, height): (u32, u32), number: usize, corners: usize, random: &mut Random) -> RgbImage {
    let [red, green, blue] = colour(random);
    let mut image = RgbImage::from_pixel(width, height, Rgb([red as u8, green as u8, blue as u8]));
    for _ in 0..number {
        let at = [f64::from(width) * unit(random), f64::from(height) * unit(random)];
        let (turn, radius, flat) = (unit(random), 12.0 + 30.0 * unit(random), 0.4 + 0.6 * unit(random));
        let corner = |i: usize| {
            let (sin, cos) = (std::f64::consts::TAU * i as f64 / corners as f64).sin_cos();
            let radius = if corners > 4 && i % 2 == 1 { 0.4 * radius } else { radius };
            let (x, y) = (radius * cos, radius * flat * sin);
            let (sin, cos) = (std::f64::consts::TAU * turn).sin_cos();
            [at[0] + x * cos - y * sin, at[1] + x * sin + y * cos]
        };
        fill(&mut image, &(0..corners).map(corner).collect(), colour(random));
    }
    image
}

/// Draws rows of houses with windows; nearer houses cover farther ones.
fn skyline(random: &mut Random) -> RgbImage {
    let (width, height) = (f64::from(SIZE.0), f64::from(SIZE.1));
    let mut image = RgbImage::from_pixel(SIZE.0, SIZE.1, Rgb([150, 190, 230]));
    let block =
        |left: f64, top: f64, right: f64, bottom: f64| vec![[left, top], [right, top], [right, bottom], [left, bottom]];
    for row in 0..4 {
        let mut left = -30.0 * unit(random);
        while left < width {
            let (wide, tall) =
                (40.0 + 60.0 * unit(random), height * (0.85 - 0.18 * f64::from(row)) * (0.7 + 0.3 * unit(random)));
            let (top, wall, window) = (height - tall, colour(random), colour(random));
            fill(&mut image, &block(left, top, left + wide, height), wall);
            let mut y = top + 8.0 + 6.0 * unit(random);
            while y < height {
                let (step, mut x) = (14.0 + 8.0 * unit(random), left + 5.0 + 4.0 * unit(random));
                while x + 12.0 < left + wide {
                    if unit(random) < 0.6 {
                        fill(&mut image, &block(x, y, x + 5.0 + 4.0 * unit(random), y + 0.6 * step), window);
                    }
                    x += 12.0 + 4.0 * unit(random);
                }
                y += step + 4.0;
            }
            left += wide + 4.0 * unit(random);
        }
    }
    image
}
