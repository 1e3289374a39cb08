//! Chooses how the groups of a query are computed.

use super::groups::{GroupReport, Method};
use super::memory::{Grouped, Memory};
use super::on_chip::{Way, group_on_chip};
use super::sort::{SortInput, group_sorted};
use super::table::fits_table;
use super::wanted::Query;
use crate::hash::random_seed;
use crate::primitives::Scratch;
use crate::{Result, Stream};
use gpu_kernels::types::{KeyWord, ValueWord};

/// The fewest rows that are hashed where they do not go to one table: on cores. With fewer rows,
/// either way takes some microseconds.
const MIN_HASHED_ROWS: u64 = 1 << 8;

/// The settings of a query that say how its groups are computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct How {
    pub method: Method,
    /// The seed of the sample and of the hash constants; random if there is none.
    pub seed: Option<u64>,
    /// Whether sums of floating-point numbers have the same bits in every run.
    pub is_reproducible: bool,
}

impl How {
    /// Returns the method for a query, which may still be [`Method::Auto`].
    pub(super) fn method_for(self, query: &Query<'_>) -> Method {
        if self.is_reproducible && query.adds_floats() { Method::Sort } else { self.method }
    }

    /// Returns whether `rows` rows are hashed, if they do not go to one table.
    pub(super) fn hashes(self, query: &Query<'_>, rows: u64) -> bool {
        match self.method_for(query) {
            Method::Auto => rows >= MIN_HASHED_ROWS,
            Method::Hash => rows != 0,
            Method::Sort => false,
        }
    }

    /// Returns the seed that was set, or a random one.
    pub(super) fn seed(self) -> u64 {
        self.seed.unwrap_or_else(random_seed)
    }
}

/// Returns the keys of the groups and their aggregates, except derived ones, in the requested
/// order.
pub(super) fn grouped<K: KeyWord + ValueWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    (query, how): (&Query<'_>, How),
    input: &SortInput<'_, '_, K>,
    mut memory: Memory<K>,
) -> Result<(Grouped<K>, GroupReport)> {
    let mut report = GroupReport::of(Method::Sort);
    let way = match how.method_for(query) {
        Method::Auto if fits_table(stream.machine(), input.rows) => Some(Way::Table(None)),
        _ => how.hashes(query, input.rows).then_some(Way::HotAndBins),
    };
    if let Some(way) = way {
        let (computed, of_chip) = group_on_chip(stream, scratch, query, input, memory, (how.seed(), way))?;
        report.estimated_groups = Some(of_chip.estimated_groups);
        report.overflowed = of_chip.overflowed;
        if let Some(groups) = computed {
            return Ok((groups, GroupReport { method: Method::Hash, hot_rows: of_chip.hot_rows, ..report }));
        }
        memory = Memory::new(query, scratch.device())?;
    }
    Ok((group_sorted(stream, scratch, query, input, memory)?, report))
}
