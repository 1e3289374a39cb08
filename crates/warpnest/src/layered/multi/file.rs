//! The file of a multimap: the file of the map of its keys, the ends of their runs, and the values.
//!
//! A query looks up the index of a run, reads its end, and reads values up to that end. So every
//! index must be the index of a run, and the ends must ascend.

use super::work::Work;
use super::{MultiConfig, MultiTable};
use crate::error::FileError;
use crate::table::file::{Incoming, Limit, Loading, Order, Parts, Section};
use crate::table::id_table::Ids;
use crate::table::raw::StoredTable;
use crate::{BulkMap, Device, Key, Result, Value};

impl<K: Key, V: Value, D: Ids> StoredTable for MultiTable<K, V, D> {
    fn set_device(&mut self, device: &Device) {
        self.runs.table.set_device(device);
    }

    fn parts<'t>(&'t self, parts: &mut Parts<'t>) -> Result<()> {
        let (runs, pairs) = (self.lasts.len() as u64, self.values.len() as u64);
        parts.numbers([runs, pairs]);
        self.runs.table.parts(parts)?;
        parts.section(Section::of(&self.lasts, runs));
        parts.section(Section::of(&self.values, pairs));
        Ok(())
    }

    fn from_parts(incoming: &mut Incoming<'_>) -> Result<Self> {
        let (number, pairs) = (incoming.number()?, incoming.number()?);
        incoming.values = Some(Limit { below: number, copies: false });
        let runs: BulkMap<K, u32, D> = BulkMap::of(StoredTable::from_parts(incoming)?);
        if runs.len() as u64 != number {
            return Err(FileError::inconsistent("it has another number of keys than of runs"));
        }
        let device = incoming.device;
        let mut lasts = Loading::<u32>::new(device, number)?;
        let order = Order::new(1);
        incoming.section(lasts.bytes(), &mut lasts, &|at, bytes| order.look::<u32>(at, bytes))?;
        if order.finish()?.map_or(0, |last| last + 1) != pairs {
            return Err(FileError::inconsistent("its runs do not end with its last value"));
        }
        let mut values = Loading::<V>::new(device, pairs)?;
        incoming.section(values.bytes(), &mut values, &|_, _| Ok(()))?;
        let config = MultiConfig { keys: D::config(&runs.table).clone() };
        let (lasts, values, work) = (lasts.done()?, values.done()?, Work::new(device)?);
        Ok(Self { config, runs, lasts, values, work })
    }
}
