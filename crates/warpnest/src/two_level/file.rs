//! The file of a two-level table: its slots, the seeds of its buckets, and the header.
//!
//! A lookup follows no word of the table. The seed of a bucket is a constant of its hash functions,
//! and any constant leads to a slot of the bucket. So only the layout is checked.

use super::build::layout;
use super::{TwoLevel, TwoLevelReport, TwoLevelTable};
use crate::error::FileError;
use crate::primitives::Scratch;
use crate::table::file::functions::{constants_of, family_from, family_number, functions_from};
use crate::table::file::{Incoming, Loading, Parts, Section};
use crate::table::raw::StoredTable;
use crate::{Device, Error, Result};
use gpu_kernels::table::slots::slot_words;
use gpu_kernels::two_level::{Layout, header};
use gpu_kernels::types::{KeyWord, ValueWord};
use std::marker::PhantomData;

impl<K: KeyWord, V: ValueWord> StoredTable for TwoLevelTable<K, V> {
    fn set_device(&mut self, device: &Device) {
        self.device = device.clone();
    }

    fn parts<'t>(&'t self, parts: &mut Parts<'t>) -> Result<()> {
        let Self { config, report, layout, .. } = self;
        let TwoLevel { capacity, mean, sub_tables, sub_table_slots, hash, sub_table_hash, seeds, rounds } =
            config.design;
        parts.table(self.length, config);
        parts.number(capacity as u64);
        parts.option(mean.map(f64::to_bits));
        parts.numbers([sub_tables as u64, sub_table_slots as u64]);
        parts.numbers(family_number(hash));
        parts.numbers(family_number(sub_table_hash));
        parts.numbers([seeds as u64, rounds as u64, self.buckets()]);
        parts.numbers(constants_of(&layout.buckets).into_iter().flatten());
        let TwoLevelReport { seed, overflows, failures, reseeded, passes, sorted, rounds, stages: _ } = *report;
        parts.numbers([seed, overflows as u64, failures as u64, reseeded, passes as u64, sorted as u64]);
        parts.option(rounds.map(|(most, _)| most));
        parts.number(rounds.map_or(0, |(_, all)| all));
        parts.section(Section::of(&self.header, header::WORDS as u64));
        parts.section(Section::of(&self.seeds, self.buckets()));
        parts.section(Section::of(&self.words, self.slots() * slot_words::<K, V>()));
        Ok(())
    }

    fn from_parts(incoming: &mut Incoming<'_>) -> Result<Self> {
        let (length, config) = incoming.table(|incoming| {
            let (capacity, mean) = (incoming.short()?, incoming.option()?.map(f64::from_bits));
            let (sub_tables, sub_table_slots) = (incoming.short()?, incoming.short()?);
            let (hash, sub_table_hash) = (family_from(incoming)?, family_from(incoming)?);
            let (seeds, rounds) = (incoming.short()?, incoming.short()?);
            Ok(TwoLevel { capacity, mean, sub_tables, sub_table_slots, hash, sub_table_hash, seeds, rounds })
        })?;
        // A configuration that is invalid for any count of pairs is also invalid for 0 pairs.
        let no_such = |_: Error| FileError::inconsistent("no two-level table has its configuration");
        config.check(0).map_err(no_such)?;
        let buckets = incoming.short()?;
        let slots = buckets as u64 * (config.design.sub_tables * config.design.sub_table_slots) as u64;
        if buckets == 0 || crate::error::check_slots(slots).is_err() {
            return Err(FileError::inconsistent("there is no two-level table with so many buckets"));
        }
        let functions = functions_from::<K>(incoming, config.design.hash, 1, buckets)?;
        let layout = Layout { buckets: functions, ..layout::<K>(&config, buckets as u64, || 0) };
        // The key that is all ones has a cell, and no slot.
        if length > slots + 1 {
            return Err(FileError::inconsistent("there are more keys than slots"));
        }
        let report = TwoLevelReport {
            seed: incoming.number()?,
            overflows: incoming.short()?,
            failures: incoming.short()?,
            reseeded: incoming.number()?,
            passes: incoming.short()?,
            sorted: incoming.flag()?,
            rounds: {
                let (most, all) = (incoming.option()?, incoming.number()?);
                most.map(|most| (most, all))
            },
            stages: None,
        };
        let device = incoming.device.clone();
        let mut header = Loading::<u64>::new(&device, header::WORDS as u64)?;
        incoming.section(header.bytes(), &mut header, &|_, _| Ok(()))?;
        let mut seeds = Loading::<u32>::new(&device, buckets as u64)?;
        incoming.section(seeds.bytes(), &mut seeds, &|_, _| Ok(()))?;
        let in_slots = slots * slot_words::<K, V>();
        let mut words = Loading::<u64>::with_length(&device, in_slots, config.words::<K, V>(buckets as u64))?;
        incoming.section(words.bytes(), &mut words, &|_, _| Ok(()))?;
        let (header, seeds, words) = (header.done()?, seeds.done()?, words.done()?);
        let scratch = Scratch::new(&device);
        Ok(Self { device, config, layout, words, seeds, header, scratch, length, report, types: PhantomData })
    }
}
