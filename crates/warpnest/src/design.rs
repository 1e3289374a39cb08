//! The designs of tables, and the bounds of generic code over them. A [`Design`] names a kind of
//! table. All traits are sealed: other crates can use them as bounds, but not implement them.
//!
//! | bound | designs | what their maps can do |
//! |---|---|---|
//! | [`Design`] | all | lookups, copies, files |
//! | [`Builds`] | [`Page`], [`Cuckoo`], [`TwoLevel`], [`Sorted`] | be built and rebuilt in one go |
//! | [`Changes`] | [`Page`], [`Linear`], [`Extendible`] | change, batch by batch |
//! | [`Sets`] | [`Page`], [`Cuckoo`] | be sets |
//! | [`Ids`] | [`Page`], [`Cuckoo`] | be under a compacting table or a multimap |

pub use crate::cuckoo::Cuckoo;
pub use crate::extendible::Extendible;
pub use crate::linear::Linear;
pub use crate::page::Page;
pub use crate::sorted::Sorted;
pub use crate::table::design::{Builds, Changes, Counted, Design, Seeded, Sets, Staged};
pub use crate::table::id_table::Ids;
pub use crate::two_level::TwoLevel;
