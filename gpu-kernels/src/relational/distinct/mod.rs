//! The distinct keys of some rows, with the id of each row's key and the count of rows of each key.
//!
//! On a GPU a table finds the keys, and [`ids`] gives ids to rows. The other kernels encode by a
//! dictionary on the cores of a CPU. If there are few keys, each core encodes a [chunk](Encode) of
//! the rows with its own dictionary. The keys of the other chunks are then [added](MergeChunks) to
//! the dictionary of the first chunk. If there are many keys, no cache holds such a dictionary.
//! `divide` then divides rows into [parts](EncodeParts) by the hashes of their keys, so that no key
//! is in two parts, as a radix join does (Manegold, Boncz and Kersten 2002, *Optimizing main-memory
//! join on modern hardware*). `parts` encodes each part. `table` is the dictionary of both ways.

mod chunks;
mod divide;
pub mod ids;
mod parts;
mod table;

pub use chunks::{CHUNK_WORDS, Encode, EncodeParams, MergeChunks, TRANSLATED, Translate, TranslateParams};
pub use divide::{CountParts, DivideKeys, DivideParams, GatherIds};
pub use parts::{EncodeParts, EncodePartsParams, OrderKeys, OrderKeysParams, PROGRESS_WORDS};
pub use table::{Hash, most_bits};
