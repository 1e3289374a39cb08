//! Joins: the rows of two columns whose keys are equal.

use crate::array::Array;
use crate::call::{self, Column, Target};
use crate::kinds::with_word;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use warpnest::relational::{Join, JoinKind};

/// Returns the left row and the right row of each pair, as 32-bit integers. All ones stand for a
/// missing row. Semi and anti joins return only left rows.
#[pyfunction]
pub fn join(
    py: Python<'_>,
    target: Target,
    left: Column,
    right: Column,
    bytes: usize,
    how: &str,
) -> PyResult<(Array, Option<Array>)> {
    let (kind, has_right) = match how {
        "inner" => (JoinKind::Inner, true),
        "left" => (JoinKind::Left, true),
        "right" => (JoinKind::Right, true),
        "outer" => (JoinKind::Full, true),
        "semi" => (JoinKind::Semi, false),
        "anti" => (JoinKind::Anti, false),
        _ => {
            return Err(PyValueError::new_err(format!(
                "there is no join {how:?}: take \"inner\", \"left\", \"right\", \"outer\", \"semi\" or \"anti\""
            )));
        }
    };
    with_word!(bytes, K => call::run(py, target, |call| {
        let (left, right) = (call.read::<K>(left)?, call.read::<K>(right)?);
        let mut query = Join::new(&*left, &*right);
        let joined = call.with_scratch(|scratch| query.kind(kind).run_on(&call.stream, scratch))?;
        let (left, right) = joined.into_rows();
        Ok((Array::of(call, left), has_right.then(|| Array::of(call, right))))
    }))
}
