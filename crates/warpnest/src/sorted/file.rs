//! The file of a sorted table: keys and values in the order of the keys. The index is built again,
//! so a search never follows an entry of a file.

use super::config::{keys_length, values_length};
use super::{Sorted, SortedReport, SortedTable};
use crate::error::FileError;
use crate::primitives::{MAX_ITEMS, Scratch};
use crate::table::file::{Incoming, Loading, Order, Parts, Section};
use crate::table::raw::StoredTable;
use crate::{Device, Result};
use gpu_kernels::seam::Global;
use gpu_kernels::sorted::{GROUP, Index, IndexParams, Layout};
use gpu_kernels::types::{KeyWord, ValueWord};

impl<K: KeyWord, V: ValueWord> StoredTable for SortedTable<K, V> {
    fn set_device(&mut self, device: &Device) {
        self.device = device.clone();
    }

    fn parts<'t>(&'t self, parts: &mut Parts<'t>) -> Result<()> {
        parts.table(self.layout.keys, &self.config);
        parts.number(self.report.repeats);
        parts.section(Section::of(&self.keys, self.layout.keys));
        parts.section(Section::of(&self.values, self.layout.keys));
        Ok(())
    }

    fn from_parts(incoming: &mut Incoming<'_>) -> Result<Self> {
        let (length, config) = incoming.table(|_| Ok(Sorted))?;
        let repeats = incoming.number()?;
        if length > MAX_ITEMS as u64 {
            return Err(FileError::inconsistent("there are more keys than a sorted table numbers"));
        }
        let device = incoming.device.clone();
        let mut keys = Loading::<K>::with_length(&device, length, keys_length(length))?;
        // If a promise of unique keys was broken, some keys may be equal.
        let order = Order::new(if config.unique { 0 } else { 1 });
        incoming.section(keys.bytes(), &mut keys, &|at, bytes| order.look::<K>(at, bytes))?;
        order.finish()?;
        let mut values = Loading::<V>::with_length(&device, length, values_length(length))?;
        incoming.section(values.bytes(), &mut values, &|_, _| Ok(()))?;
        let (keys, values) = (keys.done()?, values.done()?);
        let stream = device.default_stream();
        // SAFETY: there are slots for the index of `length` keys, and a thread for each slot. The
        // kernel's documentation allows a null count.
        stream.batch(|batch| unsafe {
            let (keys, count) = (batch.write(&keys), Global::null());
            let index = Index::<K> { keys, count, plan: IndexParams { keys: length } };
            batch.launch(&index, keys_length(length) - length + GROUP)
        })?;
        stream.synchronize()?;
        let (layout, scratch) = (Layout::new(length), Scratch::new(&device));
        Ok(Self { device, config, layout, keys, values, scratch, report: SortedReport { repeats, stages: None } })
    }
}
