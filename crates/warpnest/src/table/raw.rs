//! What every table does, for the maps and sets that have one. The trait is seen in bounds, but
//! other crates cannot name it.

use super::file::{Incoming, Parts};
use crate::runtime::stream::Uses;
use crate::{Buffer, Device, Result, Stream};
use gpu_kernels::types::{KeyWord, ValueWord};
use std::fmt::Debug;

/// Where answers are written: a value for each key, if they are wanted, and a found-word for every
/// 32 keys.
pub(crate) type Outputs<'b, V> = (Option<&'b Buffer<V>>, &'b Buffer<u32>);

/// What is read of a table of keys `K` and values `V`, whatever its type. In a set, whose payload
/// is nothing, values are of the type that stands for them in kernels, and there are none.
pub trait ReadTable<K: KeyWord, V: ValueWord>: Debug + Sync {
    /// Returns the device that the table is on.
    fn device(&self) -> &Device;

    /// Returns the count of keys.
    fn len(&self) -> u64;

    /// Returns the bytes that the table takes on the device, without what builds and batches work
    /// in.
    fn memory_bytes(&self) -> u64;

    /// Fails if the table cannot be looked up in, since a change of it failed partway.
    fn check_usable(&self) -> Result<()> {
        Ok(())
    }

    /// Queues a lookup, with or without values.
    ///
    /// # Safety
    /// There are as many values, if any, as queries, and a found-word for every 32 of them. Nothing
    /// else uses the outputs.
    unsafe fn find(&self, stream: &Stream, queries: &Buffer<K>, outputs: Outputs<'_, V>) -> Result<()>;

    /// Writes all keys to the front of `keys`, and all values to the front of `values`; returns how
    /// many there are. That is the count of keys, unless a promise of unique keys was broken, or
    /// whoever made the table's file gave a wrong count: then it may be more, and the others are
    /// left out.
    ///
    /// # Safety
    /// `keys` has an element for each key, and `values` is as long. There are values unless this is
    /// the table of a set.
    unsafe fn write(&self, stream: &Stream, keys: &Buffer<K>, values: Option<&Buffer<V>>) -> Result<u64>;
}

/// A table that a file can have.
pub trait StoredTable: Sized {
    /// Takes another handle of the device that the table is on.
    fn set_device(&mut self, device: &Device);

    /// Takes the table apart for its file.
    fn parts<'t>(&'t self, parts: &mut Parts<'t>) -> Result<()>;

    /// Puts a table together from a file, which anybody may have written. So whatever the table's
    /// kernels rely on is checked, and each length before memory is taken.
    fn from_parts(incoming: &mut Incoming<'_>) -> Result<Self>;
}

/// A table of keys `K` and values `V`.
pub trait RawTable<K: KeyWord, V: ValueWord>: ReadTable<K, V> + StoredTable {
    /// The table as an argument of a kernel.
    type Ref: Copy;

    /// Returns the argument for a launch, which reads the table.
    fn lend<'b>(&'b self, uses: &Uses<'b>) -> Self::Ref;

    /// Copies the table on the same device, without what builds and batches work in.
    fn try_clone(&self, stream: &Stream) -> Result<Self>;

    /// Gives back the memory that the table does not need; may move it to a smaller one.
    fn shrink_to_fit(&mut self) -> Result<()>;

    /// Gives back the memory that the table does not use. Its layout and its report stay.
    fn trim(&mut self) -> Result<()> {
        self.shrink_to_fit()
    }
}

pub(crate) mod sealed {
    /// A trait that other crates cannot name.
    pub trait Sealed {}
}
