//! The build of a page map. An attempt splits the pairs and builds the pages
//! ([`attempt`](super::attempt)). If an early split overflows, all pairs are counted
//! ([`counted`](super::counted)). If a page cannot be built, other constants are tried.

use super::outcome::Outcome;
use super::plan::{Plan, Planned};
use super::report::{PageReport, PageStages};
use crate::page::config::{Page, PageConfig};
use crate::page::table::PageTable;
use crate::primitives::Scratch;
use crate::table::design::Builds;
use crate::table::input::Input;
use crate::{Buffer, BuildError, Device, Error, Result, Stream};
use gpu_kernels::page::Layout;
use gpu_kernels::types::{KeyWord, Payload};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::marker::PhantomData;

/// The way in which pairs get to their pages. A bin overflows because of many copies of one key.
/// Other constants would not help, but exact offsets do.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Strategy {
    /// The pairs already arrive in the order of their pages.
    InOrder,
    /// Pairs are split and pages are built as if keys were unique. Repeated keys are resolved
    /// afterwards.
    Unordered { zeroed: bool },
    /// Pairs are split into bins of a capacity that is known beforehand. If `zeroed`, the table
    /// contains only zeros.
    Split { zeroed: bool },
    /// The last split is repeated, into bins at exact offsets. A bin may still overflow.
    LastSplitAgain,
    /// All pairs are counted and moved to exact offsets, so nothing can overflow.
    Counted,
}

impl Strategy {
    /// Returns the strategy to try next with the same constants after this outcome, if there is
    /// one.
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

impl Builds for Page {
    type Report = PageReport;

    fn sizes<K: KeyWord, P: Payload>(config: &PageConfig, items: u64) -> Result<(u64, u64)> {
        let plan = config.plan::<K, P>(items)?;
        Ok((8 * plan.table_words(), 8 * plan.scratch_words()))
    }

    fn build<K: KeyWord, P: Payload>(
        config: PageConfig,
        stream: &Stream,
        device: &Device,
        input: Input<'_, K, P>,
    ) -> Result<PageTable<K, P>> {
        let plan = config.plan_on::<K, P>(input.pairs, input.known, device.machine())?;
        PageTable::build_planned(config, stream, device, (input, &plan))
    }

    fn rebuild<K: KeyWord, P: Payload>(
        table: &mut PageTable<K, P>,
        stream: &Stream,
        input: Input<'_, K, P>,
    ) -> Result<()> {
        let plan = table.config.plan_on::<K, P>(input.pairs, input.known, table.device.machine())?;
        table.rebuild_planned(stream, (input, &plan))
    }

    fn config<K: KeyWord, P: Payload>(table: &PageTable<K, P>) -> &PageConfig {
        &table.config
    }

    fn report<K: KeyWord, P: Payload>(table: &PageTable<K, P>) -> &Self::Report {
        &table.report
    }
}

impl<K: KeyWord, V: Payload> PageTable<K, V> {
    /// Builds a table in new memory, according to a plan.
    pub(in crate::page) fn build_planned(
        config: PageConfig,
        stream: &Stream,
        device: &Device,
        (input, plan): Planned<'_, K, V>,
    ) -> Result<Self> {
        let words = Buffer::uninitialized(device, plan.table_words() as usize)?;
        let mut table = Self::in_memory(config, words, Scratch::new(device), plan);
        table.attempt_until_built(stream, (input, plan), device.engine().allocates_zeros())?;
        table.scratch.release();
        Ok(table)
    }

    /// Builds a table in the memory of `scratch`. [`PageTable::give_back`] returns the memory.
    pub(crate) fn build_in(
        config: PageConfig,
        stream: &Stream,
        scratch: &mut Scratch,
        input: Input<'_, K, V>,
    ) -> Result<Self> {
        let device = scratch.device().clone();
        let plan = config.plan_on::<K, V>(input.pairs, input.known, device.machine())?;
        let words = scratch.lend(plan.table_words() as usize)?;
        let work = std::mem::replace(scratch, Scratch::new(&device));
        let mut table = Self::in_memory(config, words, work, &plan);
        let built = table.attempt_until_built(stream, (input, &plan), false);
        *scratch = std::mem::replace(&mut table.scratch, Scratch::new(&device));
        match built {
            Ok(()) => Ok(table),
            Err(error) => {
                table.give_back(scratch);
                Err(error)
            }
        }
    }

    /// Returns the memory of the table to a scratch.
    pub(crate) fn give_back(self, scratch: &mut Scratch) {
        scratch.give_back(self.words);
    }

    /// Returns an empty table in this memory.
    fn in_memory(config: PageConfig, words: Buffer<u64>, scratch: Scratch, plan: &Plan) -> Self {
        Self {
            device: scratch.device().clone(),
            layout: Layout::new::<K, V>(0, 0, plan.page_bits, plan.page_buckets),
            words,
            scratch,
            length: 0,
            changed: 0,
            mapped: false,
            report: PageReport::default(),
            types: PhantomData,
            config,
        }
    }

    /// Rebuilds the table by a plan, in its own memory if that is large enough. After an error the
    /// table is empty.
    pub(in crate::page) fn rebuild_planned(&mut self, stream: &Stream, planned: Planned<'_, K, V>) -> Result<()> {
        self.length = 0;
        let built = self.attempt_until_built(stream, planned, false);
        if built.is_err() {
            self.empty(stream);
        }
        built
    }

    /// Removes all keys, as after a failed rebuild.
    pub(in crate::page) fn empty(&mut self, stream: &Stream) {
        (self.length, self.layout.holes) = (0, 0);
        // If this fails too, the device is lost, and the first error says more.
        let _ = self.words.fill(stream, 0);
    }

    /// Shrinks the memory of an empty table to the size of a table that is built without pairs.
    pub(in crate::page) fn shrink_empty(&mut self) -> Result<()> {
        let tiny = PageConfig::default().plan::<K, V>(0)?;
        if self.words.len() as u64 > tiny.table_words() {
            self.words = Buffer::zeroed(&self.device, tiny.table_words() as usize)?;
            self.layout = Layout::new::<K, V>(0, 0, tiny.page_bits, tiny.page_buckets);
        }
        Ok(())
    }

    fn attempt_until_built(&mut self, stream: &Stream, (input, plan): Planned<'_, K, V>, zeroed: bool) -> Result<()> {
        let seed = input.ordered_by().unwrap_or_else(|| self.config.seed_or_random());
        let mut random = Xoshiro256StarStar::seed_from_u64(seed);
        self.ensure_capacity(plan)?;
        let attempts = self.config.most_restarts() + 1;
        for failures in 0..attempts {
            let (a, b) = (random.next_u64(), random.next_u64());
            self.layout = Layout::new::<K, V>(a, b, plan.page_bits, plan.page_buckets);
            // The pairs are in the order of the constants, and the memory is zeroed, only in the
            // first attempt.
            let first = failures == 0;
            let mut strategy = match input.ordered_by() {
                Some(_) if first => Strategy::InOrder,
                _ if plan.unordered.is_some() => Strategy::Unordered { zeroed: zeroed && first },
                _ => Strategy::Split { zeroed: zeroed && first },
            };
            let mut split_again = false;
            let outcome = loop {
                let outcome = self.attempt_by(strategy, stream, (input, plan))?;
                let Some(next) = strategy.after(&outcome) else { break outcome };
                strategy = next;
                split_again |= strategy == Strategy::LastSplitAgain;
            };
            let counted = strategy == Strategy::Counted;
            if let Outcome::Built { length, skewed, moved, repeated, mut stages } = outcome {
                let resolved = repeated.all();
                if resolved != 0 {
                    let resolving = self.resolve_repeats(stream, (input, plan), repeated)?;
                    stages = stages.map(|stages| PageStages { resolving, ..stages });
                }
                let ordered = !plan.unique && !matches!(strategy, Strategy::Unordered { .. });
                (self.length, self.changed) = (length, 0);
                self.report =
                    PageReport { seed, failures, split_again, counted, skewed, ordered, resolved, moved, stages };
                return Ok(());
            }
        }
        let load = self.config.load_of::<V>(plan.capacity);
        Err(Error::BuildFailed(BuildError::Page { pairs: plan.pairs, load, attempts }))
    }

    /// Makes one attempt with the constants of the layout.
    fn attempt_by(&mut self, strategy: Strategy, stream: &Stream, planned: Planned<'_, K, V>) -> Result<Outcome> {
        match strategy {
            Strategy::InOrder => self.attempt_in_order(stream, planned),
            Strategy::Unordered { zeroed } => self.attempt_unordered(stream, planned, zeroed),
            Strategy::Split { zeroed } => self.attempt(stream, planned, zeroed),
            Strategy::LastSplitAgain => self.attempt_last_split(stream, planned),
            Strategy::Counted => self.attempt_counted(stream, planned),
        }
    }

    /// Allocates more memory if the table is too small for the plan.
    fn ensure_capacity(&mut self, plan: &Plan) -> Result<()> {
        let words = plan.table_words() as usize;
        if self.words.len() < words {
            // A tiny table is allocated first, so that an empty table is left if the large one
            // cannot be allocated.
            let tiny = PageConfig::default().plan::<K, V>(0)?;
            self.words = Buffer::uninitialized(&self.device, tiny.table_words() as usize)?;
            self.layout = Layout::new::<K, V>(0, 0, tiny.page_bits, tiny.page_buckets);
            self.words = Buffer::uninitialized(&self.device, words)?;
        }
        Ok(())
    }
}
