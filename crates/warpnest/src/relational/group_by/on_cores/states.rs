//! The aggregates of groups while rows are added to them: some words for each group, all of which
//! are 0 at first.

use super::squares::{self, Squares};
use super::table::AT_ONCE;
use crate::relational::columns::Words;
use crate::relational::group_by::outputs::{Computed, ComputedColumn};
use crate::runtime::stream::Batch;
use gpu_kernels::column_values::{Addition, ColumnParams};
use gpu_kernels::seam::Global;
use gpu_kernels::types::Scalar;

/// The most groups whose states are copied while rows are added, and the count of copies.
const FEW: usize = 16;
const COPIES: usize = 4;

/// The values of a column in some rows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Values<'v> {
    Narrow(&'v [u32]),
    Wide(&'v [u64]),
    /// The numbers of the rows, from this one on.
    RowNumbers(u32),
}

impl Values<'_> {
    /// Returns the values from row `first` on.
    pub(super) fn from(self, first: usize) -> Self {
        match self {
            Self::Narrow(words) => Self::Narrow(&words[first..]),
            Self::Wide(words) => Self::Wide(&words[first..]),
            Self::RowNumbers(number) => Self::RowNumbers(number + first as u32),
        }
    }
}

/// An aggregate of a group. Its state is one word, or [`squares::WORDS`] words.
#[derive(Clone, Copy, Debug)]
pub(in crate::relational::group_by) enum Fold {
    Count,
    Sum {
        column: usize,
        params: ColumnParams,
    },
    /// The greatest rank of a value, which is the least value's or the greatest value's.
    Rank {
        column: usize,
        params: ColumnParams,
        is_min: bool,
        is_wide: bool,
    },
    /// The variance, or with `is_root` the standard deviation.
    Spread {
        column: usize,
        params: ColumnParams,
        ddof: u32,
        is_root: bool,
    },
}

impl Fold {
    /// Returns the aggregates that are computed.
    pub(super) fn all<K>(computed: &Computed<K>) -> Vec<Self> {
        let mut all: Vec<Self> = computed.counts.iter().map(|_| Self::Count).collect();
        for (column, &ComputedColumn { bits, params, ref sums, ref minima, ref maxima }) in
            computed.columns.iter().enumerate()
        {
            let rank = |is_min| Self::Rank { column, params, is_min, is_wide: bits == 64 };
            all.extend(sums.iter().map(|_| Self::Sum { column, params }));
            all.extend(minima.iter().map(|_| rank(true)));
            all.extend(maxima.iter().map(|_| rank(false)));
        }
        all
    }

    /// Returns the memory to which the aggregate of each group is written, in the order of
    /// [`Fold::all`].
    pub(super) fn outputs<'b, K>(computed: &'b Computed<K>, batch: &Batch<'b>) -> Vec<Global<u64>> {
        let mut all: Vec<_> = computed.counts.iter().map(|counts| batch.write(counts).cast()).collect();
        for ComputedColumn { sums, minima, maxima, .. } in &computed.columns {
            all.extend(sums.iter().map(|sums| batch.write(sums)));
            all.extend([minima, maxima].into_iter().flatten().map(|words: &Words| words.write(batch)));
        }
        all
    }

    /// Returns the count of words of a state.
    #[inline]
    fn words(self) -> usize {
        if let Self::Spread { .. } = self { squares::WORDS } else { 1 }
    }

    /// Combines a state with another one.
    #[inline]
    fn combine(self, own: &mut [u64], other: &[u64]) {
        match (self, own, other) {
            (Self::Count, [own], &[other]) => *own += other,
            (Self::Sum { params, .. }, [own], &[other]) => *own = params.sum(*own, other),
            (Self::Rank { .. }, [own], &[other]) => *own = other.max(*own),
            (_, own, other) => {
                if let (Some(own), Some(other)) = (own.first_chunk_mut(), other.first_chunk()) {
                    *own = Squares::of(*own).merged(Squares::of(*other)).words();
                }
            }
        }
    }
}

/// The states of groups.
#[derive(Debug)]
pub(super) struct States<'f> {
    folds: &'f [Fold],
    /// The count of words of a group.
    stride: usize,
    words: Vec<u64>,
    /// Copies of the states of one aggregate.
    copies: Vec<u64>,
}

impl<'f> States<'f> {
    pub(super) fn new(folds: &'f [Fold]) -> Self {
        let stride = folds.iter().map(|fold| fold.words()).sum();
        Self { folds, stride, words: Vec::new(), copies: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.words.clear();
    }

    /// Makes states for `groups` groups; the states of new groups are 0.
    pub(super) fn reserve(&mut self, groups: usize) {
        self.words.resize(groups * self.stride, 0);
    }

    /// Returns each aggregate with the index of its first word in the states of a group.
    fn places(folds: &[Fold]) -> impl Iterator<Item = (usize, Fold)> {
        let next = |at: &mut usize, &fold: &Fold| Some((std::mem::replace(at, *at + fold.words()), fold));
        folds.iter().scan(0, next)
    }

    /// Adds rows, of which there are as many as `groups`, to their groups, which are below
    /// `all_groups`.
    pub(super) fn add(&mut self, groups: &[u32], all_groups: usize, columns: &[Values<'_>]) {
        self.reserve(all_groups);
        if all_groups <= FEW {
            self.add_to_few(groups, all_groups, columns);
            return;
        }
        for (at, fold) in Self::places(self.folds) {
            Each { words: &mut self.words[at..], stride: self.stride, groups }.fold(fold, columns);
        }
    }

    /// Does the same for few groups. Successive rows are added to different copies of a state, so
    /// that they do not wait for each other.
    fn add_to_few(&mut self, groups: &[u32], all_groups: usize, columns: &[Values<'_>]) {
        let mut places = [0; AT_ONCE];
        for (row, (place, &group)) in places.iter_mut().zip(groups).enumerate() {
            *place = group * COPIES as u32 + row as u32 % COPIES as u32;
        }
        for (at, fold) in Self::places(self.folds) {
            self.copies.clear();
            self.copies.resize(COPIES * all_groups * fold.words(), 0);
            let each = Each { words: &mut self.copies, stride: fold.words(), groups: &places[..groups.len()] };
            each.fold(fold, columns);
            for (group, copies) in self.copies.chunks_exact(COPIES * fold.words()).enumerate() {
                let words = &mut self.words[group * self.stride + at..][..fold.words()];
                copies.chunks_exact(fold.words()).for_each(|copy| fold.combine(words, copy));
            }
        }
    }

    /// Combines the states of other groups with the states of `groups`, which are below
    /// `all_groups`. The other groups begin at `first`.
    pub(super) fn combine(&mut self, groups: &[u32], all_groups: usize, (other, first): (&Self, usize)) {
        self.reserve(all_groups);
        if self.stride == 0 {
            return;
        }
        let others = other.words[first * self.stride..].chunks_exact(self.stride);
        for (&group, other) in groups.iter().zip(others) {
            let own = &mut self.words[group as usize * self.stride..][..self.stride];
            for (at, fold) in Self::places(self.folds) {
                fold.combine(&mut own[at..][..fold.words()], &other[at..][..fold.words()]);
            }
        }
    }

    /// Writes the aggregates of all groups to these indices of the outputs.
    pub(super) fn write(&self, outputs: &[Global<u64>], indices: impl Iterator<Item = u64> + Clone) {
        for ((at, fold), output) in Self::places(self.folds).zip(outputs) {
            let states = self.words.chunks_exact(self.stride).map(|words| &words[at..]);
            let words = states.clone().map(|words| words[0]).zip(indices.clone());
            match fold {
                Fold::Count => words.for_each(|(word, at)| output.cast::<u32>().store(at, word as u32)),
                Fold::Sum { .. } => words.for_each(|(word, at)| output.store(at, word)),
                Fold::Spread { ddof, is_root, .. } => {
                    for (words, at) in states.zip(indices.clone()) {
                        let squares = words.first_chunk().map_or_else(Squares::default, |&words| Squares::of(words));
                        output.store(at, squares.spread(ddof, is_root).to_bits());
                    }
                }
                Fold::Rank { params, is_min, is_wide: true, .. } => {
                    words.for_each(|(word, at)| output.store(at, value_of(params, word, is_min)));
                }
                Fold::Rank { params, is_min, is_wide: false, .. } => words.for_each(|(word, at)| {
                    output.cast::<u32>().store(at, value_of(params, word as u32, is_min));
                }),
            }
        }
    }
}

/// Returns the value whose rank is known.
fn value_of<W: Scalar>(params: ColumnParams, rank: W, is_min: bool) -> W {
    if is_min { params.of_min_rank(rank) } else { params.of_max_rank(rank) }
}

/// One word of each group's state, and the groups of some rows.
struct Each<'s> {
    /// The words from the first group's on. The words of successive groups are `stride` apart.
    words: &'s mut [u64],
    stride: usize,
    groups: &'s [u32],
}

impl Each<'_> {
    /// Adds each row to its group.
    fn fold(self, fold: Fold, columns: &[Values<'_>]) {
        match fold {
            Fold::Count => self.add(std::iter::repeat(()), |count, ()| count + 1),
            Fold::Sum { column, params } => self.sums(columns[column], params),
            Fold::Spread { column, params, .. } => self.squares(columns[column], params),
            Fold::Rank { column, params, is_min, .. } => match (columns[column], is_min) {
                (Values::Narrow(words), true) => {
                    self.add(words.iter().copied(), |most, word| most.max(params.min_rank(word).into()));
                }
                (Values::Narrow(words), false) => {
                    self.add(words.iter().copied(), |most, word| most.max(params.max_rank(word).into()));
                }
                (Values::Wide(words), true) => {
                    self.add(words.iter().copied(), |most, word| most.max(params.min_rank(word)));
                }
                (Values::Wide(words), false) => {
                    self.add(words.iter().copied(), |most, word| most.max(params.max_rank(word)));
                }
                (Values::RowNumbers(first), true) => {
                    self.add(first.., |most, row| most.max(params.min_rank(row).into()));
                }
                (Values::RowNumbers(first), false) => {
                    self.add(first.., |most, row| most.max(params.max_rank(row).into()));
                }
            },
        }
    }

    /// Adds the value of each row to the word of its group.
    #[inline(always)]
    fn add<T>(self, values: impl Iterator<Item = T>, add: impl Fn(u64, T) -> u64) {
        for (&group, value) in self.groups.iter().zip(values) {
            let word = &mut self.words[group as usize * self.stride];
            *word = add(*word, value);
        }
    }

    /// Adds the values to sums, by a loop for each kind of addition.
    fn sums(self, values: Values<'_>, params: ColumnParams) {
        const FLOAT: ColumnParams = ColumnParams::float(64);
        let is_integer = params.addition == Addition::Integer as u64;
        match values {
            Values::Narrow(words) if params.adds_floats() => {
                self.add(words.iter().copied(), |sum, word| FLOAT.sum(sum, FLOAT.addend(word)));
            }
            Values::Wide(words) if params.adds_floats() => {
                self.add(words.iter().copied(), |sum, word| FLOAT.sum(sum, FLOAT.addend(word)));
            }
            Values::Narrow(words) => {
                self.add(words.iter().copied(), |sum, word| sum.wrapping_add(params.widened(word)));
            }
            Values::Wide(words) if is_integer => self.add(words.iter().copied(), u64::wrapping_add),
            Values::Wide(words) => {
                self.add(words.iter().copied(), |sum, word| sum.wrapping_add(params.addend(word)));
            }
            Values::RowNumbers(first) => self.add(first.., |sum, row| sum.wrapping_add(row.into())),
        }
    }

    /// Adds the values to sums of squares, by a loop for each kind of number.
    fn squares(self, values: Values<'_>, params: ColumnParams) {
        const FLOAT: ColumnParams = ColumnParams::float(64);
        match values {
            Values::Narrow(words) if params.adds_floats() => {
                self.add_squares(words.iter().map(|&word| FLOAT.number(word)))
            }
            Values::Wide(words) if params.adds_floats() => {
                self.add_squares(words.iter().map(|&word| FLOAT.number(word)))
            }
            Values::Narrow(words) => self.add_squares(words.iter().map(|&word| params.number(word))),
            Values::Wide(words) => self.add_squares(words.iter().map(|&word| params.number(word))),
            Values::RowNumbers(first) => self.add_squares((first..).map(f64::from)),
        }
    }

    /// Adds the number of each row to the state of its group.
    #[inline(always)]
    fn add_squares(self, numbers: impl Iterator<Item = f64>) {
        for (&group, number) in self.groups.iter().zip(numbers) {
            let words = &mut self.words[group as usize * self.stride..][..squares::WORDS];
            if let Some(words) = words.first_chunk_mut() {
                *words = Squares::of(*words).with(number).words();
            }
        }
    }
}
