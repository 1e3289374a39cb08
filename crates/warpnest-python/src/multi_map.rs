//! Multimaps whose keys and values are words.

use crate::array::Array;
use crate::call::{self, Call, Column, FlagColumn, Target};
use crate::kinds::with_word;
use crate::map::Word;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use warpnest::primitives::expand_flags;
use warpnest::{MultiMap as Table, Result};

/// A multimap of words, which cannot be changed.
#[pyclass(frozen, module = "warpnest._native")]
pub struct MultiMap {
    map: Box<dyn Words>,
}

/// The operations of a multimap, independent of its word types.
trait Words: Send + Sync {
    fn contains(&self, call: &Call, queries: Column, outputs: FlagColumn) -> Result<()>;
    fn count(&self, call: &Call, queries: Column, counts: Column) -> Result<()>;
    fn retrieve(&self, call: &Call, queries: Column) -> Result<(Array, Array)>;
    fn len(&self) -> usize;
    fn key_count(&self) -> usize;
    fn bytes(&self) -> usize;
    fn save(&self, path: &Path) -> Result<()>;
}

impl<K: Word, V: Word> Words for Table<K, V> {
    fn contains(&self, call: &Call, queries: Column, outputs: FlagColumn) -> Result<()> {
        let asked = call.read::<K>(queries)?;
        call.flags(outputs, |bits, flags| {
            if let Some(bits) = bits {
                return self.contains_many_into(&call.stream, &asked, bits);
            }
            let mut found = call.own_bits(asked.len().div_ceil(32))?;
            self.contains_many_into(&call.stream, &asked, &mut *found)?;
            flags.map_or(Ok(()), |flags| expand_flags(&call.stream, &found, flags))?;
            call.keep_bits(found);
            Ok(())
        })
    }

    fn count(&self, call: &Call, queries: Column, to: Column) -> Result<()> {
        let (asked, mut counts) = (call.read(queries)?, call.write(to)?);
        self.count_many_into(&call.stream, &asked, &mut *counts)?;
        counts.finish(to)
    }

    fn retrieve(&self, call: &Call, queries: Column) -> Result<(Array, Array)> {
        let retrieved = self.retrieve_many_on(&call.stream, &*call.read(queries)?)?;
        Ok((Array::of(call, retrieved.offsets), Array::of(call, retrieved.values)))
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn key_count(&self) -> usize {
        self.key_count()
    }

    fn bytes(&self) -> usize {
        self.memory_bytes()
    }

    fn save(&self, path: &Path) -> Result<()> {
        self.save_to(path)
    }
}

#[pymethods]
impl MultiMap {
    /// Writes a byte per query: whether its key is there. Without an array of bytes, it is a bit.
    fn contains(&self, py: Python<'_>, target: Target, queries: Column, outputs: FlagColumn) -> PyResult<()> {
        call::run(py, target, |call| self.map.contains(call, queries, outputs))
    }

    /// Writes the count of each query's values, as 32-bit integers.
    fn count(&self, py: Python<'_>, target: Target, queries: Column, counts: Column) -> PyResult<()> {
        call::run(py, target, |call| self.map.count(call, queries, counts))
    }

    /// Returns the offsets of each query's values, and the values.
    fn retrieve(&self, py: Python<'_>, target: Target, queries: Column) -> PyResult<(Array, Array)> {
        call::run(py, target, |call| self.map.retrieve(call, queries))
    }

    fn __len__(&self) -> usize {
        self.map.len()
    }

    fn key_count(&self) -> usize {
        self.map.key_count()
    }

    fn bytes(&self) -> usize {
        self.map.bytes()
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        call::detached(py, || self.map.save(&path))
    }
}

/// Builds a multimap whose keys and values have the sizes `bytes`.
#[pyfunction]
pub fn build_multi_map(
    py: Python<'_>,
    target: Target,
    keys: Column,
    values: Column,
    bytes: (usize, usize),
) -> PyResult<MultiMap> {
    with_word!(bytes.0, K => with_word!(bytes.1, V => call::run(py, target, |call| {
        let (keys, values) = (call.read::<K>(keys)?, call.read::<V>(values)?);
        Ok(MultiMap { map: Box::new(Table::build(&call.stream.device(), &*keys, &*values)?) })
    })))
}

/// Loads a multimap whose keys and values have the sizes `bytes`.
#[pyfunction]
pub fn load_multi_map(py: Python<'_>, target: Target, path: PathBuf, bytes: (usize, usize)) -> PyResult<MultiMap> {
    with_word!(bytes.0, K => with_word!(bytes.1, V => call::run(py, target, |call| {
        Ok(MultiMap { map: Box::new(Table::<K, V>::load_from(&call.device, &path)?) })
    })))
}
