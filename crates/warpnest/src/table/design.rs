//! The designs of tables, and the bounds of generic code over them. A [`Design`] names a kind of
//! table. All traits are sealed: other crates can use them as bounds, but not implement them.

use super::raw::{BuiltTable, ChangingTable, RawTable, sealed};
use gpu_kernels::types::{Key, Payload, Value};
use std::fmt::Debug;

pub use crate::cuckoo::Cuckoo;
pub use crate::extendible::Extendible;
pub use crate::layered::id_table::Numbers;
pub use crate::linear::Linear;
pub use crate::page::Page;
pub use crate::sorted::Sorted;
pub use crate::two_level::TwoLevel;

/// A kind of table, and what is configured of it beyond a [`Config`](crate::Config)'s common
/// settings: [`Page`], [`Cuckoo`], [`TwoLevel`], [`Sorted`], [`Linear`] or [`Extendible`]. The
/// trait is sealed.
pub trait Design: sealed::Sealed + Clone + Debug + Default + PartialEq + 'static {
    /// The name of the design, such as `Page` of a `PageMap`.
    const NAME: &'static str;
}

/// A [`Design`] whose tables are built in one go. The trait is sealed.
pub trait Built: Design {
    /// The report of a build.
    type Report: Clone + Debug + PartialEq;
}

/// A [`Design`] that draws random constants. The trait is sealed.
pub trait Seeded: Design {}

/// A [`Design`] whose builds can measure their stages. The trait is sealed.
pub trait Staged: Built {}

/// A [`Design`] whose builds can count what they do. The trait is sealed.
pub trait Counted: Built {}

/// A [`Design`] that has tables of keys `K` with payload `P`: `u32` or `u64`, and
/// [`Nothing`](gpu_kernels::types::Nothing) for the payload of a set. The trait is sealed.
pub trait Stores<K: Key, P: Payload>: Design {
    /// The table.
    type Table: RawTable<K, P>;
}

/// A [`Design`] that builds tables of keys `K` with payload `P` in one go. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "a map of design `{Self}` is not built in one go, or not of these words",
    note = "take a `PageMap`, or `insert_many` into this one"
)]
pub trait Builds<K: Key, P: Payload>: Built + Stores<K, P, Table: BuiltTable<K, P, Design = Self>> {}

/// A [`Design`] whose maps of `K` to `V` change in place, batch by batch. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "a map of design `{Self}` does not change after its build",
    note = "take a `LinearMap` or an `ExtendibleMap`, or `rebuild` this one"
)]
pub trait Changes<K: Key, V: Value>: Stores<K, V, Table: ChangingTable<K, V, Design = Self>> {}
