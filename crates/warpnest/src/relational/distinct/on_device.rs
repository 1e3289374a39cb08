//! Distinct keys with ids, counts and first rows on a GPU. One table in memory gives all of them
//! for few rows, or with a bound for the keys. For more rows, a group-by finds the keys, and a
//! lookup of all rows in a map of these keys finds the ids.
//!
//! A key with only one row need not be in the map, because a row whose key is not found must be
//! that row. If many keys must have only one row, the map contains only the other keys.

use super::parts::{Parts, Wanted};
use super::ranks::{Flagged, Rows, flag_repeated};
use crate::hash::random_seed;
use crate::page::{PageConfig, PageTable};
use crate::primitives::{Scratch, check_items, invert, iota, scatter, select, selected};
use crate::relational::Order;
use crate::relational::columns::{RowKeys, Words, typed};
use crate::relational::group_by::bounded::Bound;
use crate::relational::group_by::memory::{Memory, permuted};
use crate::relational::group_by::outputs::{ChipInput, Computed};
use crate::relational::group_by::query::GroupBy;
use crate::relational::group_by::table::{Answer, OfRows, fits_table, group_in_table};
use crate::table::input::{Input, Known};
use crate::table::raw::ReadTable;
use crate::{Buffer, Key, Result, Stream};
use gpu_kernels::types::Nothing;

/// Returns the distinct keys and the other wanted parts, in the given memory. With a bound, their
/// order is any, and nothing waits for their count.
///
/// # Errors
/// As for [`GroupBy::run_on`] and for a [`PageMap`](crate::PageMap)'s build.
pub(super) fn on_device<K: Key>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    wanted: &Wanted,
    memory: Parts<K>,
    bound: Option<Bound<'_>>,
) -> Result<Parts<K>> {
    let rows = check_items(keys.len())?;
    let column = Column { stream, keys, wanted };
    let is_small = fits_table(stream.machine(), rows) && wanted.order != Order::ByKey;
    let (groups, ids) = match is_small || bound.is_some() {
        true => column.in_table(scratch, memory, bound)?,
        false => column.by_group_by(scratch, memory)?,
    };
    let mut wanted_or_free = |numbers: Option<Buffer<u32>>, is_wanted: bool| match numbers {
        Some(numbers) if !is_wanted => {
            scratch.give_back(numbers);
            None
        }
        numbers => numbers,
    };
    let counts = wanted_or_free(groups.counts, wanted.counts);
    let first_rows = wanted_or_free(groups.firsts, wanted.first_rows);
    Ok(Parts { keys: groups.keys, ids: wanted_or_free(ids, wanted.ids), counts, first_rows })
}

/// The groups of a column, or memory for them.
struct Groups<K> {
    keys: Buffer<K>,
    counts: Option<Buffer<u32>>,
    /// The first row of each group.
    firsts: Option<Buffer<u32>>,
}

impl<K> Groups<K> {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn give_back(self, scratch: &mut Scratch) {
        scratch.give_back(self.keys);
        for numbers in [self.counts, self.firsts].into_iter().flatten() {
            scratch.give_back(numbers);
        }
    }
}

/// The key column of the rows, and what is wanted.
struct Column<'c, K> {
    stream: &'c Stream,
    keys: &'c Buffer<K>,
    wanted: &'c Wanted,
}

impl<K: Key> Column<'_, K> {
    /// Returns the groups and the ids, which one table in memory gives.
    fn in_table(
        &self,
        scratch: &mut Scratch,
        memory: Parts<K>,
        bound: Option<Bound<'_>>,
    ) -> Result<(Groups<K>, Option<Buffer<u32>>)> {
        let Self { stream, keys, wanted } = *self;
        let by_first = wanted.order == Order::FirstSeen;
        let Parts { keys: keys_out, ids, counts, first_rows } = memory;
        let mut lent = |held: Option<Buffer<u32>>, is_needed: bool| match held {
            None if is_needed => scratch.lend(keys.len()).map(Some),
            held => Ok(held),
        };
        let (mut firsts, mut ids) = (lent(first_rows, by_first)?, lent(ids, by_first)?);
        let seed = wanted.seed.unwrap_or_else(random_seed);
        let input = ChipInput { keys: RowKeys::One(keys.words()), columns: &[], seed };
        let mut computed = Computed { keys: keys_out.into_words(), counts, columns: Vec::new() };
        let answer = if by_first { Answer::FirstRow } else { Answer::Group };
        let of_rows = OfRows { firsts: firsts.as_mut(), answers: ids.as_mut().map(|ids| (ids, answer)) };
        group_in_table::<K::Word, Nothing>(stream, scratch, input, &mut computed, of_rows, bound)?;
        let groups = Groups { keys: typed(computed.keys), counts: computed.counts, firsts };
        let Some(ids) = ids.as_mut().filter(|_| by_first) else { return Ok((groups, ids)) };
        let of_rows = Rows { rows: keys.len() as u64, ids: 0, by_first };
        let flags = of_rows.firsts(stream, scratch, ids, None)?;
        of_rows.number(stream, ids, None, &flags)?;
        let groups = self.as_seen(scratch, groups, &flags)?;
        flags.give_back(scratch);
        Ok((groups, Some(ids.take())))
    }

    /// Returns the groups and the ids of many rows, which a group-by gives, and a map of the keys.
    fn by_group_by(&self, scratch: &mut Scratch, memory: Parts<K>) -> Result<(Groups<K>, Option<Buffer<u32>>)> {
        let (wanted, rows) = (self.wanted, self.keys.len());
        let Parts { keys: keys_out, mut ids, counts, first_rows } = memory;
        let groups = self.grouped(scratch, Groups { keys: keys_out, counts, firsts: first_rows })?;
        if let Some(ids) = &mut ids {
            ids.fit_at_least(scratch.device(), rows)?;
            ids.set_length(rows);
        }
        let needs_order = ids.is_some() || wanted.order == Order::FirstSeen;
        let groups = match &mut ids {
            ids if needs_order && groups.len() == rows && wanted.order != Order::ByKey => {
                self.each_once(groups, ids.as_mut())?
            }
            Some(ids) => self.numbered(scratch, groups, ids)?,
            None if needs_order => self.in_order(scratch, groups)?,
            None => groups,
        };
        Ok((groups, ids))
    }

    /// Returns the groups of the rows, with the columns that are wanted or needed.
    fn grouped(&self, scratch: &mut Scratch, memory: Groups<K>) -> Result<Groups<K>> {
        let Self { stream, keys, wanted } = *self;
        let needs_counts = wanted.counts || wanted.ids && wanted.order != Order::ByKey;
        let needs_firsts = wanted.first_rows || wanted.order == Order::FirstSeen;
        let mut lent = |held: Option<Buffer<u32>>, is_needed: bool| match held {
            None if is_needed => scratch.lend(keys.len()).map(Some),
            held => Ok(held),
        };
        let (counts, firsts) = (lent(memory.counts, needs_counts)?, lent(memory.firsts, needs_firsts)?);
        let numbers = needs_firsts.then(|| self.row_numbers(scratch)).transpose()?;
        let mut query = GroupBy::new(keys);
        if needs_counts {
            query.count();
        }
        if let Some(numbers) = &numbers {
            query.min(numbers);
        }
        query.order(if wanted.order == Order::ByKey { Order::ByKey } else { Order::Any });
        if let Some(seed) = wanted.seed {
            query.seed(seed);
        }
        let columns = [counts, firsts].into_iter().flatten().map(Words::Narrow).collect();
        let groups = query.run_with(stream, scratch, Memory { keys: memory.keys.into_words(), columns })?;
        drop(query);
        if let Some(numbers) = numbers {
            scratch.give_back(numbers);
        }
        let mut columns = groups.columns.into_iter().map(Words::into_buffer::<u32>);
        let counts = needs_counts.then(|| columns.next()).flatten();
        Ok(Groups { keys: groups.keys, counts, firsts: columns.next() })
    }

    fn row_numbers(&self, scratch: &mut Scratch) -> Result<Buffer<u32>> {
        let mut numbers = scratch.lend(self.keys.len())?;
        iota(self.stream, &mut numbers)?;
        Ok(numbers)
    }

    /// Gives ids to rows whose keys are all distinct: the id of a row is its index.
    fn each_once(&self, mut groups: Groups<K>, ids: Option<&mut Buffer<u32>>) -> Result<Groups<K>> {
        groups.keys.copy_from(self.stream, self.keys)?;
        for numbers in [ids, groups.firsts.as_mut()].into_iter().flatten() {
            iota(self.stream, numbers)?;
        }
        Ok(groups)
    }

    /// Returns the groups in the order of their first rows.
    fn in_order(&self, scratch: &mut Scratch, groups: Groups<K>) -> Result<Groups<K>> {
        let Groups { keys, counts, firsts: Some(firsts) } = groups else { return Ok(groups) };
        let has_counts = counts.is_some();
        let columns = counts.map(Words::Narrow).into_iter().collect();
        let (firsts, keys, columns) = permuted(self.stream, scratch, firsts, keys.into_words(), columns)?;
        let mut columns = columns.into_iter().map(Words::into_buffer::<u32>);
        let counts = has_counts.then(|| columns.next()).flatten();
        Ok(Groups { keys: typed(keys), counts, firsts: Some(firsts) })
    }

    /// Writes the id of each row to `ids`; returns the groups in the order of their ids.
    fn numbered(&self, scratch: &mut Scratch, groups: Groups<K>, ids: &mut Buffer<u32>) -> Result<Groups<K>> {
        let Self { stream, keys, wanted } = *self;
        let by_first = wanted.order == Order::FirstSeen;
        let (rows, count) = (keys.len(), groups.len());
        // At least this many keys have one row, because each of the other keys has at least two
        // rows.
        let once = (2 * count).saturating_sub(rows);
        let is_split = wanted.order != Order::ByKey && 4 * once >= count && once != 0;
        let repeated = match &groups.counts {
            Some(counts) if is_split => Some(self.repeated(scratch, &groups, counts)?),
            _ => None,
        };
        let found = self.looked_up(scratch, &groups, repeated.as_ref(), ids)?;
        if repeated.is_none() && !by_first {
            scratch.give_back(found);
            return Ok(groups);
        }
        let ids_before = repeated.as_ref().filter(|_| !by_first).map_or(0, |repeated| repeated.count);
        let of_rows = Rows { rows: rows as u64, ids: ids_before as u32, by_first };
        let flags = of_rows.firsts(stream, scratch, ids, repeated.is_some().then_some(&found))?;
        of_rows.number(stream, ids, repeated.is_some().then_some(&found), &flags)?;
        scratch.give_back(found);
        let ordered = match repeated {
            Some(repeated) if !by_first => self.repeated_first(scratch, groups, repeated, &flags)?,
            repeated => {
                if let Some(repeated) = repeated {
                    repeated.give_back(scratch);
                }
                self.as_seen(scratch, groups, &flags)?
            }
        };
        flags.give_back(scratch);
        Ok(ordered)
    }

    /// Returns the groups that have more than one row.
    fn repeated(&self, scratch: &mut Scratch, groups: &Groups<K>, counts: &Buffer<u32>) -> Result<Repeated<K>> {
        let (stream, length) = (self.stream, groups.len());
        let flags = flag_repeated(stream, scratch, counts)?;
        let keys = scratch.lend::<K>(length)?;
        select(stream, scratch, groups.keys.words(), &flags, (keys.words(), 0))?;
        let count = selected(stream, scratch)? as usize;
        let firsts = match &groups.firsts {
            Some(firsts) => {
                let selected = scratch.lend(length)?;
                select(stream, scratch, firsts, &flags, (&selected, 0))?;
                Some(selected)
            }
            None => None,
        };
        Ok(Repeated { flags, keys, firsts, count })
    }

    /// Looks up all rows in a map from the groups, or only from the repeated groups, to their first
    /// rows or their ids. Returns the found-bits of the rows.
    fn looked_up(
        &self,
        scratch: &mut Scratch,
        groups: &Groups<K>,
        repeated: Option<&Repeated<K>>,
        ids: &Buffer<u32>,
    ) -> Result<Buffer<u32>> {
        let Self { stream, keys, wanted } = *self;
        let (of_map, firsts, count) = match repeated {
            Some(repeated) => (&repeated.keys, &repeated.firsts, repeated.count),
            None => (&groups.keys, &groups.firsts, groups.len()),
        };
        let mut numbers = None;
        let values = match firsts {
            Some(firsts) if wanted.order == Order::FirstSeen => firsts,
            _ => {
                let numbers = numbers.insert(scratch.lend::<u32>(count)?);
                iota(stream, numbers)?;
                numbers
            }
        };
        let config = match wanted.seed {
            Some(seed) => PageConfig::default().seed(seed),
            None => PageConfig::default(),
        };
        let input = Input { keys: of_map.words(), values: Some(values), pairs: count as u64, known: Known::Unique };
        let map = PageTable::<K::Word, u32>::build_in(config, stream, scratch, input)?;
        let found = scratch.lend(keys.len().div_ceil(32))?;
        // SAFETY: there is an id for each row, and a found-word for every 32 rows. The caller
        // borrows the ids mutably.
        unsafe { map.find(stream, keys.words(), (Some(ids), &found))? };
        map.give_back(scratch);
        if let Some(numbers) = numbers {
            scratch.give_back(numbers);
        }
        Ok(found)
    }

    /// Returns first the repeated groups, and then the groups of one row in the order of their
    /// rows.
    fn repeated_first(
        &self,
        scratch: &mut Scratch,
        groups: Groups<K>,
        repeated: Repeated<K>,
        once: &Flagged,
    ) -> Result<Groups<K>> {
        let (stream, count) = (self.stream, repeated.count);
        let Repeated { flags, keys, firsts, .. } = repeated;
        select(stream, scratch, self.keys.words(), &once.bits, (keys.words(), count))?;
        if let Some(firsts) = &firsts {
            let numbers = self.row_numbers(scratch)?;
            select(stream, scratch, &numbers, &once.bits, (firsts, count))?;
            scratch.give_back(numbers);
        }
        let counts = match &groups.counts {
            Some(counts) if self.wanted.counts => {
                let selected = scratch.lend(groups.len())?;
                select(stream, scratch, counts, &flags, (&selected, 0))?;
                invert(stream, &flags, groups.len() as u64)?;
                select(stream, scratch, counts, &flags, (&selected, count))?;
                Some(selected)
            }
            _ => None,
        };
        scratch.give_back(flags);
        groups.give_back(scratch);
        Ok(Groups { keys, counts, firsts })
    }

    /// Returns the groups in the order of their first rows, which `flags` marks.
    fn as_seen(&self, scratch: &mut Scratch, groups: Groups<K>, flags: &Flagged) -> Result<Groups<K>> {
        let (stream, length) = (self.stream, groups.len());
        let keys = scratch.lend::<K>(length)?;
        select(stream, scratch, self.keys.words(), &flags.bits, (keys.words(), 0))?;
        let counts = match (&groups.counts, &groups.firsts) {
            (Some(counts), Some(firsts)) if self.wanted.counts => {
                let of_groups = Rows { rows: length as u64, ids: 0, by_first: true };
                of_groups.number(stream, firsts, None, flags)?;
                let mut ordered = scratch.lend(length)?;
                scatter(stream, counts, firsts, &mut ordered)?;
                Some(ordered)
            }
            _ => None,
        };
        let firsts = match self.wanted.first_rows {
            true => {
                let (numbers, firsts) = (self.row_numbers(scratch)?, scratch.lend(length)?);
                select(stream, scratch, &numbers, &flags.bits, (&firsts, 0))?;
                scratch.give_back(numbers);
                Some(firsts)
            }
            false => None,
        };
        groups.give_back(scratch);
        Ok(Groups { keys, counts, firsts })
    }
}

/// The groups that have more than one row, in memory for all groups.
struct Repeated<K> {
    /// A flag for each group.
    flags: Buffer<u32>,
    keys: Buffer<K>,
    firsts: Option<Buffer<u32>>,
    count: usize,
}

impl<K> Repeated<K> {
    fn give_back(self, scratch: &mut Scratch) {
        scratch.give_back(self.flags);
        scratch.give_back(self.keys);
        if let Some(firsts) = self.firsts {
            scratch.give_back(firsts);
        }
    }
}
