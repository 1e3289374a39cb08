//! The bounds of generic code over designs. A [`Design`] is a way to store a table; `crate::design`
//! lists all designs. All traits are sealed.
//!
//! The methods of these traits are called by [`Config`], [`BulkMap`](crate::BulkMap) and
//! [`BulkSet`](crate::BulkSet), which check the arguments first.

use super::combine_found::combine_found;
use super::config::Config;
use super::input::Input;
use super::raw::{RawTable, sealed};
use crate::table::raw::Outputs;
use crate::{Buffer, Device, Result, Stream};
use gpu_kernels::table::fold::Fold;
use gpu_kernels::types::{KeyWord, Payload, ValueWord, WordOf};
use std::fmt::Debug;

/// A way to store a table, with its own settings beside the common settings of a [`Config`]. The
/// trait is sealed.
pub trait Design: sealed::Sealed + Clone + Debug + Default + PartialEq + 'static {
    /// The name of the design, such as `Page` of a `PageMap`.
    const NAME: &'static str;

    /// The table for key words `K` and the payload `P`, which is a word for values, or
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

    /// Returns two counts of bytes: what a table of `items` pairs (or of keys alone) keeps, and
    /// what its build takes besides. Fails if the request makes no sense.
    #[doc(hidden)]
    fn sizes<K: KeyWord, P: Payload>(config: &Config<Self>, items: u64) -> Result<(u64, u64)>;

    /// Builds a table from input that has been checked to be on `device`; the stream is on
    /// `device`, too.
    #[doc(hidden)]
    fn build<K: KeyWord, P: Payload>(
        config: Config<Self>,
        stream: &Stream,
        device: &Device,
        input: Input<'_, K, P>,
    ) -> Result<Self::Table<K, P>>;

    /// Rebuilds a table from input that has been checked to be on its device; the stream is on the
    /// same device. If the request makes no sense, the table is unchanged. After another error it
    /// is empty.
    #[doc(hidden)]
    fn rebuild<K: KeyWord, P: Payload>(
        table: &mut Self::Table<K, P>,
        stream: &Stream,
        input: Input<'_, K, P>,
    ) -> Result<()>;

    /// Returns the configuration, which the last build used and the next build will use.
    #[doc(hidden)]
    fn config<K: KeyWord, P: Payload>(table: &Self::Table<K, P>) -> &Config<Self>;

    /// Returns the report of the last build that succeeded.
    #[doc(hidden)]
    fn report<K: KeyWord, P: Payload>(table: &Self::Table<K, P>) -> &Self::Report;
}

/// A [`Design`] whose builds can measure their stages. The trait is sealed.
pub trait Staged: Builds {}

/// A [`Design`] whose builds can count their evictions or rounds. The trait is sealed.
pub trait Counted: Builds {}

/// A [`Design`] that has sets as well as maps. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "there are no sets of design `{Self}`",
    note = "build a `PageSet` or a `CuckooSet`, from a `PageConfig` or a `CuckooConfig`"
)]
pub trait Sets: Builds {}

/// A [`Design`] whose maps, and sets if it has [`Sets`], can be changed in batches. The trait is
/// sealed.
#[diagnostic::on_unimplemented(
    message = "a table of design `{Self}` does not change after its build",
    note = "take a `PageMap`, a `PageSet`, a `LinearMap` or an `ExtendibleMap`, or `rebuild` this one"
)]
pub trait Changes: Design {
    /// Makes an empty table.
    #[doc(hidden)]
    fn create<K: KeyWord, P: Payload>(config: Config<Self>, device: &Device) -> Result<Self::Table<K, P>>;

    /// Inserts input that has been checked to be on the table's device; the stream is on the same
    /// device. Returns the count of new keys.
    #[doc(hidden)]
    fn insert<K: KeyWord, P: Payload>(
        table: &mut Self::Table<K, P>,
        stream: &Stream,
        input: Input<'_, K, P>,
    ) -> Result<u64>;

    /// Combines the value of each key with the values of its rows by `fold`, or with the count of
    /// its rows if there are no values. A key without a value gets the combined value of its rows.
    /// `fold` works on numbers as wide as the values. Everything has been checked to be on the
    /// table's device, and keys and values to be equally many. Returns the count of new keys.
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

    /// Removes keys, and writes to `outputs` which of them were in the table and the values that
    /// they had. Returns the count of removed keys. Keys and stream have been checked to be on the
    /// table's device.
    ///
    /// # Safety
    /// If outputs are given, there are as many values as keys, and a found-word for every 32 keys.
    /// Nothing else uses the outputs.
    #[doc(hidden)]
    unsafe fn remove<K: KeyWord, P: Payload>(
        table: &mut Self::Table<K, P>,
        stream: &Stream,
        keys: &Buffer<K>,
        outputs: Option<Outputs<'_, WordOf<P>>>,
    ) -> Result<u64>;

    /// Makes capacity for `additional` more keys, if the design grows a table as a whole.
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
