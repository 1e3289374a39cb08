//! A query without filters, from whose aggregates the ones of a query with filters follow.
//!
//! It has copies of the filtered columns. There, rows that a filter leaves out have a value that
//! changes no aggregate. Counts are sums of ones and zeros, and first and last values are found by
//! the numbers of the rows that are left. So nothing else knows of filters, except `derived`.

use super::input::ones_and_zeros;
use super::memory::{Grouped, Memory};
use super::on_chip::divide;
use super::sort::SortInput;
use super::wanted::{Place, Query, Wanted};
use crate::primitives::{Scratch, fill_absent, gather, number_from};
use crate::relational::columns::{Cast, IntoColumn, OnDevice, Words, WordsOf, WordsRef, cast_words};
use crate::{Buffer, Result, Stream, Value};
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::primitives::reduce::SumKind;
use gpu_kernels::types::{KeyWord, ValueWord};

/// The query without filters. Its first columns are the ones of the other query.
pub(super) struct Unfiltered {
    pub query: Query<'static>,
    /// The further columns.
    filled: Vec<Filled>,
    /// One for each aggregate of the other query.
    answers: Vec<Answer>,
    /// The count of rows that have the aggregate by which groups are kept, if that is filtered.
    of_top: Option<usize>,
}

/// A column in which the rows that a mask leaves out have a value that changes no aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Filled {
    of: Content,
    /// The index of the mask.
    mask: usize,
    fill: u64,
}

/// The content of the rows that are not left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// The values of the column with this index.
    Column(usize),
    Ones,
    /// The number of the row, counted from this number.
    RowsFrom(u32),
}

/// How an aggregate follows from the ones with the given indices.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Same(usize),
    /// The lower halves of sums.
    Count(usize),
    /// The quotient of sums, of which one may have wrapped and comes with the sum of upper halves.
    Mean {
        sum: usize,
        upper: Option<usize>,
        count: usize,
        kind: SumKind,
    },
    /// The value of a column in a row, or 0 if the group has no row. Rows are counted from `from`.
    InRow {
        row: usize,
        column: usize,
        from: u32,
    },
}

impl Unfiltered {
    /// Returns the query, or `None` if there are no filters, except on derived aggregates.
    pub(super) fn of(query: &Query<'_>) -> Option<Self> {
        let mask = |number: usize| query.mask_of(Place::Folded(number));
        (0..query.wanted.len()).find_map(mask)?;
        let mut unfiltered = Self { query: Query::new(), filled: Vec::new(), answers: Vec::new(), of_top: None };
        (unfiltered.query.order, unfiltered.query.skips_nans) = (query.order, query.skips_nans);
        for column in &query.columns {
            unfiltered.add_column(column.bits, column.numbers);
        }
        for (number, &wanted) in query.wanted.iter().enumerate() {
            let answer = match mask(number) {
                None => Answer::Same(unfiltered.want(wanted)),
                Some(mask) => unfiltered.answer(query, wanted, mask),
            };
            unfiltered.answers.push(answer);
        }
        let of_top =
            query.top.and_then(|top| query.mask_of(top.place).filter(|_| matches!(top.place, Place::Folded(_))));
        unfiltered.of_top = of_top.map(|mask| {
            let ones = unfiltered.filled(query, Filled { of: Content::Ones, mask, fill: 0 });
            unfiltered.want(Wanted::Sum(ones))
        });
        Some(unfiltered)
    }

    fn answer(&mut self, query: &Query<'_>, wanted: Wanted, mask: usize) -> Answer {
        let unsigned = (ColumnParams::unsigned(), SumKind::Unsigned);
        let numbers = |column: usize| query.numbers(column).unwrap_or(unsigned);
        let is_wide = |column: usize| query.columns[column].bits == 64;
        let mut filled = |of: Content, fill: u64| self.filled(query, Filled { of, mask, fill });
        match wanted {
            Wanted::Count => Answer::Count({
                let ones = filled(Content::Ones, 0);
                self.want(Wanted::Sum(ones))
            }),
            Wanted::Sum(column) | Wanted::SumOfUpper(column) => {
                let column = filled(Content::Column(column), nothing(query, column));
                let is_sum = matches!(wanted, Wanted::Sum(_));
                Answer::Same(self.want(if is_sum { Wanted::Sum(column) } else { Wanted::SumOfUpper(column) }))
            }
            Wanted::Mean(column) => {
                let (ones, kind) = (filled(Content::Ones, 0), numbers(column).1);
                let of = filled(Content::Column(column), nothing(query, column));
                let may_wrap = is_wide(column) && kind != SumKind::Float;
                let sum = self.want(Wanted::Sum(of));
                let upper = may_wrap.then(|| self.want(Wanted::SumOfUpper(of)));
                Answer::Mean { sum, upper, count: self.want(Wanted::Sum(ones)), kind }
            }
            Wanted::Min(column) | Wanted::Max(column) => {
                let (params, is_min) = (numbers(column).0, matches!(wanted, Wanted::Min(_)));
                let fill = match (is_wide(column), is_min) {
                    (true, true) => params.of_min_rank(0u64),
                    (true, false) => params.of_max_rank(0u64),
                    (false, true) => params.of_min_rank(0u32).into(),
                    (false, false) => params.of_max_rank(0u32).into(),
                };
                let column = filled(Content::Column(column), fill);
                Answer::Same(self.want(if is_min { Wanted::Min(column) } else { Wanted::Max(column) }))
            }
            Wanted::First(column) => {
                let rows = filled(Content::RowsFrom(0), u32::MAX.into());
                Answer::InRow { row: self.want(Wanted::Min(rows)), column, from: 0 }
            }
            Wanted::Last(column) => {
                let rows = filled(Content::RowsFrom(1), 0);
                Answer::InRow { row: self.want(Wanted::Max(rows)), column, from: 1 }
            }
        }
    }

    /// Adds an aggregate and returns its index.
    fn want(&mut self, wanted: Wanted) -> usize {
        self.query.wanted.push(wanted);
        self.query.wanted.len() - 1
    }

    /// Returns the index of a filled column, which is added unless it is there already.
    fn filled(&mut self, query: &Query<'_>, filled: Filled) -> usize {
        if let Some(number) = self.filled.iter().position(|held| *held == filled) {
            return query.columns.len() + number;
        }
        self.filled.push(filled);
        match filled.of {
            Content::Column(number) => self.add_column(query.columns[number].bits, query.columns[number].numbers),
            Content::Ones | Content::RowsFrom(_) => {
                self.add_column(32, Some((ColumnParams::unsigned(), SumKind::Unsigned)))
            }
        }
    }

    /// Adds a column, whose words are given later, and returns its index.
    fn add_column(&mut self, bits: u32, numbers: Option<(ColumnParams, SumKind)>) -> usize {
        match bits {
            64 => self.query.add_column::<u64>((&[]).into_column(), numbers),
            _ => self.query.add_column::<u32>((&[]).into_column(), numbers),
        }
    }

    /// Returns all columns. The filled ones are in memory of the scratch.
    fn columns<'i>(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        (values, rows): (&'i [WordsOf<'_>], usize),
        masks: &[OnDevice<'_, u32>],
    ) -> Result<Vec<WordsOf<'i>>> {
        let mut columns: Vec<WordsOf<'i>> = values.iter().map(|words| words.lent().into_column()).collect();
        for &Filled { of, mask, fill } in &self.filled {
            let mask = &masks[mask];
            columns.push(match of {
                Content::Ones => WordsOf::Narrow(OnDevice::Own(ones_and_zeros(stream, scratch, rows, mask)?)),
                Content::RowsFrom(first) => {
                    let mut numbers = scratch.lend::<u32>(rows)?;
                    number_from(stream, first, &mut numbers)?;
                    fill_absent(stream, mask, fill as u32, &mut numbers)?;
                    WordsOf::Narrow(OnDevice::Own(numbers))
                }
                Content::Column(number) => match values[number].lent() {
                    WordsRef::Narrow(words) => {
                        WordsOf::Narrow(OnDevice::Own(copied(stream, scratch, words, mask, fill as u32)?))
                    }
                    WordsRef::Wide(words) => WordsOf::Wide(OnDevice::Own(copied(stream, scratch, words, mask, fill)?)),
                },
            });
        }
        Ok(columns)
    }

    /// Divides the memory of the other query's aggregates: first the memory for this query's
    /// aggregates, of which some are in memory of the scratch, and then the rest.
    fn memory(
        &self,
        scratch: &mut Scratch,
        memory: Vec<Words>,
        capacity: usize,
    ) -> Result<(Vec<Words>, Vec<Option<Words>>)> {
        let mut rest: Vec<Option<Words>> = memory.into_iter().map(Some).collect();
        let of_answer = |(number, wanted): (usize, &Wanted)| {
            let same = |answer: &Answer| matches!(answer, Answer::Same(held) if *held == number);
            match self.answers.iter().position(same).and_then(|answer| rest[answer].take()) {
                Some(words) => Ok(words),
                None if self.query.is_wide(wanted) => scratch.lend(capacity).map(Words::Wide),
                None => scratch.lend(capacity).map(Words::Narrow),
            }
        };
        let own = self.query.wanted.iter().enumerate().map(of_answer).collect::<Result<_>>()?;
        Ok((own, rest))
    }

    /// Returns the aggregates of the other query, in the order in which they were requested, and
    /// the counts for its top, if that has some.
    fn finish(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        values: &[WordsOf<'_>],
        (found, memory, groups): (Vec<Words>, Vec<Option<Words>>, usize),
    ) -> Result<(Vec<Words>, Option<Buffer<u32>>)> {
        let device = scratch.device().clone();
        let mut found: Vec<Option<Words>> = found.into_iter().map(Some).collect();
        let mut columns = Vec::new();
        for (&answer, memory) in self.answers.iter().zip(memory) {
            let mut output = match (answer, memory) {
                (Answer::Same(number), _) => found[number].take(),
                (_, memory) => memory,
            }
            .expect("each aggregate has memory");
            if !matches!(answer, Answer::Same(_)) {
                output.resize(&device, groups)?;
            }
            let of = |number: usize| found[number].as_ref().expect("the aggregate is of no other").lent();
            columns.push(match answer {
                Answer::Same(_) => output,
                Answer::Count(sum) => Words::Narrow(counts(stream, of(sum), output.into_buffer())?),
                Answer::Mean { sum, upper, count, kind } => {
                    let counts = counts(stream, of(count), scratch.lend(groups)?)?;
                    if let WordsRef::Wide(sums) = of(sum) {
                        divide(stream, (sums, upper.map(of), &counts), kind, &output)?;
                    }
                    scratch.give_back(counts);
                    output
                }
                Answer::InRow { row, column, from } => {
                    let WordsRef::Narrow(rows) = of(row) else { unreachable!("row numbers have 32 bits") };
                    match (values[column].lent(), &mut output) {
                        (WordsRef::Narrow(words), Words::Narrow(to)) => {
                            in_rows(stream, scratch, words, (rows, from), to)?;
                        }
                        (WordsRef::Wide(words), Words::Wide(to)) => in_rows(stream, scratch, words, (rows, from), to)?,
                        _ => unreachable!("the memory of an aggregate has its width"),
                    }
                    output
                }
            });
        }
        let of_top = self.of_top.and_then(|sum| found[sum].as_ref());
        let of_top = of_top.map(|sums| counts(stream, sums.lent(), scratch.lend(groups)?)).transpose()?;
        found.into_iter().flatten().for_each(|words| words.give_back(scratch));
        Ok((columns, of_top))
    }
}

/// Computes the groups of a query by `compute`, which gets a query without filters on folded
/// aggregates. `masks` are the query's masks, and `capacity` is the most groups, or 0 if there may
/// be any count. If groups are kept by a filtered aggregate, also returns the counts of its rows.
pub(super) fn without_filters<K: KeyWord, R>(
    stream: &Stream,
    scratch: &mut Scratch,
    (query, masks): (&Query<'_>, &[OnDevice<'_, u32>]),
    input: &SortInput<'_, '_, K>,
    (memory, capacity): (Memory<K>, usize),
    compute: impl FnOnce(&mut Scratch, &Query<'_>, &SortInput<'_, '_, K>, Memory<K>) -> Result<(Grouped<K>, R)>,
) -> Result<(Grouped<K>, Option<Buffer<u32>>, R)> {
    let Some(unfiltered) = Unfiltered::of(query) else {
        return compute(scratch, query, input, memory).map(|(groups, report)| (groups, None, report));
    };
    let &SortInput { keys, values, rows, order } = input;
    let columns = unfiltered.columns(stream, scratch, (values, rows as usize), masks)?;
    let (own, rest) = unfiltered.memory(scratch, memory.columns, capacity)?;
    let (memory, filled) =
        (Memory { keys: memory.keys, columns: own }, SortInput { keys, values: &columns, rows, order });
    let ((keys, found), report) = compute(scratch, &unfiltered.query, &filled, memory)?;
    let (found, of_top) = unfiltered.finish(stream, scratch, values, (found, rest, keys.len()))?;
    columns.into_iter().for_each(|words| words.give_back(scratch));
    Ok(((keys, found), of_top, report))
}

/// Returns the word that changes no sum of a column: 0, or −0 for floating-point numbers, which
/// does not change a sum of −0 either.
fn nothing(query: &Query<'_>, column: usize) -> u64 {
    match query.numbers(column) {
        Some((_, SumKind::Float)) => 1 << (query.columns[column].bits - 1),
        _ => 0,
    }
}

/// Returns a copy of words, with `fill` where the bit is 0, in memory of the scratch.
fn copied<W: ValueWord + Value>(
    stream: &Stream,
    scratch: &mut Scratch,
    words: &Buffer<W>,
    mask: &Buffer<u32>,
    fill: W,
) -> Result<Buffer<W>> {
    let mut copied = scratch.lend::<W>(words.len())?;
    copied.copy_from(stream, words)?;
    fill_absent(stream, mask, fill, &mut copied)?;
    Ok(copied)
}

/// Queues writing the lower halves of sums to `counts`, and returns these.
fn counts(stream: &Stream, sums: WordsRef<'_>, counts: Buffer<u32>) -> Result<Buffer<u32>> {
    match sums {
        WordsRef::Wide(sums) => cast_words(stream, sums, counts, Cast::Bits),
        WordsRef::Narrow(_) => unreachable!("sums have 64 bits"),
    }
}

/// Queues writing the words of the given rows, which are counted from 0 or 1, to `to`. Other
/// numbers of rows give 0.
fn in_rows<W: ValueWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    words: &Buffer<W>,
    (rows, from): (&Buffer<u32>, u32),
    to: &mut Buffer<W>,
) -> Result<()> {
    if from == 0 {
        return gather(stream, words, rows, to);
    }
    let mut moved = scratch.lend::<W>(words.len() + 1)?;
    moved.slice_mut(..1)?.set_bytes(stream, 0)?;
    moved.slice_mut(1..)?.copy_from(stream, words)?;
    gather(stream, &moved, rows, to)?;
    scratch.give_back(moved);
    Ok(())
}
