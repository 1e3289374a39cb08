//! The columns and the aggregates that a query needs on chip, and how its results follow from them.

use super::outputs::Part;
use super::wanted::{Query, Wanted};
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::columns::Source;
use gpu_kernels::primitives::reduce::SumKind;
use gpu_kernels::relational::group_by::Wanted as Kinds;
use std::ops::Range;

/// The kind of an aggregate of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Sum,
    Min,
    Max,
}

/// An aggregate that kernels compute: the count of rows, or a kind of aggregate of the column with
/// this index in [`Folds::columns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    Count,
    Of(usize, Kind),
}

/// How a result of the query follows from aggregates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The aggregate itself.
    Fold(Fold),
    /// The quotient of a sum and the count of rows. `upper` is the sum of upper halves, if the sum
    /// may have wrapped.
    Mean { sum: Fold, upper: Option<Fold>, kind: SumKind },
    /// The value of a column of the query in a row, whose number is an aggregate.
    InRow { row: Fold, column: usize },
}

/// A column that kernels aggregate.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoldedColumn {
    /// The index of the column of the query; `None` for the numbers of the rows.
    pub column: Option<usize>,
    pub params: ColumnParams,
    pub part: Part,
}

impl FoldedColumn {
    pub(super) fn source(&self) -> Source {
        if self.column.is_some() { Source::Words } else { Source::RowNumbers }
    }
}

/// All that a query needs.
#[derive(Debug, Default)]
pub(super) struct Folds {
    pub columns: Vec<FoldedColumn>,
    /// All aggregates, each once.
    pub folds: Vec<Fold>,
    /// One for each result of the query.
    pub answers: Vec<Answer>,
}

impl Folds {
    pub(super) fn of(query: &Query<'_>) -> Self {
        let mut all = Self::default();
        for &wanted in &query.wanted {
            let answer = all.answer(query, wanted);
            all.answers.push(answer);
        }
        all
    }

    fn answer(&mut self, query: &Query<'_>, wanted: Wanted) -> Answer {
        let column = |number: usize| {
            let (params, kind) = query.numbers(number).unwrap_or((ColumnParams::unsigned(), SumKind::Unsigned));
            ((Some(number), params, query.columns[number].bits), kind)
        };
        match wanted {
            Wanted::Count => Answer::Fold(self.fold(Fold::Count)),
            Wanted::Sum(number) => Answer::Fold(self.of_column(column(number).0, Kind::Sum)),
            Wanted::SumOfUpper(number) => Answer::Fold(self.of_column(upper_halves(column(number).0), Kind::Sum)),
            Wanted::Min(number) => Answer::Fold(self.of_column(column(number).0, Kind::Min)),
            Wanted::Max(number) => Answer::Fold(self.of_column(column(number).0, Kind::Max)),
            Wanted::Mean(number) => {
                let (of, kind) = column(number);
                self.fold(Fold::Count);
                let sum = self.of_column(of, Kind::Sum);
                let upper = query.has_wide_mean(number).then(|| self.of_column(upper_halves(of), Kind::Sum));
                Answer::Mean { sum, upper, kind }
            }
            Wanted::First(column) | Wanted::Last(column) => {
                let kind = if matches!(wanted, Wanted::First(_)) { Kind::Min } else { Kind::Max };
                Answer::InRow { row: self.of_column((None, ColumnParams::unsigned(), 32), kind), column }
            }
        }
    }

    /// Adds an aggregate, unless it is there.
    fn fold(&mut self, fold: Fold) -> Fold {
        if !self.folds.contains(&fold) {
            self.folds.push(fold);
        }
        fold
    }

    /// Adds the row numbers of the groups' first rows.
    pub(super) fn first_rows(&mut self) -> Fold {
        self.of_column((None, ColumnParams::unsigned(), 32), Kind::Min)
    }

    /// Adds a kind of aggregate of a column, and the column, unless they are there.
    fn of_column(&mut self, (column, params, bits): (Option<usize>, ColumnParams, u32), kind: Kind) -> Fold {
        // Only sums depend on what is added.
        let adds = |column: &FoldedColumn| column.params.addition == params.addition || kind != Kind::Sum;
        let same = |held: &FoldedColumn| held.column == column && (adds(held) || !held.part.wanted.sums);
        let number = self.columns.iter().position(same).unwrap_or_else(|| {
            self.columns.push(FoldedColumn { column, params, part: Part { wanted: Kinds::default(), bits } });
            self.columns.len() - 1
        });
        let held = &mut self.columns[number];
        match kind {
            Kind::Sum => (held.part.wanted.sums, held.params) = (true, params),
            Kind::Min => held.part.wanted.minima = true,
            Kind::Max => held.part.wanted.maxima = true,
        }
        self.fold(Fold::Of(number, kind))
    }

    /// Returns the columns of each pass over the rows. A pass has at most `most_columns` columns,
    /// whose aggregates take at most `most_words` 32-bit words a group, unless a single column
    /// takes more.
    pub(super) fn passes(&self, (most_columns, most_words): (usize, u32)) -> Vec<Range<usize>> {
        let mut passes: Vec<Range<usize>> = std::iter::once(0..0).collect();
        let mut words = self.folds.contains(&Fold::Count) as u32;
        for (number, FoldedColumn { part, .. }) in self.columns.iter().enumerate() {
            let more = part.wanted.words(part.bits);
            let last = passes.last_mut().expect("there is a pass");
            if last.start != last.end && (last.len() == most_columns || words + more > most_words) {
                passes.push(number..number + 1);
                words = more;
            } else {
                last.end = number + 1;
                words += more;
            }
        }
        passes
    }
}

/// Returns a column whose upper halves are added.
fn upper_halves((column, params, bits): (Option<usize>, ColumnParams, u32)) -> (Option<usize>, ColumnParams, u32) {
    (column, params.with_upper_halves(), bits)
}
