//! Columns of numbers that are aggregated, and the results of their aggregates.

use super::keys::{elements, values};
use crate::relational::{Aggregate, GroupBy, Groups};
use crate::{Key, Result, Stream};
use arrow_array::{Array, ArrayRef, PrimitiveArray, downcast_primitive};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use gpu_kernels::relational::group_by::means::mean_of_integers;
use std::sync::Arc;

/// A column of numbers of a type that can be aggregated.
#[derive(Clone, Debug)]
pub(super) enum Numbers {
    U32(ScalarBuffer<u32>),
    I32(ScalarBuffer<i32>),
    U64(ScalarBuffer<u64>),
    I64(ScalarBuffer<i64>),
    F32(ScalarBuffer<f32>),
    F64(ScalarBuffer<f64>),
}

/// The value that replaces the value of a null row, so that the row changes no aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    Zero,
    Least,
    Greatest,
}

/// An aggregate that was added to a group-by.
pub(super) enum Asked {
    U32(Aggregate<u32>),
    I32(Aggregate<i32>),
    U64(Aggregate<u64>),
    I64(Aggregate<i64>),
    F32(Aggregate<f32>),
    F64(Aggregate<f64>),
}

/// Evaluates an expression for numbers of any type, or for an aggregate of any type.
macro_rules! of_any_type {
    ($of:ident, $any:expr, $each:ident => $work:expr) => {
        match $any {
            $of::U32($each) => $work,
            $of::I32($each) => $work,
            $of::U64($each) => $work,
            $of::I64($each) => $work,
            $of::F32($each) => $work,
            $of::F64($each) => $work,
        }
    };
}

pub(super) use of_any_type;

/// A type of numbers, with the values for null rows in the order of [`Fill`].
trait Filled: ArrowNativeType {
    const FILLS: [Self; 3];
}

macro_rules! types {
    ($($variant:ident: $type:ty, $fills:expr;)+) => {$(
        impl Filled for $type {
            const FILLS: [Self; 3] = $fills;
        }
        impl From<ScalarBuffer<$type>> for Numbers {
            fn from(numbers: ScalarBuffer<$type>) -> Self {
                Self::$variant(numbers)
            }
        }
        impl From<Aggregate<$type>> for Asked {
            fn from(asked: Aggregate<$type>) -> Self {
                Self::$variant(asked)
            }
        }
    )+};
}

types! {
    U32: u32, [0, u32::MIN, u32::MAX];
    I32: i32, [0, i32::MIN, i32::MAX];
    U64: u64, [0, u64::MIN, u64::MAX];
    I64: i64, [0, i64::MIN, i64::MAX];
    // Adding -0 changes no sum, not even a sum of -0. A NaN sorts after all numbers.
    F32: f32, [-0.0, f32::NAN, f32::NAN];
    F64: f64, [-0.0, f64::NAN, f64::NAN];
}

impl Numbers {
    /// Returns the numbers of an array, if its values can be compared: integers, floating-point
    /// numbers, times, and decimals of up to 64 bits. Values of 4 and 8 bytes are not copied.
    pub(super) fn new(array: &dyn Array) -> Option<Self> {
        use DataType::{
            Date32, Date64, Decimal32, Decimal64, Duration, Float32, Float64, Int8, Int16, Int32, Int64, Time32,
            Time64, Timestamp, UInt8, UInt16, UInt32, UInt64,
        };
        let values = values(array, array.data_type().primitive_width()?);
        Some(match array.data_type() {
            Int8 => Self::I32(elements::<i8>(&values).iter().map(|value| i32::from(*value)).collect()),
            Int16 => Self::I32(elements::<i16>(&values).iter().map(|value| i32::from(*value)).collect()),
            UInt8 => Self::U32(elements::<u8>(&values).iter().map(|value| u32::from(*value)).collect()),
            UInt16 => Self::U32(elements::<u16>(&values).iter().map(|value| u32::from(*value)).collect()),
            Int32 | Date32 | Time32(_) | Decimal32(..) => Self::I32(elements(&values)),
            Int64 | Date64 | Time64(_) | Timestamp(..) | Duration(_) | Decimal64(..) => Self::I64(elements(&values)),
            UInt32 => Self::U32(elements(&values)),
            UInt64 => Self::U64(elements(&values)),
            Float32 => Self::F32(elements(&values)),
            Float64 => Self::F64(elements(&values)),
            _ => return None,
        })
    }

    /// Returns the numbers with `fill` in the null rows.
    pub(super) fn filled(&self, nulls: &NullBuffer, fill: Fill) -> Self {
        fn filled<T: Filled>(values: &ScalarBuffer<T>, nulls: &NullBuffer, fill: Fill) -> ScalarBuffer<T> {
            let other = T::FILLS[fill as usize];
            values.iter().zip(nulls).map(|(value, is_valid)| if is_valid { *value } else { other }).collect()
        }
        of_any_type!(Self, self, values => filled(values, nulls, fill).into())
    }

    /// Adds the sum of the numbers in each group to a query.
    pub(super) fn sum<'q, K: Key>(&'q self, query: &mut GroupBy<'q, K>) -> Asked {
        of_any_type!(Self, self, values => query.sum(&values[..]).into())
    }

    /// Adds the least number in each group to a query.
    pub(super) fn min<'q, K: Key>(&'q self, query: &mut GroupBy<'q, K>) -> Asked {
        of_any_type!(Self, self, values => query.min(&values[..]).into())
    }

    /// Adds the greatest number in each group to a query.
    pub(super) fn max<'q, K: Key>(&'q self, query: &mut GroupBy<'q, K>) -> Asked {
        of_any_type!(Self, self, values => query.max(&values[..]).into())
    }

    /// Adds the mean of the numbers in each group to a query.
    pub(super) fn mean<'q, K: Key>(&'q self, query: &mut GroupBy<'q, K>) -> Asked {
        of_any_type!(Self, self, values => query.mean(&values[..]).into())
    }

    /// Adds the sum of the upper halves of 64-bit integers in each group to a query. Returns `None`
    /// for other numbers, whose sums are exact or rounded.
    pub(super) fn sum_of_upper<'q, K: Key>(&'q self, query: &mut GroupBy<'q, K>) -> Option<Asked> {
        match self {
            Self::U64(values) => Some(Asked::U64(query.sum_of_upper(&values[..]))),
            Self::I64(values) => Some(Asked::I64(query.sum_of_upper(&values[..]))),
            Self::U32(_) | Self::I32(_) | Self::F32(_) | Self::F64(_) => None,
        }
    }

    /// Returns the means of groups. Group `i` has `counts[i]` numbers, and element `i` of `self` is
    /// their sum, in the type of sums. `upper` has the sums of the upper halves of the numbers, if
    /// these have 64 bits.
    pub(super) fn means(&self, upper: Option<&Self>, counts: &[u64]) -> ScalarBuffer<f64> {
        // There are fewer than 2^32 rows, so counts fit `u32`.
        let integer = |sum, upper, is_signed, count: u64| mean_of_integers(sum, upper, is_signed, count as u32);
        let mean = |group: usize| match (self, upper) {
            (Self::F64(sums), _) => sums[group] / counts[group] as f64,
            (Self::U64(sums), Some(Self::U64(upper))) => integer(sums[group], upper[group], false, counts[group]),
            (Self::U64(sums), _) => integer(sums[group], sums[group] >> 32, false, counts[group]),
            (Self::I64(sums), Some(Self::I64(upper))) => {
                integer(sums[group] as u64, upper[group] as u64, true, counts[group])
            }
            (Self::I64(sums), _) => integer(sums[group] as u64, (sums[group] >> 32) as u64, true, counts[group]),
            _ => unreachable!("sums have 64 bits"),
        };
        (0..counts.len()).map(mean).collect()
    }

    /// Returns an array of type `of_type`, which [`Numbers::new`] accepts or whose values have the
    /// same size.
    pub(super) fn into_array(self, of_type: &DataType, nulls: Option<NullBuffer>) -> ArrayRef {
        fn cut<T: ArrowNativeType, U: ArrowNativeType>(values: &ScalarBuffer<T>, narrow: impl Fn(T) -> U) -> Buffer {
            values.iter().map(|value| narrow(*value)).collect::<ScalarBuffer<U>>().into_inner()
        }
        let buffer = match (self, of_type) {
            (Self::I32(values), DataType::Int8) => cut(&values, |value| value as i8),
            (Self::I32(values), DataType::Int16) => cut(&values, |value| value as i16),
            (Self::U32(values), DataType::UInt8) => cut(&values, |value| value as u8),
            (Self::U32(values), DataType::UInt16) => cut(&values, |value| value as u16),
            (numbers, _) => numbers.into_inner(),
        };
        macro_rules! array {
            ($type:ty) => {
                Arc::new(PrimitiveArray::<$type>::new(buffer.into(), nulls).with_data_type(of_type.clone()))
            };
        }
        downcast_primitive! {
            of_type => (array),
            _ => unreachable!("{of_type} is a primitive type"),
        }
    }

    fn into_inner(self) -> Buffer {
        of_any_type!(Self, self, values => values.into_inner())
    }
}

impl Asked {
    /// Returns the aggregate of each group, downloaded to the host.
    pub(super) fn download<K: Key>(self, stream: &Stream, groups: &Groups<K>) -> Result<Numbers> {
        Ok(of_any_type!(Self, self, asked => ScalarBuffer::from(groups.column(asked)?.download(stream)?).into()))
    }
}
