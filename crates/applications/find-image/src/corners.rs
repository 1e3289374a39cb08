//! Interest points: the corners of Harris and Stephens ("A combined corner and edge detector",
//! 1988), with the smaller eigenvalue of Shi and Tomasi ("Good features to track", 1994) as their
//! strength.

use super::points::{Points, frame_of};

/// A greyscale picture with values from 0 to 1, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Grey {
    pub width: usize,
    pub height: usize,
    pub pixels: Vec<f32>,
}

/// The minimum strength of a corner, in a picture whose values go from black to white.
const LEAST: f32 = 2e-4;
/// The minimum strength of a corner, as a share of the strongest corner's strength.
const LEAST_SHARE: f32 = 0.01;
/// The minimum distance between corners along an axis, in pixels.
const APART: usize = 4;

impl Grey {
    /// Returns the value at a pixel. Outside the picture this is the value of the nearest pixel
    /// inside.
    fn at(&self, x: isize, y: isize) -> f32 {
        let (x, y) = (x.clamp(0, self.width as isize - 1), y.clamp(0, self.height as isize - 1));
        self.pixels[y as usize * self.width + x as usize]
    }

    /// Returns the picture after two passes of a binomial filter of five pixels along both axes.
    pub fn smoothed(&self) -> Grey {
        let once = self.smoothed_along().smoothed_down();
        once.smoothed_along().smoothed_down()
    }

    fn smoothed_along(&self) -> Grey {
        let mut pixels = Vec::with_capacity(self.pixels.len());
        let mut padded = Vec::new();
        for row in self.pixels.chunks(self.width.max(1)) {
            padded.clear();
            padded.extend([row[0]; 2]);
            padded.extend(row);
            padded.extend([row[row.len() - 1]; 2]);
            pixels.extend(padded.windows(5).map(|near| binomial([near[0], near[1], near[2], near[3], near[4]])));
        }
        Grey { pixels, ..*self }
    }

    fn smoothed_down(&self) -> Grey {
        let mut pixels = Vec::with_capacity(self.pixels.len());
        for y in 0..self.height as isize {
            let row = |i: isize| {
                let y = (y + i).clamp(0, self.height as isize - 1) as usize;
                &self.pixels[y * self.width..][..self.width]
            };
            let rows = [-2, -1, 0, 1, 2].map(row);
            pixels.extend((0..self.width).map(|x| binomial(rows.map(|row| row[x]))));
        }
        Grey { pixels, ..*self }
    }

    fn map(&self, value: impl Fn(isize, isize) -> f32) -> Grey {
        let pixels = (0..self.height as isize).flat_map(|y| (0..self.width as isize).map(move |x| (x, y)));
        Grey { pixels: pixels.map(|(x, y)| value(x, y)).collect(), ..*self }
    }

    /// Returns the product of two pictures, pixel by pixel.
    fn times(&self, other: &Grey) -> Grey {
        Grey { pixels: self.pixels.iter().zip(&other.pixels).map(|(a, b)| a * b).collect(), ..*self }
    }

    /// Returns the picture scaled down by a factor below 1; each new pixel is the mean of its area.
    pub fn scaled(&self, factor: f32) -> Grey {
        let size = |length: usize| ((length as f32 * factor).round() as usize).max(1);
        let (width, height) = (size(self.width), size(self.height));
        let row = |y: usize| means(&self.pixels[y * self.width..][..self.width], width);
        let rows: Vec<Vec<f32>> = (0..self.height).map(row).collect();
        let mut pixels = vec![0.0; width * height];
        for x in 0..width {
            let column: Vec<f32> = rows.iter().map(|row| row[x]).collect();
            means(&column, height).into_iter().enumerate().for_each(|(y, mean)| pixels[y * width + x] = mean);
        }
        Grey { width, height, pixels }
    }
}

/// Returns the mean of five pixels with binomial weights.
fn binomial([a, b, c, d, e]: [f32; 5]) -> f32 {
    (a + e) * (1.0 / 16.0) + (b + d) * (4.0 / 16.0) + c * (6.0 / 16.0)
}

/// Returns the mean of each of `parts` equal parts of a row.
fn means(row: &[f32], parts: usize) -> Vec<f32> {
    let length = row.len() as f32 / parts as f32;
    let mean = |part: usize| {
        let (start, end) = (part as f32 * length, (part + 1) as f32 * length);
        let (mut sum, mut weights) = (0.0, 0.0);
        let first = start as usize;
        for (i, value) in row.iter().enumerate().take(end.ceil() as usize).skip(first) {
            let weight = (end.min(i as f32 + 1.0) - start.max(i as f32)).max(0.0);
            (sum, weights) = (sum + weight * value, weights + weight);
        }
        sum / f32::max(weights, f32::MIN_POSITIVE)
    };
    (0..parts).map(mean).collect()
}

/// Finds the `most` strongest corners, to fractions of a pixel.
pub fn corners(picture: &Grey, most: usize) -> Points {
    let frame = frame_of(picture.width as f32, picture.height as f32);
    if picture.pixels.is_empty() {
        return Points { points: Vec::new(), frame };
    }
    let strengths = strengths(picture);
    let least = LEAST.max(LEAST_SHARE * strengths.pixels.iter().copied().fold(0.0, f32::max));
    let mut found: Vec<(f32, [f32; 2])> = Vec::new();
    for y in 0..picture.height as isize {
        for x in 0..picture.width as isize {
            let strength = strengths.at(x, y);
            if strength > least && is_greatest(&strengths, x, y) {
                let (left, right) = (strengths.at(x - 1, y), strengths.at(x + 1, y));
                let (above, below) = (strengths.at(x, y - 1), strengths.at(x, y + 1));
                // Pixel (0, 0) has its middle at (0.5, 0.5).
                let at = [x as f32 + 0.5 + peak(left, strength, right), y as f32 + 0.5 + peak(above, strength, below)];
                found.push((strength, at));
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.truncate(most);
    Points { points: found.into_iter().map(|(_, at)| at).collect(), frame }
}

/// Returns the smaller eigenvalue of the structure tensor around each pixel.
fn strengths(picture: &Grey) -> Grey {
    let smooth = picture.smoothed();
    let along = smooth.map(|x, y| (smooth.at(x + 1, y) - smooth.at(x - 1, y)) / 2.0);
    let down = smooth.map(|x, y| (smooth.at(x, y + 1) - smooth.at(x, y - 1)) / 2.0);
    let product = |a: &Grey, b: &Grey| a.times(b).smoothed();
    let (xx, xy, yy) = (product(&along, &along), product(&along, &down), product(&down, &down));
    let smaller = |((xx, xy), yy): ((&f32, &f32), &f32)| {
        let half = (xx - yy) / 2.0;
        (xx + yy) / 2.0 - (half * half + xy * xy).sqrt()
    };
    let pixels = xx.pixels.iter().zip(&xy.pixels).zip(&yy.pixels).map(smaller).collect();
    Grey { pixels, ..*picture }
}

/// Returns whether a pixel's value is the greatest (the first one if equal) within [`APART`]
/// pixels.
fn is_greatest(strengths: &Grey, x: isize, y: isize) -> bool {
    let (own, apart) = (strengths.at(x, y), APART as isize);
    let rows = (y - apart).max(0)..=(y + apart).min(strengths.height as isize - 1);
    rows.into_iter().all(|other_y| {
        ((x - apart).max(0)..=(x + apart).min(strengths.width as isize - 1)).all(|other_x| {
            let other = strengths.at(other_x, other_y);
            other < own || other == own && (other_y, other_x) >= (y, x)
        })
    })
}

/// Returns the vertex of the parabola through three values at -1, 0 and 1, the middle one the
/// greatest.
fn peak(before: f32, at: f32, after: f32) -> f32 {
    let bend = before + after - 2.0 * at;
    if bend < 0.0 { ((before - after) / (2.0 * bend)).clamp(-0.5, 0.5) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(width: usize, height: usize, value: impl Fn(usize, usize) -> f32) -> Grey {
        let pixels = (0..width * height).map(|i| value(i % width, i / width)).collect();
        Grey { width, height, pixels }
    }

    #[test]
    fn a_square_has_four_corners() {
        let square = drawn(60, 50, |x, y| if (20..40).contains(&x) && (15..35).contains(&y) { 1.0 } else { 0.0 });
        let mut found = corners(&square, 100).points;
        found.sort_by(|a, b| a[1].total_cmp(&b[1]).then(a[0].total_cmp(&b[0])));
        assert_eq!(found.len(), 4, "{found:?}");
        for expected in [[20.0, 15.0], [40.0, 15.0], [20.0, 35.0], [40.0, 35.0f32]] {
            let is_near = |at: &[f32; 2]| (at[0] - expected[0]).abs() < 2.5 && (at[1] - expected[1]).abs() < 2.5;
            assert_eq!(found.iter().filter(|at| is_near(at)).count(), 1, "{expected:?} {found:?}");
        }
        assert_eq!(corners(&square, 3).points.len(), 3);
    }

    #[test]
    fn pictures_without_corners_have_none() {
        for (width, height) in [(0, 0), (1, 1), (1, 40), (300, 2), (50, 50)] {
            assert!(corners(&drawn(width, height, |_, _| 0.7), 10).points.is_empty(), "{width} x {height}");
        }
        assert!(corners(&drawn(50, 50, |x, _| if x < 25 { 0.0 } else { 1.0 }), 10).points.is_empty(), "an edge");
    }

    #[test]
    fn scaling_down_keeps_the_mean() {
        let picture = drawn(91, 64, |x, y| ((x * 7 + y * 13) % 32) as f32 / 32.0);
        let small = picture.scaled(0.37);
        assert_eq!((small.width, small.height), (34, 24));
        let mean = |of: &Grey| of.pixels.iter().sum::<f32>() / of.pixels.len() as f32;
        assert!((mean(&picture) - mean(&small)).abs() < 1e-2);
    }
}
