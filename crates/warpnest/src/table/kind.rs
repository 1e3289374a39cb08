//! The kinds of tables: the operations that a [`Table`](super::handle::Table) needs from each, and
//! the bounds of functions that accept several kinds. All traits are sealed.

use super::design::Design;
use super::raw::{ReadTable, StoredTable, sealed::Sealed};
use crate::error::TableKind;
use crate::types::Plain;
use crate::{Answers, Buffer, Key, Result, Stream, Value};
use gpu_kernels::types::{Payload, ValueWord, WordOf};

/// The word type of the keys of a kind of table.
pub(crate) type KeyWordOf<T> = <<T as Kind>::Key as Value>::Word;

/// A kind of table, with the types of its keys and values. The trait is sealed.
pub trait Kind: Sealed + Sized {
    /// The type of the keys.
    type Key: Key;

    /// The type of the items of iterations: a pair, or in a set a key.
    type Item;

    /// The word that is stored with each key.
    #[doc(hidden)]
    type Word: ValueWord;

    /// The state of the table on its device.
    #[doc(hidden)]
    type Table: StoredTable;

    /// A check of the types at compile time: a bad type makes the build fail.
    #[doc(hidden)]
    const CHECK: ();

    /// Returns the kind that is recorded in files of these tables.
    #[doc(hidden)]
    fn file_kind() -> TableKind;

    /// Returns the table that contains the keys.
    #[doc(hidden)]
    fn keyed(table: &Self::Table) -> &dyn ReadTable<KeyWordOf<Self>, Self::Word>;

    /// Returns the count of items.
    #[doc(hidden)]
    fn len(table: &Self::Table) -> u64 {
        Self::keyed(table).len()
    }

    /// Returns the bytes that the table takes on its device.
    #[doc(hidden)]
    fn memory_bytes(table: &Self::Table) -> u64 {
        Self::keyed(table).memory_bytes()
    }

    /// Returns the distinct keys.
    #[doc(hidden)]
    fn keys(table: &Self::Table) -> Result<Vec<Self::Key>>;

    /// Returns all items.
    #[doc(hidden)]
    fn items(table: &Self::Table) -> Result<Vec<Self::Item>>;

    /// Copies the table on its device; `stream` is on the same device.
    #[doc(hidden)]
    fn try_clone(table: &Self::Table, stream: &Stream) -> Result<Self::Table>;

    /// Frees memory that the table does not need.
    #[doc(hidden)]
    fn shrink_to_fit(table: &mut Self::Table) -> Result<()>;
}

/// A [`Kind`] of table that can be loaded from an untrusted file, because any bytes are a valid key
/// and a valid value. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "a file may have any bytes, and not all are a row of `{Self}`",
    note = "derive `bytemuck::AnyBitPattern` or `bytemuck::Pod` for the type of the rows"
)]
pub trait Loads: Kind {
    /// A check of the types at compile time: a bad type makes the build fail.
    #[doc(hidden)]
    const ANY_BYTES: ();
}

/// The stored table of a kind that has a design.
type TableOf<T> = <<T as OfDesign>::Design as Design>::Table<KeyWordOf<T>, <T as OfDesign>::Payload>;

/// A [`Kind`] of table that is a single table of a [`Design`]: a map or a set. The trait is sealed.
pub trait OfDesign: Kind<Table = TableOf<Self>, Word = WordOf<<Self as OfDesign>::Payload>> {
    /// The design.
    type Design: Design;

    /// The payload that the table stores with each key.
    #[doc(hidden)]
    type Payload: Payload;
}

/// A [`Kind`] of table that has values. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "there are no values in a `{Self}`",
    note = "`iter` and `to_keys` give the keys of a set, `contains_many` tells which of many keys it has"
)]
pub trait HasValues: Kind<Item = (<Self as Kind>::Key, <Self as HasValues>::Value)> {
    /// The type of the values.
    type Value: Plain;

    /// Returns the keys and values of all items.
    #[doc(hidden)]
    #[expect(clippy::type_complexity, reason = "two vectors are what is read here")]
    fn columns(table: &Self::Table) -> Result<(Vec<Self::Key>, Vec<Self::Value>)>;

    /// Returns the values of all items.
    #[doc(hidden)]
    fn values(table: &Self::Table) -> Result<Vec<Self::Value>> {
        Ok(Self::columns(table)?.1)
    }
}

/// A [`Kind`] of table that gives one value for a key. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` does not give one value for a key",
    note = "a `MultiMap` gives all values of many keys with `retrieve_many`, and a set says with `contains_many` \
            which keys it has"
)]
pub trait Finds: HasValues {
    /// Returns the values of queries.
    #[doc(hidden)]
    fn find(table: &Self::Table, queries: &[Self::Key]) -> Result<Vec<Option<Self::Value>>>;

    /// Queues the lookup of `queries`, of which there are as many as `answers`.
    #[doc(hidden)]
    fn find_into(
        table: &Self::Table,
        stream: &Stream,
        queries: &Buffer<Self::Key>,
        answers: &mut Answers<Self::Value>,
    ) -> Result<()>;
}

/// A [`Kind`] of table whose keys can be inserted and removed. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` does not change after its build",
    note = "`rebuild` a `MultiMap` or a `CompactingTable`, or take a `PageMap`, a `LinearMap`, an `ExtendibleMap`, \
            a `RowMap` or a `PageSet`"
)]
pub trait Erases: Kind {
    /// Removes keys; returns how many were in the table. Keys and stream are on the table's device.
    #[doc(hidden)]
    fn erase(table: &mut Self::Table, stream: &Stream, keys: &Buffer<Self::Key>) -> Result<usize>;

    /// Makes capacity for `additional` more keys; the stream is on the table's device.
    #[doc(hidden)]
    fn reserve(table: &mut Self::Table, stream: &Stream, additional: usize) -> Result<()>;

    /// Removes all keys; the stream is on the table's device.
    #[doc(hidden)]
    fn clear(table: &mut Self::Table, stream: &Stream) -> Result<()>;
}

/// A [`Kind`] of table into which keys and values can be inserted, and removed. The trait is
/// sealed.
#[diagnostic::on_unimplemented(
    message = "pairs cannot be inserted into a `{Self}`",
    note = "`rebuild` a `MultiMap` or a `CompactingTable`, or take a `PageMap`, a `LinearMap`, an `ExtendibleMap` or \
            a `RowMap`"
)]
pub trait Inserts: Erases + Finds {
    /// Sets the values of keys; `keys` and `values` are equally long. The buffers and the stream
    /// are on the table's device. Returns how many of the keys were new.
    #[doc(hidden)]
    fn insert(
        table: &mut Self::Table,
        stream: &Stream,
        keys: &Buffer<Self::Key>,
        values: &Buffer<Self::Value>,
    ) -> Result<usize>;

    /// Removes keys, and writes their values to `answers`, of which there are equally many.
    /// Everything is on the table's device. Returns how many of the keys were in the table.
    #[doc(hidden)]
    fn remove(
        table: &mut Self::Table,
        stream: &Stream,
        keys: &Buffer<Self::Key>,
        answers: &mut Answers<Self::Value>,
    ) -> Result<usize>;
}
