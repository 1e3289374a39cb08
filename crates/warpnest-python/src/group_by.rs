//! Group-by: aggregates of columns by keys.

use crate::array::Array;
use crate::call::{self, Call, Column, Lent, Target};
use crate::kinds::{unknown, with_key};
use pyo3::prelude::*;
use std::sync::Arc;
use warpnest::primitives::Number;
use warpnest::relational::{Aggregate, GroupBy, Groups, Order};
use warpnest::{Key, Result, Value};

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
}

impl Operation {
    fn of(name: &str) -> PyResult<Self> {
        Ok(match name {
            "count" => Self::Count,
            "sum" => Self::Sum,
            "min" => Self::Min,
            "max" => Self::Max,
            "mean" => Self::Mean,
            "first" => Self::First,
            "last" => Self::Last,
            _ => return Err(pyo3::exceptions::PyValueError::new_err(format!("there is no aggregate {name:?}"))),
        })
    }
}

/// A function that returns an aggregate of the groups.
type Find<K> = Box<dyn Fn(&Call, &Arc<Groups<K>>) -> Result<Array>>;

fn find<K: Key + Send + Sync, T: Value>(aggregate: Aggregate<T>) -> Find<K> {
    Box::new(move |call, groups| {
        let column = groups.column(aggregate)?;
        // The array owns `groups`, which owns the memory of the column.
        Ok(Array::within::<T>(call, column.address(), column.len(), groups.clone()))
    })
}

fn ask<'q, K: Key + Send + Sync, T: Number>(
    query: &mut GroupBy<'q, K>,
    values: &'q Lent<'_, T>,
    operation: Operation,
) -> Find<K> {
    let values = &**values;
    match operation {
        Operation::Count => find(query.count()),
        Operation::Sum => find(query.sum(values)),
        Operation::Min => find(query.min(values)),
        Operation::Max => find(query.max(values)),
        Operation::Mean => find(query.mean(values)),
        Operation::First => find(query.first(values)),
        Operation::Last => find(query.last(values)),
    }
}

/// Returns the distinct keys and the aggregates of each key. `wanted` has the name and the column
/// index of each aggregate. `order` also says whether NaNs are skipped.
#[pyfunction]
pub fn group_by(
    py: Python<'_>,
    target: Target,
    keys: Column,
    kind: &str,
    columns: Vec<(Column, String)>,
    wanted: Vec<(String, usize)>,
    order: (String, bool),
) -> PyResult<(Array, Vec<Array>)> {
    let (order, skips_nans) = order;
    let order = match order.as_str() {
        "sorted" => Order::ByKey,
        "first" => Order::FirstSeen,
        _ => Order::Any,
    };
    let columns = columns.into_iter().map(|(column, kind)| Ok((column, Kind::of(&kind)?)));
    let columns: Vec<(Column, Kind)> = columns.collect::<PyResult<_>>()?;
    let wanted = wanted.into_iter().map(|(name, column)| Ok((Operation::of(&name)?, column)));
    let wanted: Vec<(Operation, usize)> = wanted.collect::<PyResult<_>>()?;
    with_key!(kind, K => call::run(py, target, |call| grouped::<K>(call, keys, &columns, &wanted, (order, skips_nans))))
}

fn grouped<K: Key + Send + Sync>(
    call: &Call,
    keys: Column,
    columns: &[(Column, Kind)],
    wanted: &[(Operation, usize)],
    (order, skips_nans): (Order, bool),
) -> Result<(Array, Vec<Array>)> {
    let keys = call.read::<K>(keys)?;
    let columns: Vec<Values<'_>> =
        columns.iter().map(|&(column, kind)| kind.read(call, column)).collect::<Result<_>>()?;
    let mut query = GroupBy::new(&*keys);
    query.order(order).skip_nans(skips_nans);
    let finds: Vec<Find<K>> = wanted
        .iter()
        .map(|&(operation, column)| match (operation, columns.get(column)) {
            (_, Some(Values::U32(values))) => ask(&mut query, values, operation),
            (_, Some(Values::I32(values))) => ask(&mut query, values, operation),
            (_, Some(Values::F32(values))) => ask(&mut query, values, operation),
            (_, Some(Values::U64(values))) => ask(&mut query, values, operation),
            (_, Some(Values::I64(values))) => ask(&mut query, values, operation),
            (_, Some(Values::F64(values))) => ask(&mut query, values, operation),
            // Only the count of rows uses no column.
            (_, None) => find(query.count()),
        })
        .collect();
    let groups = Arc::new(call.with_scratch(|scratch| query.run_on(&call.stream, scratch))?);
    let keys = Array::within::<K>(call, groups.keys().address(), groups.len(), groups.clone());
    let found = finds.iter().map(|find| find(call, &groups)).collect::<Result<_>>()?;
    Ok((keys, found))
}
