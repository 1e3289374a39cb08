//! Counting sorted votes, and choosing hypotheses.

use super::{HYPOTHESES, MIN_VOTES, NO_VOTE, POSE_BITS, REFERENCE_BITS};
use gpu_kernels::seam::{Block, Global};

/// The scalar arguments of [`Tally`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TallyParams {
    /// The number of votes.
    pub votes: u64,
    /// The number of references.
    pub references: u64,
}

gpu_kernels::kernel! {
    /// Raises `best[scene · references + reference]` to the greatest number of votes for one pose,
    /// with that pose in the low bits. One thread per sort key of votes; the keys are in order.
    ///
    /// Poses with fewer than [`MIN_VOTES`] votes are ignored; `best` must be 0 before.
    Tally<>, "images_tally", threads 256;
    { keys: Global<u64>, best: Global<u64>, plan: TallyParams }
}

impl Tally {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let TallyParams { votes, references } = args.plan;
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            let index = first + thread as u64;
            if index >= votes {
                return;
            }
            let key = args.keys.load_read_only(index);
            // The thread of a run's last vote counts the run.
            if key == NO_VOTE || index + 1 < votes && args.keys.load_read_only(index + 1) == key {
                return;
            }
            // The step back doubles while it stays in the run; then it halves.
            let (mut back, mut step) = (0, 1);
            // At most 64 rounds, because each doubles the step.
            while index >= back + step && args.keys.load_read_only(index - back - step) == key {
                back += step;
                step *= 2;
            }
            // At most 64 rounds, because each halves the step.
            while step > 0 {
                if index >= back + step && args.keys.load_read_only(index - back - step) == key {
                    back += step;
                }
                step /= 2;
            }
            let count = back + 1;
            if count >= MIN_VOTES {
                let scene = key >> REFERENCE_BITS;
                let reference = key >> POSE_BITS & ((1 << (REFERENCE_BITS - POSE_BITS)) - 1);
                let pose = key & ((1 << POSE_BITS) - 1);
                args.best.atomic(scene * references + reference).fetch_max(count << POSE_BITS | pose);
            }
        });
    }
}

/// The scalar arguments of [`Choose`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ChooseParams {
    /// The number of scenes.
    pub scenes: u64,
    /// The number of references.
    pub references: u64,
}

gpu_kernels::kernel! {
    /// Writes the sort keys of the [`HYPOTHESES`] hypotheses with the most votes in each scene, at
    /// most one for each reference. One thread per scene.
    ///
    /// They are in descending order of votes, then in ascending order of references. Missing
    /// hypotheses are [`NO_VOTE`].
    Choose<>, "images_choose", threads 64;
    { best: Global<u64>, hypotheses: Global<u64>, plan: ChooseParams }
}

impl Choose {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let ChooseParams { scenes, references } = args.plan;
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            let scene = first + thread as u64;
            if scene >= scenes {
                return;
            }
            let mut votes = [0u64; HYPOTHESES];
            let mut keys = [NO_VOTE; HYPOTHESES];
            for reference in 0..references {
                let best = args.best.load_read_only(scene * references + reference);
                let count = best >> POSE_BITS;
                if count > votes[HYPOTHESES - 1] {
                    let pose = best & ((1 << POSE_BITS) - 1);
                    votes[HYPOTHESES - 1] = count;
                    keys[HYPOTHESES - 1] = scene << REFERENCE_BITS | reference << POSE_BITS | pose;
                    for back in 1..HYPOTHESES {
                        let rank = HYPOTHESES - back;
                        let swap = votes[rank] > votes[rank - 1];
                        let (low, high) = (votes[rank - 1], votes[rank]);
                        votes[rank - 1] = if swap { high } else { low };
                        votes[rank] = if swap { low } else { high };
                        let (low, high) = (keys[rank - 1], keys[rank]);
                        keys[rank - 1] = if swap { high } else { low };
                        keys[rank] = if swap { low } else { high };
                    }
                }
            }
            for rank in 0..HYPOTHESES {
                args.hypotheses.store(scene * HYPOTHESES as u64 + rank as u64, keys[rank]);
            }
        });
    }
}
