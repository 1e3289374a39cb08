//! The build of a compacting table: an id table of the keys, and the assignment of ids.

use super::work::Work;
use super::{CompactingConfig, CompactingTable, IdsAndKeys};
use crate::primitives::{exclusive_scan_in_place, launch_compact, state_words};
use crate::relational::IntoColumn;
use crate::table::id_table::{IdTable, Ids};
use crate::table::input::{Input, Known, keys_on};
use crate::table::raw::RawTable;
use crate::{Buffer, Device, Key, Result, Stream};
use gpu_kernels::layered::compacting::{CountBits, ReverseRows, RowsParams};
use gpu_kernels::types as words;

impl<K: Key> CompactingTable<K> {
    /// Builds a table of the distinct keys among `keys` with the default configuration.
    /// [`CompactingConfig::build`] takes another one.
    ///
    /// # Errors
    /// As for [`CompactingConfig::build`].
    pub fn build<'c>(device: &Device, keys: impl IntoColumn<'c, K>) -> Result<Self> {
        CompactingConfig::default().build(device, keys)
    }
}

impl<D: Ids> CompactingConfig<D> {
    /// Builds a table of the distinct keys among `keys`, and returns when it is built.
    ///
    /// # Errors
    /// As for [`Config::build`](crate::Config::build).
    pub fn build<'c, K: Key>(&self, device: &Device, keys: impl IntoColumn<'c, K>) -> Result<CompactingTable<K, D>> {
        let keys = keys.into_column();
        // The check comes before the copy, because a request that must fail should not copy the
        // keys.
        self.memory_bytes::<K>(keys.rows())?;
        let keys = keys_on(device, keys)?;
        Ok(CompactingTable::of(IdsAndKeys::build(self.clone(), device.default_stream(), device, &keys)?))
    }
}

impl<K: Key, D: Ids> CompactingTable<K, D> {
    /// Builds the table anew from other rows, and returns when it is built.
    ///
    /// This is for data that changes as a whole, frame after frame. The map's memory is reused if
    /// it is large enough, and the memory of the keys and the scratch is reused if the same size is
    /// needed. The scratch is kept for the next rebuild ([`CompactingTable::shrink_to_fit`] frees
    /// it).
    ///
    /// # Errors
    /// As for [`CompactingConfig::build`]. If the request is invalid, or a slice cannot be copied,
    /// the table is unchanged. After any other error it is empty.
    pub fn rebuild<'c>(&mut self, keys: impl IntoColumn<'c, K>) -> Result<()> {
        let device = self.device().clone();
        let (keys, stream) = (keys_on(&device, keys)?, device.default_stream());
        let table = self.changed()?;
        table.config.memory_bytes::<K>(keys.len())?;
        let built = table.fill(stream, &keys);
        if built.is_err() {
            D::forget(&mut table.ids.table, stream);
            table.keys.empty();
        }
        built
    }
}

impl<K: Key, D: Ids> IdsAndKeys<K, D> {
    fn build(config: CompactingConfig<D>, stream: &Stream, device: &Device, keys: &Buffer<K>) -> Result<Self> {
        config.memory_bytes::<K>(keys.len())?;
        let nothing = (Buffer::uninitialized(device, 0)?, Buffer::uninitialized(device, 0)?);
        let ids = config.ids.build(&stream.device(), &nothing.0, &nothing.1)?;
        let (none, work) = (nothing.0, Work::new(device)?);
        let mut table = Self { config, ids, keys: none, work };
        table.fill(stream, keys)?;
        table.shrink_to_fit()?;
        Ok(table)
    }

    pub(super) fn shrink_to_fit(&mut self) -> Result<()> {
        let device = self.ids.device().clone();
        self.work = Work::new(&device)?;
        self.ids.table.trim()?;
        if let Some(keys) = self.keys.shrunk(device.default_stream(), &device, self.keys.len())? {
            self.keys = keys;
        }
        Ok(())
    }

    fn fill(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        let Self { config, ids, keys: keys_out, work } = self;
        let device = &ids.device().clone();
        // If ids are in no particular order, the map's values do not matter yet.
        let keys = keys.words();
        let mut input = Input::with_any_values(keys);
        if config.in_order {
            work.rows.fit(device, keys.len())?;
            work.reversed.fit(device, keys.len())?;
            reverse(stream, keys, work)?;
            input = Input { keys: &work.reversed, values: Some(&work.rows), known: Known::Nothing, ..input };
        }
        D::rebuild_resized(&mut ids.table, stream, input)?;
        keys_out.fit(device, ids.len())?;
        if config.ids.unique {
            // If a promise of unique keys was broken, not all elements are used.
            keys_out.set_bytes(stream, 0)?;
        }
        if config.in_order {
            return number_in_order(stream, device, D::id_table(&ids.table), work, (keys, keys_out.words()));
        }
        // SAFETY: the output has an element for each key of the map, and nothing else uses the
        // table.
        unsafe { D::id_table(&ids.table).assign_ids(stream, keys_out.words()) }
    }
}

/// Queues writing the keys in reverse order, with their row indices. The first row of a repeated
/// key then comes last, so it is the row that the map keeps.
fn reverse<K: words::KeyWord>(stream: &Stream, keys: &Buffer<K>, work: &Work<K>) -> Result<()> {
    let plan = RowsParams { rows: keys.len() as u64 };
    stream.batch(|batch| {
        let (keys_out, rows_out) = (batch.write(&work.reversed), batch.write(&work.rows));
        let reverse = ReverseRows::<K> { keys: batch.read(keys), keys_out, rows_out, plan };
        // SAFETY: the three arrays have the same length.
        unsafe { batch.launch(&reverse, plan.rows) }
    })
}

/// Assigns ids to the keys of `map`, and writes the keys to `keys_out`. The value of a key in the
/// map is the key's first row, and ids are in the order of these rows.
fn number_in_order<K: words::KeyWord>(
    stream: &Stream,
    device: &Device,
    map: &dyn IdTable<K>,
    work: &mut Work<K>,
    (keys, keys_out): (&Buffer<K>, &Buffer<K>),
) -> Result<()> {
    let Work { first_rows, before, scan, .. } = work;
    let words = keys.len().div_ceil(32);
    first_rows.fit(device, words)?;
    before.fit(device, words)?;
    first_rows.fill(stream, 0)?;
    // SAFETY: every value is the index of a row, and no two keys have the same value.
    unsafe { map.flag(stream, first_rows)? };
    stream.batch(|batch| {
        let (bits, counts) = (batch.read(first_rows), batch.write(before));
        let count = CountBits { bits, counts, plan: RowsParams { rows: words as u64 } };
        // SAFETY: there is a count for each word of bits.
        unsafe { batch.launch(&count, words as u64) }
    })?;
    exclusive_scan_in_place(stream, scan, before)?;
    // SAFETY: as before. The values are the ones that were flagged, and nothing else uses the
    // table.
    unsafe { map.rank(stream, first_rows, before)? };
    // The keys of the flagged rows are compacted.
    let items = keys.len() as u64;
    if items == 0 {
        return Ok(());
    }
    let state = scan.reserve(1 + state_words::<K>(items))?;
    stream.batch(|batch| {
        batch.zero(state, 1 + state_words::<K>(items) as usize)?;
        let (input, keep) = (batch.read(keys), batch.read(first_rows));
        let (output, state) = (batch.write(keys_out), batch.write(state));
        // SAFETY: there is a bit for each key, and the output has an element for each set bit. The
        // scratch has a word for the count, and the state behind it.
        unsafe { launch_compact::<K>(batch, items, input, keep, output, state.cast(), state.offset(1)) }
    })
}
