//! Tests of the kernels in sequence, from keys to verified hypotheses, compared with the plain
//! version.

use super::plain::{Plain, Set, Vote as PlainVote};
use gpu_kernels::hash::Divisor;
use rand_xoshiro::Xoshiro256StarStar as Random;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::collections::HashMap;
use warpnest::primitives::{Scratch, exclusive_scan_in_place, sort_pairs};
use warpnest::{Buffer, Device, MultiMap};
use warpnest_applications_kernels::images::{
    Choose, ChooseParams, FEATURES, FIRST_FAR, Frame, HYPOTHESES, Keys, KeysParams, LimitRuns, LimitRunsParams,
    NEIGHBOURS, NO_REFERENCE_KEY, NO_SCENE_KEY, NO_VOTE, POSE_BITS, REFERENCE_BITS, RESULT_WORDS, Tally, TallyParams,
    Verify, VerifyParams, Vote, VoteParams, word_of_point,
};
use warpnest_find_image::finder::{Finder, Work};
use warpnest_find_image::hypothesis::Hypothesis;
use warpnest_find_image::points::Points;
use warpnest_find_image::sets;
use warpnest_tests::planted::Operation::{Allocate, Launch};
use warpnest_tests::planted::{SINGLE_FAULTS, all_failed, in_each_operation, is_planted, planted};
use warpnest_tests::{at, on_all};

/// The maximum features of a key that is used. It is small, so that some keys have more.
const MOST: usize = 3;

/// Sets of points on a device, and the keys and far neighbours that [`Keys`] computes.
pub struct Sets {
    count: usize,
    points: Buffer<u64>,
    sets: Buffer<u32>,
    starts: Buffer<u32>,
    far: Buffer<u32>,
    keys: Buffer<u32>,
}

impl Sets {
    pub fn hashed(device: &Device, sets: &[Vec<[f32; 2]>], no_key: u32) -> Self {
        let words: Vec<u64> = sets.iter().flatten().copied().map(word_of_point).collect();
        let owners = sets.iter().enumerate().flat_map(|(i, set)| vec![i as u32; set.len()]).collect::<Vec<_>>();
        let starts = (0..=sets.len()).map(|i| sets[..i].iter().map(Vec::len).sum::<usize>() as u32);
        let points = words.len();
        device.load(&warpnest_find_image::KERNELS).unwrap();
        let mut found = Self {
            count: sets.len(),
            points: Buffer::from_slice(device, &words).unwrap(),
            sets: Buffer::from_slice(device, &owners).unwrap(),
            starts: Buffer::from_slice(device, &starts.collect::<Vec<_>>()).unwrap(),
            far: Buffer::from_slice(device, &vec![77; points * (NEIGHBOURS - FIRST_FAR)]).unwrap(),
            keys: Buffer::from_slice(device, &vec![77; points * FEATURES]).unwrap(),
        };
        let Self { points: words, sets, starts, far, keys, .. } = &mut found;
        let plan = KeysParams { points: points as u64, no_key, padding: 0 };
        // SAFETY: `starts` has each set's start and end, and `far` and `keys` have an element for
        // each output.
        unsafe {
            device.default_stream().launch(plan.points as usize, |uses| Keys {
                points: uses.read(words),
                sets: uses.read(sets),
                starts: uses.read(starts),
                far: uses.write(far),
                keys: uses.write(keys),
                plan,
            })
        }
        .unwrap();
        found
    }

    pub fn downloaded(&self, device: &Device) -> (Vec<u32>, Vec<u32>) {
        let stream = device.default_stream();
        (self.keys.download(stream).unwrap(), self.far.download(stream).unwrap())
    }
}

/// Returns uniformly distributed points in a square.
pub fn random_points(number: usize, side: f32) -> Vec<[f32; 2]> {
    let random = &mut Random::seed_from_u64(number as u64);
    (0..number).map(|_| [(); 2].map(|()| (random.next_u32() >> 8) as f32 / (1 << 24) as f32 * side)).collect()
}

/// Returns a scene with a part of a set, turned, scaled and reversed, and with other points.
fn scene_of(set: &[[f32; 2]], [a, b]: [f32; 2], kept: usize, others: usize) -> Vec<[f32; 2]> {
    let turned = |[x, y]: [f32; 2]| [a * x - b * y + 50.0, a * y + b * x + 80.0];
    let own = set.iter().rev().take(kept).copied().map(turned);
    own.chain(random_points(others + 100, 90.0).into_iter().skip(100)).collect()
}

fn frames(device: &Device, sets: &[Set]) -> Buffer<u32> {
    let words = |(_, frame): &Set| [frame.left, frame.top, frame.width, frame.height].map(f32::to_bits);
    Buffer::from_slice(device, &sets.iter().flat_map(words).collect::<Vec<_>>()).unwrap()
}

/// The votes of all scenes, sorted by their keys as a search sorts them.
struct Votes {
    keys: Buffer<u64>,
    votes: Buffer<u64>,
}

fn vote(device: &Device, there: (&Sets, &Buffer<u32>), here: (&Sets, &Buffer<u32>)) -> Votes {
    let stream = device.default_stream();
    let numbers: Vec<u32> = (0..there.0.keys.len() as u32).collect();
    let map = MultiMap::build(device, &there.0.keys.download(stream).unwrap(), &numbers).unwrap();
    let queries = here.0.keys.len();
    let [mut runs, mut counts] = [(); 2].map(|()| Buffer::<u32>::zeroed(device, queries).unwrap());
    map.runs_many_into(stream, &here.0.keys, &mut runs, &mut counts).unwrap();
    let mut offsets = Buffer::<u64>::from_slice(device, &vec![77; queries + 1]).unwrap();
    let plan = LimitRunsParams { queries: queries as u64, most: MOST as u64 };
    // SAFETY: `counts` has a count for each query, and `offsets` is longer by one.
    unsafe {
        stream.launch(queries + 1, |uses| LimitRuns {
            counts: uses.read(&counts),
            offsets: uses.write(&mut offsets),
            plan,
        })
    }
    .unwrap();
    let of_runs = counts.download(stream).unwrap();
    let limited = of_runs.iter().map(|&count| if count as usize > MOST { 0 } else { count.into() }).chain([0]);
    assert_eq!(offsets.download(stream).unwrap(), limited.collect::<Vec<u64>>());
    assert!(of_runs.iter().any(|&count| count as usize > MOST), "some keys have too many features");
    exclusive_scan_in_place(stream, &mut Scratch::new(device), &mut offsets).unwrap();
    let total = offsets.download(stream).unwrap()[queries] as usize;

    let [mut keys, mut votes] = [(); 2].map(|()| Buffer::from_slice(device, &vec![NO_VOTE; total + 3]).unwrap());
    let points = |sets: &Sets| Divisor::new(sets.points.len() as u32);
    let plan = VoteParams { queries: queries as u64, points: points(here.0), reference_points: points(there.0) };
    let [(here, frames), (there, there_frames)] = [here, there];
    // SAFETY: each run has as many values as its offsets differ by. Values are ids of the
    // references' features.
    unsafe {
        stream.launch(plan.queries as usize, |uses| Vote {
            runs: uses.read(&runs),
            offsets: uses.read(&offsets),
            values: uses.read(map.value_buffer()),
            points: uses.read(&here.points),
            sets: uses.read(&here.sets),
            starts: uses.read(&here.starts),
            frames: uses.read(frames),
            far: uses.read(&here.far),
            reference_points: uses.read(&there.points),
            reference_sets: uses.read(&there.sets),
            reference_starts: uses.read(&there.starts),
            reference_frames: uses.read(there_frames),
            reference_far: uses.read(&there.far),
            keys_out: uses.write(&mut keys),
            votes_out: uses.write(&mut votes),
            plan,
        })
    }
    .unwrap();
    sort_pairs(stream, &mut Scratch::new(device), &mut keys, &mut votes).unwrap();
    Votes { keys, votes }
}

/// Checks that each pose of each reference has the same votes as in the plain version, in any
/// order.
fn check_votes(device: &Device, votes: &Votes, expected: &[HashMap<(usize, u32), Vec<PlainVote>>]) {
    let stream = device.default_stream();
    let mut found = vec![HashMap::<(usize, u32), Vec<PlainVote>>::new(); expected.len()];
    for (key, vote) in votes.keys.download(stream).unwrap().into_iter().zip(votes.votes.download(stream).unwrap()) {
        if key != NO_VOTE {
            let reference = (key >> POSE_BITS) as usize & 0xffff;
            let pose = key as u32 & ((1 << POSE_BITS) - 1);
            let vote = [0, 16, 32, 48].map(|shift| (vote >> shift) as usize & 0xffff);
            found[(key >> REFERENCE_BITS) as usize].entry((reference, pose)).or_default().push(vote);
        }
    }
    let sorted = |votes: &HashMap<(usize, u32), Vec<PlainVote>>| {
        let sorted = |votes: &Vec<PlainVote>| {
            let mut votes = votes.clone();
            votes.sort_unstable();
            votes
        };
        votes.iter().map(|(pose, votes)| (*pose, sorted(votes))).collect::<HashMap<_, _>>()
    };
    for (scene, (found, expected)) in found.iter().zip(expected).enumerate() {
        let _at = at(format!("scene {scene}"));
        assert_eq!(sorted(found), sorted(expected));
    }
}

/// Chooses and verifies the hypotheses of each scene, and returns them.
fn verify(
    device: &Device,
    Votes { keys, votes }: &Votes,
    (there, there_frames): (&Sets, &Buffer<u32>),
    (here, frames): (&Sets, &Buffer<u32>),
) -> Vec<Vec<Hypothesis>> {
    let (stream, count) = (device.default_stream(), keys.len() as u64);
    let (scenes, references) = (here.count as u64, there.count as u64);
    let mut best = Buffer::<u64>::zeroed(device, here.count * there.count).unwrap();
    let mut hypotheses = Buffer::<u64>::zeroed(device, here.count * HYPOTHESES).unwrap();
    let mut results = Buffer::<u32>::zeroed(device, hypotheses.len() * RESULT_WORDS).unwrap();
    // SAFETY: keys are in order. `best` has a word for each scene and reference, and each
    // hypothesis has its result.
    unsafe {
        stream
            .launch(count as usize, |uses| Tally {
                keys: uses.read(keys),
                best: uses.write(&mut best),
                plan: TallyParams { votes: count, references },
            })
            .unwrap();
        stream
            .launch(scenes as usize, |uses| Choose {
                best: uses.read(&best),
                hypotheses: uses.write(&mut hypotheses),
                plan: ChooseParams { scenes, references },
            })
            .unwrap();
        stream
            .launch(128 * hypotheses.len(), |uses| Verify {
                hypotheses: uses.read(&hypotheses),
                keys: uses.read(keys),
                votes: uses.read(votes),
                points: uses.read(&here.points),
                starts: uses.read(&here.starts),
                frames: uses.read(frames),
                reference_points: uses.read(&there.points),
                reference_starts: uses.read(&there.starts),
                reference_frames: uses.read(there_frames),
                results: uses.write(&mut results),
                plan: VerifyParams { votes: count },
            })
            .unwrap();
    }
    let (keys, words) = (hypotheses.download(stream).unwrap(), results.download(stream).unwrap());
    let mut found = vec![Vec::new(); here.count];
    for (i, (&key, words)) in keys.iter().zip(words.chunks(RESULT_WORDS)).enumerate() {
        if key == NO_VOTE {
            assert_eq!(words, [0; RESULT_WORDS]);
            continue;
        }
        assert_eq!((key >> REFERENCE_BITS) as usize, i / HYPOTHESES);
        let [a, b, x, y] = [0, 1, 2, 3].map(|i| f32::from_bits(words[i]));
        found[i / HYPOTHESES].push(Hypothesis {
            reference: (key >> POSE_BITS) as usize & 0xffff,
            factor: [a, b],
            middle: [x, y],
            matches: words[4],
            around: words[5],
            votes: words[6],
        });
    }
    found
}

#[test]
fn votes_and_hypotheses_are_those_of_the_plain_version() {
    let frame = |width, height| Frame { left: 0.0, top: 0.0, width, height };
    let sets = |points: [Vec<[f32; 2]>; 5], frame: Frame| points.map(|points| (points, frame));
    let [a, b, c] = [150, 55, 23].map(|points| random_points(points, 100.0));
    // The grid has keys with too many features.
    let grid = (0..30).map(|i| [(i % 6) as f32 * 9.0, (i / 6) as f32 * 9.0]).collect::<Vec<_>>();
    let scenes = sets(
        [
            scene_of(&a, [0.0, 1.0], 140, 8),
            scene_of(&b, [-0.7, 0.1], 50, 5),
            random_points(35, 120.0),
            vec![],
            scene_of(&grid, [1.0, 0.2], 30, 0),
        ],
        Frame { left: -60.0, top: 0.0, width: 210.0, height: 190.0 },
    );
    let references = sets([a, b, grid, c, vec![[2.0, 3.0]; 9]], frame(100.0, 100.0));
    let plain = Plain::new(references.to_vec(), MOST);
    let points = |sets: &[Set]| sets.iter().map(|set| set.0.clone()).collect::<Vec<_>>();
    let expected: Vec<Vec<Hypothesis>> = scenes.iter().map(|scene| plain.find(scene)).collect();
    assert!(expected[0][0].is_claimed() && expected[0][0].reference == 0, "{expected:?}");
    assert!(expected[1][0].is_claimed() && expected[1][0].reference == 1, "{expected:?}");
    assert!(expected[2..4].iter().flatten().all(|hypothesis| !hypothesis.is_claimed()), "{expected:?}");
    let expected_votes: Vec<_> = scenes.iter().map(|scene| plain.votes(scene)).collect();
    on_all(|device| {
        let there = Sets::hashed(device, &points(&references), NO_REFERENCE_KEY);
        let here = Sets::hashed(device, &points(&scenes), NO_SCENE_KEY);
        let (there_frames, frames) = (frames(device, &references), frames(device, &scenes));
        let votes = vote(device, (&there, &there_frames), (&here, &frames));
        check_votes(device, &votes, &expected_votes);
        assert_eq!(verify(device, &votes, (&there, &there_frames), (&here, &frames)), expected);
    });
}

/// Makes each operation of a search fail, above all each allocation, after a search of other scenes
/// with the same buffers. Later searches with them must give the same results as with new buffers.
#[test]
fn whatever_fails_of_a_search_its_buffers_serve_the_next_one() {
    let (device, plan) = planted();
    let stream = device.default_stream();
    let frame = Frame { left: 0.0, top: 0.0, width: 100.0, height: 100.0 };
    let points = |number| Points { points: random_points(number, 100.0), frame };
    let references = [points(40), points(25)];
    let finder = Finder::new(&device, &references).unwrap();
    let hashed = |scenes: &[Points]| sets::Sets::new(&device, scenes).unwrap();
    let found = |scenes: &[Points], work: &mut Work| {
        finder.search(stream, &mut hashed(scenes), work).unwrap();
        Finder::hypotheses(stream, work).unwrap()
    };
    let (few, many) = (&references[1..], &references[..]);
    let expected = [few, many].map(|scenes| found(scenes, &mut Work::new(&device).unwrap()));
    assert!(expected[1][0][0].is_claimed());
    for (before, scenes) in [(few, many), (many, few)] {
        let begin = || {
            let mut work = Work::new(&device).unwrap();
            found(before, &mut work);
            (work, hashed(scenes))
        };
        let search = |(work, sets): &mut (Work, sets::Sets)| finder.search(stream, sets, work);
        let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, search, |(mut work, _), done| {
            match done {
                Err(sets::FindError::Device(error)) => assert!(is_planted(&error), "{error}"),
                other => assert!(other.is_ok(), "{other:?}"),
            }
            for (scenes, expected) in [many, few, many].into_iter().zip([&expected[1], &expected[0], &expected[1]]) {
                assert_eq!(found(scenes, &mut work), *expected);
            }
        });
        all_failed(&seen, &[Allocate, Launch]);
    }
}
