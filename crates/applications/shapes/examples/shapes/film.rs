//! The film: a PNG file for each frame, and an animated PNG file (APNG) that browsers play.

use std::{
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
};

use anyhow::Context;
use warpnest_shapes::lettering::Lettering;
use warpnest_shapes::picture::BODIES;

use super::{cannot_write, make_folder};

/// The name of the animated file.
pub const ANIMATION: &str = "shapes.png";
/// The number of frames that a browser shows per second.
const FRAMES_PER_SECOND: u16 = 20;

/// A film that is being written.
pub struct Film {
    folder: PathBuf,
    size: (usize, usize),
    animation: png::Writer<BufWriter<File>>,
    lettering: Lettering,
    frames: usize,
}

impl Film {
    /// Begins a film of pictures of this size in a folder.
    pub fn create(folder: &Path, size: (usize, usize), frames: u32) -> anyhow::Result<Self> {
        make_folder(folder)?;
        let path = folder.join(ANIMATION);
        let mut encoder = encoder(&path, size)?;
        encoder.set_animated(frames, 0)?;
        encoder.set_frame_delay(1, FRAMES_PER_SECOND)?;
        let animation = encoder.write_header().with_context(|| cannot_write(&path))?;
        Ok(Self { folder: folder.into(), size, animation, lettering: Lettering::new()?, frames: 0 })
    }

    /// Adds a frame of three panels side by side, with a line of text below.
    pub fn add(&mut self, panels: &[Vec<u8>; 3], caption: &str) -> anyhow::Result<()> {
        let (width, height) = self.size;
        let mut pixels = Vec::with_capacity(3 * width * height);
        for row in 0..height {
            for panel in panels {
                pixels.extend_from_slice(&panel[width * row..][..width]);
            }
        }
        let letters = (height as u32 / 24).max(8);
        for (i, body) in BODIES.into_iter().enumerate() {
            let at = ((i * height) as i32 + letters as i32, letters as i32);
            self.lettering.write(&mut pixels, self.size, body.name(), at, letters)?;
        }
        self.lettering.write(
            &mut pixels,
            self.size,
            caption,
            (letters as i32, height as i32 - 2 * letters as i32),
            letters * 4 / 5,
        )?;

        let path = self.folder.join(format!("frame-{:04}.png", self.frames));
        write_png(&path, self.size, &pixels)?;
        self.frames += 1;
        self.animation.write_image_data(&pixels).with_context(|| cannot_write(&self.folder.join(ANIMATION)))
    }

    /// Ends the film.
    pub fn finish(self) -> anyhow::Result<()> {
        self.animation.finish().with_context(|| cannot_write(&self.folder.join(ANIMATION)))
    }
}

/// Writes a picture with three bytes per pixel.
pub fn write_png(path: &Path, size: (usize, usize), pixels: &[u8]) -> anyhow::Result<()> {
    let mut writer = encoder(path, size)?.write_header().with_context(|| cannot_write(path))?;
    writer.write_image_data(pixels).and_then(|()| writer.finish()).with_context(|| cannot_write(path))
}

fn encoder(path: &Path, (width, height): (usize, usize)) -> anyhow::Result<png::Encoder<'static, BufWriter<File>>> {
    let file = File::create(path).with_context(|| cannot_write(path))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    Ok(encoder)
}
