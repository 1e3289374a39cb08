//! Changes that combine new values with the values that keys already have.

use super::design::{Changes, Design};
use super::input::{keys_on, pairs_on};
use crate::primitives::Number;
use crate::relational::IntoColumn;
use crate::{BulkMap, Key, Result};
use gpu_kernels::table::fold::{Fold as FoldWord, FoldKind};
use std::marker::PhantomData;

/// A function that makes one number of two: the number that a key already has, and a new number.
#[derive(Debug, PartialEq, Eq)]
pub struct Fold<V> {
    word: FoldWord,
    numbers: PhantomData<fn() -> V>,
}

impl<V> Clone for Fold<V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<V> Copy for Fold<V> {}

impl<V> Fold<V> {
    /// Returns the word by which kernels know the function. In a mixed batch the word is a
    /// [`LinearKind`](crate::linear::LinearKind).
    pub const fn word(self) -> u32 {
        self.word.word()
    }
}

impl<V: Number> Fold<V> {
    /// Adds the two numbers. Integers wrap.
    pub const SUM: Self = Self::of(FoldKind::Sum);
    /// Takes the lesser number, in the order of [`Number`].
    pub const MIN: Self = Self::of(FoldKind::Min);
    /// Takes the greater number.
    pub const MAX: Self = Self::of(FoldKind::Max);

    const fn of(kind: FoldKind) -> Self {
        Self { word: FoldWord::new(kind, V::SUM_KIND, 8 * size_of::<V>() as u32), numbers: PhantomData }
    }
}

/// Changes that combine new values with the values that keys already have: sums, least and greatest
/// values, and counts over many batches. They work on a [`LinearMap`](crate::LinearMap), a
/// [`PageMap`](crate::PageMap) and an [`ExtendibleMap`](crate::ExtendibleMap).
///
/// Where that is faster, the rows of a batch that have the same key are merged into one row first.
/// Then frequent keys cost no more than rare keys on a GPU. The merge takes the memory of a
/// [`GroupBy`](crate::relational::GroupBy) of the batch, 24 to 36 bytes a row. A
/// [`LinearMap`](crate::LinearMap) is the fastest of the three maps, and keeps this memory until
/// [`shrink_to_fit`](BulkMap::shrink_to_fit). The other two maps group the rows, look up and
/// insert.
///
/// A refused batch has combined none of its rows. The errors are
/// [`Error::Input`](crate::Error::Input), [`Error::Full`](crate::Error::Full), or
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory) while rows are merged or the table grows. If
/// the device fails later, each key has combined none, some or all of its rows, or
/// [`Error::Emptied`](crate::Error::Emptied) says that the map is empty.
impl<K: Key, V: Number, D: Design> BulkMap<K, V, D> {
    /// Combines each value with the value that its key has, by a sum, a minimum or a maximum. A key
    /// without a value gets the new value. Returns how many keys were new.
    ///
    /// Sums of integers wrap. Floating-point numbers of one batch are first added up as `f64`, in
    /// an order that is the same in every run. The sum is then added to the map's value.
    ///
    /// ```
    /// use warpnest::{Device, Fold, LinearMap};
    ///
    /// let mut balances: LinearMap<u32, i64> = LinearMap::new(&Device::best()?)?;
    /// assert_eq!(balances.combine_many(Fold::SUM, &[7, 8, 7], &[100, 50, -30])?, 2);
    /// assert_eq!(balances.combine_many(Fold::MAX, &[8, 9], &[51, 1])?, 1);
    /// assert_eq!(balances.get_many(&[7, 8, 9])?, [Some(70), Some(51), Some(1)]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`BulkMap::insert_many`], except
    /// [`FullError::NoSlots`](crate::FullError::NoSlots).
    /// [`FullError::NoCapacity`](crate::FullError::NoCapacity): nothing was done.
    /// [`InputError::TooManyItems`](crate::InputError::TooManyItems) for 2^32 rows or more; smaller
    /// batches give the same result.
    #[doc(alias("add_many", "min_many", "max_many", "accumulate", "upsert"))]
    pub fn combine_many<'c>(
        &mut self,
        fold: Fold<V>,
        keys: impl IntoColumn<'c, K>,
        values: impl IntoColumn<'c, V>,
    ) -> Result<usize>
    where
        D: Changes,
    {
        let device = self.device().clone();
        let (keys, values) = pairs_on(&device, keys, values)?;
        let (keys, values) = (keys.words(), values.words());
        let new = D::combine(self.changed()?, device.default_stream(), keys, Some(values), fold.word)?;
        Ok(new as usize)
    }

    /// Adds to the value of each key the count of its copies among `keys`; a key without a value
    /// gets that count. Returns how many keys were new. An `f32` has no odd counts above 2^24.
    ///
    /// ```
    /// use warpnest::{Device, LinearMap};
    ///
    /// let mut counts: LinearMap<u64, u32> = LinearMap::new(&Device::best()?)?;
    /// counts.count_many(&[5, 6, 5])?;
    /// counts.count_many(&[5, 7])?;
    /// assert_eq!(counts.get_many(&[5, 6, 7])?, [Some(3), Some(1), Some(1)]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`BulkMap::combine_many`].
    #[doc(alias("histogram", "value_counts", "bincount"))]
    pub fn count_many<'c>(&mut self, keys: impl IntoColumn<'c, K>) -> Result<usize>
    where
        D: Changes,
    {
        let device = self.device().clone();
        let (keys, fold) = (keys_on(&device, keys)?, Fold::<V>::SUM.word);
        let new = D::combine(self.changed()?, device.default_stream(), keys.words(), None, fold)?;
        Ok(new as usize)
    }
}
