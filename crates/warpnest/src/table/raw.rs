//! What a table does, for the maps and sets that have one. The traits are seen in bounds, but other
//! crates cannot name them.

use super::config::Config;
use super::design::{Built, Design};
use super::file::{Incoming, Parts};
use super::input::Input;
use crate::{Answers, Buffer, Device, Result, Stream};
use gpu_kernels::types::{Key, Payload, Value, WordOf};
use std::fmt::Debug;

/// A table of keys `K` and payload `P`.
pub trait RawTable<K: Key, P: Payload>: Debug + Sized {
    /// The device that the table is on.
    fn device(&self) -> &Device;

    /// The number of keys.
    fn len(&self) -> u64;

    /// The bytes that the table takes on the device, without what builds and batches work in.
    fn memory_bytes(&self) -> u64;

    /// Fails if the table cannot be looked up in, since a change of it failed partway.
    fn check_usable(&self) -> Result<()> {
        Ok(())
    }

    /// Queues a lookup, with or without values.
    ///
    /// # Safety
    /// There are as many values, if any, as queries, and a found-word for every 32 of them. Nothing
    /// else uses values and found-words.
    unsafe fn find(
        &self,
        stream: &Stream,
        queries: &Buffer<K>,
        values: Option<&Buffer<WordOf<P>>>,
        found: &Buffer<u32>,
    ) -> Result<()>;

    /// Writes all keys to the front of `keys`, and all values to that of `values`; returns how many
    /// there are. That is the number of keys, unless a promise of unique keys was broken, or
    /// whoever made the table's file gave a wrong number: then it may be more, and the others are
    /// left out.
    ///
    /// # Safety
    /// `keys` has an element for each key, and `values` is as long. There are values unless the
    /// payload is nothing.
    unsafe fn write(&self, stream: &Stream, keys: &Buffer<K>, values: Option<&Buffer<WordOf<P>>>) -> Result<u64>;

    /// Copies the table on the same device, without what builds and batches work in.
    fn try_clone(&self, stream: &Stream) -> Result<Self>;

    /// Takes the table apart for its file.
    fn parts<'t>(&'t self, parts: &mut Parts<'t>) -> Result<()>;

    /// Puts a table together from a file, which anybody may have written. So whatever the table's
    /// kernels rely on is checked, and each length before memory is taken.
    fn from_parts(incoming: &mut Incoming<'_>) -> Result<Self>;

    /// Gives back the memory that the table does not need.
    fn shrink_to_fit(&mut self) -> Result<()>;
}

/// A table that is built in one go.
pub trait BuiltTable<K: Key, P: Payload>: RawTable<K, P> {
    /// The design of the table.
    type Design: Built;

    /// The bytes that a table of `items` pairs, or keys alone, keeps, and those that its build
    /// takes besides. Fails if the request makes no sense.
    fn sizes(config: &Config<Self::Design>, items: u64) -> Result<(u64, u64)>;

    /// Builds a table from input that has been checked to be on `device`, like the stream.
    fn create(config: Config<Self::Design>, stream: &Stream, device: &Device, input: Input<'_, K, P>) -> Result<Self>;

    /// Rebuilds the table from input that has been checked to be on its device, like the stream. If
    /// the request makes no sense, the table is unchanged. After another error it is empty.
    fn rebuild(&mut self, stream: &Stream, input: Input<'_, K, P>) -> Result<()>;

    /// The configuration of the last build and the next one.
    fn config(&self) -> &Config<Self::Design>;

    /// Access to [`BuiltTable::config`], for the next build.
    fn config_mut(&mut self) -> &mut Config<Self::Design>;

    /// The report of the last build that succeeded.
    fn report(&self) -> &<Self::Design as Built>::Report;
}

/// A map that changes in place, batch by batch.
pub trait ChangingTable<K: Key, V: Value>: RawTable<K, V> {
    /// The design of the map.
    type Design: Design;

    /// Makes an empty map.
    fn create(config: Config<Self::Design>, device: &Device) -> Result<Self>;

    /// Gives every key its value; returns the number of new keys.
    fn insert(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<u64>;

    /// Removes keys, and answers which of them were there, with the values that they had; returns
    /// their number.
    fn remove(&mut self, stream: &Stream, keys: &Buffer<K>, answers: Option<&mut Answers<V>>) -> Result<u64>;

    /// Removes all keys.
    fn clear(&mut self, stream: &Stream) -> Result<()>;
}

pub(crate) mod sealed {
    /// A trait that other crates cannot name.
    pub trait Sealed {}
}
