//! Lookups in a map whose answers go to host memory.

use super::design::Design;
use super::host_lookup::{self, HostAnswers};
use crate::{BulkMap, Key, Result, Stream, Value};

/// Looks queries up: in chunks where that is faster, and otherwise on `stream`. Returns the count
/// of queries that were found, if they are counted.
///
/// The argument is the map and not its table, because the table knows only the words of its values,
/// which may be invalid as values of `V`.
///
/// ```compile_fail,E0308
/// use warpnest::low_level::{HostAnswers, get_on_host};
/// use warpnest::{Device, PageMap};
///
/// let device = Device::cpu();
/// let map = PageMap::build(&device, &[1u32], &[u32::MAX])?;
/// let (values, bits, flags) = (&mut ['-'], &mut [], &mut []);
/// let answers = HostAnswers { values, default: None, bits, flags, counted: false };
/// get_on_host(&map, device.default_stream(), &[1u32], answers)?;
/// # Ok::<(), warpnest::Error>(())
/// ```
pub fn get_on_host<K: Key, V: Value, D: Design>(
    map: &BulkMap<K, V, D>,
    stream: &Stream,
    queries: &[K],
    answers: HostAnswers<'_, V>,
) -> Result<usize> {
    host_lookup::get_on_host(&map.table, stream, queries, answers)
}
