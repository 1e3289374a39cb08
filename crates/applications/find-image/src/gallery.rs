//! Reference pictures and the search for them in scenes, at several scales of both.

use super::corners::{Grey, corners};
use super::finder::Finder;
use super::hypothesis::Hypothesis;
use super::points::{Points, Similarity, frame_of, middle};
use super::sets::FindError;
use warpnest::Device;
use warpnest_applications_kernels::images::TOLERANCE;

/// The scales at which interest points of references and scenes are searched. A corner looks much
/// the same over about an octave.
const SCALES: [f32; 4] = [1.0, 0.7, 0.5, 0.35];
/// The maximum number of interest points of a picture at one scale.
const MOST_CORNERS: usize = 1000;
/// The minimum number of interest points of a reference.
pub const LEAST_CORNERS: usize = 24;

/// A reference that a scene has been found to show.
#[derive(Clone, Debug)]
pub struct Match {
    /// The index of the reference.
    pub reference: usize,
    pub pose: Similarity,
    /// The matching points of the reference and the scene.
    pub pairs: Vec<[[f32; 2]; 2]>,
    pub hypothesis: Hypothesis,
}

/// Returns the interest points of a picture at all scales, in coordinates of the whole picture.
pub fn views(picture: &Grey) -> Vec<Points> {
    let frame = frame_of(picture.width as f32, picture.height as f32);
    let view = |scale: f32| {
        let small = picture.scaled(scale);
        let found = corners(&small, MOST_CORNERS);
        let back = [frame.width / found.frame.width.max(1.0), frame.height / found.frame.height.max(1.0)];
        Points { points: found.points.into_iter().map(|[x, y]| [x * back[0], y * back[1]]).collect(), frame }
    };
    SCALES.into_iter().map(view).collect()
}

/// References on a device.
pub struct Gallery {
    finder: Finder,
    /// The views of all references, one reference after the other.
    views: Vec<Points>,
}

impl Gallery {
    /// Builds the finder from the views of each reference.
    pub fn new(device: &Device, views: Vec<Vec<Points>>) -> Result<Self, FindError> {
        let views: Vec<Points> = views.into_iter().flatten().collect();
        Ok(Self { finder: Finder::new(device, &views)?, views })
    }

    /// Returns the number of interest points of all references, and the number of distinct keys.
    pub fn size(&self) -> (usize, usize) {
        (self.views.iter().map(|view| view.points.len()).sum(), self.finder.features().1)
    }

    /// Returns the references that a scene shows, in descending order of matches.
    pub fn find(&self, scene: &[Points]) -> Result<Vec<Match>, FindError> {
        let mut best: Vec<(usize, Hypothesis)> = Vec::new();
        for (view, hypotheses) in self.finder.find(scene)?.into_iter().enumerate() {
            best.extend(hypotheses.into_iter().filter(Hypothesis::is_claimed).map(|hypothesis| (view, hypothesis)));
        }
        best.sort_by_key(|(_, hypothesis)| std::cmp::Reverse(hypothesis.matches));
        let mut found: Vec<Match> = Vec::new();
        for (view, hypothesis) in best {
            let reference = hypothesis.reference / SCALES.len();
            if found.iter().all(|found| found.reference != reference) {
                let pairs = pairs(&self.views[hypothesis.reference], &scene[view], &hypothesis);
                let pose = pose_of(&hypothesis, &self.views[hypothesis.reference]);
                found.push(Match { reference, pose, pairs, hypothesis });
            }
        }
        Ok(found)
    }
}

/// Returns the pose of a hypothesis.
pub fn pose_of(hypothesis: &Hypothesis, reference: &Points) -> Similarity {
    let factor = hypothesis.factor.map(f64::from);
    let turned = Similarity { factor, shift: [0.0; 2] };
    let ([x, y], to) = (turned.at(middle(reference.frame)), hypothesis.middle.map(f64::from));
    Similarity { factor, shift: [to[0] - x, to[1] - y] }
}

/// Returns each point of the reference with the scene's nearest point, if that is within the
/// tolerance.
fn pairs(reference: &Points, scene: &Points, hypothesis: &Hypothesis) -> Vec<[[f32; 2]; 2]> {
    let pose = pose_of(hypothesis, reference);
    let tolerance = f64::from(TOLERANCE * scene.frame.width * scene.frame.height) / scene.points.len() as f64;
    let nearest = |from: &[f32; 2]| {
        let [x, y] = pose.at(from.map(f64::from));
        let square = |to: &[f32; 2]| (f64::from(to[0]) - x).powi(2) + (f64::from(to[1]) - y).powi(2);
        let to = scene.points.iter().min_by(|a, b| square(a).total_cmp(&square(b)))?;
        (square(to) <= tolerance).then_some([*from, *to])
    };
    reference.points.iter().filter_map(nearest).collect()
}

#[cfg(test)]
mod tests {
    use super::super::drawn;
    use super::*;

    #[test]
    fn made_up_references_are_found_where_they_are() {
        let references = drawn::references();
        let of_references: Vec<Vec<Points>> = references.iter().map(|it| views(&it.grey)).collect();
        let gallery = Gallery::new(&Device::cpu(), of_references.clone()).unwrap();
        for seed in [0, 3] {
            let (scene, of, pose) = drawn::scene(&references, seed);
            let found = gallery.find(&views(&scene.grey)).unwrap();
            assert_eq!(found.first().map(|found| found.reference), Some(of), "seed {seed}");
            assert_eq!(found.len(), 1, "seed {seed}");
            let frame = frame_of(references[of].grey.width as f32, references[of].grey.height as f32);
            for (expected, corner) in pose.corners(frame).iter().zip(found[0].pose.corners(frame)) {
                assert!((expected[0] - corner[0]).hypot(expected[1] - corner[1]) < 6.0, "seed {seed}: {corner:?}");
            }
            // Nothing is found if the scene shows none of the references.
            let others = of_references.iter().enumerate().filter(|(i, _)| *i != of).map(|(_, views)| views.clone());
            let others = Gallery::new(&Device::cpu(), others.collect()).unwrap();
            assert!(others.find(&views(&scene.grey)).unwrap().is_empty(), "seed {seed}");
        }
    }

    #[test]
    fn scenes_of_one_colour_or_one_pixel_show_nothing() {
        let references = drawn::references();
        let gallery = Gallery::new(&Device::cpu(), vec![views(&references[0].grey)]).unwrap();
        for (width, height) in [(1, 1), (300, 200), (1, 500)] {
            let plain = Grey { width, height, pixels: vec![0.4; width * height] };
            assert!(gallery.find(&views(&plain)).unwrap().is_empty());
        }
    }
}
