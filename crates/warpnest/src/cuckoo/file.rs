//! The file of a cuckoo table: its slots, and the header.
//!
//! A lookup follows no word of the table: it computes the indices of the slots that it reads from
//! the key and the functions. The functions are made again from their constants. So any words are
//! safe, unless values are ids or indices.

use super::config::{Size, table_words};
use super::report::EvictionChains;
use super::{Cuckoo, CuckooReport, CuckooTable};
use crate::error::FileError;
use crate::table::file::functions::{constants_of, family_from, family_number, family_of, functions_from};
use crate::table::file::{Collected, Incoming, Loading, Parts, Section, as_words};
use crate::table::raw::StoredTable;
use crate::{Buffer, Device, Result};
use gpu_kernels::cuckoo::{header, packed};
use gpu_kernels::hash::MAX_FUNCTIONS;
use gpu_kernels::types::{KeyWord, Payload};
use std::marker::PhantomData;

impl<K: KeyWord, V: Payload> StoredTable for CuckooTable<K, V> {
    fn set_device(&mut self, device: &Device) {
        self.device = device.clone();
    }

    fn parts<'t>(&'t self, parts: &mut Parts<'t>) -> Result<()> {
        let Self { config, functions, report, .. } = self;
        let Cuckoo { functions: count, size, hash, chain_limit } = config.design;
        parts.table(self.length, config);
        parts.number(count as u64);
        match size {
            Size::PerPair(slots) => parts.numbers([0, slots.to_bits()]),
            Size::Slots(slots) => parts.numbers([1, slots]),
        }
        parts.numbers(family_number(hash));
        parts.option(chain_limit.map(u64::from));
        parts.numbers([functions.slots() as u64, functions.count() as u64]);
        parts.numbers(family_number(family_of::<K>(functions, hash)));
        parts.numbers(constants_of(functions).into_iter().flatten());
        let CuckooReport { seed, restarts, chain_limit, repeated_keys, chains } = *report;
        parts.numbers([seed, restarts as u64, chain_limit as u64, repeated_keys as u64]);
        parts.option(chains.map(|chains| chains.longest as u64));
        parts.float(chains.map_or(0.0, |chains| chains.mean));
        parts.section(Section::of(&self.header, header::WORDS as u64));
        parts.section(Section::of(&self.words, table_words::<K, V>(self.slots())));
        Ok(())
    }

    fn from_parts(incoming: &mut Incoming<'_>) -> Result<Self> {
        let (length, config) = incoming.table(|incoming| {
            let functions = incoming.short()?;
            let size = match (incoming.flag()?, incoming.number()?) {
                (false, slots) => Size::PerPair(f64::from_bits(slots)),
                (true, slots) => Size::Slots(slots),
            };
            let hash = family_from(incoming)?;
            let chain_limit = incoming.option()?.map(u32::try_from).transpose();
            let chain_limit = chain_limit.map_err(|_| FileError::inconsistent("its chain limit has too many bits"))?;
            Ok(Cuckoo { functions, size, hash, chain_limit })
        })?;
        let (slots, count) = (incoming.short()?, incoming.short()?);
        if slots == 0 || slots == u32::MAX || !(2..=MAX_FUNCTIONS as u32).contains(&count) {
            return Err(FileError::inconsistent("there is no cuckoo table with so many slots and functions"));
        }
        let family = family_from(incoming)?;
        let functions = functions_from::<K>(incoming, family, count, slots)?;
        // The key that is all ones has a cell, and no slot.
        if length > slots as u64 + 1 {
            return Err(FileError::inconsistent("there are more keys than slots"));
        }
        let (seed, restarts, chain_limit) = (incoming.number()?, incoming.short()?, incoming.short()?);
        let (repeated_keys, longest, mean) = (incoming.flag()?, incoming.option()?, incoming.float()?);
        let chains = longest.map(|longest| EvictionChains { longest: longest as u32, mean });
        let report = CuckooReport { seed, restarts, chain_limit, repeated_keys, chains };

        let mut beside = Collected::<u64>::default();
        incoming.section(8 * header::WORDS as u64, &mut beside, &|_, _| Ok(()))?;
        let beside = beside.words();
        // If keys were repeated, copies that lookups do not find may have got no id.
        let limit = incoming.values.filter(|limit| !limit.copies || !repeated_keys && !config.unique);
        let below = limit.map(|limit| limit.below);
        let cell = (beside[header::CELL as usize] != 0).then_some(beside[header::CELL_VALUE as usize] as u32 as u64);
        if below.zip(cell).is_some_and(|(below, value)| value >= below) {
            return Err(FileError::inconsistent("a value numbers nothing"));
        }
        let mut words = Loading::<u64>::new(incoming.device, table_words::<K, V>(slots as u64))?;
        incoming.section(words.bytes(), &mut words, &|_, bytes| match below {
            Some(below) if !values_are_below::<K, V>(bytes, below) => Err("a value numbers nothing"),
            _ => Ok(()),
        })?;
        let device = incoming.device.clone();
        let (header, words) = (Buffer::from_slice(&device, &beside)?, words.done()?);
        Ok(Self { device, config, functions, words, header, length, report, types: PhantomData })
    }
}

/// Returns whether the 32-bit values in some slots are below a limit.
fn values_are_below<K: KeyWord, V: Payload>(slots: &[u8], below: u64) -> bool {
    let words = as_words::<u64>(slots);
    let value = |word: u64| word & u32::MAX as u64;
    if packed::<K, V>() {
        return words.iter().all(|&word| word == u64::MAX || value(word) < below);
    }
    words.chunks_exact(2).all(|slot| slot[0] == K::ALL_ONES.to_u64() || value(slot[1]) < below)
}
