//! Columns of numbers, their aggregates, and the results of these.

use super::keys::{elements, values};
use crate::relational::{Aggregate, GroupBy, Groups};
use crate::{Key, Result, Stream};
use arrow_array::{Array, ArrayRef, PrimitiveArray, downcast_primitive};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use std::sync::Arc;

/// A function of the rows of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Function {
    CountRows,
    Count,
    Sum,
    Min,
    Max,
    Mean,
    First,
    Last,
    CountDistinct,
    Var,
    Std,
    Quantile(f64),
}

impl Function {
    /// Returns whether the aggregate is a count, which is never null.
    pub(super) fn is_count(self) -> bool {
        matches!(self, Self::CountRows | Self::Count | Self::CountDistinct)
    }
}

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

macro_rules! types {
    ($($variant:ident: $type:ty;)+) => {$(
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
    U32: u32;
    I32: i32;
    U64: u64;
    I64: i64;
    F32: f32;
    F64: f64;
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

    /// Adds an aggregate of the numbers to a query.
    pub(super) fn ask<'q, K: Key>(&'q self, query: &mut GroupBy<'q, K>, function: Function) -> Asked {
        of_any_type!(Self, self, values => {
            let values = &values[..];
            match function {
                Function::CountRows | Function::Count => query.count().into(),
                Function::Sum => query.sum(values).into(),
                // The first row has the least number.
                Function::Min | Function::First => query.min(values).into(),
                Function::Max | Function::Last => query.max(values).into(),
                Function::Mean => query.mean(values).into(),
                Function::CountDistinct => query.count_distinct(values).into(),
                Function::Var => query.var(values).into(),
                Function::Std => query.std(values).into(),
                Function::Quantile(quantile) => query.quantile(values, quantile).into(),
            }
        })
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
    /// Leaves the rows whose bit is 0 out of the aggregate.
    pub(super) fn filter<'q, K: Key>(&self, query: &mut GroupBy<'q, K>, mask: &'q [u32]) {
        of_any_type!(Self, self, asked => _ = query.filter(*asked, mask));
    }

    /// Keeps only the groups with the greatest values of the aggregate.
    pub(super) fn top<K: Key>(&self, query: &mut GroupBy<'_, K>, count: usize) {
        of_any_type!(Self, self, asked => _ = query.top(count, *asked));
    }

    /// Returns the aggregate of each group, downloaded to the host.
    pub(super) fn download<K: Key>(self, stream: &Stream, groups: &Groups<K>) -> Result<Numbers> {
        Ok(of_any_type!(Self, self, asked => ScalarBuffer::from(groups.column(asked)?.download(stream)?).into()))
    }
}
