//! The columns that are aggregated together, and the buffers of their aggregates.

use crate::relational::columns::{RowKeys, Words, WordsRef};
use crate::runtime::stream::Batch;
use crate::split::or_null;
use crate::{Buffer, Device, Result};
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::columns::{ListedAggregates, MAX_COLUMNS, Source};
use gpu_kernels::relational::group_by::Wanted;
use gpu_kernels::seam::Global;
use gpu_kernels::types::{Row, ValueWord, WordOf};

/// A column of values, and how they are added and compared.
#[derive(Clone, Copy, Debug)]
pub(in crate::relational) struct InputColumn<'i> {
    /// The words of the values, unless the source is another one.
    pub words: Option<WordsRef<'i>>,
    pub source: Source,
    pub params: ColumnParams,
}

/// The rows of a group-by.
#[derive(Clone, Copy, Debug)]
pub(in crate::relational) struct ChipInput<'i, K> {
    pub keys: RowKeys<'i, K>,
    /// The columns of values: none, one with words, or several.
    pub columns: &'i [InputColumn<'i>],
    pub seed: u64,
}

impl<'i, K> ChipInput<'i, K> {
    /// Returns the words of the only column, or null unless the payload is a single value.
    pub(super) fn values<V: Row>(&self, batch: &Batch<'i>) -> Global<WordOf<V>> {
        values::<V>(self.columns, batch)
    }

    /// Returns the columns of a list, which are moved to `out`, or nowhere if that is empty.
    pub(super) fn moved(
        &self,
        batch: &Batch<'i>,
        computed: &Computed<K>,
        out: &[Global<u64>],
    ) -> Vec<(Part, ColumnParams, Moved)> {
        moved(self.columns, batch, computed, out)
    }
}

/// Returns the words of the only column, or null unless the payload is a single value.
pub(super) fn values<'i, V: Row>(columns: &[InputColumn<'i>], batch: &Batch<'i>) -> Global<WordOf<V>> {
    let words = columns.first().and_then(|column| column.words).filter(|_| V::VALUE_BITS != 0);
    or_null(words.map(|words| words.read(batch))).cast()
}

/// Returns the columns of a list, which are moved to `out`, or nowhere if that is empty.
pub(super) fn moved<'i, K>(
    columns: &[InputColumn<'i>],
    batch: &Batch<'i>,
    computed: &Computed<K>,
    out: &[Global<u64>],
) -> Vec<(Part, ColumnParams, Moved)> {
    let of_column = |(number, column): (usize, &InputColumn<'i>)| {
        let words = or_null(column.words.map(|words| words.read(batch)));
        let moved = Moved { words, source: column.source, out: or_null(out.get(number).copied()) };
        (computed.columns[number].part(), column.params, moved)
    };
    columns.iter().enumerate().map(of_column).collect()
}

/// Where the values of a listed column are, and where a kernel moves them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    /// The words, or null if the source is another one.
    pub words: Global<u64>,
    pub source: Source,
    /// Where they are moved to, or null.
    pub out: Global<u64>,
}

/// What is computed of one column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub wanted: Wanted,
    /// The bits of a value.
    pub bits: u32,
}

/// What is computed of each group, which decides the sizes of tables on chip.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    pub counts: bool,
    pub columns: Vec<Part>,
    /// Whether a sum is of floating-point numbers, which are added one after the other where lanes
    /// add to the same address.
    pub adds_floats: bool,
}

impl Shape {
    /// Returns the count of 32-bit words that the aggregates of a group take in on-chip memory.
    pub(crate) fn words(&self) -> u32 {
        self.counts as u32 + self.columns.iter().map(|part| part.wanted.words(part.bits)).sum::<u32>()
    }

    /// Returns the count of 32-bit words of the aggregates of a list's columns, if the payload is
    /// one.
    pub(super) fn listed_words<V: Row>(&self) -> u32 {
        if V::IS_LIST { self.words() - self.counts as u32 } else { 0 }
    }

    /// Returns the bits of the values of each column of a list, if the payload is one.
    pub(super) fn listed_bits<V: Row>(&self) -> Vec<u32> {
        if V::IS_LIST { self.columns.iter().map(|part| part.bits).collect() } else { Vec::new() }
    }
}

/// The computed aggregates of a column, which are the fields that are `Some`.
#[derive(Debug)]
pub(in crate::relational) struct ComputedColumn {
    /// The bits of a value.
    pub bits: u32,
    pub params: ColumnParams,
    pub sums: Option<Buffer<u64>>,
    pub minima: Option<Words>,
    pub maxima: Option<Words>,
}

impl ComputedColumn {
    /// Returns a column of which nothing is computed.
    pub(in crate::relational) fn new(bits: u32, params: ColumnParams) -> Self {
        Self { bits, params, sums: None, minima: None, maxima: None }
    }

    fn part(&self) -> Part {
        let Self { bits, sums, minima, maxima, .. } = self;
        let (minima, maxima) = (minima.is_some(), maxima.is_some());
        Part { wanted: Wanted { counts: false, sums: sums.is_some(), minima, maxima }, bits: *bits }
    }

    fn extremes(&self) -> impl Iterator<Item = &Words> {
        self.minima.iter().chain(&self.maxima)
    }

    /// Returns the arrays of the column, for a batch to write.
    fn arrays<'b>(&'b self, batch: &Batch<'b>) -> ListedAggregates {
        let words = |words: &'b Option<Words>| or_null(words.as_ref().map(|words| words.write(batch)));
        ListedAggregates {
            sums: or_null(self.sums.as_ref().map(|sums| batch.write(sums))),
            minima: words(&self.minima),
            maxima: words(&self.maxima),
        }
    }
}

/// The keys of groups and the aggregates that are computed. The buffers are as long as there are
/// groups, but their memory may be larger.
#[derive(Debug)]
pub(in crate::relational) struct Computed<K> {
    /// The key of each group.
    pub keys: Buffer<K>,
    /// The count of rows of each group, if it is wanted.
    pub counts: Option<Buffer<u32>>,
    /// The aggregates of each column.
    pub columns: Vec<ComputedColumn>,
}

impl<K> Computed<K> {
    pub(crate) fn shape(&self) -> Shape {
        let adds_floats = |column: &ComputedColumn| column.sums.is_some() && column.params.adds_floats();
        Shape {
            counts: self.counts.is_some(),
            columns: self.columns.iter().map(ComputedColumn::part).collect(),
            adds_floats: self.columns.iter().any(adds_floats),
        }
    }

    /// Returns the count of groups for which all buffers have capacity.
    pub(super) fn capacity(&self) -> u64 {
        let of_columns = self
            .columns
            .iter()
            .flat_map(|column| column.extremes().map(Words::len).chain(column.sums.as_ref().map(|sums| sums.len())));
        of_columns.chain(self.counts.as_ref().map(|counts| counts.len())).fold(self.keys.len(), usize::min) as u64
    }

    /// Returns how the values of a single column are added and compared.
    pub(super) fn params(&self) -> ColumnParams {
        self.columns.first().map_or(ColumnParams::unsigned(), |column| column.params)
    }

    /// Returns the arrays of all aggregates, for a batch to write.
    pub(super) fn arrays<'b>(&'b self, batch: &Batch<'b>) -> Arrays {
        let counts = or_null(self.counts.as_ref().map(|counts| batch.write(counts)));
        Arrays::new(counts, self.columns.iter().map(|column| column.arrays(batch)))
    }
}

impl<K: ValueWord> Computed<K> {
    /// Makes capacity for `groups` groups; returns the count of groups for which there is memory.
    pub(super) fn reserve(&mut self, device: &Device, groups: u64) -> Result<u64> {
        let groups = groups as usize;
        self.keys.fit_at_least(device, groups)?;
        self.counts.iter_mut().try_for_each(|counts| counts.fit_at_least(device, groups))?;
        for ComputedColumn { sums, minima, maxima, .. } in &mut self.columns {
            sums.iter_mut().try_for_each(|sums| sums.fit_at_least(device, groups))?;
            minima.iter_mut().chain(maxima).try_for_each(|words| words.fit_at_least(device, groups))?;
        }
        Ok(self.capacity())
    }

    /// Sets the count of groups.
    pub(super) fn set_length(&mut self, groups: u64) {
        let groups = groups as usize;
        self.keys.set_length(groups);
        self.counts.iter_mut().for_each(|counts| counts.set_length(groups));
        for ComputedColumn { sums, minima, maxima, .. } in &mut self.columns {
            sums.iter_mut().for_each(|sums| sums.set_length(groups));
            minima.iter_mut().chain(maxima).for_each(|words| words.set_length(groups));
        }
    }
}

/// The arrays of all aggregates of slots or groups, in the device's memory. What is not wanted is
/// null.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrays {
    pub counts: Global<u32>,
    pub columns: [ListedAggregates; MAX_COLUMNS],
}

impl Arrays {
    pub(super) fn new(counts: Global<u32>, columns: impl IntoIterator<Item = ListedAggregates>) -> Self {
        let nothing = ListedAggregates { sums: or_null(None), minima: or_null(None), maxima: or_null(None) };
        let mut all = [nothing; MAX_COLUMNS];
        all.iter_mut().zip(columns).for_each(|(array, column)| *array = column);
        Self { counts, columns: all }
    }

    /// Returns the arrays that kernels get as arguments of their own: the aggregates of the only
    /// column, if there is one, or null for a list of columns.
    pub(super) fn own<V: Row>(&self) -> OwnArrays<WordOf<V>> {
        let counts = self.counts;
        if V::IS_LIST {
            return OwnArrays { counts, sums: or_null(None), minima: or_null(None), maxima: or_null(None) };
        }
        let ListedAggregates { sums, minima, maxima } = self.columns[0];
        OwnArrays { counts, sums, minima: minima.cast(), maxima: maxima.cast() }
    }
}

/// The arrays that kernels get as arguments of their own.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnArrays<W> {
    pub counts: Global<u32>,
    pub sums: Global<u64>,
    pub minima: Global<W>,
    pub maxima: Global<W>,
}

/// The places of the aggregates of slots in the words of a scratch.
#[derive(Clone, Debug)]
pub(super) struct SlotPlaces {
    counts: Option<u64>,
    /// The places of sums, least and greatest values of each column.
    columns: Vec<[Option<u64>; 3]>,
    /// The end of all places.
    pub end: u64,
}

impl SlotPlaces {
    /// Returns places from word `first` on, which is even, for `slots` slots.
    pub(super) fn new(first: u64, slots: u64, shape: &Shape) -> Self {
        let mut end = first;
        // Every array begins at an even word, so it is aligned to 16 bytes.
        let mut place = |is_wanted: bool, bits: u32| {
            let at = end;
            end += if is_wanted { (slots * bits as u64).div_ceil(128) * 2 } else { 0 };
            is_wanted.then_some(at)
        };
        let counts = place(shape.counts, 32);
        let of_column = |&Part { wanted, bits }: &Part| {
            [place(wanted.sums, 64), place(wanted.minima, bits), place(wanted.maxima, bits)]
        };
        let columns = shape.columns.iter().map(of_column).collect();
        Self { counts, columns, end }
    }

    /// Returns the arrays in the scratch that begins at `words`.
    pub(super) fn arrays(&self, words: Global<u64>) -> Arrays {
        let at = |place: Option<u64>| or_null(place.map(|at| words.offset(at)));
        let of_column = |&[sums, minima, maxima]: &[Option<u64>; 3]| ListedAggregates {
            sums: at(sums),
            minima: at(minima),
            maxima: at(maxima),
        };
        Arrays::new(at(self.counts).cast(), self.columns.iter().map(of_column))
    }
}
