//! The file of a compacting table: the file of the map of its keys, and the keys in the order of
//! their ids.

use super::work::Work;
use super::{CompactingConfig, IdsAndKeys};
use crate::error::FileError;
use crate::table::file::{Incoming, Limit, Loading, Parts, Section};
use crate::table::id_table::Ids;
use crate::table::raw::StoredTable;
use crate::{BulkMap, Device, Key, Result};

impl<K: Key, D: Ids> StoredTable for IdsAndKeys<K, D> {
    fn set_device(&mut self, device: &Device) {
        self.ids.table.set_device(device);
    }

    fn parts<'t>(&'t self, parts: &mut Parts<'t>) -> Result<()> {
        let keys = self.keys.len() as u64;
        parts.numbers([keys, self.config.in_order as u64]);
        self.ids.table.parts(parts)?;
        parts.section(Section::of(&self.keys, keys));
        Ok(())
    }

    fn from_parts(incoming: &mut Incoming<'_>) -> Result<Self> {
        let (keys, in_order) = (incoming.number()?, incoming.flag()?);
        incoming.values = Some(Limit { below: keys, copies: true });
        let ids: BulkMap<K, u32, D> = BulkMap::of(StoredTable::from_parts(incoming)?);
        if ids.len() as u64 != keys {
            return Err(FileError::inconsistent("it has another number of keys than of ids"));
        }
        let device = incoming.device;
        let mut loading = Loading::<K>::new(device, keys)?;
        incoming.section(loading.bytes(), &mut loading, &|_, _| Ok(()))?;
        let config = CompactingConfig { ids: D::config(&ids.table).clone(), in_order };
        Ok(Self { config, ids, keys: loading.done()?, work: Work::new(device)? })
    }
}
