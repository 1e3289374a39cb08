//! Strings as exact keys: [`unique`], which returns ids and counts, [`StringIds`], [`StringCounts`]
//! and [`StringMap`]. `docs/strings.md` has layout, guarantees and figures.
//!
//! A key is any string of bytes: `&str`, `String`, `&[u8]`, or a row of a [`StringColumn`], which
//! has bytes and offsets as in Arrow. Strings need not be UTF-8, may be empty, and may contain
//! zeros.
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
//! The host's cores hash each string to 64 bits. The device works only with the hashes, and the
//! host compares the strings of every match. Strings that share a hash are told apart, so no answer
//! depends on luck.
//!
//! # Attackers
//!
//! * By default the hash has a random seed ([`RandomState`], of `foldhash`). Without knowing it,
//!   nobody can choose strings that share a hash. The authors of `foldhash` warn that attackers who
//!   watch a program for long could learn the seed.
//! * Somebody who knows the seed can choose such strings. Answers stay right, and the time stays
//!   proportional to the bytes. All strings of a hash except the first go into a `HashMap` of
//!   `std`, by SipHash with another random seed. That takes longer than the usual path, by the time
//!   of the `HashMap` on one core.
//! * Any [`BuildHasher`](std::hash::BuildHasher) can replace this hash, such as SipHash
//!   ([`std::hash::RandomState`]). With an unseeded hasher, anybody can choose strings that share a
//!   hash.

// Users call `unique`, `ids`, `counts` and `map`, and pass columns of `column`. `hashing` hashes
// rows, and `numbering` assigns ids to them: on the device (`on_device`), or on cores (`on_cores`).
// A `dictionary` has the strings of ids, in an `arena`.
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
