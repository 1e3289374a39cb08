//! The bounds of generic code over designs. A [`Design`] is a kind of table; which there are is
//! known above, in `crate::design`. All traits are sealed.
//!
//! The methods of these traits are called by [`Config`], [`BulkMap`](crate::BulkMap) and
//! [`BulkSet`](crate::BulkSet), which check what they promise.

use super::combine_found::combine_found;
use super::config::Config;
use super::input::Input;
use super::raw::{RawTable, sealed};
use crate::table::raw::Outputs;
use crate::{Buffer, Device, Result, Stream};
use gpu_kernels::table::fold::Fold;
use gpu_kernels::types::{KeyWord, Payload, ValueWord, WordOf};
use std::fmt::Debug;

/// A kind of table, and what is configured of it beyond a [`Config`]'s common settings. The
/// trait is sealed.
pub trait Design: sealed::Sealed + Clone + Debug + Default + PartialEq + 'static {
    /// The name of the design, such as `Page` of a `PageMap`.
    const NAME: &'static str;

    /// The table of words `K` for keys and the payload `P`: a word for values, or
    /// [`Nothing`](gpu_kernels::types::Nothing) in a set, if the design has [`Sets`].
    type Table<K: KeyWord, P: Payload>: RawTable<K, WordOf<P>>;
}

/// A [`Design`] that draws random constants. The trait is sealed.
pub trait Seeded: Design {}

/// A [`Design`] whose tables are built in one go. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "a map of design `{Self}` is not built in one go",
    note = "build a `PageMap`, `CuckooMap`, `TwoLevelMap` or `SortedMap`",
    note = "or make this map with `new`, which is empty, and put pairs in with `insert_many`"
)]
pub trait Builds: Design {
    /// The report of a build.
    type Report: Clone + Debug + PartialEq;

    /// Returns the bytes that a table of `items` pairs, or keys alone, keeps, and those that its
    /// build takes besides. Fails if the request makes no sense.
    #[doc(hidden)]
    fn sizes<K: KeyWord, P: Payload>(config: &Config<Self>, items: u64) -> Result<(u64, u64)>;

    /// Builds a table from input that has been checked to be on `device`, like the stream.
    #[doc(hidden)]
    fn build<K: KeyWord, P: Payload>(
        config: Config<Self>,
        stream: &Stream,
        device: &Device,
        input: Input<'_, K, P>,
    ) -> Result<Self::Table<K, P>>;

    /// Rebuilds a table from input that has been checked to be on its device, like the stream. If
    /// the request makes no sense, the table is unchanged. After another error it is empty.
    #[doc(hidden)]
    fn rebuild<K: KeyWord, P: Payload>(
        table: &mut Self::Table<K, P>,
        stream: &Stream,
        input: Input<'_, K, P>,
    ) -> Result<()>;

    /// Returns the configuration of the last build and the next one.
    #[doc(hidden)]
    fn config<K: KeyWord, P: Payload>(table: &Self::Table<K, P>) -> &Config<Self>;

    /// Returns the report of the last build that succeeded.
    #[doc(hidden)]
    fn report<K: KeyWord, P: Payload>(table: &Self::Table<K, P>) -> &Self::Report;
}

/// A [`Design`] whose builds can measure their stages. The trait is sealed.
pub trait Staged: Builds {}

/// A [`Design`] whose builds can count what they do. The trait is sealed.
pub trait Counted: Builds {}

/// A [`Design`] that has sets, beside maps. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "there are no sets of design `{Self}`",
    note = "build a `PageSet` or a `CuckooSet`, from a `PageConfig` or a `CuckooConfig`"
)]
pub trait Sets: Builds {}

/// A [`Design`] whose maps change batch by batch, and its sets if it has [`Sets`]. The trait is
/// sealed.
#[diagnostic::on_unimplemented(
    message = "a table of design `{Self}` does not change after its build",
    note = "take a `PageMap`, a `PageSet`, a `LinearMap` or an `ExtendibleMap`, or `rebuild` this one"
)]
pub trait Changes: Design {
    /// Makes an empty table.
    #[doc(hidden)]
    fn create<K: KeyWord, P: Payload>(config: Config<Self>, device: &Device) -> Result<Self::Table<K, P>>;

    /// Inserts input that has been checked to be on the table's device, like the stream; returns
    /// the count of new keys.
    #[doc(hidden)]
    fn insert<K: KeyWord, P: Payload>(
        table: &mut Self::Table<K, P>,
        stream: &Stream,
        input: Input<'_, K, P>,
    ) -> Result<u64>;

    /// Combines the value of each key with the values of its rows, or with the count of its rows if
    /// there are no values, by a function of numbers of the values' width; a key without a value
    /// gets what comes of its rows. Keys, values and stream have been checked to be on the table's
    /// device, and keys and values to be equally many. Returns the count of new keys.
    #[doc(hidden)]
    fn combine<K: KeyWord, V: ValueWord>(
        table: &mut Self::Table<K, V>,
        stream: &Stream,
        keys: &Buffer<K>,
        values: Option<&Buffer<V>>,
        fold: Fold,
    ) -> Result<u64> {
        combine_found(table, stream, keys, values, fold, Self::insert::<K, V>)
    }

    /// Removes keys, and answers which of them were there, with the values that they had; returns
    /// their count. Keys and stream have been checked to be on the table's device.
    ///
    /// # Safety
    /// There are as many values as keys, and a found-word for every 32 of them, if there are any.
    /// Nothing else uses them.
    #[doc(hidden)]
    unsafe fn remove<K: KeyWord, P: Payload>(
        table: &mut Self::Table<K, P>,
        stream: &Stream,
        keys: &Buffer<K>,
        outputs: Option<Outputs<'_, WordOf<P>>>,
    ) -> Result<u64>;

    /// Makes capacity for so many more keys, where a table grows as a whole.
    #[doc(hidden)]
    fn reserve<K: KeyWord, P: Payload>(
        _table: &mut Self::Table<K, P>,
        _stream: &Stream,
        _additional: u64,
    ) -> Result<()> {
        Ok(())
    }

    /// Removes all keys.
    #[doc(hidden)]
    fn clear<K: KeyWord, P: Payload>(table: &mut Self::Table<K, P>, stream: &Stream) -> Result<()>;
}
