//! The different keys of some rows, with the id of each row's key and the count of rows of each.
//!
//! On a GPU a table finds the keys, and [`ids`] numbers rows by them. All else is dictionary
//! encoding on the cores of a CPU. Where keys are few, each core encodes a [chunk](Encode) of the
//! rows by a dictionary of its own, and the keys of the other chunks are then [added](MergeChunks)
//! to the dictionary of the first. Where they are many, no cache holds such a dictionary. Rows are
//! then divided into [parts](EncodeParts) by the hashes of their keys, as a radix join does
//! (Manegold, Boncz and Kersten 2002, *Optimizing main-memory join on modern hardware*), and no key
//! is in two parts: `divide` and then `parts`; `table` is the dictionary of both ways.

mod chunks;
mod divide;
pub mod ids;
mod parts;
mod table;

pub use chunks::{CHUNK_WORDS, Encode, EncodeParams, MergeChunks, TRANSLATED, Translate, TranslateParams};
pub use divide::{CountParts, DivideKeys, DivideParams, GatherIds};
pub use parts::{EncodeParts, EncodePartsParams, OrderKeys, OrderKeysParams, PROGRESS_WORDS};
pub use table::{Hash, most_bits};
