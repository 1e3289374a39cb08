//! Building a page map: split, and build the pages ([`attempt`](super::attempt)); all pairs counted if an early split overflows
//! ([`counted`](super::counted)); again with other constants if a page cannot be built.

use super::config::Plan;
use super::{PageConfig, PageMap};
use crate::primitives::Scratch;
use crate::table::input::{Input, Known};
use crate::table::stages::StageClock;
use crate::{Buffer, Device, Error, Key, Result, Stream, Value};
use gpu_kernels::page::{Layout, header};
use gpu_kernels::types::Payload;
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::marker::PhantomData;

/// How a build went.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PageReport {
    /// Where the random constants started: [`PageConfig::seed`] with it repeats the build's constants.
    pub seed: u64,
    /// Attempts that ended because a page could not be built.
    pub failures: u32,
    /// Whether a bin of the last split overflowed, so that this split was made once more, into bins with room for as many pairs as it had
    /// counted.
    pub split_again: bool,
    /// Whether a bin of an earlier split overflowed, so that all pairs were counted and put in exact places.
    pub counted: bool,
    /// Whether pairs were left out early, because a tile of the input had a crowd of equal keys.
    pub skewed: bool,
    /// Pairs that found all of their places full, so that others had to make room.
    pub moved: u64,
    /// How long the stages of the attempt that succeeded took, if [`PageConfig::timings`] asked for it.
    pub stages: Option<PageStages>,
}

/// Milliseconds of device time that the stages of a build took. Of a last split that was made again this is the second time: setting to 0 is then
/// also adding the counts up, and there is only one split, a later one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PageStages {
    /// Setting counters and published words to 0.
    pub initialization: f64,
    /// The first split, or all of the counting and ordering if a bin overflowed.
    pub first_split: f64,
    /// The splits after it.
    pub later_splits: f64,
    /// Building the pages.
    pub pages: f64,
}

impl PageStages {
    fn new([initialization, first_split, later_splits, pages]: [f64; 4]) -> Self {
        Self { initialization, first_split, later_splits, pages }
    }

    /// All of it.
    pub fn total(&self) -> f64 {
        self.initialization + self.first_split + self.later_splits + self.pages
    }
}

/// How an attempt ended.
pub(super) enum Outcome {
    Built {
        length: u64,
        skewed: bool,
        moved: u64,
        stages: Option<PageStages>,
    },
    /// A bin of the last split got more pairs than it has room for.
    LastOverflow,
    /// A bin of another split did.
    Overflow,
    Failure,
}

impl Outcome {
    /// The outcome of the attempt of so many splits that is queued, from the header at the front of its scratch; waits for it.
    pub fn of(stream: &Stream, scratch: &Buffer<u64>, splits: usize, clock: &StageClock) -> Result<Self> {
        let found = scratch.download_front(stream, header::WORDS)?;
        let word = |number: u64| found[number as usize];
        let of_levels = |first: u64| -> u64 { (first..first + header::LEVELS).map(word).sum() };
        let overflowed = (0..splits).find(|&level| word(header::OVERFLOW + level as u64) != 0);
        Ok(match (overflowed, word(header::FAILED)) {
            (None, 0) => Self::Built {
                length: word(header::LENGTH),
                skewed: of_levels(header::DROPPED) != 0,
                moved: word(header::LEFT),
                stages: clock.durations()?.map(PageStages::new),
            },
            (None, _) => Self::Failure,
            (Some(level), _) if level + 1 == splits => Self::LastOverflow,
            _ => Self::Overflow,
        })
    }
}

impl<K: Key, V: Value> PageMap<K, V> {
    pub(super) fn create(
        config: PageConfig,
        stream: &Stream,
        device: &Device,
        keys: &Buffer<K>,
        values: &Buffer<V>,
    ) -> Result<Self> {
        Self::create_from(config, stream, device, Input::of(device, stream, keys, values)?)
    }

    /// Builds the map anew from other pairs; waits until it is known that the build succeeded.
    ///
    /// For data that changes as a whole, frame after frame: the memory of the table is used again if it is enough, and the scratch
    /// stays for the next time ([`PageMap::shrink_to_fit`] gives it back).
    ///
    /// # Errors
    /// As for [`PageConfig::build`], and [`Error::WrongDevice`]. If the request makes no sense the map is as it was; after
    /// another error it is empty, and [`PageMap::report`] still tells of the last build that succeeded.
    pub fn rebuild(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<()> {
        let input = Input::of(&self.device, stream, keys, values)?;
        self.rebuild_from(stream, input)
    }
}

impl<K: Key, V: Payload> PageMap<K, V> {
    /// Builds a table from what has been checked to be on `device`, as the stream.
    pub(crate) fn create_from(
        config: PageConfig,
        stream: &Stream,
        device: &Device,
        input: Input<'_, K, V>,
    ) -> Result<Self> {
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

    /// Builds the table anew from what has been checked to be on its device, as the stream.
    pub(crate) fn rebuild_from(&mut self, stream: &Stream, input: Input<'_, K, V>) -> Result<()> {
        let cores = self.device.engine().cores();
        let plan = self.config.plan_on::<K, V>(input.pairs, input.known == Known::AnyValues, cores)?;
        self.length = 0;
        let built = self.attempt_until_built(stream, input, &plan, false);
        if built.is_err() {
            self.forget(stream);
        }
        built
    }

    /// Leaves no keys, as after a rebuild that failed.
    pub(crate) fn forget(&mut self, stream: &Stream) {
        self.length = 0;
        // If this fails too, the device is lost; the first error says more.
        let _ = self.words.fill(stream, 0);
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
            // Only the first constants are those of the order.
            let in_order = failures == 0 && input.ordered_by().is_some();
            let mut outcome = if in_order {
                self.attempt_in_order(stream, input, plan)?
            } else {
                self.attempt(stream, input, plan, zeroed && failures == 0)?
            };
            // Other constants would not help against copies of one key. Exact places for the last split's bins mostly do, and exact places
            // for all pairs help against everything.
            let split_again = matches!(outcome, Outcome::LastOverflow);
            if split_again {
                outcome = self.attempt_last_split(stream, input, plan)?;
            }
            let counted = matches!(outcome, Outcome::LastOverflow | Outcome::Overflow);
            if counted {
                outcome = self.attempt_counted(stream, input, plan)?;
            }
            if let Outcome::Built { length, skewed, moved, stages } = outcome {
                self.length = length;
                self.report = PageReport { seed, failures, split_again, counted, skewed, moved, stages };
                return Ok(());
            }
        }
        Err(Error::PageBuildFailed { pairs: plan.pairs, load: self.config.load, attempts })
    }

    /// Takes more memory if the table has not enough.
    fn ensure_capacity(&mut self, plan: &Plan) -> Result<()> {
        let words = plan.table_words() as usize;
        if self.words.len() < words {
            // A tiny one first, so that there is a table, an empty one, if the large one cannot be had.
            let tiny = PageConfig::default().plan::<K, V>(0)?;
            self.words = Buffer::uninitialized(&self.device, tiny.table_words() as usize)?;
            self.layout = Layout::new::<K, V>(0, 0, tiny.page_bits, tiny.page_buckets);
            self.words = Buffer::uninitialized(&self.device, words)?;
        }
        Ok(())
    }
}
