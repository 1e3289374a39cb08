//! The operations that only a linear map has: insertions with answers, mixed batches, and the
//! removal of tombstones.

use super::{LinearKind, LinearMap};
use crate::primitives::Number;
use crate::relational::IntoColumn;
use crate::runtime::buffer::zero;
use crate::runtime::lent::Lent;
use crate::table::input::pairs_on;
use crate::{Answers, Buffer, Fold, Key, Result, Stream, Value};
use gpu_kernels::linear::Operation;

/// One operation of a mixed batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinearOperation<K, V> {
    /// Looks up the value of a key.
    Get(K),
    /// Stores a value for a key. The answer is the value that the key had before.
    Insert(K, V),
    /// Stores a value for a key, unless the key has one. The answer is the value that the key had
    /// before.
    GetOrInsert(K, V),
    /// Removes a key. The answer is the value that the key had.
    Remove(K),
    /// Combines the value of a key with the given one, which a key without a value gets. The answer
    /// is the value that the key had before. Floating-point numbers are added in any order. A batch
    /// that failed must not simply be repeated, because some of its values may have been added.
    Combine(K, V, Fold<V>),
}

impl<K: Key, V: Number> LinearOperation<K, V> {
    /// Returns the operation that adds `value` to the value of `key`.
    pub fn add(key: K, value: V) -> Self {
        Self::Combine(key, value, Fold::SUM)
    }

    /// Returns the operation that replaces the value of `key` by `value` if `value` is less.
    pub fn min(key: K, value: V) -> Self {
        Self::Combine(key, value, Fold::MIN)
    }

    /// Returns the operation that replaces the value of `key` by `value` if `value` is greater.
    pub fn max(key: K, value: V) -> Self {
        Self::Combine(key, value, Fold::MAX)
    }
}

impl<K: Key, V: Value> LinearOperation<K, V> {
    /// Returns kind, key and value, as [`LinearMap::apply_many_into`] takes them.
    pub fn parts(self) -> (LinearKind<V>, K, V) {
        match self {
            Self::Get(key) => (LinearKind::GET, key, zero()),
            Self::Insert(key, value) => (LinearKind::INSERT, key, value),
            Self::GetOrInsert(key, value) => (LinearKind::GET_OR_INSERT, key, value),
            Self::Remove(key) => (LinearKind::REMOVE, key, zero()),
            Self::Combine(key, value, fold) => (fold.into(), key, value),
        }
    }
}

impl<K: Key, V: Value> LinearMap<K, V> {
    /// Does [`BulkMap::insert_many`](crate::BulkMap::insert_many), and returns the value that each
    /// key had before, or `None` for a new key.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`](crate::BulkMap::insert_many).
    pub fn replace_many<'c>(
        &mut self,
        keys: impl IntoColumn<'c, K>,
        values: impl IntoColumn<'c, V>,
    ) -> Result<Vec<Option<V>>> {
        let device = self.device().clone();
        let (keys, values) = pairs_on(&device, keys, values)?;
        self.replace_many_on(device.default_stream(), &keys, &values)?.download(device.default_stream())
    }

    /// Does [`LinearMap::replace_many`] with buffers, and waits until it is done.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`](crate::BulkMap::insert_many), and
    /// [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn replace_many_on(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<Answers<V>> {
        let mut answers = Answers::uninitialized(self.device(), keys.len())?;
        self.replace_many_into(stream, keys, values, &mut answers)?;
        Ok(answers)
    }

    /// Does [`LinearMap::replace_many_on`] into existing answers. Returns the count of new keys.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`](crate::BulkMap::insert_many), and
    /// [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn replace_many_into(
        &mut self,
        stream: &Stream,
        keys: &Buffer<K>,
        values: &Buffer<V>,
        answers: &mut Answers<V>,
    ) -> Result<usize> {
        let (keys, values, answers) = (keys.words(), values.words(), answers.words_mut());
        let new = self.changed()?.insert_by(stream, Operation::Insert, keys, values, Some(answers))?;
        Ok(new as usize)
    }

    /// Returns the value of every key. A key without a value first gets the given value.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`](crate::BulkMap::insert_many).
    pub fn get_or_insert_many<'c>(
        &mut self,
        keys: impl IntoColumn<'c, K>,
        values: impl IntoColumn<'c, V>,
    ) -> Result<Vec<V>> {
        let device = self.device().clone();
        let (keys, values) = pairs_on(&device, keys, values)?;
        let answers = self.get_or_insert_many_on(device.default_stream(), &keys, &values)?;
        answers.values().download(device.default_stream())
    }

    /// Does [`LinearMap::get_or_insert_many`] with buffers, and waits until it is done. Every
    /// answer has a value, and is found if the key was in the map before.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`](crate::BulkMap::insert_many), and
    /// [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn get_or_insert_many_on(
        &mut self,
        stream: &Stream,
        keys: &Buffer<K>,
        values: &Buffer<V>,
    ) -> Result<Answers<V>> {
        let mut answers = Answers::uninitialized(self.device(), keys.len())?;
        self.get_or_insert_many_into(stream, keys, values, &mut answers)?;
        Ok(answers)
    }

    /// Does [`LinearMap::get_or_insert_many_on`] into existing answers. Returns the count of new
    /// keys.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`](crate::BulkMap::insert_many), and
    /// [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn get_or_insert_many_into(
        &mut self,
        stream: &Stream,
        keys: &Buffer<K>,
        values: &Buffer<V>,
        answers: &mut Answers<V>,
    ) -> Result<usize> {
        let (keys, values, answers) = (keys.words(), values.words(), answers.words_mut());
        let new = self.changed()?.insert_by(stream, Operation::GetOrInsert, keys, values, Some(answers))?;
        Ok(new as usize)
    }

    /// Does all operations at the same time. Each answer is the value that the key had when its
    /// operation was done.
    ///
    /// Several operations on one key have the result that they would have in some sequential order.
    /// If many of them combine values, [`BulkMap::combine_many`](crate::BulkMap::combine_many) is
    /// faster.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`](crate::BulkMap::insert_many).
    pub fn apply_many(&mut self, operations: &[LinearOperation<K, V>]) -> Result<Vec<Option<V>>> {
        let kinds: Vec<LinearKind<V>> = operations.iter().map(|operation| operation.parts().0).collect();
        let keys: Vec<K> = operations.iter().map(|operation| operation.parts().1).collect();
        let values: Vec<V> = operations.iter().map(|operation| operation.parts().2).collect();
        let device = self.device().clone();
        let (kinds, (keys, values)) = (Lent::new(&device, &kinds)?, pairs_on(&device, &keys, &values)?);
        let answers = self.apply_many_on(device.default_stream(), &kinds, &keys, &values)?;
        answers.download(device.default_stream())
    }

    /// Does [`LinearMap::apply_many`] with buffers, and waits until it is done. Operation `i` has
    /// the kind `kinds[i]`.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`](crate::BulkMap::insert_many), and
    /// [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn apply_many_on(
        &mut self,
        stream: &Stream,
        kinds: &Buffer<LinearKind<V>>,
        keys: &Buffer<K>,
        values: &Buffer<V>,
    ) -> Result<Answers<V>> {
        let mut answers = Answers::uninitialized(self.device(), keys.len())?;
        self.apply_many_into(stream, kinds, keys, values, &mut answers)?;
        Ok(answers)
    }

    /// Does [`LinearMap::apply_many_on`] into existing answers.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`](crate::BulkMap::insert_many), and
    /// [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn apply_many_into(
        &mut self,
        stream: &Stream,
        kinds: &Buffer<LinearKind<V>>,
        keys: &Buffer<K>,
        values: &Buffer<V>,
        answers: &mut Answers<V>,
    ) -> Result<()> {
        // SAFETY: a kind has the same bytes as its word.
        let kinds = unsafe { kinds.as_type::<u32>() };
        // SAFETY: a kind that combines values can only come from a fold of the values' type.
        unsafe { self.changed()?.apply_kinds(stream, kinds, (keys.words(), values.words()), answers.words_mut()) }
    }

    /// Makes the slots of removed keys empty again, which shortens searches. The table keeps its
    /// size.
    ///
    /// # Errors
    /// As for [`LinearMap::reserve`].
    pub fn drop_tombstones(&mut self) -> Result<()> {
        let device = self.device().clone();
        self.changed()?.drop_tombstones(device.default_stream())
    }
}
