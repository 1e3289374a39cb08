//! [`BulkMap`]: a map of any design.

use super::design::{Changes, Design};
use super::handle::{Table, pairs};
use super::input::Input;
use super::kind::{Erases, Finds, HasValues, Inserts, KeyWordOf, Kind, Loads, OfDesign};
use super::lookup;
use super::raw::{RawTable, ReadTable, sealed::Sealed};
use crate::error::{TableKind, same_length};
use crate::table::file::kind_of;
use crate::types::{check_any_bytes, check_size};
use crate::{Answers, Buffer, BufferSlice, Key, Result, Stream, Value};
use std::marker::PhantomData;

/// The kind of a [`BulkMap`].
pub struct Map<K, V, D>(PhantomData<(K, V, D)>);

/// A map in the memory of a device, for arrays of keys and queries. [`PageMap`](crate::PageMap),
/// [`CuckooMap`](crate::CuckooMap), [`TwoLevelMap`](crate::TwoLevelMap),
/// [`SortedMap`](crate::SortedMap), [`LinearMap`](crate::LinearMap) and
/// [`ExtendibleMap`](crate::ExtendibleMap) are names for maps of one design `D`, which each of them
/// describes.
///
/// Functions can be generic over the design:
///
/// ```
/// use warpnest::{design::{BulkMap, Config}, CuckooConfig, Device, PageConfig};
/// use warpnest::design::Builds;
///
/// fn squares<D: Builds>(config: Config<D>) -> warpnest::Result<BulkMap<u32, u64, D>> {
///     let keys: Vec<u32> = (0..1000).collect();
///     let values: Vec<u64> = (0..1000).map(|key| key * key).collect();
///     config.build(&Device::best()?, &keys, &values)
/// }
///
/// assert_eq!(squares(PageConfig::default())?.get_many(&[30])?, [Some(900)]);
/// assert_eq!(squares(CuckooConfig::default())?.get_many(&[31])?, [Some(961)]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[doc(alias("HashMap", "hash table"))]
pub type BulkMap<K, V, D> = Table<Map<K, V, D>>;

impl<K: Key, V: Value, D: Design> Sealed for Map<K, V, D> {}
impl<K: Key, V: Value, D: Design> Kind for Map<K, V, D> {
    type Key = K;
    type Item = (K, V);
    type Word = V::Word;
    type Table = D::Table<K::Word, V::Word>;

    const CHECK: () = {
        check_size::<K>();
        check_size::<V>();
    };

    fn file_kind() -> TableKind {
        kind_of::<K, V::Word>(D::NAME)
    }

    fn keyed(table: &Self::Table) -> &dyn ReadTable<KeyWordOf<Self>, V::Word> {
        table
    }

    fn keys(table: &Self::Table) -> Result<Vec<K>> {
        Ok(Self::columns(table)?.0)
    }

    fn items(table: &Self::Table) -> Result<Vec<(K, V)>> {
        Self::columns(table).map(pairs)
    }

    fn try_clone(table: &Self::Table, stream: &Stream) -> Result<Self::Table> {
        table.try_clone(stream)
    }

    fn shrink_to_fit(table: &mut Self::Table) -> Result<()> {
        table.shrink_to_fit()
    }
}

impl<K: Key, V: Value, D: Design> Loads for Map<K, V, D> {
    const ANY_BYTES: () = {
        check_any_bytes::<K>();
        check_any_bytes::<V>();
    };
}

impl<K: Key, V: Value, D: Design> OfDesign for Map<K, V, D> {
    type Design = D;
    type Payload = V::Word;
}

impl<K: Key, V: Value, D: Design> HasValues for Map<K, V, D> {
    type Value = V;

    fn columns(table: &Self::Table) -> Result<(Vec<K>, Vec<V>)> {
        let (device, length) = (table.device(), table.len() as usize);
        let stream = device.default_stream();
        let (mut keys, mut values) = (Buffer::uninitialized(device, length)?, Buffer::uninitialized(device, length)?);
        let written = write(table, stream, &mut keys, &mut values)? as usize;
        Ok((keys.download_front(stream, written)?, values.download_front(stream, written)?))
    }
}

impl<K: Key, V: Value, D: Design> Finds for Map<K, V, D> {
    fn find(table: &Self::Table, queries: &[K]) -> Result<Vec<Option<V>>> {
        lookup::get_many(table, queries)
    }

    fn find_into(table: &Self::Table, stream: &Stream, queries: &Buffer<K>, answers: &mut Answers<V>) -> Result<()> {
        lookup::get_many_into(table, stream, queries, answers)
    }
}

impl<K: Key, V: Value, D: Changes> Erases for Map<K, V, D> {
    fn erase(table: &mut Self::Table, stream: &Stream, keys: &Buffer<K>) -> Result<usize> {
        // SAFETY: there are no outputs.
        let removed = unsafe { D::remove::<K::Word, V::Word>(table, stream, keys.words(), None) };
        removed.map(|keys| keys as usize)
    }

    fn reserve(table: &mut Self::Table, stream: &Stream, additional: usize) -> Result<()> {
        D::reserve::<K::Word, V::Word>(table, stream, additional as u64)
    }

    fn clear(table: &mut Self::Table, stream: &Stream) -> Result<()> {
        D::clear::<K::Word, V::Word>(table, stream)
    }
}

impl<K: Key, V: Value, D: Changes> Inserts for Map<K, V, D> {
    fn insert(table: &mut Self::Table, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<usize> {
        let input = Input::of(keys.words(), values.words());
        D::insert::<K::Word, V::Word>(table, stream, input).map(|new| new as usize)
    }

    fn remove(table: &mut Self::Table, stream: &Stream, keys: &Buffer<K>, answers: &mut Answers<V>) -> Result<usize> {
        let Answers { values, found, .. } = &*answers.words_mut();
        let outputs = Some((Some(values), found));
        // SAFETY: there are as many answers as keys, and the caller borrows the answers mutably.
        let removed = unsafe { D::remove::<K::Word, V::Word>(table, stream, keys.words(), outputs) };
        removed.map(|keys| keys as usize)
    }
}

/// Methods that write all pairs on the device.
impl<K: Key, V: Value, D: Design> BulkMap<K, V, D> {
    /// Writes all pairs to buffers of keys and values, in the order of [`Table::iter`]. May wait
    /// until the pairs are written.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn pairs_on(&self, stream: &Stream) -> Result<(Buffer<K>, Buffer<V>)> {
        let (device, length) = (self.device(), self.len());
        let (mut keys, mut values) = (Buffer::uninitialized(device, length)?, Buffer::uninitialized(device, length)?);
        let written = write(&self.table, stream, &mut keys, &mut values)? as usize;
        if written < length {
            return Ok((
                keys.duplicate_front(stream, device, written)?,
                values.duplicate_front(stream, device, written)?,
            ));
        }
        Ok((keys, values))
    }

    /// Writes all pairs to `keys` and `values`, in the order of [`Table::iter`]. May wait until the
    /// pairs are written.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless both buffers have
    /// [`Table::len`] elements, [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn pairs_into(&self, stream: &Stream, keys: &mut BufferSlice<K>, values: &mut BufferSlice<V>) -> Result<()> {
        write(&self.table, stream, keys, values).map(drop)
    }
}

/// Writes the pairs of a map to the front of arrays that are as long as the map; returns the count
/// of pairs.
fn write<K: Key, V: Value>(
    table: &dyn ReadTable<K::Word, V::Word>,
    stream: &Stream,
    keys: &mut BufferSlice<K>,
    values: &mut BufferSlice<V>,
) -> Result<u64> {
    let length = table.len() as usize;
    same_length(("the map", length), ("the keys", keys.len()))?;
    same_length(("the map", length), ("the values", values.len()))?;
    // SAFETY: both arrays have an element for each key.
    unsafe { table.write(stream, keys.words(), Some(values.words())) }
}
