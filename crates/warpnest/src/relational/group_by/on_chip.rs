//! Computes the groups of a query without sorting its rows, and returns them as columns.

use super::bounded::Bound;
use super::folds::{Answer, Fold, FoldedColumn, Folds, Kind};
use super::hot_and_bins::{OnChip, hot_and_bins};
use super::memory::{Grouped, Memory, permuted};
use super::on_cores::group_on_cores;
use super::outputs::{ChipInput, Computed, ComputedColumn, InputColumn};
use super::sort::SortInput;
use super::table::{OfRows, group_in_table};
use super::wanted::{Order, Query};
use crate::primitives::{Scratch, launch_gather};
use crate::relational::columns::{Recoding, RowKeys, Words, WordsRef, one_column, recode};
use crate::{Buffer, Device, InputError, Result, Stream};
use gpu_kernels::columns::MAX_COLUMNS;
use gpu_kernels::primitives::reduce::SumKind;
use gpu_kernels::relational::group_by::means::{Means, MeansParams};
use gpu_kernels::types::{Columns, KeyWord, Nothing, ValueWord};
use std::ops::Range;

/// The most columns of a pass, and the most 32-bit words of a group's aggregates, on a GPU with the
/// least memory: a block of the table in memory has 1,024 of them.
const MOST_OF_PASS: (usize, u32) = (MAX_COLUMNS, 10);

impl Query<'_> {
    /// Fails unless the query can be answered by one table without a wait.
    pub(super) fn check_bounded(&self) -> Result<()> {
        let what = match self {
            _ if self.order != Order::Any => "an order of the groups",
            _ if self.only.is_some() => "leaving rows out of a query",
            _ if self.top.is_some() => "the top groups",
            _ if !self.derived.is_empty() => "a count of distinct values, a variance or a quantile",
            _ if Folds::of(self).passes(MOST_OF_PASS).len() > 1 => "aggregates of many columns",
            _ => return Ok(()),
        };
        Err(InputError::NotBounded { what }.into())
    }
}

/// The method for rows that are not sorted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way<'b> {
    /// One table in the device's memory, for few rows, or with a bound.
    Table(Option<Bound<'b>>),
    /// The hot pass and bins, which a sample decides on.
    HotAndBins,
}

/// Returns the keys of the groups, and their aggregates in the requested order; `None` if the rows
/// must be sorted instead.
pub(super) fn group_on_chip<K: KeyWord + ValueWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    query: &Query<'_>,
    input: &SortInput<'_, '_, K>,
    memory: Memory<K>,
    (seed, way): (u64, Way<'_>),
) -> Result<(Option<Grouped<K>>, OnChip)> {
    let device = scratch.device().clone();
    // Cores read one column.
    let (mut keys, mut joined) = (input.keys.lent(), None);
    if stream.machine().runs_in_order() {
        keys = RowKeys::One(one_column(stream, scratch, keys, &mut joined)?);
    }
    let of = OnChipQuery { stream, query, input, device: device.clone(), keys, seed, way };
    let (done, report) = of.answer(scratch, memory)?;
    joined.into_iter().for_each(|joined| scratch.give_back(joined));
    let (keys, columns) = match done {
        Some(groups) if query.order == Order::ByKey => groups,
        done => return Ok((done, report)),
    };
    let words = keys.duplicate(stream, &device)?;
    stream.batch(|batch| {
        let (output, keys) = (batch.write(&words), batch.read(&keys));
        // SAFETY: both buffers have the same count of keys.
        unsafe { recode(batch, (input.order, Recoding::Encode), words.len() as u64, keys, output) }
    })?;
    let (_, keys, columns) = permuted(stream, scratch, words, keys, columns)?;
    Ok((Some((keys, columns)), report))
}

/// A query, with its rows and the way in which it is answered.
struct OnChipQuery<'a, 'q, 'c, K> {
    stream: &'a Stream,
    query: &'a Query<'q>,
    input: &'a SortInput<'a, 'c, K>,
    device: Device,
    keys: RowKeys<'a, K>,
    seed: u64,
    way: Way<'a>,
}

/// The aggregates that were computed, by what they are.
#[derive(Default)]
struct Found(Vec<(Fold, Words)>);

impl Found {
    fn get(&self, fold: Fold) -> &Words {
        let found = self.0.iter().find(|(held, _)| *held == fold);
        &found.expect("every aggregate that an answer needs is computed").1
    }

    /// Adds what a pass has computed of the columns from index `first` on.
    fn add(&mut self, counts: Option<Buffer<u32>>, columns: Vec<ComputedColumn>, first: usize) {
        self.0.extend(counts.map(|counts| (Fold::Count, Words::Narrow(counts))));
        for (ComputedColumn { sums, minima, maxima, .. }, number) in columns.into_iter().zip(first..) {
            let kinds = [(sums.map(Words::Wide), Kind::Sum), (minima, Kind::Min), (maxima, Kind::Max)];
            let found = kinds.into_iter().filter_map(|(words, kind)| Some((Fold::Of(number, kind), words?)));
            self.0.extend(found);
        }
    }
}

impl<K: KeyWord + ValueWord> OnChipQuery<'_, '_, '_, K> {
    /// Returns the keys of the groups and the query's aggregates, in the order of the groups unless
    /// that is the order of the keys.
    fn answer(&self, scratch: &mut Scratch, memory: Memory<K>) -> Result<(Option<Grouped<K>>, OnChip)> {
        let Self { stream, query, .. } = *self;
        let device = self.device.clone();
        let mut folds = Folds::of(query);
        let by_first = (query.order == Order::FirstSeen).then(|| folds.first_rows());
        let mut own: Vec<Option<Words>> = memory.columns.into_iter().map(Some).collect();
        let is_on_cores = matches!(self.way, Way::HotAndBins)
            && stream.machine().runs_in_order()
            && matches!(self.keys, RowKeys::One(keys) if keys.in_place(stream)?.is_some());
        let passes = folds.passes(if is_on_cores { (usize::MAX, u32::MAX) } else { MOST_OF_PASS });
        let (mut found, mut all_keys, mut report) = (Found::default(), Some(memory.keys), OnChip::default());
        for pass in &passes {
            let keys = match all_keys.take().filter(|_| pass.start == 0) {
                Some(keys) => keys,
                None => Buffer::uninitialized(&device, 0)?,
            };
            let mut computed = self.memory_of(scratch, &folds, pass.clone(), keys, &mut own)?;
            let (done, of_pass) = self.compute(scratch, &folds.columns[pass.clone()], &mut computed)?;
            report = if pass.start == 0 { of_pass } else { report };
            if !done {
                return Ok((None, OnChip { hot_rows: 0, overflowed: true, ..report }));
            }
            let Computed { keys, counts, columns } = computed;
            let mut of_pass = Found::default();
            of_pass.add(counts, columns, pass.start);
            if passes.len() > 1 {
                // Passes find the groups in different orders, which sorting makes equal.
                let (names, words): (Vec<Fold>, Vec<Words>) = of_pass.0.into_iter().unzip();
                let by = keys.duplicate(stream, &device)?;
                let (_, sorted, words) = permuted(stream, scratch, by, keys, words)?;
                all_keys = Some(sorted);
                found.0.extend(names.into_iter().zip(words));
            } else {
                all_keys = Some(keys);
                found.0.append(&mut of_pass.0);
            }
        }
        let keys = all_keys.expect("there is a pass");
        let mut columns = Vec::new();
        for (&answer, own) in folds.answers.iter().zip(own) {
            columns.push(own.map(|own| self.derived(answer, &found, own, keys.len())).transpose()?);
        }
        // What was computed in the memory of a result becomes that result.
        for (number, column) in columns.iter_mut().enumerate().filter(|(_, column)| column.is_none()) {
            let Answer::Fold(fold) = folds.answers[number] else { continue };
            let at = found.0.iter().position(|(held, _)| *held == fold);
            *column = at.map(|at| found.0.swap_remove(at).1);
        }
        let columns: Vec<Words> = columns.into_iter().flatten().collect();
        debug_assert_eq!(columns.len(), query.wanted.len(), "every result is computed");
        let grouped = match by_first.map(|rows| found.get(rows)) {
            Some(Words::Narrow(rows)) => {
                let rows = rows.duplicate(stream, &device)?;
                let (_, keys, columns) = permuted(stream, scratch, rows, keys, columns)?;
                (keys, columns)
            }
            _ => (keys, columns),
        };
        found.0.into_iter().for_each(|(_, words)| words.give_back(scratch));
        Ok((Some(grouped), report))
    }

    /// Returns the memory for the keys and aggregates of a pass. Each aggregate is computed in the
    /// memory of the first result that it is, if there is one, which is taken from `own`.
    fn memory_of(
        &self,
        scratch: &mut Scratch,
        folds: &Folds,
        pass: Range<usize>,
        keys: Buffer<K>,
        own: &mut [Option<Words>],
    ) -> Result<Computed<K>> {
        let groups = if let Way::Table(Some(bound)) = self.way { bound.capacity } else { 0 };
        let mut memory = |fold: Fold, is_wide: bool| -> Result<Words> {
            let of_result = folds.answers.iter().position(|answer| *answer == Answer::Fold(fold));
            match of_result.and_then(|number| own[number].take()) {
                Some(words) => Ok(words),
                None if is_wide => scratch.lend(groups).map(Words::Wide),
                None => scratch.lend(groups).map(Words::Narrow),
            }
        };
        let is_counted = pass.start == 0 && folds.folds.contains(&Fold::Count);
        let counts = is_counted.then(|| memory(Fold::Count, false)).transpose()?.map(Words::into_buffer);
        let mut columns = Vec::new();
        for number in pass {
            let FoldedColumn { params, part, .. } = folds.columns[number];
            let mut of = |is_wanted: bool, kind: Kind| {
                let is_wide = kind == Kind::Sum || part.bits == 64;
                is_wanted.then(|| memory(Fold::Of(number, kind), is_wide)).transpose()
            };
            let sums = of(part.wanted.sums, Kind::Sum)?.map(Words::into_buffer);
            let (minima, maxima) = (of(part.wanted.minima, Kind::Min)?, of(part.wanted.maxima, Kind::Max)?);
            columns.push(ComputedColumn { sums, minima, maxima, ..ComputedColumn::new(part.bits, params) });
        }
        Ok(Computed { keys, counts, columns })
    }

    /// Aggregates the columns of a pass. Returns whether that was possible.
    fn compute(
        &self,
        scratch: &mut Scratch,
        columns: &[FoldedColumn],
        computed: &mut Computed<K>,
    ) -> Result<(bool, OnChip)> {
        let of_column = |of: &FoldedColumn| InputColumn {
            words: of.column.map(|column| self.input.values[column].lent()),
            source: of.source(),
            params: of.params,
        };
        let columns: Vec<InputColumn<'_>> = columns.iter().map(of_column).collect();
        let input = ChipInput { keys: self.keys, columns: &columns, seed: self.seed };
        match columns[..] {
            [] => self.compute_as::<Nothing>(scratch, input, computed),
            [InputColumn { words: Some(WordsRef::Narrow(_)), .. }] => self.compute_as::<u32>(scratch, input, computed),
            [InputColumn { words: Some(WordsRef::Wide(_)), .. }] => self.compute_as::<u64>(scratch, input, computed),
            _ => self.compute_as::<Columns>(scratch, input, computed),
        }
    }

    fn compute_as<V: gpu_kernels::types::Row>(
        &self,
        scratch: &mut Scratch,
        input: ChipInput<'_, K>,
        computed: &mut Computed<K>,
    ) -> Result<(bool, OnChip)> {
        match self.way {
            Way::Table(bound) => {
                group_in_table::<K, V>(self.stream, scratch, input, computed, OfRows::default(), bound)?;
                Ok((true, OnChip { estimated_groups: computed.keys.len() as u64, ..OnChip::default() }))
            }
            Way::HotAndBins => match group_on_cores(self.stream, scratch, &input, computed)? {
                Some(report) => Ok((true, report)),
                // The rows are sorted.
                None if input.columns.len() > MAX_COLUMNS => Ok((false, OnChip::default())),
                None => hot_and_bins::<K, V>(self.stream, scratch, input, computed),
            },
        }
    }

    /// Returns a result that is not computed in its own memory.
    fn derived(&self, answer: Answer, found: &Found, mut own: Words, groups: usize) -> Result<Words> {
        let Self { stream, input, ref device, .. } = *self;
        match answer {
            Answer::Fold(fold) => return found.get(fold).copied_to(own, stream, device),
            Answer::Mean { sum, upper, kind } => {
                own.resize(device, groups)?;
                if let (Words::Wide(sums), Words::Narrow(counts)) = (found.get(sum), found.get(Fold::Count)) {
                    divide(stream, (sums, upper.map(|upper| found.get(upper).lent()), counts), kind, &own)?;
                }
            }
            Answer::InRow { row, column } => {
                own.resize(device, groups)?;
                let Words::Narrow(rows) = found.get(row) else { return Ok(own) };
                stream.batch(|batch| {
                    let (indices, groups) = (batch.read(rows), groups as u64);
                    // SAFETY: there is a row number and an output for each group.
                    unsafe {
                        match (input.values[column].lent(), &own) {
                            (WordsRef::Narrow(values), Words::Narrow(own)) => {
                                let source = (batch.read(values), input.rows);
                                launch_gather(batch, source, (indices, groups), batch.write(own))
                            }
                            (WordsRef::Wide(values), Words::Wide(own)) => {
                                let source = (batch.read(values), input.rows);
                                launch_gather(batch, source, (indices, groups), batch.write(own))
                            }
                            _ => Ok(()),
                        }
                    }
                })?;
            }
        }
        Ok(own)
    }
}

/// Queues dividing sums by counts. `upper` has the sums of the upper halves, if sums may have
/// wrapped.
pub(super) fn divide(
    stream: &Stream,
    (sums, upper, counts): (&Buffer<u64>, Option<WordsRef<'_>>, &Buffer<u32>),
    kind: SumKind,
    means: &Words,
) -> Result<()> {
    let plan = MeansParams { items: sums.len() as u64, kind: kind as u32, padding: 0 };
    stream.batch(|batch| {
        let upper = upper.and_then(|upper| if let WordsRef::Wide(upper) = upper { Some(upper) } else { None });
        // SAFETY: there is a sum, a count and a mean for each group, and an upper sum if sums may
        // have wrapped.
        unsafe {
            let uppers = batch.read_or_null(upper);
            let (sums, counts, means) = (batch.read(sums), batch.read(counts), means.write(batch));
            batch.launch(&Means { sums, uppers, counts, means, plan }, plan.items)
        }
    })
}
