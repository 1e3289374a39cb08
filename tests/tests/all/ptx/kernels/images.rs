//! The kernels of geometric hashing.

use gpu_kernels::hash::Divisor;
use gpu_kernels::images::{
    Choose, ChooseParams, Keys, KeysParams, LimitRuns, LimitRunsParams, Tally, TallyParams, Verify, VerifyParams, Vote,
    VoteParams,
};
use gpu_kernels::seam::Kernel;
use warpnest_tests::null;

pub fn of_no_type() -> [Box<dyn Kernel>; 6] {
    let plan = KeysParams { points: 0, no_key: 0, padding: 0 };
    let of_votes = VoteParams { queries: 0, points: Divisor::new(1), reference_points: Divisor::new(1) };
    [
        Box::new(Keys { points: null(), sets: null(), starts: null(), far: null(), keys: null(), plan }),
        Box::new(LimitRuns { counts: null(), offsets: null(), plan: LimitRunsParams { queries: 0, most: 0 } }),
        Box::new(Vote {
            runs: null(),
            offsets: null(),
            values: null(),
            points: null(),
            sets: null(),
            starts: null(),
            frames: null(),
            far: null(),
            reference_points: null(),
            reference_sets: null(),
            reference_starts: null(),
            reference_frames: null(),
            reference_far: null(),
            keys_out: null(),
            votes_out: null(),
            plan: of_votes,
        }),
        Box::new(Tally { keys: null(), best: null(), plan: TallyParams { votes: 0, references: 0 } }),
        Box::new(Choose { best: null(), hypotheses: null(), plan: ChooseParams { scenes: 0, references: 0 } }),
        Box::new(Verify {
            hypotheses: null(),
            keys: null(),
            votes: null(),
            points: null(),
            starts: null(),
            frames: null(),
            reference_points: null(),
            reference_starts: null(),
            reference_frames: null(),
            results: null(),
            plan: VerifyParams { votes: 0 },
        }),
    ]
}
