//! The description of a query: columns of values, aggregates of these columns, and an order.
//! `outputs` describes the buffers to which aggregates are written.

use crate::relational::columns::{Column, Lend, Words, WordsOf};
use crate::{Buffer, Device, Error, InputError, Result, Stream, Value};
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::primitives::reduce::SumKind;
use gpu_kernels::types::Scalar;
use std::any::Any;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// The order of the groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// Any order, which may differ from run to run.
    #[default]
    Any,
    /// Ascending keys. Pairs are ordered by their first halves and then by their second halves, and
    /// user-defined types by their words.
    ByKey,
    /// The order of the groups' first rows.
    FirstSeen,
}

/// An aggregate of a query. [`GroupsOnHost::column`](super::GroupsOnHost::column) and
/// [`Groups::column`](super::Groups::column) return its values.
#[derive(Debug)]
pub struct Aggregate<T> {
    pub(super) query: u64,
    pub(super) place: Place,
    values: PhantomData<fn() -> T>,
}

/// The place of an aggregate: its index among the aggregates of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The aggregate is folded, row by row.
    Folded(usize),
    /// The aggregate is derived, after the groups are known.
    Derived(usize),
}

impl Place {
    /// Returns the column of the aggregate. The first `folded` columns are folded aggregates.
    pub(super) fn among<C>(self, columns: &[C], folded: usize) -> Option<&C> {
        match self {
            Self::Folded(number) => columns[..folded].get(number),
            Self::Derived(number) => columns[folded..].get(number),
        }
    }
}

impl<T> Clone for Aggregate<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Aggregate<T> {}

/// A `Vec` of an aggregate's type.
pub(super) type HostColumn = Box<dyn Any + Send + Sync>;

/// A function that downloads the words of an aggregate as a vector of its type.
pub(super) type Download = fn(&Words, &Stream) -> Result<HostColumn>;

/// Downloads the words of an aggregate of values of type `T`.
fn download<T: Value>(words: &Words, stream: &Stream) -> Result<HostColumn> {
    let column = values::<T>(words).ok_or(Error::Input(InputError::ForeignAggregate))?;
    Ok(Box::new(column.download(stream)?))
}

/// Returns words as values of the type `T` as which they were computed; `None` if `T` has another
/// size.
pub(super) fn values<T: Value>(words: &Words) -> Option<&Buffer<T>> {
    let address: *const Buffer<T> = match words {
        Words::Narrow(words) if T::Word::BITS == 32 => std::ptr::from_ref(words).cast(),
        Words::Wide(words) if T::Word::BITS == 64 => std::ptr::from_ref(words).cast(),
        Words::Narrow(_) | Words::Wide(_) => return None,
    };
    // SAFETY: the layout of a buffer does not depend on the type of its elements. The elements have
    // the size of `T`, and the query computed them as values of `T`.
    Some(unsafe { &*address })
}

/// The description of a query, without its keys.
pub(super) struct Query<'q> {
    /// The id of the query, which its aggregates contain, too.
    pub number: u64,
    pub columns: Vec<ValueColumn<'q>>,
    pub wanted: Vec<Wanted>,
    pub derived: Vec<Derived>,
    /// The masks of filtered aggregates, a bit for each row.
    pub masks: Vec<Column<'q, u32>>,
    pub filters: Vec<Filter>,
    /// The mask of the rows that the query takes; all rows if there is none.
    pub only: Option<Column<'q, u32>>,
    /// The function for each aggregate that copies it to the host, first the folded ones.
    pub downloads: [Vec<Download>; 2],
    pub order: Order,
    /// The groups that are kept; all if there is none.
    pub top: Option<Top>,
    /// The count that is subtracted from the count of rows for a variance.
    pub ddof: u32,
    /// Whether a NaN is the least or greatest value only of a group without numbers.
    pub skips_nans: bool,
}

impl<'q> Query<'q> {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let (columns, wanted, derived, downloads) = (Vec::new(), Vec::new(), Vec::new(), Default::default());
        let (masks, filters, only) = (Vec::new(), Vec::new(), None);
        let (order, top, ddof, skips_nans) = (Order::Any, None, 1, true);
        Self { number, columns, wanted, derived, masks, filters, only, downloads, order, top, ddof, skips_nans }
    }

    pub(super) fn add<T: Value>(&mut self, wanted: Wanted) -> Aggregate<T> {
        self.wanted.push(wanted);
        self.downloads[0].push(download::<T>);
        Aggregate { query: self.number, place: Place::Folded(self.wanted.len() - 1), values: PhantomData }
    }

    pub(super) fn derive<T: Value>(&mut self, derived: Derived) -> Aggregate<T> {
        self.derived.push(derived);
        self.downloads[1].push(download::<T>);
        Aggregate { query: self.number, place: Place::Derived(self.derived.len() - 1), values: PhantomData }
    }

    /// Returns the index of a column of values, which is added unless the query has it already.
    /// `numbers` tells how its values are added and compared, if they are.
    pub(super) fn column<T: Value>(
        &mut self,
        values: Column<'q, T>,
        numbers: Option<(ColumnParams, SumKind)>,
    ) -> usize {
        let (address, rows, bits) = (values.address(), values.rows(), T::Word::BITS);
        let same = |column: &ValueColumn<'_>| {
            let agree = column.numbers.is_none() || numbers.is_none() || column.numbers == numbers;
            // Addresses of empty columns mean nothing, and all of these are alike.
            (column.rows, column.bits) == (rows, bits) && agree && (rows == 0 || column.address == address)
        };
        if let Some(number) = self.columns.iter().position(same) {
            let held = &mut self.columns[number].numbers;
            *held = held.or(numbers);
            return number;
        }
        self.add_column(values, numbers)
    }

    /// Adds a column of values, and returns its index.
    pub(super) fn add_column<T: Value>(
        &mut self,
        values: Column<'q, T>,
        numbers: Option<(ColumnParams, SumKind)>,
    ) -> usize {
        let (address, rows, bits) = (values.address(), values.rows(), T::Word::BITS);
        let lend = move |device: &Device| Ok(WordsOf::new::<T>(values.on_device(device)?));
        self.columns.push(ValueColumn { address, rows, bits, numbers, lend: Box::new(lend) });
        self.columns.len() - 1
    }
}

impl Query<'_> {
    /// Returns whether values of a column are added or compared.
    pub(super) fn is_folded(&self, column: usize) -> bool {
        self.wanted.iter().any(|wanted| wanted.folded() == Some(column))
    }

    /// Returns how the values of a column are added and compared, or `None` if they are not.
    pub(super) fn numbers(&self, column: usize) -> Option<(ColumnParams, SumKind)> {
        let (params, kind) = self.columns[column].numbers?;
        Some((if self.skips_nans { params } else { params.with_nans_first() }, kind))
    }

    /// Returns whether a column has 64-bit integers whose mean is wanted. Their sums may wrap.
    pub(super) fn has_wide_mean(&self, column: usize) -> bool {
        let is_integer = matches!(self.columns[column].numbers, Some((_, SumKind::Unsigned | SumKind::Signed)));
        is_integer && self.columns[column].bits == 64 && self.wanted.contains(&Wanted::Mean(column))
    }

    /// Returns whether an aggregate has words of 64 bits.
    pub(super) fn is_wide(&self, wanted: &Wanted) -> bool {
        match *wanted {
            Wanted::Count => false,
            Wanted::Sum(_) | Wanted::SumOfUpper(_) | Wanted::Mean(_) => true,
            Wanted::Min(column) | Wanted::Max(column) | Wanted::First(column) | Wanted::Last(column) => {
                self.columns[column].bits == 64
            }
        }
    }

    /// Returns whether sums or means of floating-point numbers are wanted.
    pub(super) fn adds_floats(&self) -> bool {
        let is_float = |column: usize| matches!(self.columns[column].numbers, Some((_, SumKind::Float)));
        self.wanted.iter().any(|wanted| matches!(*wanted, Wanted::Sum(of) | Wanted::Mean(of) if is_float(of)))
    }

    /// Returns whether the indices of rows are needed, even if the query has only one column.
    pub(super) fn needs_rows(&self) -> bool {
        let of_rows = |wanted: &Wanted| matches!(wanted, Wanted::First(_) | Wanted::Last(_));
        self.order == Order::FirstSeen || self.wanted.iter().any(of_rows)
    }
}

impl Wanted {
    /// Returns the column whose values are added or compared.
    pub(super) fn folded(self) -> Option<usize> {
        match self {
            Self::Sum(column) | Self::SumOfUpper(column) | Self::Mean(column) => Some(column),
            Self::Min(column) | Self::Max(column) => Some(column),
            Self::Count | Self::First(_) | Self::Last(_) => None,
        }
    }
}

/// A column of values, from which one or more aggregates are computed.
pub(super) struct ValueColumn<'q> {
    address: [usize; 2],
    pub rows: usize,
    /// The bits of a value.
    pub bits: u32,
    /// Tells how the numbers are added and compared; `None` if only first and last values are
    /// wanted.
    pub numbers: Option<(ColumnParams, SumKind)>,
    pub lend: Lend<'q>,
}

/// A requested aggregate, with the index of its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Count,
    Sum(usize),
    /// The sum of the upper halves of 64-bit integers. Together with the wrapping sum, it
    /// determines the exact sum.
    SumOfUpper(usize),
    Min(usize),
    Max(usize),
    Mean(usize),
    First(usize),
    Last(usize),
}

/// A requested aggregate that is computed after the groups, with the index of its column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Derived {
    CountDistinct(usize),
    /// The variance, or with `is_root` the standard deviation.
    Spread {
        column: usize,
        is_root: bool,
    },
    Quantile {
        column: usize,
        quantile: f64,
    },
}

impl Derived {
    /// Returns the index of the column.
    pub(super) fn column(self) -> usize {
        match self {
            Self::CountDistinct(column) | Self::Spread { column, .. } | Self::Quantile { column, .. } => column,
        }
    }

    /// Returns whether the aggregate has words of 64 bits.
    pub(super) fn is_wide(self) -> bool {
        !matches!(self, Self::CountDistinct(_))
    }
}

/// The mask of an aggregate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filter {
    /// The id of the aggregate's query.
    pub query: u64,
    pub place: Place,
    /// The index of the mask.
    pub mask: usize,
}

/// The groups that a query keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Top {
    /// The most groups.
    pub count: usize,
    /// The id of the aggregate's query.
    pub query: u64,
    pub place: Place,
    /// The type of the aggregate.
    pub column: ColumnParams,
}
