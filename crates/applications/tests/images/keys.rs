//! Tests of the keys of features, with sets of many sizes.

use super::plain;
use super::search::{Sets, random_points};
use warpnest_applications_kernels::images::{FEATURES, FIRST_FAR, NEIGHBOURS, NO_REFERENCE_KEY};
use warpnest_tests::{at, on_all};

#[test]
fn keys_are_those_of_the_plain_version() {
    let line = |points: usize| (0..points).map(|i| [3.0 * i as f32, 7.0 - i as f32]).collect::<Vec<_>>();
    // Many points of a grid have equal distances.
    let grid = |points: usize| (0..points).map(|i| [(i % 5) as f32, (i / 5) as f32]).collect::<Vec<_>>();
    let one_place = |points: usize| vec![[1.5f32, -2.5]; points];
    let mut sets: Vec<Vec<[f32; 2]>> = [0, 1, 4, 5, 7, 8, 9, 33].map(|points| random_points(points, 1000.0)).into();
    sets.extend([line(9), grid(25), one_place(9), random_points(40, 1e-3), random_points(20, 3e4), vec![]]);
    // With five points in one place and other points elsewhere, some features have a basis.
    sets.push(one_place(5).into_iter().chain(random_points(4, 10.0)).collect());
    on_all(|device| {
        let found = Sets::hashed(device, &sets, NO_REFERENCE_KEY);
        let (keys, far) = found.downloaded(device);
        let (total, mut number) = (sets.iter().map(Vec::len).sum::<usize>(), 0);
        assert_eq!((keys.len(), far.len()), (total * FEATURES, total * (NEIGHBOURS - FIRST_FAR)));
        for (set, points) in sets.iter().enumerate() {
            for point in 0..points.len() {
                let _at = at(format!("point {point} of set {set}"));
                let expected = plain::features(points, point);
                let key = |feature: usize| keys[feature * total + number];
                let expected_keys = expected.iter().map(|feature| feature.map_or(NO_REFERENCE_KEY, |it| it.key));
                assert_eq!((0..FEATURES).map(key).collect::<Vec<_>>(), expected_keys.collect::<Vec<_>>());
                let near = plain::neighbours(points, point);
                for (rank, &(_, neighbour)) in near.iter().enumerate().skip(FIRST_FAR) {
                    assert_eq!(far[(rank - FIRST_FAR) * total + number] as usize, neighbour);
                }
                number += 1;
            }
        }
    });
}
