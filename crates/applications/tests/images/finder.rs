//! Tests that compare the results of whole searches with the plain version.

use super::plain::{Plain, Set};
use rand_xoshiro::Xoshiro256StarStar as Random;
use rand_xoshiro::rand_core::SeedableRng;
use warpnest::Device;
use warpnest_find_image::finder::{Finder, MOST_ALIKE};
use warpnest_find_image::hypothesis::Hypothesis;
use warpnest_find_image::points::{self, Points};
use warpnest_find_image::scenes::{self, Distortion, Occlusion};

fn plain(references: &[Points]) -> Plain {
    Plain::new(references.iter().map(set).collect(), MOST_ALIKE as usize)
}

fn set(points: &Points) -> Set {
    (points.points.clone(), points.frame)
}

#[test]
fn hypotheses_are_those_of_the_plain_version() {
    let random = &mut Random::seed_from_u64(7);
    let references: Vec<Points> = [300, 5, 0, 200, 1, 120].map(|n| scenes::random_points(n, random)).into();
    let (finder, plain) = (Finder::new(&Device::cpu(), &references).unwrap(), plain(&references));
    let mut asked = vec![Points { points: vec![], ..references[0] }, references[1].clone()];
    for (i, &of) in [0, 3, 5, 0, 3, 5].iter().enumerate() {
        let occlusion = if i % 2 == 0 { Occlusion::Side } else { Occlusion::Scattered };
        let degrees = 61.0 * i as f64;
        let scale = [1.0, 0.3, 2.5][i % 3];
        let distortion = Distortion { degrees, scale, occlusion, occluded: 0.3, clutter: 0.2, noise: 0.01 };
        asked.push(scenes::scene(&references[of], &distortion, random).0);
    }
    asked.push(scenes::random_points(250, random));
    let found = finder.find(&asked).unwrap();
    let expected: Vec<Vec<Hypothesis>> = asked.iter().map(|scene| plain.find(&set(scene))).collect();
    assert_eq!(found, expected);
    assert!(found[0].is_empty() && !found[1].iter().any(Hypothesis::is_claimed));
    for (hypotheses, of) in found[2..8].iter().zip([0, 3, 5, 0, 3, 5]) {
        assert!(hypotheses[0].is_claimed() && hypotheses[0].reference == of, "{hypotheses:?}");
    }
    assert!(!found[8].iter().any(Hypothesis::is_claimed));
}

#[test]
fn points_on_a_grid_or_in_one_place_are_no_trouble() {
    let random = &mut Random::seed_from_u64(8);
    let grid = (0..400).map(|i| [(i % 20) as f32 * 10.0, (i / 20) as f32 * 10.0]).collect();
    let frame = points::frame_of(200.0, 200.0);
    let heap = Points { points: vec![[3.0, 4.0]; 50], frame };
    let nothing = Points { points: vec![[3.0, 4.0]; 50], frame: points::frame_of(0.0, 0.0) };
    let references = [Points { points: grid, frame }, heap, nothing, scenes::random_points(100, random)];
    let (finder, plain) = (Finder::new(&Device::cpu(), &references).unwrap(), plain(&references));
    let found = finder.find(&references).unwrap();
    assert_eq!(found, references.iter().map(|scene| plain.find(&set(scene))).collect::<Vec<_>>());
    assert!(found[3][0].is_claimed() && found[3][0].reference == 3);
    assert_eq!(finder.find(&[]).unwrap(), Vec::<Vec<Hypothesis>>::new());
    assert!(Finder::new(&Device::cpu(), &[]).unwrap().find(&references).unwrap().iter().all(Vec::is_empty));
}

#[test]
fn two_references_in_one_scene_are_both_found() {
    let random = &mut Random::seed_from_u64(9);
    let references: Vec<Points> = (0..8).map(|_| scenes::random_points(200, random)).collect();
    let distortion = |degrees: f64| {
        let occlusion = Occlusion::Side;
        Distortion { degrees, scale: 0.8, occlusion, occluded: 0.3, clutter: 0.1, noise: 0.01 }
    };
    let (mut scene, _) = scenes::scene(&references[6], &distortion(20.0), random);
    let (other, _) = scenes::scene(&references[2], &distortion(-70.0), random);
    scene.points.extend(other.points.iter().map(|[x, y]| [x + scene.frame.width, *y]));
    scene.frame.width += other.frame.width;
    let (finder, plain) = (Finder::new(&Device::cpu(), &references).unwrap(), plain(&references));
    let found = finder.find(std::slice::from_ref(&scene)).unwrap().remove(0);
    assert_eq!(found, plain.find(&set(&scene)));
    let mut claimed: Vec<usize> = found.iter().filter(|it| it.is_claimed()).map(|it| it.reference).collect();
    claimed.sort_unstable();
    assert_eq!(claimed, [2, 6]);
}
