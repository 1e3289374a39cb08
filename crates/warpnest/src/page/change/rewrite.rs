//! Changes by batches that are large compared to the table. The batch is split as for a build, and
//! each page is rewritten with its part of the batch.

use super::direct::{Added, MAX_DIRECT};
use crate::page::build::attempt::Launches;
use crate::page::build::outcome::Repeats;
use crate::page::build::plan::{Plan, Planned};
use crate::page::table::PageTable;
use crate::split::launch_one_of;
use crate::table::input::{Input, Known};
use crate::table::stages::StageClock;
use crate::{Buffer, Result, Stream};
use gpu_kernels::page::{AddToPages, RemoveFromPages, UnorderedParams, header};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Nothing, Payload};

/// The result of rewriting the pages with their parts of a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rewritten {
    /// All pages are rewritten.
    All(Repeats),
    /// A bin of a split had too many pairs, so no page was changed.
    Overflow,
    /// Some pages could not take their pairs, or did not try. The other pages have their pairs.
    Some,
}

impl<K: KeyWord, V: Payload> PageTable<K, V> {
    /// Returns the plan of a batch of pairs, or of only keys, for the pages of this table.
    fn plan_of_batch<P: Payload>(&self, pairs: u64, unique: bool) -> Plan {
        let (bits, buckets, machine) = (self.layout.page_bits, self.layout.page_buckets, self.device.machine());
        Plan::new::<K, P, P>(pairs, bits, buckets, unique, machine).for_change()
    }

    /// Adds pairs by rewriting all pages, and counts the new keys. If the batch has equal keys, the
    /// last pair wins.
    ///
    /// If memory cannot be allocated, the table is unchanged. After any other error it is empty.
    pub(in crate::page) fn add_by_pages(&mut self, stream: &Stream, input: Input<'_, K, V>) -> Result<Added> {
        let unique = self.config.unique_given(input.known);
        let plan = self.plan_of_batch::<V>(input.pairs, unique);
        self.scratch.reserve(plan.scratch_words())?;
        self.add_pages(stream, (input, &plan)).map_err(|source| self.emptied(stream, source))
    }

    fn add_pages(&mut self, stream: &Stream, (input, plan): Planned<'_, K, V>) -> Result<Added> {
        let (mut rewritten, mut in_order) = (Rewritten::Overflow, plan.clone());
        if plan.unique || plan.unordered.is_some() && !self.sample_is_repeated(stream, (input, plan))? {
            rewritten = self.add_split(stream, (input, plan), true)?;
            if rewritten == Rewritten::Overflow {
                in_order = plan.seeking_repeats();
            }
        }
        if let Rewritten::All(repeats) = rewritten {
            if repeats.all() != 0 {
                self.resolve_repeats(stream, (input, plan), repeats)?;
            }
            return Ok(Added::All);
        }
        // Adding the same pairs again changes nothing.
        if !plan.unique && self.is_whole(stream)? {
            rewritten = self.add_split(stream, (input, &in_order), false)?;
        }
        match rewritten {
            Rewritten::All(_) => Ok(Added::All),
            Rewritten::Some => Ok(Added::Full),
            Rewritten::Overflow if input.pairs <= MAX_DIRECT => self.add_directly(stream, input),
            // A build can move pairs to exact offsets.
            Rewritten::Overflow => Ok(Added::Full),
        }
    }

    /// Moves pairs back towards their home buckets to close holes. Returns whether pairs can now be
    /// added in order. Cores that process pairs in order close holes by themselves.
    fn is_whole(&mut self, stream: &Stream) -> Result<bool> {
        let in_order = self.device.machine().runs_in_order();
        if self.layout.holes != 0 && !in_order {
            let nothing = Buffer::uninitialized(&self.device, 0)?;
            let plan = self.plan_of_batch::<Nothing>(0, true);
            self.remove_split(stream, &nothing, &plan)?;
        }
        Ok(in_order || self.layout.holes == 0)
    }

    /// Splits pairs, without keeping their order if `unordered`, and adds them to the pages.
    fn add_split(&mut self, stream: &Stream, (input, plan): Planned<'_, K, V>, unordered: bool) -> Result<Rewritten> {
        let mut clock = StageClock::new(false);
        let launches = self.launches((input, plan), unordered, false)?;
        let scratch = launches.scratch;
        let sizes = plan.unordered.filter(|_| unordered);
        // SAFETY: the scratch has the words of its plan, the table the words of its layout. All
        // words that must be 0 are 0, and splits run one after the other. There is a count for
        // every page, unless there is only one, and a block for each page. Without a list of
        // repeated keys, no key is repeated, or pairs are in order and the table has no holes,
        // unless cores process it.
        stream.batch(|batch| unsafe {
            launches.record(batch);
            let zeros = if unordered { plan.cells_at() } else { plan.zeros() };
            batch.zero(scratch, zeros as usize)?;
            launches.splits(batch, &mut clock)?;
            let build = launches.build_args(batch, launches.last_counts(batch), Global::null());
            let add = AddToPages::<K, V, false> {
                keys: build.keys,
                values: build.values,
                counts: build.counts,
                starts: build.starts,
                words: build.words_out,
                header: build.header,
                // The documentation of the kernel allows null instead of a list.
                repeats: match sizes {
                    Some(_) => batch.write(scratch).offset(plan.repeats_at()),
                    None => Global::null(),
                },
                plan: UnorderedParams {
                    build: build.plan,
                    sizes: sizes.map_or_else(Default::default, |sizes| sizes.list),
                },
            };
            let pages = launches.layout.pages() as u64;
            launch_one_of(batch, unordered, &add, &add.variant::<true>(), pages)
        })?;
        let found = scratch.download_front(stream, header::WORDS)?;
        let word = |at: u64| found[at as usize];
        if split_overflowed(&found) {
            return Ok(Rewritten::Overflow);
        }
        self.length += word(header::LENGTH);
        let full = sizes.is_some_and(|sizes| word(header::REPEATED) > sizes.list.common as u64);
        if word(header::FAILED) != 0 || full {
            return Ok(Rewritten::Some);
        }
        (self.layout.holes, self.changed) = (0, 0);
        Ok(Rewritten::All(Repeats { own: word(header::LISTED), common: word(header::REPEATED) }))
    }

    /// Removes keys by rewriting the pages, and returns the count of removed keys. After an error
    /// the table is as after an error of [`PageTable::add_by_pages`].
    pub(in crate::page) fn remove_by_pages(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<u64> {
        let plan = self.plan_of_batch::<Nothing>(keys.len() as u64, true);
        self.scratch.reserve(plan.scratch_words())?;
        let removed = self.remove_split(stream, keys, &plan);
        match removed.map_err(|source| self.emptied(stream, source))? {
            Some(removed) => Ok(removed),
            // A bin cannot hold all copies of one key. SAFETY: there are no answers.
            None => unsafe { self.remove_directly(stream, keys, None) },
        }
    }

    /// Splits keys, removes them from the pages, and returns the count of removed keys. Returns
    /// `None` if a bin had too many keys, so that nothing was removed.
    fn remove_split(&mut self, stream: &Stream, keys: &Buffer<K>, plan: &Plan) -> Result<Option<u64>> {
        let mut clock = StageClock::new(false);
        let Self { scratch, words, layout, .. } = &mut *self;
        let input = Input::<K, Nothing> { keys, values: None, pairs: keys.len() as u64, known: Known::Nothing };
        let scratch = scratch.reserve(plan.scratch_words())?;
        let launches = Launches { plan, layout, unique: true, input, scratch, words, zeroed: false };
        // SAFETY: as for `add_split`.
        stream.batch(|batch| unsafe {
            launches.record(batch);
            batch.zero(scratch, plan.zeros() as usize)?;
            launches.splits(batch, &mut clock)?;
            let build = launches.build_args(batch, launches.last_counts(batch), Global::null());
            let remove = RemoveFromPages::<K, V> {
                keys: build.keys,
                counts: build.counts,
                words: build.words_out.cast(),
                header: build.header,
                plan: build.plan,
            };
            batch.launch_blocks(&remove, launches.layout.pages() as u64)
        })?;
        let found = scratch.download_front(stream, header::WORDS)?;
        let word = |at: u64| found[at as usize];
        if split_overflowed(&found) {
            return Ok(None);
        }
        let removed = word(header::LENGTH);
        // A file may have stated a wrong count, so `length` may be too small.
        self.length = self.length.saturating_sub(removed);
        (self.layout.holes, self.changed) = ((word(header::HOLES) != 0) as u32, 0);
        Ok(Some(removed))
    }
}

/// Returns whether a bin of a split had too many pairs, according to the words of the header.
fn split_overflowed(found: &[u64]) -> bool {
    (0..header::LEVELS).any(|level| found[(header::OVERFLOW + level) as usize] != 0)
}
