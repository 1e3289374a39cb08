//! The designs of tables, and the types and bounds for generic code: [`BulkMap`], [`BulkSet`] and
//! [`Config`] of any design. A [`Design`] is a way to lay out and build a table. All traits are
//! sealed: other crates can use them as bounds, but cannot implement them.
//!
//! | bound | designs | what maps of these designs can do |
//! |---|---|---|
//! | [`Design`] | all | lookups, copies, files |
//! | [`Builds`] | [`Page`], [`Cuckoo`], [`TwoLevel`], [`Sorted`] | be built and rebuilt in one go |
//! | [`Changes`] | [`Page`], [`Linear`], [`Extendible`] | change, batch by batch |
//! | [`Sets`] | [`Page`], [`Cuckoo`] | be sets |
//! | [`Ids`] | [`Page`], [`Cuckoo`] | be the id table of a compacting table or a multimap |
//!
//! A [`Kind`] says what a [`Table`](crate::Table) is: a map or set of one design, or a table that
//! is built on such a map.
//!
//! | bound | kinds | what tables of these kinds can do |
//! |---|---|---|
//! | [`Kind`] | all | return their keys, items and sizes, be copied and saved |
//! | [`Loads`] | all; [`Rows`] if any bytes are a valid row | be loaded |
//! | [`OfDesign`] | [`Map`], [`Set`] | lend their table, and return the report of its build |
//! | [`HasValues`] | all but [`Set`] | return pairs |
//! | [`Finds`] | [`Map`], [`Rows`], [`Compacting`] | return the value of a key |
//! | [`Erases`] | [`Map`], [`Set`], [`Rows`], of a design that [`Changes`] | remove keys |
//! | [`Inserts`] | [`Map`], [`Rows`], of a design that [`Changes`] | insert pairs |

pub use crate::cuckoo::Cuckoo;
pub use crate::extendible::Extendible;
pub use crate::hash::{Arithmetic, HashFamily};
pub use crate::layered::compacting::Compacting;
pub use crate::layered::multi::Multi;
pub use crate::layered::rows::Rows;
pub use crate::linear::Linear;
pub use crate::page::Page;
pub use crate::sorted::Sorted;
pub use crate::table::config::Config;
pub use crate::table::design::{Builds, Changes, Counted, Design, Seeded, Sets, Staged};
pub use crate::table::id_table::Ids;
pub use crate::table::kind::{Erases, Finds, HasValues, Inserts, Kind, Loads, OfDesign};
pub use crate::table::map::{BulkMap, Map};
pub use crate::table::probes::ProbeLengths;
pub use crate::table::set::{BulkSet, Set};
pub use crate::two_level::TwoLevel;
