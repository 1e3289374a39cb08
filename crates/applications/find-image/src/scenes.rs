//! Made-up sets of points, and scenes made from them.

use super::points::{Points, Similarity, frame_of, middle};
use rand_distr::{Distribution, Normal};
use rand_xoshiro::Xoshiro256StarStar as Random;
use rand_xoshiro::rand_core::Rng;
use warpnest_applications_kernels::images::Frame;

/// The width and height of the made-up pictures.
pub const SIDE: f32 = 1000.0;

/// The way in which points are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Occlusion {
    /// All points on one side of a random line, as if something covered the picture.
    Side,
    /// Randomly chosen points, as if a detector missed them.
    Scattered,
}

/// The distortion that turns a picture's points into a scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distortion {
    pub degrees: f64,
    pub scale: f64,
    pub occlusion: Occlusion,
    /// The share of the picture's points that are lost.
    pub occluded: f64,
    /// The share of the scene's points that do not come from the picture. They lie in its area.
    pub clutter: f64,
    /// The standard deviation of the noise of a coordinate, in mean distances of the picture's
    /// points.
    pub noise: f64,
}

/// Returns a random number from 0 up to 1 (exclusive).
pub fn unit(random: &mut Random) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Returns a set of uniformly distributed points.
pub fn random_points(number: usize, random: &mut Random) -> Points {
    let points = (0..number).map(|_| [(); 2].map(|()| unit(random) as f32 * SIDE)).collect();
    Points { points, frame: frame_of(SIDE, SIDE) }
}

/// Returns a scene that a picture fills, and the pose of the picture in it.
pub fn scene(picture: &Points, distortion: &Distortion, random: &mut Random) -> (Points, Similarity) {
    let turned = Similarity::about(distortion.degrees, distortion.scale, middle(picture.frame), [0.0; 2]);
    let corners = turned.corners(picture.frame);
    let far = |axis: usize| corners.iter().map(|corner| corner[axis]).fold(0.0, f64::max);
    // The frame is the bounding box of the turned picture, whose middle is at the origin.
    let (right, bottom) = (far(0), far(1));
    let pose = Similarity { shift: [turned.shift[0] + right, turned.shift[1] + bottom], ..turned };

    let mut kept: Vec<[f64; 2]> = picture.points.iter().map(|point| pose.at(point.map(f64::from))).collect();
    let number = ((1.0 - distortion.occluded) * kept.len() as f64).round() as usize;
    shuffle(&mut kept, random);
    if distortion.occlusion == Occlusion::Side {
        let (sin, cos) = (std::f64::consts::TAU * unit(random)).sin_cos();
        kept.sort_by(|a, b| (a[0] * cos + a[1] * sin).total_cmp(&(b[0] * cos + b[1] * sin)));
    }
    kept.truncate(number);

    let area = f64::from(picture.frame.width) * f64::from(picture.frame.height);
    let distance = (area / picture.points.len().max(1) as f64).sqrt();
    // `Normal` accepts a deviation only if it is finite and not negative.
    if let Ok(normal) = Normal::new(0.0, distortion.noise * distance * distortion.scale) {
        kept.iter_mut().flatten().for_each(|x| *x += normal.sample(random));
    }
    let clutter = (number as f64 * distortion.clutter / (1.0 - distortion.clutter)).round() as usize;
    // Clutter lies in the picture's area, among the picture's points.
    let Frame { left, top, width, height } = picture.frame;
    kept.extend((0..clutter).map(|_| {
        let at = [left as f64 + width as f64 * unit(random), top as f64 + height as f64 * unit(random)];
        pose.at(at)
    }));
    shuffle(&mut kept, random);
    let points = kept.into_iter().map(|point| point.map(|x| x as f32)).collect();
    (Points { points, frame: frame_of(2.0 * right as f32, 2.0 * bottom as f32) }, pose)
}

/// Puts items in random order.
fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for i in (1..items.len()).rev() {
        items.swap(i, (random.next_u64() % (i as u64 + 1)) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn a_scene_has_the_points_that_its_distortion_says() {
        let random = &mut Random::seed_from_u64(1);
        let picture = random_points(1000, random);
        for occlusion in [Occlusion::Side, Occlusion::Scattered] {
            let distortion =
                Distortion { degrees: 30.0, scale: 0.5, occlusion, occluded: 0.2, clutter: 0.2, noise: 0.0 };
            let (scene, pose) = scene(&picture, &distortion, random);
            assert_eq!(scene.points.len(), 1000);
            let expected: Vec<[f64; 2]> = picture.points.iter().map(|point| pose.at(point.map(f64::from))).collect();
            let is_expected = |point: &&[f32; 2]| {
                expected.iter().any(|at| (at[0] - point[0] as f64).hypot(at[1] - point[1] as f64) < 0.01)
            };
            assert_eq!(scene.points.iter().filter(is_expected).count(), 800);
        }
    }
}
