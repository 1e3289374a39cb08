//! Text on pictures, in a font that is part of the program.

use std::sync::OnceLock;

use plotters::prelude::{BitMapBackend, IntoDrawingArea, IntoFont, Text, WHITE};
use plotters::style::{Color, FontStyle, register_font};
use thiserror::Error;

/// The reason why text cannot be written.
#[derive(Debug, Error)]
pub enum LetteringError {
    #[error("the program's font is damaged; build the program again")]
    Font,
    #[error("the words cannot be drawn: {0}")]
    Draw(String),
}

/// The program's font, registered for use. Plots use it, too, under the name "sans-serif".
#[derive(Debug)]
pub struct Lettering(());

impl Lettering {
    /// Registers the font.
    pub fn new() -> Result<Self, LetteringError> {
        static REGISTERED: OnceLock<bool> = OnceLock::new();
        let register = || register_font("sans-serif", FontStyle::Normal, dejavu::sans_condensed::regular()).is_ok();
        if *REGISTERED.get_or_init(register) { Ok(Self(())) } else { Err(LetteringError::Font) }
    }

    /// Writes white letters of this height on a picture with three bytes per pixel. Their upper
    /// left corner is at `at`.
    pub fn write(
        &self,
        pixels: &mut [u8],
        (width, height): (usize, usize),
        text: &str,
        at: (i32, i32),
        letters: u32,
    ) -> Result<(), LetteringError> {
        let failed = |error: &dyn std::fmt::Display| LetteringError::Draw(error.to_string());
        let area = BitMapBackend::with_buffer(pixels, (width as u32, height as u32)).into_drawing_area();
        let style = ("sans-serif", letters).into_font().color(&WHITE.mix(0.85));
        area.draw(&Text::new(text, at, style)).map_err(|error| failed(&error))?;
        area.present().map_err(|error| failed(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_written_where_they_belong() {
        let mut pixels = vec![0; 3 * 100 * 40];
        Lettering::new().unwrap().write(&mut pixels, (100, 40), "voxels", (10, 20), 12).unwrap();
        let bright = |rows: std::ops::Range<usize>| pixels[300 * rows.start..300 * rows.end].iter().any(|x| *x > 100);
        assert!(!bright(0..18) && bright(20..36));
        // Text that does not fit is cut off.
        Lettering::new().unwrap().write(&mut pixels, (100, 40), "voxels", (-5, 38), 200).unwrap();
    }
}
