//! Tests of counting sorted votes and choosing hypotheses, with many counts per pose.

use std::collections::BTreeMap;
use warpnest::{Buffer, Device};
use warpnest_applications_kernels::images::{
    Choose, ChooseParams, HYPOTHESES, MIN_VOTES, NO_VOTE, POSE_BITS, REFERENCE_BITS, Tally, TallyParams,
};
use warpnest_tests::{at, parameterized};

fn key(scene: u64, reference: u64, pose: u64) -> u64 {
    scene << REFERENCE_BITS | reference << POSE_BITS | pose
}

/// Checks `best` and the hypotheses. `runs` has the number of votes for each scene, reference and
/// pose.
fn check(device: &Device, [scenes, references]: [u64; 2], runs: &[([u64; 3], u64)], no_votes: usize) {
    let mut keys: Vec<u64> = Vec::new();
    for &([scene, reference, pose], votes) in runs {
        keys.resize(keys.len() + votes as usize, key(scene, reference, pose));
    }
    keys.sort_unstable();
    keys.resize(keys.len() + no_votes, NO_VOTE);

    let mut most = BTreeMap::<[u64; 2], (u64, u64)>::new();
    for &([scene, reference, pose], votes) in runs.iter().filter(|run| run.1 >= MIN_VOTES) {
        let most = most.entry([scene, reference]).or_default();
        *most = (*most).max((votes, pose));
    }
    let best_of = |scene, reference| most.get(&[scene, reference]).copied();
    let words = |scene| (0..references).map(move |it| best_of(scene, it).map_or(0, |(n, pose)| n << POSE_BITS | pose));
    let expected_best: Vec<u64> = (0..scenes).flat_map(words).collect();
    let chosen = |scene| {
        let mut found: Vec<(u64, u64, u64)> =
            (0..references).filter_map(|it| best_of(scene, it).map(|(n, pose)| (n, it, pose))).collect();
        found.sort_by_key(|&(votes, reference, _)| (std::cmp::Reverse(votes), reference));
        let keys = found.into_iter().map(move |(_, reference, pose)| key(scene, reference, pose));
        keys.chain([NO_VOTE; HYPOTHESES]).take(HYPOTHESES).collect::<Vec<u64>>()
    };
    let expected: Vec<u64> = (0..scenes).flat_map(chosen).collect();

    device.load(&warpnest_find_image::KERNELS).unwrap();
    let (stream, votes) = (device.default_stream(), keys.len() as u64);
    let keys = Buffer::from_slice(device, &keys).unwrap();
    let mut best = Buffer::<u64>::zeroed(device, (scenes * references) as usize).unwrap();
    let mut hypotheses = Buffer::from_slice(device, &vec![77u64; scenes as usize * HYPOTHESES]).unwrap();
    // SAFETY: keys are in order. There is a word for each scene and reference, and for each
    // hypothesis of a scene.
    unsafe {
        stream
            .launch(votes as usize, |uses| Tally {
                keys: uses.read(&keys),
                best: uses.write(&mut best),
                plan: TallyParams { votes, references },
            })
            .unwrap();
        stream
            .launch(scenes as usize, |uses| Choose {
                best: uses.read(&best),
                hypotheses: uses.write(&mut hypotheses),
                plan: ChooseParams { scenes, references },
            })
            .unwrap();
    }
    assert_eq!(best.download(stream).unwrap(), expected_best);
    assert_eq!(hypotheses.download(stream).unwrap(), expected);
}

#[parameterized]
fn votes_are_counted_and_the_most_are_chosen(device: &Device) {
    let last_pose = (1 << POSE_BITS) - 1;
    // The counts of votes are around the minimum, around powers of two, and larger than a block.
    let every: Vec<([u64; 3], u64)> = (0..20)
        .chain([31, 32, 33, 64, 255, 256, 300])
        .enumerate()
        .map(|(i, n)| ([0, i as u64 % 9, i as u64], n))
        .collect();
    let ties = [([0, 0, 5], 4), ([0, 0, 6], 4), ([0, 1, 5], 4), ([0, 2, last_pose], 9), ([0, 3, 0], 3), ([0, 4, 7], 2)];
    let more_ties = (0..12).map(|i| ([i / 6, i % 6, i], 3 + i % 2)).collect::<Vec<_>>();
    let at_the_ends = [([0, 0, 0], 3), ([2, 6, last_pose], 3)];
    for (name, sizes, runs) in [
        ("every number", [1, 9], &every[..]),
        ("ties", [1, 5], &ties),
        ("two scenes", [2, 6], &more_ties),
        ("the ends", [3, 7], &at_the_ends),
        ("none", [70, 2], &[]),
    ] {
        let _at = at(name);
        check(device, sizes, runs, 0);
        check(device, sizes, runs, 3);
    }
}
