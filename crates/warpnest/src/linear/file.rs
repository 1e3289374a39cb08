//! The file of a linear table: its slots, and the cell of the key that has no slot.
//!
//! The file does not store the counters. They are counted again from the slots, so that they are
//! right. Because of that, a table that grows has capacity for all keys. A search always ends
//! because it reads each bucket at most once.

use super::config::Linear;
use super::table::{Counts, LinearTable, in_cell};
use crate::error::FileError;
use crate::primitives::Scratch;
use crate::table::file::{Collected, Incoming, Loading, Parts, Section, as_words};
use crate::table::raw::StoredTable;
use crate::{Buffer, Device, Error, Result};
use gpu_kernels::double_word::{Half, PackedPair};
use gpu_kernels::linear::{Layout, header};
use gpu_kernels::types::{KeyWord, Scalar, ValueWord};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::SeedableRng;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

impl<K: KeyWord, V: ValueWord> StoredTable for LinearTable<K, V> {
    fn set_device(&mut self, device: &Device) {
        self.device = device.clone();
    }

    fn parts<'t>(&'t self, parts: &mut Parts<'t>) -> Result<()> {
        self.check()?;
        let Self { config, layout, counts, .. } = self;
        let Linear { pairs, load, grows, linear, .. } = config.design;
        parts.table(counts.keys, config);
        // A load factor of 0, which no table has, means that none was requested.
        parts.numbers([pairs, load.unwrap_or_default().to_bits(), grows as u64, linear as u64]);
        parts.numbers([layout.a, layout.b, layout.lines as u64]);
        parts.section(Section::new().with(&self.header, header::CELL..header::ASKED));
        parts.section(Section::of(&self.words, self.slots()));
        Ok(())
    }

    fn from_parts(incoming: &mut Incoming<'_>) -> Result<Self> {
        let (keys, config) = incoming.table(|incoming| {
            let (pairs, load) = (incoming.number()?, incoming.float()?);
            let load = (load.to_bits() != 0).then_some(load);
            Ok(Linear { pairs, load, grows: incoming.flag()?, linear: incoming.flag()?, combines_first: None })
        })?;
        let no_such = |_: Error| FileError::inconsistent("no linear table has its configuration");
        config.lines_for::<PackedPair<K, V>>(0, config.load_on(incoming.device)).map_err(no_such)?;
        let [a, b] = [incoming.number()?, incoming.number()?];
        let lines = incoming.short()?;
        let layout = Layout { a, b, lines, linear: config.design.linear as u32 };
        // Unless steps lead to every line, measuring the probe lengths might never end.
        if !config.can_have::<PackedPair<K, V>>(lines) {
            return Err(FileError::inconsistent("there is no linear table with so many lines"));
        }
        let device = incoming.device.clone();
        Self::check_device(&device)?;

        let mut beside = Collected::<u64>::default();
        incoming.section(8 * (header::ASKED - header::CELL), &mut beside, &|_, _| Ok(()))?;
        let mut words = Loading::<PackedPair<K, V>>::new(&device, layout.slots::<PackedPair<K, V>>())?;
        let [taken, held] = [AtomicU64::new(0), AtomicU64::new(0)];
        incoming.section(words.bytes(), &mut words, &|_, bytes| {
            let (in_chunk, held_in_chunk) = count::<K, V>(bytes)?;
            taken.fetch_add(in_chunk, Relaxed);
            held.fetch_add(held_in_chunk, Relaxed);
            Ok(())
        })?;
        let (taken, held) = (taken.into_inner(), held.into_inner());

        let beside = beside.words();
        // The cell has as many bytes as a slot.
        let in_use = match size_of::<PackedPair<K, V>>() {
            8 => beside[0] >> 32 == 1 && beside[1] == 0,
            _ => beside[1] == 1,
        };
        if !in_use && beside.iter().any(|&word| word != 0) {
            return Err(FileError::inconsistent("the cell beside its slots holds neither a key nor nothing"));
        }
        let mut counters = vec![0; header::WORDS];
        counters[header::CELL as usize..header::ASKED as usize].copy_from_slice(&beside);
        let beside = in_cell(&counters);
        counters[(header::COUNTERS + header::TAKEN) as usize] = taken;
        counters[(header::COUNTERS + header::GAINED) as usize] = held + beside;
        if held + beside != keys || taken > layout.slots::<PackedPair<K, V>>() {
            return Err(FileError::inconsistent("its slots have another number of keys than its header says"));
        }
        let counts = Counts::of(&counters);
        let (header, words) = (Buffer::from_slice(&device, &counters)?, words.done()?);
        // Later constants are computed from the seed, if there is one, and from the current
        // constants. So nobody can predict them without the seed.
        let seed = config.seed.map_or_else(|| config.seed_or_random(), |seed| seed ^ a.rotate_left(17) ^ b);
        let random = Xoshiro256StarStar::seed_from_u64(seed);
        let scratch = Scratch::new(&device);
        Ok(Self { device, config, layout, words, header, counts, interrupted: None, random, scratch })
    }
}

/// Counts the slots that are not empty, and the slots that contain keys.
fn count<K: KeyWord, V: ValueWord>(slots: &[u8]) -> Result<(u64, u64), &'static str> {
    let ones = <Half<K, V>>::ALL_ONES;
    let (mut counted, mut no_key) = ((0, 0), false);
    // The upper half of a word follows its lower half. Without branches, and with narrow counters,
    // the compiler can check several words at once.
    for words in as_words::<Half<K, V>>(slots).as_chunks::<2>().0.chunks(1 << 12) {
        let mut in_words = (0u32, 0u32);
        for &[lower, upper] in words {
            let holds = upper != ones;
            let taken = holds | (lower != ones);
            in_words.0 += taken as u32;
            in_words.1 += holds as u32;
            if K::BITS < <Half<K, V>>::BITS {
                // A tombstone has its key in the lower half. No slot has the key that is all ones.
                let key = if holds { upper } else { lower };
                no_key |= taken & (key.to_u64() >= K::ALL_ONES.to_u64());
            }
        }
        counted.0 += in_words.0 as u64;
        counted.1 += in_words.1 as u64;
    }
    if no_key { Err("a slot has a key that no table has") } else { Ok(counted) }
}
