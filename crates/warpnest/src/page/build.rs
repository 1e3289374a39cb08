//! Building a page map: split, and build the pages; in exactly counted bins if one overflows ([`counted`](super::counted)); again with other
//! constants if a page cannot be built.

use super::config::{Place, Plan};
use super::{PageConfig, PageMap};
use crate::input::Input;
use crate::primitives::{Pairs, Scratch};
use crate::stages::StageClock;
use crate::stream::Batch;
use crate::{Buffer, Device, Error, Key, Result, Stream, Value};
use gpu_kernels::page::{BuildPages, BuildPagesInOrder, BuildPlan, Layout, Split, SplitInOrder, SplitPlan, header};
use gpu_kernels::seam::{Global, Kernel};
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
    /// Whether a bin overflowed, so that the pairs were counted and put in exact places.
    pub counted: bool,
    /// Whether pairs were left out early, because a tile of the input had a crowd of equal keys.
    pub crowded: bool,
    /// Pairs that found all of their places full, so that others had to make room.
    pub moved: u64,
    /// How long the stages of the attempt that succeeded took, if [`PageConfig::timings`] asked for it.
    pub stages: Option<PageStages>,
}

/// Milliseconds of device time that the stages of a build took.
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
    Built { length: u64, crowded: bool, moved: u64, stages: Option<PageStages> },
    Overflow,
    Failure,
}

impl Outcome {
    /// The outcome of the attempt that is queued, from the header at the front of its scratch; waits for it.
    pub fn of(stream: &Stream, scratch: &Buffer<u64>, clock: &StageClock) -> Result<Self> {
        let found = scratch.download_front(stream, header::WORDS)?;
        let word = |number: u64| found[number as usize];
        let of_levels = |first: u64| -> u64 { (first..first + header::LEVELS).map(word).sum() };
        let overflows = of_levels(header::OVERFLOW);
        Ok(match (overflows, word(header::FAILED)) {
            (0, 0) => Self::Built {
                length: word(header::LENGTH),
                crowded: of_levels(header::DROPPED) != 0,
                moved: word(header::LEFT),
                stages: clock.durations()?.map(PageStages::new),
            },
            (0, _) => Self::Failure,
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
        let plan = config.plan::<K, V>(input.pairs)?;
        let mut map = Self {
            device: device.clone(),
            layout: Layout::new::<K, V>(0, 0, plan.page_bits, plan.page_buckets),
            words: Buffer::uninitialized(device, plan.table_words() as usize)?,
            scratch: Scratch::new(device),
            length: 0,
            report: PageReport { seed: 0, failures: 0, counted: false, crowded: false, moved: 0, stages: None },
            types: PhantomData,
            config,
        };
        map.attempt_until_built(stream, input, &plan)?;
        map.scratch.release();
        Ok(map)
    }

    /// Builds the table anew from what has been checked to be on its device, as the stream.
    pub(crate) fn rebuild_from(&mut self, stream: &Stream, input: Input<'_, K, V>) -> Result<()> {
        let plan = self.config.plan::<K, V>(input.pairs)?;
        self.length = 0;
        let built = self.attempt_until_built(stream, input, &plan);
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

    fn attempt_until_built(&mut self, stream: &Stream, input: Input<'_, K, V>, plan: &Plan) -> Result<()> {
        let seed = input.ordered_by().unwrap_or_else(|| self.config.seed_or_random());
        let mut random = Xoshiro256StarStar::seed_from_u64(seed);
        self.make_room(plan)?;
        let attempts = self.config.restarts.saturating_add(1);
        for failures in 0..attempts {
            let (a, b) = (random.next_u64(), random.next_u64());
            self.layout = Layout::new::<K, V>(a, b, plan.page_bits, plan.page_buckets);
            // Only the first constants are those of the order.
            let in_order = failures == 0 && input.ordered_by().is_some();
            let first = if in_order { Self::attempt_in_order } else { Self::attempt };
            let (mut counted, mut outcome) = (false, first(self, stream, input, plan)?);
            if matches!(outcome, Outcome::Overflow) {
                // Other constants would not help against copies of one key, and exact places help against everything.
                counted = true;
                outcome = self.attempt_counted(stream, input, plan)?;
            }
            if let Outcome::Built { length, crowded, moved, stages } = outcome {
                self.length = length;
                self.report = PageReport { seed, failures, counted, crowded, moved, stages };
                return Ok(());
            }
        }
        Err(Error::PageBuildFailed { pairs: plan.pairs, load: self.config.load, attempts })
    }

    /// Splits into bins whose room is known beforehand, and builds the pages.
    fn attempt(&mut self, stream: &Stream, input: Input<'_, K, V>, plan: &Plan) -> Result<Outcome> {
        let mut clock = StageClock::new(self.config.timings);
        let Self { scratch, words, layout, config, .. } = self;
        let scratch = scratch.reserve(plan.scratch_words())?;
        let work = scratch.argument::<u64>();
        // SAFETY: the kernels' texts allow no counts and no starts.
        let nothing = unsafe { Global::<u32>::null() };
        // SAFETY: this holds for all launches: the scratch has the words of its plan, in which each split's counts, published words
        // and bins have their place; a split reads where the one before it wrote, and the last one writes to the scratch, where the
        // pages are built from. The table has the words of its layout.
        stream.batch(&input.buffers(), &[scratch, words], |batch| unsafe {
            clock.mark(batch)?;
            batch.zero(scratch, plan.zeros() as usize)?;
            clock.mark(batch)?;
            let mut from = input.arguments();
            let mut counts_in = nothing;
            for (number, level) in plan.levels.iter().enumerate() {
                let to = place::<K, V>(plan, plan.levels.len() - 1 - number, level.room(), words, scratch);
                let counts_out = work.offset(plan.counts_at(number)).cast::<u32>();
                let split = Split::<K, V> {
                    keys: from.keys,
                    values: from.values,
                    keys_out: to.keys,
                    values_out: to.values,
                    counts_in,
                    counts_out,
                    state: work.offset(plan.state_at(number)),
                    header: scratch.argument(),
                    plan: SplitPlan {
                        a: layout.a,
                        b: layout.b,
                        region_room: level.region_room,
                        pairs: plan.pairs,
                        bin_room: level.bin_room as u32,
                        tiles: level.tiles as u32,
                        shift: K::BITS - level.bits_so_far,
                        bits: level.bits,
                        crowd: level.crowd as u32,
                        level: number as u32,
                    },
                };
                let blocks = level.regions * level.tiles;
                launch_one_of(batch, config.unique, &split, &SplitInOrder::from(split), blocks)?;
                (from, counts_in) = (to, counts_out);
                if number == 0 {
                    clock.mark(batch)?;
                }
            }
            if plan.levels.is_empty() {
                clock.mark(batch)?;
            }
            clock.mark(batch)?;
            let build = BuildPages::<K, V> {
                keys: from.keys,
                values: from.values,
                counts: counts_in,
                starts: nothing,
                words_out: words.argument(),
                header: scratch.argument(),
                plan: BuildPlan {
                    layout: *layout,
                    page_room: plan.levels.last().map_or(0, |level| level.bin_room),
                    pairs: plan.pairs,
                    split: !plan.levels.is_empty() as u32,
                    padding: 0,
                },
            };
            launch_one_of(batch, config.unique, &build, &BuildPagesInOrder::from(build), layout.pages() as u64)?;
            clock.mark(batch)
        })?;
        Outcome::of(stream, scratch, &clock)
    }

    /// Takes more memory if the table has not enough.
    fn make_room(&mut self, plan: &Plan) -> Result<()> {
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

/// Runs the kernel that may change the order of pairs if keys are unique, and else the one that keeps it.
///
/// # Safety
/// As for [`Batch::launch_blocks`], for both.
pub(super) unsafe fn launch_one_of(
    batch: &Batch<'_>,
    unique: bool,
    in_any_order: &dyn Kernel,
    in_order: &dyn Kernel,
    blocks: u64,
) -> Result<()> {
    // SAFETY: the caller's.
    unsafe { batch.launch_blocks(if unique { in_any_order } else { in_order }, blocks) }
}

/// Where pairs are put that `back` steps separate from the last place; arrays for `room` of them.
pub(super) fn place<K: Key, V: Payload>(
    plan: &Plan,
    back: usize,
    room: u64,
    words: &Buffer<u64>,
    scratch: &Buffer<u64>,
) -> Pairs<K, V> {
    let at = match plan.place_at(back) {
        Place::Table => words.argument::<u64>(),
        Place::Scratch(at) => scratch.argument::<u64>().offset(at),
    };
    Pairs { keys: at.cast(), values: at.offset(plan.keys_words(room)).cast() }
}
