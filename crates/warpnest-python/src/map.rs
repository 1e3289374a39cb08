//! Maps whose keys and values are words.

use crate::array::Array;
use crate::call::{self, Call, Column, FlagColumn, Target};
use crate::kinds::with_word;
use pyo3::prelude::*;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use warpnest::low_level::{HostAnswers, PlainAnswers, contains_on_host, find_plain, get_on_host};
use warpnest::primitives::{Scratch, count_flags};
use warpnest::types::WordKey;
use warpnest::{BufferSlice, PageConfig, PageMap, Result};

/// A map of words. Several threads may do lookups at the same time, and a change waits for them.
#[pyclass(frozen, module = "warpnest._native")]
pub struct Map {
    map: Box<dyn Words>,
}

/// The requested outputs of a lookup, besides the values.
pub struct Wanted {
    /// The value for absent keys, if there is one.
    default: Option<u64>,
    /// Whether the keys that are there are counted, which waits for the lookup.
    count: bool,
}

/// The operations of a map, independent of its word types.
trait Words: Send + Sync {
    fn get(
        &self,
        call: &Call,
        queries: Column,
        to: Column,
        flags: Option<FlagColumn>,
        wanted: &Wanted,
    ) -> Result<Option<usize>>;
    fn contains(&self, call: &Call, queries: Column, outputs: FlagColumn) -> Result<()>;
    fn insert(&self, call: &Call, keys: Column, values: Column) -> Result<usize>;
    fn remove(&self, call: &Call, keys: Column) -> Result<usize>;
    fn clear(&self, call: &Call) -> Result<()>;
    fn reserve(&self, call: &Call, additional: usize) -> Result<()>;
    fn shrink(&self) -> Result<()>;
    fn pairs(&self, call: &Call) -> Result<(Array, Array)>;
    fn len(&self) -> usize;
    fn bytes(&self) -> usize;
    fn save(&self, path: &Path) -> Result<()>;
    fn copy(&self) -> Result<Map>;
}

/// A word type: `u32` or `u64`.
pub trait Word: WordKey {
    fn of(bits: u64) -> Self;
}

impl Word for u32 {
    fn of(bits: u64) -> Self {
        bits as u32
    }
}

impl Word for u64 {
    fn of(bits: u64) -> Self {
        bits
    }
}

/// A table with a lock that lookups share and changes hold exclusively.
pub struct Shared<T>(RwLock<T>);

impl<T> Shared<T> {
    pub fn new(table: T) -> Self {
        Self(RwLock::new(table))
    }

    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks two tables for reading. If both are the same table, locks it only once.
    ///
    /// While a thread waits to change a table, no other thread can lock the table for reading. So
    /// locking one table twice, or two tables in any order, could wait forever.
    pub fn read_with<'s>(&'s self, other: &'s Self) -> (RwLockReadGuard<'s, T>, Option<RwLockReadGuard<'s, T>>) {
        match std::ptr::from_ref(self).cmp(&std::ptr::from_ref(other)) {
            Ordering::Less => {
                let one = self.read();
                (one, Some(other.read()))
            }
            Ordering::Equal => (self.read(), None),
            Ordering::Greater => {
                let second = other.read();
                (self.read(), Some(second))
            }
        }
    }

    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Word, V: Word> Words for Shared<PageMap<K, V>> {
    fn get(
        &self,
        call: &Call,
        queries: Column,
        to: Column,
        flags: Option<FlagColumn>,
        wanted: &Wanted,
    ) -> Result<Option<usize>> {
        let map = self.read();
        let stream = &*call.stream;
        if call.is_of_host([queries, to], flags) {
            // SAFETY: the call runs. The arrays for answers were made for it, and nobody writes the
            // queries, as the documentation says.
            let (queries, values, (bits, flags)) = unsafe {
                let flags = flags.map(|flags| flags.elements_mut()).unwrap_or_default();
                (queries.elements::<K>(), to.elements_mut(), flags)
            };
            let answers =
                HostAnswers { values, default: wanted.default.map(V::of), bits, flags, counted: wanted.count };
            let found = get_on_host(&*map, stream, queries, answers)?;
            return Ok(wanted.count.then_some(found));
        }
        let (asked, mut values) = (call.read::<K>(queries)?, call.write::<V>(to)?);
        let to_bits = flags.and_then(FlagColumn::of_bits);
        let mut bits = match to_bits {
            Some(to) => Some(call.write::<u32>(to)?),
            None if wanted.count => Some(call.own_bits(queries.len().div_ceil(32))?),
            None => None,
        };
        let to_bytes = flags.and_then(FlagColumn::of_bytes);
        let mut bytes = to_bytes.map(|to| call.write::<u8>(to)).transpose()?;
        let answers = PlainAnswers {
            values: Some(&mut *values),
            absent: V::of(wanted.default.unwrap_or(0)),
            bits: bits.as_deref_mut().map(|bits| bits as &mut BufferSlice<u32>),
            flags: bytes.as_deref_mut().map(|bytes| bytes as &mut BufferSlice<u8>),
        };
        find_plain(map.table(), stream, &asked, answers)?;
        values.finish(to)?;
        if let (Some(bytes), Some(to)) = (bytes, to_bytes) {
            bytes.finish(to)?;
        }
        let Some(bits) = bits else { return Ok(None) };
        // This count uses its own scratch, which takes only a few bytes. Only calls with much work
        // share the stream's scratch.
        let count = || count_flags(stream, &mut Scratch::new(&call.device), &bits, queries.len());
        let count = wanted.count.then(count).transpose()?;
        match to_bits {
            Some(to) => bits.finish(to)?,
            None => call.keep_bits(bits),
        }
        Ok(count)
    }

    fn contains(&self, call: &Call, queries: Column, outputs: FlagColumn) -> Result<()> {
        let map = self.read();
        if call.is_of_host([queries], Some(outputs)) {
            // SAFETY: as in `get`.
            let (queries, (bits, flags)) = unsafe { (queries.elements::<K>(), outputs.elements_mut()) };
            return contains_on_host(map.table(), &call.stream, queries, bits, flags);
        }
        let asked = call.read::<K>(queries)?;
        call.flags(outputs, |bits, flags| {
            find_plain(map.table(), &call.stream, &asked, PlainAnswers { values: None, absent: V::of(0), bits, flags })
        })
    }

    fn insert(&self, call: &Call, keys: Column, values: Column) -> Result<usize> {
        let (keys, values) = (call.read(keys)?, call.read(values)?);
        self.write().on(&call.stream)?.insert_many(&*keys, &*values)
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

    fn pairs(&self, call: &Call) -> Result<(Array, Array)> {
        let (keys, values) = self.read().pairs_on(&call.stream)?;
        Ok((Array::of(call, keys), Array::of(call, values)))
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

    fn copy(&self) -> Result<Map> {
        Ok(Map { map: Box::new(Self::new(self.read().try_clone()?)) })
    }
}

#[pymethods]
impl Map {
    /// Looks up keys. Writes the values and, if wanted, which keys were found.
    fn get(
        &self,
        py: Python<'_>,
        target: Target,
        queries: Column,
        outputs: (Column, Option<FlagColumn>),
        wanted: (Option<u64>, bool),
    ) -> PyResult<Option<usize>> {
        let (default, count) = wanted;
        let wanted = Wanted { default, count };
        call::run(py, target, |call| self.map.get(call, queries, outputs.0, outputs.1, &wanted))
    }

    /// Writes a byte per query: whether its key is there. Without an array of bytes, it is a bit.
    fn contains(&self, py: Python<'_>, target: Target, queries: Column, outputs: FlagColumn) -> PyResult<()> {
        call::run(py, target, |call| self.map.contains(call, queries, outputs))
    }

    fn insert(&self, py: Python<'_>, target: Target, keys: Column, values: Column) -> PyResult<usize> {
        call::run(py, target, |call| self.map.insert(call, keys, values))
    }

    fn remove(&self, py: Python<'_>, target: Target, keys: Column) -> PyResult<usize> {
        call::run(py, target, |call| self.map.remove(call, keys))
    }

    fn clear(&self, py: Python<'_>, target: Target) -> PyResult<()> {
        call::run(py, target, |call| self.map.clear(call))
    }

    fn reserve(&self, py: Python<'_>, target: Target, additional: usize) -> PyResult<()> {
        call::run(py, target, |call| self.map.reserve(call, additional))
    }

    fn shrink(&self, py: Python<'_>) -> PyResult<()> {
        call::detached(py, || self.map.shrink())
    }

    fn pairs(&self, py: Python<'_>, target: Target) -> PyResult<(Array, Array)> {
        call::run(py, target, |call| self.map.pairs(call))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        call::detached(py, || Ok(self.map.len()))
    }

    fn bytes(&self, py: Python<'_>) -> PyResult<usize> {
        call::detached(py, || Ok(self.map.bytes()))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        call::detached(py, || self.map.save(&path))
    }

    fn copy(&self, py: Python<'_>, target: Target) -> PyResult<Self> {
        call::run(py, target, |_| self.map.copy())
    }
}

/// Builds a map whose keys and values have the sizes `bytes`.
#[pyfunction]
pub fn build_map(
    py: Python<'_>,
    target: Target,
    keys: Column,
    values: Column,
    bytes: (usize, usize),
    assume_unique: bool,
) -> PyResult<Map> {
    let config = if assume_unique { PageConfig::default().assume_unique() } else { PageConfig::default() };
    with_word!(bytes.0, K => with_word!(bytes.1, V => call::run(py, target, |call| {
        let (keys, values) = (call.read::<K>(keys)?, call.read::<V>(values)?);
        let map = config.build(&call.stream.device(), &*keys, &*values)?;
        Ok(Map { map: Box::new(Shared::new(map)) })
    })))
}

/// Creates an empty map whose keys and values have the sizes `bytes`.
#[pyfunction]
pub fn create_map(py: Python<'_>, target: Target, bytes: (usize, usize)) -> PyResult<Map> {
    with_word!(bytes.0, K => with_word!(bytes.1, V => call::run(py, target, |call| {
        Ok(Map { map: Box::new(Shared::new(PageMap::<K, V>::new(&call.device)?)) })
    })))
}

/// Loads a map whose keys and values have the sizes `bytes`.
#[pyfunction]
pub fn load_map(py: Python<'_>, target: Target, path: PathBuf, bytes: (usize, usize)) -> PyResult<Map> {
    with_word!(bytes.0, K => with_word!(bytes.1, V => call::run(py, target, |call| {
        Ok(Map { map: Box::new(Shared::new(PageMap::<K, V>::load_from(&call.device, &path)?)) })
    })))
}
