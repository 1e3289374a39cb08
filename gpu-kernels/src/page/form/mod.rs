//! The form of a table: the packing of pairs in a `bucket`, the buckets in which a pair may be
//! stored ([`Layout`]), the `sizes` of pages, and the words of a build's [`header`].

mod bucket;
pub mod header;
mod layout;
mod sizes;

pub(super) use bucket::with_form;
pub use bucket::{BUCKET_WORDS, Form, MAX_SLOTS, equal, filter, tag_number, tags_in};
pub use bucket::{Eight, Fifteen, Five, Four, Halves, Six, Thirds, TwentyFour, Wholes};
pub(super) use layout::FirstMixed;
pub use layout::{Homes, Layout};
pub(super) use sizes::PAGE_MEMORY;
pub use sizes::{MAX_CANDIDATES, MIN_BUCKETS, MIN_CANDIDATES, fit_page, max_page_buckets};
