//! The drawing of a search's result: references in a column, and the scene beside them with found
//! references outlined. Lines join matching points.

use image::imageops::{self, FilterType};
use image::{Rgb, RgbImage};
use plotters::prelude::*;
use warpnest_applications_shared::chart::register_fonts;
use warpnest_find_image::gallery::Match;
use warpnest_find_image::load::Picture;
use warpnest_find_image::points::frame_of;

/// The maximum number of references drawn.
const MOST_DRAWN: usize = 6;
/// The maximum number of lines drawn for a reference.
const MOST_LINES: usize = 120;
/// The width of the column of references, in pixels.
const COLUMN: u32 = 300;
/// The gap between pictures, in pixels.
const GAP: u32 = 12;
/// The height of the line of text under a reference, in pixels.
const TEXT: u32 = 20;
/// The minimum height of the drawing, in pixels.
const LEAST_HEIGHT: u32 = 480;

/// The bright ones among Okabe and Ito's colours.
const COLOURS: [RGBColor; 4] =
    [RGBColor(240, 228, 66), RGBColor(86, 180, 233), RGBColor(230, 159, 0), RGBColor(204, 121, 167)];
const PAPER: Rgb<u8> = Rgb([24, 26, 30]);

/// A reference in the column: its index, its left and top edges in pixels, and its scaling factor.
struct Placed {
    reference: usize,
    left: f64,
    top: f64,
    factor: f64,
}

/// Draws the references, the scene and the matches between them.
pub fn draw(scene: &Picture, references: &[Picture], found: &[Match]) -> anyhow::Result<RgbImage> {
    register_fonts()?;
    let (width, height) = scene.colour.dimensions();
    let size = (COLUMN + 3 * GAP + width, height.max(LEAST_HEIGHT) + 2 * GAP);
    let mut canvas = RgbImage::from_pixel(size.0, size.1, PAPER);
    let scene_at = (COLUMN + 2 * GAP, GAP + (size.1 - 2 * GAP - height) / 2);
    imageops::replace(&mut canvas, &scene.colour, scene_at.0.into(), scene_at.1.into());

    // If not all references can be drawn, found ones take precedence.
    let is_found = |reference: &usize| found.iter().any(|found| found.reference == *reference);
    let others = (0..references.len()).filter(|reference| !is_found(reference));
    let mut drawn: Vec<usize> = found.iter().map(|found| found.reference).chain(others).take(MOST_DRAWN).collect();
    drawn.sort_unstable();
    // A found reference is three times as high as others.
    let share = |reference: &usize| if is_found(reference) { 3 } else { 1 };
    let unit = (size.1 - GAP) / drawn.iter().map(share).sum::<u32>().max(1);
    let mut next_top = GAP;
    let placed: Vec<Placed> = drawn
        .into_iter()
        .map(|reference| {
            let picture = &references[reference].colour;
            let [wide, tall] = [picture.width(), picture.height()].map(f64::from);
            let room = share(&reference) * unit;
            let factor = (f64::from(COLUMN) / wide).min(f64::from(room.saturating_sub(GAP + TEXT).max(8)) / tall);
            let [small_wide, small_tall] = [wide, tall].map(|side| ((side * factor) as u32).max(1));
            let (left, top) = (GAP + (COLUMN - small_wide.min(COLUMN)) / 2, next_top);
            next_top += small_tall + GAP + TEXT;
            let mut small = imageops::resize(picture, small_wide, small_tall, FilterType::Triangle);
            if !is_found(&reference) {
                small.pixels_mut().flat_map(|pixel| &mut pixel.0).for_each(|channel| *channel = *channel / 2 + 14);
            }
            imageops::replace(&mut canvas, &small, left.into(), top.into());
            Placed { reference, left: left.into(), top: top.into(), factor }
        })
        .collect();

    let root = BitMapBackend::with_buffer(&mut canvas, size).into_drawing_area();
    for Placed { reference, left, top, factor } in &placed {
        let Some(rank) = found.iter().position(|found| found.reference == *reference) else { continue };
        let (found, colour) = (&found[rank], COLOURS[rank % COLOURS.len()]);
        let here = |[x, y]: [f64; 2]| ((left + x * factor) as i32, (top + y * factor) as i32);
        let there = |[x, y]: [f64; 2]| (scene_at.0 as i32 + x.round() as i32, scene_at.1 as i32 + y.round() as i32);
        let step = found.pairs.len().div_ceil(MOST_LINES).max(1);
        for [from, to] in found.pairs.iter().step_by(step) {
            let (from, to) = (here(from.map(f64::from)), there(to.map(f64::from)));
            root.draw(&PathElement::new([from, to], colour.mix(0.35)))?;
        }
        for [from, to] in &found.pairs {
            root.draw(&Circle::new(there(to.map(f64::from)), 3, colour.stroke_width(1)))?;
            root.draw(&Circle::new(here(from.map(f64::from)), 2, colour.filled()))?;
        }
        let (width, height) = references[*reference].colour.dimensions();
        let corners = found.pose.corners(frame_of(width as f32, height as f32)).map(there);
        let own = [[0.0, 0.0], [width.into(), 0.0], [width.into(), height.into()], [0.0, height.into()]].map(here);
        for outline in [corners, own] {
            let closed: Vec<(i32, i32)> = outline.into_iter().chain([outline[0]]).collect();
            root.draw(&PathElement::new(closed.clone(), BLACK.stroke_width(5)))?;
            root.draw(&PathElement::new(closed, colour.stroke_width(3)))?;
        }
    }
    for Placed { reference, left, top, factor } in &placed {
        let picture = &references[*reference];
        let below = top + f64::from(picture.colour.height()) * factor + 4.0;
        let colour = found.iter().position(|found| found.reference == *reference).map(|rank| COLOURS[rank % 4]);
        let style = ("sans-serif", 15).into_font().color(&colour.unwrap_or(RGBColor(150, 150, 150)));
        root.draw(&Text::new(picture.name.as_str(), (*left as i32, below as i32), style))?;
    }
    root.present()?;
    drop(root);
    Ok(canvas)
}
