//! Strings as keys, exactly: [`unique`] with ids and counts, [`StringIds`], [`StringCounts`] and
//! [`StringMap`]. `docs/strings.md` has layout, guarantees and figures.
//!
//! A key is any string of bytes: `&str`, `String`, `&[u8]`, or a row of a [`StringColumn`], which
//! has bytes and offsets as in Arrow. Strings need not be UTF-8, may be empty, and may have zeros.
//!
//! ```
//! use warpnest::{Device, strings};
//!
//! let words = ["to", "be", "or", "not", "to", "be"];
//! let unique = strings::unique(&Device::best()?, &words)?;
//! assert_eq!(unique.ids, [0, 1, 2, 3, 0, 1]);
//! assert_eq!(unique.counts, [2, 2, 1, 1]);
//! # Ok::<(), warpnest::Error>(())
//! ```
//!
//! # Exact
//!
//! Cores of the host hash each string to 64 bits. The device works with the hashes alone, and the
//! host compares the strings of every hit. Strings that share a hash are told apart, so no answer
//! depends on luck.
//!
//! # Attackers
//!
//! * By default the hash has a random seed ([`RandomState`], of `foldhash`). Who does not know it
//!   cannot choose strings that share a hash. Its authors warn of attackers who watch a program for
//!   long, and could so learn the seed.
//! * Who knows the seed can choose such strings. Answers stay right, and time stays proportional to
//!   the bytes: all but the first string of a hash go into a `HashMap` of `std`, by SipHash with
//!   another random seed. That is slower than the usual path, on one core, by what a `HashMap`
//!   takes.
//! * Any [`BuildHasher`](std::hash::BuildHasher) can take its place, such as SipHash
//!   ([`std::hash::RandomState`]). An unseeded one lets anybody bring about the case before.

// `unique`, `ids`, `counts` and `map` are what users call, `column` what they give. Rows are hashed
// (`hashing`) and numbered (`numbering`): by the device (`on_device`), or by cores (`on_cores`). A
// `dictionary` has the strings of ids, on an `arena`.
mod arena;
mod column;
mod config;
mod counts;
mod dictionary;
mod hashing;
mod ids;
mod map;
mod numbered;
mod numbering;
mod numbers;
mod on_cores;
mod on_device;
mod unique;

pub use column::{StringColumn, Strings};
pub use config::StringConfig;
pub use counts::StringCounts;
pub use hashing::RandomState;
pub use ids::StringIds;
pub use map::StringMap;
pub use unique::{UniqueStrings, unique, unique_with_hasher};
