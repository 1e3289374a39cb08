//! Sets whose keys are words.

use crate::array::Array;
use crate::call::{self, Call, Column, FlagColumn, Target};
use crate::kinds::with_word;
use crate::map::{Shared, Word};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::any::Any;
use std::path::{Path, PathBuf};
use warpnest::low_level::{PlainAnswers, contains_on_host, find_plain};
use warpnest::{PageConfig, PageSet, Result};

/// A set of words. Several threads may do queries at the same time, and a change waits for them.
#[pyclass(frozen, module = "warpnest._native")]
pub struct Set {
    set: Box<dyn Words>,
}

/// An operation on two sets.
#[derive(Clone, Copy)]
enum Operation {
    Union,
    Intersection,
    Difference,
}

/// The operations of a set, independent of its word type.
trait Words: Send + Sync {
    fn contains(&self, call: &Call, queries: Column, outputs: FlagColumn) -> Result<()>;
    fn insert(&self, call: &Call, keys: Column) -> Result<usize>;
    fn remove(&self, call: &Call, keys: Column) -> Result<usize>;
    fn clear(&self, call: &Call) -> Result<()>;
    fn reserve(&self, call: &Call, additional: usize) -> Result<()>;
    fn shrink(&self) -> Result<()>;
    fn keys(&self, call: &Call) -> Result<Array>;
    fn len(&self) -> usize;
    fn bytes(&self) -> usize;
    fn save(&self, path: &Path) -> Result<()>;
    fn copy(&self) -> Result<Set>;
    /// Returns the result of an operation, or `None` if the other set has another word type.
    fn combined(&self, other: &dyn Words, operation: Operation) -> Result<Option<Set>>;
    fn as_any(&self) -> &dyn Any;
}

impl<K: Word> Words for Shared<PageSet<K>> {
    fn contains(&self, call: &Call, queries: Column, outputs: FlagColumn) -> Result<()> {
        let set = self.read();
        if call.is_of_host([queries], Some(outputs)) {
            // SAFETY: the call runs. The arrays for answers were made for it, and nobody writes the
            // queries, as the documentation says.
            let (queries, (bits, flags)) = unsafe { (queries.elements::<K>(), outputs.elements_mut()) };
            return contains_on_host(set.table(), &call.stream, queries, bits, flags);
        }
        let asked = call.read::<K>(queries)?;
        call.flags(outputs, |bits, flags| {
            find_plain(set.table(), &call.stream, &asked, PlainAnswers { values: None, absent: 0, bits, flags })
        })
    }

    fn insert(&self, call: &Call, keys: Column) -> Result<usize> {
        let keys = call.read(keys)?;
        self.write().on(&call.stream)?.insert_many(&*keys)
    }

    fn remove(&self, call: &Call, keys: Column) -> Result<usize> {
        let keys = call.read(keys)?;
        self.write().on(&call.stream)?.erase_many(&*keys)
    }

    fn clear(&self, call: &Call) -> Result<()> {
        self.write().on(&call.stream)?.clear()
    }

    fn reserve(&self, call: &Call, additional: usize) -> Result<()> {
        self.write().on(&call.stream)?.reserve(additional)
    }

    fn shrink(&self) -> Result<()> {
        self.write().shrink_to_fit()
    }

    fn keys(&self, call: &Call) -> Result<Array> {
        Ok(Array::of(call, self.read().keys_on(&call.stream)?))
    }

    fn len(&self) -> usize {
        self.read().len()
    }

    fn bytes(&self) -> usize {
        self.read().memory_bytes()
    }

    fn save(&self, path: &Path) -> Result<()> {
        self.read().save_to(path)
    }

    fn copy(&self) -> Result<Set> {
        Ok(Set { set: Box::new(Self::new(self.read().try_clone()?)) })
    }

    fn combined(&self, other: &dyn Words, operation: Operation) -> Result<Option<Set>> {
        let Some(other) = other.as_any().downcast_ref::<Self>() else { return Ok(None) };
        let (one, held) = self.read_with(other);
        let other = held.as_deref().unwrap_or(&*one);
        let set = match operation {
            Operation::Union => one.union(other)?,
            Operation::Intersection => one.intersection(other)?,
            Operation::Difference => one.difference(other)?,
        };
        Ok(Some(Set { set: Box::new(Self::new(set)) }))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[pymethods]
impl Set {
    /// Writes a byte per query: whether its key is there. Without an array of bytes, it is a bit.
    fn contains(&self, py: Python<'_>, target: Target, queries: Column, outputs: FlagColumn) -> PyResult<()> {
        call::run(py, target, |call| self.set.contains(call, queries, outputs))
    }

    fn insert(&self, py: Python<'_>, target: Target, keys: Column) -> PyResult<usize> {
        call::run(py, target, |call| self.set.insert(call, keys))
    }

    fn remove(&self, py: Python<'_>, target: Target, keys: Column) -> PyResult<usize> {
        call::run(py, target, |call| self.set.remove(call, keys))
    }

    fn clear(&self, py: Python<'_>, target: Target) -> PyResult<()> {
        call::run(py, target, |call| self.set.clear(call))
    }

    fn reserve(&self, py: Python<'_>, target: Target, additional: usize) -> PyResult<()> {
        call::run(py, target, |call| self.set.reserve(call, additional))
    }

    fn shrink(&self, py: Python<'_>) -> PyResult<()> {
        call::detached(py, || self.set.shrink())
    }

    fn keys(&self, py: Python<'_>, target: Target) -> PyResult<Array> {
        call::run(py, target, |call| self.set.keys(call))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        call::detached(py, || Ok(self.set.len()))
    }

    fn bytes(&self, py: Python<'_>) -> PyResult<usize> {
        call::detached(py, || Ok(self.set.bytes()))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        call::detached(py, || self.set.save(&path))
    }

    fn copy(&self, py: Python<'_>, target: Target) -> PyResult<Self> {
        call::run(py, target, |_| self.set.copy())
    }

    fn union(&self, py: Python<'_>, target: Target, other: &Self) -> PyResult<Self> {
        self.combined(py, target, other, Operation::Union)
    }

    fn intersection(&self, py: Python<'_>, target: Target, other: &Self) -> PyResult<Self> {
        self.combined(py, target, other, Operation::Intersection)
    }

    fn difference(&self, py: Python<'_>, target: Target, other: &Self) -> PyResult<Self> {
        self.combined(py, target, other, Operation::Difference)
    }
}

impl Set {
    fn combined(&self, py: Python<'_>, target: Target, other: &Self, operation: Operation) -> PyResult<Self> {
        let combined = call::run(py, target, |_| self.set.combined(&*other.set, operation))?;
        combined.ok_or_else(|| PyTypeError::new_err("the keys of the two sets are of different sizes"))
    }
}

/// Builds a set whose keys have `bytes` bytes.
#[pyfunction]
pub fn build_set(py: Python<'_>, target: Target, keys: Column, bytes: usize, assume_unique: bool) -> PyResult<Set> {
    let config = if assume_unique { PageConfig::default().assume_unique() } else { PageConfig::default() };
    with_word!(bytes, K => call::run(py, target, |call| {
        let keys = call.read::<K>(keys)?;
        Ok(Set { set: Box::new(Shared::new(config.build_set(&call.stream.device(), &*keys)?)) })
    }))
}

/// Creates an empty set whose keys have `bytes` bytes.
#[pyfunction]
pub fn create_set(py: Python<'_>, target: Target, bytes: usize) -> PyResult<Set> {
    with_word!(bytes, K => call::run(py, target, |call| {
        Ok(Set { set: Box::new(Shared::new(PageSet::<K>::new(&call.device)?)) })
    }))
}

/// Loads a set whose keys have `bytes` bytes.
#[pyfunction]
pub fn load_set(py: Python<'_>, target: Target, path: PathBuf, bytes: usize) -> PyResult<Set> {
    with_word!(bytes, K => call::run(py, target, |call| {
        Ok(Set { set: Box::new(Shared::new(PageSet::<K>::load_from(&call.device, &path)?)) })
    }))
}
