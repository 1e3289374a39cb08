//! The page table: pairs are split by the upper bits of their mixed keys into pages. Each page is
//! built in shared memory and written out whole, and a lookup nearly always reads one bucket.
//!
//! Sending keys to small tables that fit in on-chip memory is the idea of (Alcantara 2009), the
//! two-level table ([`two_level`](crate::two_level)). Quotienting is in Knuth's *The Art of
//! Computer Programming*, volume 3, section 6.4, exercise 13. docs/page-map.md describes the
//! design.
//!
//! **Layout.** A bucket is eight words of the wider of key and value: tags, then values, if there
//! are any ([`form`]). The mixed key, as a fraction of its range, determines the home bucket. The
//! rest of the mixed key is the *remainder*. The tag contains the remainder and the index of the
//! *candidate*, which says which of its possible buckets the pair is in. The key can be computed
//! from the tag and the bucket's index, so no key is stored and none is reserved.
//!
//! Read [`form`] first, then `lookup`, which searches a key. `build` makes the page of a block,
//! `change` adds pairs to tables and removes them, and `walk` reads all pairs of a table.

mod build;
mod change;
pub mod form;
mod lookup;
mod walk;

pub use build::pages::{BuildPages, BuildPagesUnordered, BuildParams, UnorderedParams};
pub use build::repeat_list::{ListSizes, REPEAT_WORDS};
pub use build::resolve::{FILTER_WORDS, FindLast, IndexRepeats, LAST_ROUND, LastParams, RepeatsParams, StoreLast};
pub use build::sample::{Sample, SampleParams, position};
pub use build::starts::{Starts, StartsParams};
pub use change::add::AddToPages;
pub use change::direct::{AddDirectly, AddParams, EvictLeft, MAX_LEFT, StoreRepeated, StoreRepeatedParams};
pub use change::remove::RemoveFromPages;
pub use change::remove_directly::{RemoveDirectly, RemoveParams};
pub use form::{BUCKET_WORDS, Homes, Layout, MAX_CANDIDATES, MIN_BUCKETS, MIN_CANDIDATES};
pub use form::{fit_page, header, max_page_buckets};
pub use lookup::find::{Find, FindParams};
pub use lookup::table::Table;
pub use walk::check::{CheckParams, CheckTags};
pub use walk::number::{FlagValues, Number, NumberParams, RankValues, ValuesParams};
pub use walk::unpack::{Unpack, UnpackParams};
