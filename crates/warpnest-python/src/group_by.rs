//! Group-by: aggregates of columns by keys.

use crate::array::Array;
use crate::call::{self, Call, Column, Lent, Target};
use crate::kinds::{unknown, with_key};
use pyo3::prelude::*;
use std::sync::Arc;
use warpnest::primitives::Number;
use warpnest::relational::{Aggregate, GroupBy, Groups, Order};
use warpnest::{Key, Result};

/// A column of values, of one of the numeric types.
enum Values<'c> {
    U32(Lent<'c, u32>),
    I32(Lent<'c, i32>),
    F32(Lent<'c, f32>),
    U64(Lent<'c, u64>),
    I64(Lent<'c, i64>),
    F64(Lent<'c, f64>),
}

/// The numeric types, one for each variant of [`Values`].
#[derive(Clone, Copy)]
enum Kind {
    U32,
    I32,
    F32,
    U64,
    I64,
    F64,
}

impl Kind {
    fn of(name: &str) -> PyResult<Self> {
        Ok(match name {
            "u4" => Self::U32,
            "i4" => Self::I32,
            "f4" => Self::F32,
            "u8" => Self::U64,
            "i8" => Self::I64,
            "f8" => Self::F64,
            _ => return Err(unknown(name)),
        })
    }

    fn read(self, call: &Call, column: Column) -> Result<Values<'_>> {
        Ok(match self {
            Self::U32 => Values::U32(call.read(column)?),
            Self::I32 => Values::I32(call.read(column)?),
            Self::F32 => Values::F32(call.read(column)?),
            Self::U64 => Values::U64(call.read(column)?),
            Self::I64 => Values::I64(call.read(column)?),
            Self::F64 => Values::F64(call.read(column)?),
        })
    }
}

/// An aggregate of a column of values.
#[derive(Clone, Copy)]
enum Operation {
    Count,
    Sum,
    Min,
    Max,
    Mean,
    First,
    Last,
    Distinct,
    Var,
    Std,
    Quantile(f64),
}

impl Operation {
    /// Returns the operation of this name. A quantile has a number, too.
    fn of(name: &str, quantile: f64) -> PyResult<Self> {
        Ok(match name {
            "count" => Self::Count,
            "sum" => Self::Sum,
            "min" => Self::Min,
            "max" => Self::Max,
            "mean" => Self::Mean,
            "first" => Self::First,
            "last" => Self::Last,
            "nunique" => Self::Distinct,
            "var" => Self::Var,
            "std" => Self::Std,
            "median" => Self::Quantile(0.5),
            "quantile" => Self::Quantile(quantile),
            _ => return Err(pyo3::exceptions::PyValueError::new_err(format!("there is no aggregate {name:?}"))),
        })
    }
}

/// A function that returns an aggregate of the groups.
type Find<K> = Box<dyn Fn(&Call, &Arc<Groups<K>>) -> Result<Array>>;

/// A function that lets a query keep the groups with the greatest values of an aggregate.
type Keep<K> = Box<dyn Fn(&mut GroupBy<'_, K>, usize)>;

/// A requested aggregate.
struct Asked<K> {
    find: Find<K>,
    keep: Keep<K>,
}

fn asked<K: Key + Send + Sync, T: Number>(aggregate: Aggregate<T>) -> Asked<K> {
    let find: Find<K> = Box::new(move |call, groups| {
        let column = groups.column(aggregate)?;
        // The array owns `groups`, which owns the memory of the column.
        Ok(Array::within::<T>(call, column.address(), column.len(), groups.clone()))
    });
    Asked { find, keep: Box::new(move |query, count| _ = query.top(count, aggregate)) }
}

fn ask<'q, K: Key + Send + Sync, T: Number<Sum: Number>>(
    query: &mut GroupBy<'q, K>,
    values: &'q Lent<'_, T>,
    operation: Operation,
) -> Asked<K> {
    let values = &**values;
    match operation {
        Operation::Count => asked(query.count()),
        Operation::Sum => asked(query.sum(values)),
        Operation::Min => asked(query.min(values)),
        Operation::Max => asked(query.max(values)),
        Operation::Mean => asked(query.mean(values)),
        Operation::First => asked(query.first(values)),
        Operation::Last => asked(query.last(values)),
        Operation::Distinct => asked(query.count_distinct(values)),
        Operation::Var => asked(query.var(values)),
        Operation::Std => asked(query.std(values)),
        Operation::Quantile(quantile) => asked(query.quantile(values, quantile)),
    }
}

/// The settings of a query: the order, and whether NaNs are skipped; the count that variances
/// subtract from the count of rows; whether sums are reproducible; and the most groups, with the
/// index of the aggregate by which they are kept.
type Settings = ((String, bool), u32, bool, Option<(usize, usize)>);

/// Returns the distinct keys and the aggregates of each key. `wanted` has the name and the column
/// index of each aggregate, and the number of a quantile.
#[pyfunction]
pub fn group_by(
    py: Python<'_>,
    target: Target,
    keys: Column,
    kind: &str,
    columns: Vec<(Column, String)>,
    wanted: Vec<(String, usize, f64)>,
    settings: Settings,
) -> PyResult<(Array, Vec<Array>)> {
    let columns = columns.into_iter().map(|(column, kind)| Ok((column, Kind::of(&kind)?)));
    let columns: Vec<(Column, Kind)> = columns.collect::<PyResult<_>>()?;
    let wanted = wanted.into_iter().map(|(name, column, quantile)| Ok((Operation::of(&name, quantile)?, column)));
    let wanted: Vec<(Operation, usize)> = wanted.collect::<PyResult<_>>()?;
    with_key!(kind, K => call::run(py, target, |call| grouped::<K>(call, keys, &columns, &wanted, &settings)))
}

fn grouped<K: Key + Send + Sync>(
    call: &Call,
    keys: Column,
    columns: &[(Column, Kind)],
    wanted: &[(Operation, usize)],
    settings: &Settings,
) -> Result<(Array, Vec<Array>)> {
    let ((order, skips_nans), ddof, is_reproducible, top) = settings;
    let order = match order.as_str() {
        "sorted" => Order::ByKey,
        "first" => Order::FirstSeen,
        _ => Order::Any,
    };
    let keys = call.read::<K>(keys)?;
    let columns: Vec<Values<'_>> =
        columns.iter().map(|&(column, kind)| kind.read(call, column)).collect::<Result<_>>()?;
    let mut query = GroupBy::new(&*keys);
    query.order(order).skip_nans(*skips_nans).ddof(*ddof);
    if *is_reproducible {
        query.reproducible();
    }
    let all: Vec<Asked<K>> = wanted
        .iter()
        .map(|&(operation, column)| match (operation, columns.get(column)) {
            (_, Some(Values::U32(values))) => ask(&mut query, values, operation),
            (_, Some(Values::I32(values))) => ask(&mut query, values, operation),
            (_, Some(Values::F32(values))) => ask(&mut query, values, operation),
            (_, Some(Values::U64(values))) => ask(&mut query, values, operation),
            (_, Some(Values::I64(values))) => ask(&mut query, values, operation),
            (_, Some(Values::F64(values))) => ask(&mut query, values, operation),
            // Only the count of rows uses no column.
            (_, None) => asked(query.count()),
        })
        .collect();
    if let Some((count, by)) = *top {
        all.get(by).into_iter().for_each(|by| (by.keep)(&mut query, count));
    }
    let groups = Arc::new(call.with_scratch(|scratch| query.run_on(&call.stream, scratch))?);
    let keys = Array::within::<K>(call, groups.keys().address(), groups.len(), groups.clone());
    let found = all.iter().map(|asked| (asked.find)(call, &groups)).collect::<Result<_>>()?;
    Ok((keys, found))
}
