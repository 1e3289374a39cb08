//! A blur for the hollows and the glow in the examples' pictures.

use rayon::prelude::*;

/// Returns the image after three passes of an average over a square around every pixel, which is
/// close to a Gaussian blur.
pub fn blur(mut image: Vec<f32>, (width, height): (usize, usize), radius: usize) -> Vec<f32> {
    for (width, height) in [(width, height), (height, width)] {
        let mut turned = vec![0.0; image.len()];
        image.par_chunks_mut(width).for_each(|row| {
            for _ in 0..3 {
                let old = row.to_vec();
                let at = |i: isize| old[i.clamp(0, width as isize - 1) as usize];
                let radius = radius as isize;
                let mut total: f32 = (-radius..=radius).map(at).sum();
                for (i, pixel) in row.iter_mut().enumerate() {
                    *pixel = total / (2 * radius + 1) as f32;
                    total += at(i as isize + radius + 1) - at(i as isize - radius);
                }
            }
        });
        turned.par_chunks_mut(height).enumerate().for_each(|(column, out)| {
            out.iter_mut().zip(image[column..].iter().step_by(width)).for_each(|(to, from)| *to = *from);
        });
        image = turned;
    }
    image
}
