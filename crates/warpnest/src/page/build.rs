//! The build of a page map: split, and build the pages ([`attempt`](super::attempt)). If an early
//! split overflows, all pairs are counted ([`counted`](super::counted)). If a page cannot be built,
//! other constants are tried.

use super::plan::Plan;
use super::unordered::Repeats;
use super::{Page, PageConfig, PageTable};
use crate::primitives::Scratch;
use crate::table::input::{Input, Known};
use crate::table::raw::BuiltTable;
use crate::table::stages::StageClock;
use crate::{Buffer, BuildError, Device, Error, Result, Stream};
use gpu_kernels::page::{Layout, header};
use gpu_kernels::types::{Key, Payload};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::marker::PhantomData;

/// The report of a build.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PageReport {
    /// The seed of the random constants: [`PageConfig::seed`] with it repeats the build's
    /// constants.
    pub seed: u64,
    /// The number of attempts that ended because a page could not be built.
    pub failures: u32,
    /// Whether a bin of the last split overflowed, so that this split was made once more, into bins
    /// with the capacity that it had counted.
    pub split_again: bool,
    /// Whether a bin of an earlier split overflowed, so that all pairs were counted and put at
    /// exact offsets.
    pub counted: bool,
    /// Whether pairs were left out early, because a bin was skewed: a tile of the input had many
    /// equal keys.
    pub skewed: bool,
    /// Whether the pairs were kept in order, since it was not known that keys are unique, and more
    /// of them were repeated than an attempt without order can settle.
    pub ordered: bool,
    /// The number of repeated keys that were settled after an attempt without order, each counted
    /// once for every pair but one.
    pub settled: u64,
    /// The number of pairs that found all of their slots full, so that others had to be evicted.
    pub moved: u64,
    /// The times of the stages of the attempt that succeeded, if [`PageConfig::timings`] asked for
    /// them.
    pub stages: Option<PageStages>,
}

/// The milliseconds of device time that the stages of a build took. If a last split was made again,
/// these are of the second time: `initialization` then includes adding up the counts. There is only
/// one split then, a later one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PageStages {
    /// The time to set counters and published words to 0.
    pub initialization: f64,
    /// The time of the first split, or of all of the counting and ordering if a bin overflowed.
    pub first_split: f64,
    /// The time of the splits after the first one.
    pub later_splits: f64,
    /// The time to build the pages.
    pub pages: f64,
    /// The time to settle repeated keys after an attempt without order.
    pub settling: f64,
}

impl PageStages {
    fn new([initialization, first_split, later_splits, pages]: [f64; 4]) -> Self {
        Self { initialization, first_split, later_splits, pages, settling: 0.0 }
    }

    /// Returns the time of all stages.
    pub fn total(&self) -> f64 {
        self.initialization + self.first_split + self.later_splits + self.pages + self.settling
    }
}

/// How pairs get to their pages. A bin that overflows has copies of one key, against which other
/// constants would not help; exact offsets do.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Strategy {
    /// The pairs are in the order of their pages.
    InOrder,
    /// Splits and pages as if keys were unique; the repeated ones are settled afterwards.
    Unordered { zeroed: bool },
    /// Splits into bins of a capacity that is known beforehand; in a table of zeros, if `zeroed`.
    Split { zeroed: bool },
    /// The last split once more, into bins at exact offsets. Another bin may still overflow.
    LastSplitAgain,
    /// All pairs counted and put at exact offsets, which always fits.
    Counted,
}

impl Strategy {
    /// Returns the strategy for the same constants after this outcome, if there is another.
    fn after(self, outcome: &Outcome) -> Option<Self> {
        match outcome {
            Outcome::Repeated => Some(Self::Split { zeroed: false }),
            _ if matches!(self, Self::Unordered { .. }) && outcome.overflowed() => Some(Self::Split { zeroed: false }),
            Outcome::LastOverflow if matches!(self, Self::Split { .. }) => Some(Self::LastSplitAgain),
            Outcome::LastOverflow | Outcome::Overflow => Some(Self::Counted),
            Outcome::Built { .. } | Outcome::Failure => None,
        }
    }
}

/// The outcome of an attempt.
pub(super) enum Outcome {
    Built {
        length: u64,
        skewed: bool,
        moved: u64,
        /// The number of repeated keys that are still to be settled.
        repeated: Repeats,
        stages: Option<PageStages>,
    },
    /// Too many keys are repeated for an attempt without order.
    Repeated,
    /// A bin of the last split got more pairs than its capacity.
    LastOverflow,
    /// A bin of another split got more pairs than its capacity.
    Overflow,
    Failure,
}

impl Outcome {
    /// Returns whether a bin got more pairs than its capacity.
    fn overflowed(&self) -> bool {
        matches!(self, Self::LastOverflow | Self::Overflow)
    }

    /// Returns the outcome of the queued attempt of `splits` splits, from the header at the front
    /// of its scratch; waits for it.
    pub fn of(stream: &Stream, scratch: &Buffer<u64>, splits: usize, clock: &StageClock) -> Result<Self> {
        Self::of_listing(stream, scratch, splits, clock, 0)
    }

    /// Returns [`Outcome::of`] an attempt whose list of repeated keys has a common part of this
    /// capacity.
    pub fn of_listing(
        stream: &Stream,
        scratch: &Buffer<u64>,
        splits: usize,
        clock: &StageClock,
        capacity: u64,
    ) -> Result<Self> {
        let found = scratch.download_front(stream, header::WORDS)?;
        let word = |number: u64| found[number as usize];
        let of_levels = |first: u64| -> u64 { (first..first + header::LEVELS).map(word).sum() };
        let overflowed = (0..splits).find(|&level| word(header::OVERFLOW + level as u64) != 0);
        if word(header::REPEATED) > capacity {
            return Ok(Self::Repeated);
        }
        Ok(match (overflowed, word(header::FAILED)) {
            (None, 0) => Self::Built {
                length: word(header::LENGTH),
                skewed: of_levels(header::DROPPED) != 0,
                moved: word(header::LEFT),
                repeated: Repeats { own: word(header::LISTED), common: word(header::REPEATED) },
                stages: clock.durations()?.map(PageStages::new),
            },
            (None, _) => Self::Failure,
            (Some(level), _) if level + 1 == splits => Self::LastOverflow,
            _ => Self::Overflow,
        })
    }
}

impl<K: Key, V: Payload> BuiltTable<K, V> for PageTable<K, V> {
    type Design = Page;

    fn sizes(config: &PageConfig, items: u64) -> Result<(u64, u64)> {
        let plan = config.plan::<K, V>(items)?;
        Ok((8 * plan.table_words(), 8 * plan.scratch_words()))
    }

    fn create(config: PageConfig, stream: &Stream, device: &Device, input: Input<'_, K, V>) -> Result<Self> {
        let plan = config.plan_on::<K, V>(input.pairs, input.known == Known::AnyValues, device.engine().cores())?;
        let mut map = Self {
            device: device.clone(),
            layout: Layout::new::<K, V>(0, 0, plan.page_bits, plan.page_buckets),
            words: Buffer::uninitialized(device, plan.table_words() as usize)?,
            scratch: Scratch::new(device),
            length: 0,
            report: PageReport {
                seed: 0,
                failures: 0,
                split_again: false,
                counted: false,
                skewed: false,
                ordered: false,
                settled: 0,
                moved: 0,
                stages: None,
            },
            types: PhantomData,
            config,
        };
        map.attempt_until_built(stream, input, &plan, device.engine().allocates_zeros())?;
        map.scratch.release();
        Ok(map)
    }

    fn rebuild(&mut self, stream: &Stream, input: Input<'_, K, V>) -> Result<()> {
        let cores = self.device.engine().cores();
        let plan = self.config.plan_on::<K, V>(input.pairs, input.known == Known::AnyValues, cores)?;
        self.length = 0;
        let built = self.attempt_until_built(stream, input, &plan, false);
        if built.is_err() {
            self.empty(stream);
        }
        built
    }

    fn config(&self) -> &PageConfig {
        &self.config
    }

    fn config_mut(&mut self) -> &mut PageConfig {
        &mut self.config
    }

    fn report(&self) -> &PageReport {
        &self.report
    }
}

impl<K: Key, V: Payload> PageTable<K, V> {
    /// Removes all keys, as after a rebuild that failed.
    pub(super) fn empty(&mut self, stream: &Stream) {
        self.length = 0;
        // If this fails too, the device is lost; the first error says more.
        let _ = self.words.fill(stream, 0);
    }

    /// Gives an empty table, as a rebuild that failed leaves it, the memory of one without pairs.
    pub(super) fn shrink_empty(&mut self) -> Result<()> {
        let tiny = PageConfig::default().plan::<K, V>(0)?;
        if self.words.len() as u64 > tiny.table_words() {
            self.words = Buffer::zeroed(&self.device, tiny.table_words() as usize)?;
            self.layout = Layout::new::<K, V>(0, 0, tiny.page_bits, tiny.page_buckets);
        }
        Ok(())
    }

    fn attempt_until_built(
        &mut self,
        stream: &Stream,
        input: Input<'_, K, V>,
        plan: &Plan,
        zeroed: bool,
    ) -> Result<()> {
        let seed = input.ordered_by().unwrap_or_else(|| self.config.seed_or_random());
        let mut random = Xoshiro256StarStar::seed_from_u64(seed);
        self.ensure_capacity(plan)?;
        let attempts = self.config.restarts.saturating_add(1);
        for failures in 0..attempts {
            let (a, b) = (random.next_u64(), random.next_u64());
            self.layout = Layout::new::<K, V>(a, b, plan.page_bits, plan.page_buckets);
            // The order is that of the first constants only, and so are the zeros.
            let first = failures == 0;
            let mut strategy = match input.ordered_by() {
                Some(_) if first => Strategy::InOrder,
                _ if plan.unordered.is_some() => Strategy::Unordered { zeroed: zeroed && first },
                _ => Strategy::Split { zeroed: zeroed && first },
            };
            let mut split_again = false;
            let outcome = loop {
                let outcome = self.attempt_by(strategy, stream, input, plan)?;
                let Some(next) = strategy.after(&outcome) else { break outcome };
                strategy = next;
                split_again |= strategy == Strategy::LastSplitAgain;
            };
            let counted = strategy == Strategy::Counted;
            if let Outcome::Built { length, skewed, moved, repeated, mut stages } = outcome {
                let settled = repeated.all();
                if settled != 0 {
                    let settling = self.settle(stream, input, plan, repeated)?;
                    stages = stages.map(|stages| PageStages { settling, ..stages });
                }
                let ordered = !self.config.unique && !matches!(strategy, Strategy::Unordered { .. });
                self.length = length;
                self.report =
                    PageReport { seed, failures, split_again, counted, skewed, ordered, settled, moved, stages };
                return Ok(());
            }
        }
        let load = self.config.load_of::<V>(plan.pairs);
        Err(Error::BuildFailed(BuildError::Page { pairs: plan.pairs, load, attempts }))
    }

    /// Makes one attempt with the constants of the layout.
    fn attempt_by(
        &mut self,
        strategy: Strategy,
        stream: &Stream,
        input: Input<'_, K, V>,
        plan: &Plan,
    ) -> Result<Outcome> {
        match strategy {
            Strategy::InOrder => self.attempt_in_order(stream, input, plan),
            Strategy::Unordered { zeroed } => self.attempt_unordered(stream, input, plan, zeroed),
            Strategy::Split { zeroed } => self.attempt(stream, input, plan, zeroed),
            Strategy::LastSplitAgain => self.attempt_last_split(stream, input, plan),
            Strategy::Counted => self.attempt_counted(stream, input, plan),
        }
    }

    /// Allocates more memory if the table has not enough.
    fn ensure_capacity(&mut self, plan: &Plan) -> Result<()> {
        let words = plan.table_words() as usize;
        if self.words.len() < words {
            // A tiny table first, so that there is one, an empty one, if the large one cannot be
            // allocated.
            let tiny = PageConfig::default().plan::<K, V>(0)?;
            self.words = Buffer::uninitialized(&self.device, tiny.table_words() as usize)?;
            self.layout = Layout::new::<K, V>(0, 0, tiny.page_bits, tiny.page_buckets);
            self.words = Buffer::uninitialized(&self.device, words)?;
        }
        Ok(())
    }
}
