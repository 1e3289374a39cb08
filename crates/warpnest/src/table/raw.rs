//! The traits of every table, on which maps and sets rely. They appear in public bounds, but other
//! crates cannot name them.

use super::file::{Incoming, Parts};
use crate::runtime::stream::Uses;
use crate::{Buffer, Device, Result, Stream};
use gpu_kernels::types::{KeyWord, ValueWord};
use std::fmt::Debug;

/// The buffers to which a lookup writes answers: a value for each key, if values are wanted, and a
/// found-word for every 32 keys.
pub(crate) type Outputs<'b, V> = (Option<&'b Buffer<V>>, &'b Buffer<u32>);

/// The operations that read a table of keys `K` and values `V`, whatever the table's type. A set
/// has no values; its `V` is the type that stands for the missing values in kernels.
pub trait ReadTable<K: KeyWord, V: ValueWord>: Debug + Sync {
    /// Returns the device that the table is on.
    fn device(&self) -> &Device;

    /// Returns the count of keys.
    fn len(&self) -> u64;

    /// Returns the bytes that the table takes on the device, without the scratch of builds and
    /// batches.
    fn memory_bytes(&self) -> u64;

    /// Fails if an earlier change of the table failed partway, so that lookups are not possible.
    fn check_usable(&self) -> Result<()> {
        Ok(())
    }

    /// Queues a lookup, with or without values.
    ///
    /// # Safety
    /// There are as many values as queries, if values are wanted, and a found-word for every 32
    /// queries. Nothing else uses the outputs.
    unsafe fn find(&self, stream: &Stream, queries: &Buffer<K>, outputs: Outputs<'_, V>) -> Result<()>;

    /// Writes all keys to the front of `keys`, and all values to the front of `values`; returns the
    /// count of keys. It exceeds the table's length only if a promise of unique keys was broken, or
    /// if the table's file has a wrong count. Then the excess keys are left out.
    ///
    /// # Safety
    /// `keys` has an element for each key, and `values` is as long. A set has no `values`.
    unsafe fn write(&self, stream: &Stream, keys: &Buffer<K>, values: Option<&Buffer<V>>) -> Result<u64>;
}

/// A table that can be stored in a file.
pub trait StoredTable: Sized {
    /// Replaces the table's handle of its device by another handle of the same device.
    fn set_device(&mut self, device: &Device);

    /// Adds the table's parts to `parts`, which are written to a file.
    fn parts<'t>(&'t self, parts: &mut Parts<'t>) -> Result<()>;

    /// Makes a table of the parts of a file, which may be untrusted. So everything that kernels
    /// rely on is checked, and each length before memory is allocated.
    fn from_parts(incoming: &mut Incoming<'_>) -> Result<Self>;
}

/// A table of keys `K` and values `V`.
pub trait RawTable<K: KeyWord, V: ValueWord>: ReadTable<K, V> + StoredTable {
    /// The table as an argument of a kernel.
    type Ref: Copy;

    /// Returns the kernel argument for a launch that reads the table.
    fn lend<'b>(&'b self, uses: &Uses<'b>) -> Self::Ref;

    /// Copies the table on the same device, without the scratch of builds and batches.
    fn try_clone(&self, stream: &Stream) -> Result<Self>;

    /// Frees the memory that the table does not need; may move the table to a smaller allocation.
    fn shrink_to_fit(&mut self) -> Result<()>;

    /// Frees the memory that the table does not use. The table's layout and report stay.
    fn trim(&mut self) -> Result<()> {
        self.shrink_to_fit()
    }
}

pub(crate) mod sealed {
    /// A trait that other crates cannot name.
    pub trait Sealed {}
}
