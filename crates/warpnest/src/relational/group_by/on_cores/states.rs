//! The aggregates of groups while rows are added to them: some words for each group, all of which
//! are 0 at first.

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

/// A word of a group's state.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fold {
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
}

impl Fold {
    /// Returns the words of each group.
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

    /// Returns the combination of two states.
    #[inline]
    fn combined(self, a: u64, b: u64) -> u64 {
        match self {
            Self::Count => a + b,
            Self::Sum { params, .. } => params.sum(a, b),
            Self::Rank { .. } => a.max(b),
        }
    }
}

/// The states of groups.
#[derive(Debug)]
pub(super) struct States<'f> {
    folds: &'f [Fold],
    words: Vec<u64>,
}

impl<'f> States<'f> {
    pub(super) fn new(folds: &'f [Fold]) -> Self {
        Self { folds, words: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.words.clear();
    }

    /// Makes states for `groups` groups; the states of new groups are 0.
    fn reserve(&mut self, groups: usize) {
        self.words.resize(groups * self.folds.len(), 0);
    }

    /// Adds rows, of which there are as many as `groups`, to their groups, which are below
    /// `all_groups`.
    pub(super) fn add(&mut self, groups: &[u32], all_groups: usize, columns: &[Values<'_>]) {
        self.reserve(all_groups);
        if all_groups <= FEW {
            self.add_to_few(groups, all_groups, columns);
            return;
        }
        for (number, &fold) in self.folds.iter().enumerate() {
            Each { words: &mut self.words[number..], stride: self.folds.len(), groups }.fold(fold, columns);
        }
    }

    /// Does the same for few groups. Successive rows are added to different copies of a state, so
    /// that they do not wait for each other.
    fn add_to_few(&mut self, groups: &[u32], all_groups: usize, columns: &[Values<'_>]) {
        let mut places = [0; AT_ONCE];
        for (row, (place, &group)) in places.iter_mut().zip(groups).enumerate() {
            *place = group * COPIES as u32 + row as u32 % COPIES as u32;
        }
        for (number, &fold) in self.folds.iter().enumerate() {
            let mut copies = [0; COPIES * FEW];
            Each { words: &mut copies, stride: 1, groups: &places[..groups.len()] }.fold(fold, columns);
            for (group, copies) in copies.chunks_exact(COPIES).enumerate().take(all_groups) {
                let word = &mut self.words[group * self.folds.len() + number];
                *word = copies.iter().fold(*word, |word, &copy| fold.combined(word, copy));
            }
        }
    }

    /// Combines the states of other groups with the states of `groups`, which are below
    /// `all_groups`. The other groups begin at `first`.
    pub(super) fn combine(&mut self, groups: &[u32], all_groups: usize, (other, first): (&Self, usize)) {
        self.reserve(all_groups);
        let stride = self.folds.len();
        if stride == 0 {
            return;
        }
        let others = other.words[first * stride..].chunks_exact(stride);
        for (&group, other) in groups.iter().zip(others) {
            let own = &mut self.words[group as usize * stride..][..stride];
            for ((own, &other), fold) in own.iter_mut().zip(other).zip(self.folds) {
                *own = fold.combined(*own, other);
            }
        }
    }

    /// Writes the aggregates of all groups to the outputs, starting at index `first`.
    pub(super) fn write(&self, outputs: &[Global<u64>], first: usize) {
        for (number, (&fold, output)) in self.folds.iter().zip(outputs).enumerate() {
            let words = self.words[number..].iter().step_by(self.folds.len()).copied().zip(first as u64..);
            match fold {
                Fold::Count => words.for_each(|(word, at)| output.cast::<u32>().store(at, word as u32)),
                Fold::Sum { .. } => words.for_each(|(word, at)| output.store(at, word)),
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
}
