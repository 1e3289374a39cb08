//! The configuration of a compacting table.

use crate::page::Page;
use crate::primitives::state_words;
use crate::table::id_table::Ids;
use crate::table::input::Known;
use crate::{Config, Key, Result};
use gpu_kernels::primitives::scan;

/// The configuration of a [`CompactingTable`](crate::CompactingTable).
///
/// ```
/// use warpnest::{CompactingConfig, Device};
///
/// let device = Device::best()?;
/// let config = CompactingConfig::default().in_order_of_appearance();
/// let table = config.build(&device, &[30u32, 10, 30, 20])?;
/// assert_eq!(table.to_pairs()?, [(30, 0), (10, 1), (20, 2)]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// By default the table is built on a [`PageMap`](crate::PageMap). [`CompactingConfig::on`] builds
/// it with another configuration, or on a [`CuckooMap`](crate::CuckooMap):
///
/// ```
/// use warpnest::{CompactingConfig, CompactingTable, CuckooConfig, Device};
/// use warpnest::design::Cuckoo;
///
/// let config = CompactingConfig::on(CuckooConfig::default().functions(3).slots_per_pair(1.5));
/// let table: CompactingTable<u64, Cuckoo> = config.build(&Device::best()?, &[7, 8, 7])?;
/// assert_eq!(table.len(), 2);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CompactingConfig<D = Page> {
    pub(super) ids: Config<D>,
    pub(super) in_order: bool,
}

// No other `D` has a default, because rustc could then not infer which type
// `CompactingConfig::default()` has.
impl Default for CompactingConfig {
    /// Returns the configuration on a page map with the default configuration. Ids are in no
    /// particular order.
    fn default() -> Self {
        Self::on(Config::default())
    }
}

impl<D: Ids> CompactingConfig<D> {
    /// Returns the configuration of a table whose map of keys to ids has the configuration `ids`.
    /// This is a [`PageConfig`](crate::PageConfig) or a [`CuckooConfig`](crate::CuckooConfig). Ids
    /// are in no particular order.
    ///
    /// If `ids` assumes unique keys, the build is faster. If a key is repeated nevertheless, it may
    /// have several ids. On a [`CuckooMap`](crate::CuckooMap) some ids may then have no key of the
    /// input.
    pub fn on(ids: Config<D>) -> Self {
        Self { ids, in_order: false }
    }

    /// Assigns ids in the order in which keys first appear in the input, so that ids are the same
    /// in every build. That takes another copy of the input, and one more pass over its rows.
    /// Without this setting ids are in no particular order, and may differ from build to build.
    #[must_use]
    pub fn in_order_of_appearance(mut self) -> Self {
        self.in_order = true;
        self
    }

    /// Returns the most bytes that a table of `rows` rows keeps on the device, which is the size
    /// without repeated keys.
    ///
    /// # Errors
    /// The errors of [`CompactingConfig::build`] that depend only on the configuration and the
    /// count of rows.
    pub fn memory_bytes<K: Key>(&self, rows: usize) -> Result<usize> {
        Ok(self.ids.memory_bytes::<K, u32>(rows)? + rows * size_of::<K>())
    }

    /// Returns the bytes that a build of `rows` rows takes on the device besides the table and its
    /// input. A build takes a little more if some keys have very many copies
    /// ([`Config::scratch_bytes`]).
    ///
    /// # Errors
    /// As for [`CompactingConfig::memory_bytes`].
    pub fn scratch_bytes<K: Key>(&self, rows: usize) -> Result<usize> {
        // This call refuses counts of rows with which the sums below would overflow.
        self.memory_bytes::<K>(rows)?;
        let rows = rows as u64;
        let flag_words = rows.div_ceil(32);
        let numbering = if self.in_order {
            let scan = scan::state_words::<u32>(flag_words).max(1 + state_words::<K::Word>(rows));
            (4 + size_of::<K>() as u64) * rows + 2 * 4 * flag_words + 8 * scan
        } else {
            8
        };
        let known = if self.in_order { Known::Nothing } else { Known::AnyValues };
        Ok((D::scratch_bytes::<K::Word>(&self.ids, rows, known)? + numbering) as usize)
    }
}
