//! The file of a page table: the buckets are its only section.
//!
//! A lookup follows no word of the table: it computes the indices of the buckets that it reads from
//! the key and the layout. A change moves pairs by their tags until no pair can be moved. So every
//! tag must be one that an insertion can store, and there must be as many tags as keys. A mapped
//! table cannot be changed, so its tags are not checked.

use super::build::report::PageReport;
use super::config::{Page, is_load};
use super::table::{PageTable, words_of};
use crate::error::FileError;
use crate::primitives::Scratch;
use crate::runtime::allocation::{Allocation, Owner};
use crate::table::config::Config;
use crate::table::file::{Incoming, Loading, MapsFile, Parts, Section, as_words};
use crate::table::raw::StoredTable;
use crate::{Buffer, Device, Result, Stream};
use gpu_kernels::page::form::{Eight, Fifteen, Five, Form, Four, Six, TwentyFour};
use gpu_kernels::page::{BUCKET_WORDS, CheckParams, CheckTags, Layout, MIN_BUCKETS};
use gpu_kernels::types::{KeyWord, Payload, Scalar};
use std::marker::PhantomData;

/// The fewest buckets of a page. A pair has candidate buckets at distances of 2 and more.
const MIN_PAGE_BUCKETS: u64 = 4;
/// The most buckets of a table.
const MAX_BUCKETS: u64 = 1 << 31;

/// The configuration, layout and counts from a file, checked.
pub(super) struct Numbers {
    config: Config<Page>,
    layout: Layout,
    length: u64,
    report: PageReport,
}

impl<K: KeyWord, V: Payload> StoredTable for PageTable<K, V> {
    fn set_device(&mut self, device: &Device) {
        self.device = device.clone();
    }

    fn parts<'t>(&'t self, parts: &mut Parts<'t>) -> Result<()> {
        let Self { config, layout, report, .. } = self;
        parts.table(self.length, config);
        parts.option(config.design.load.map(f64::to_bits));
        parts.numbers([config.design.pairs]);
        parts.numbers([layout.a, layout.b, layout.page_bits as u64, layout.page_buckets as u64]);
        parts.number(layout.holes as u64);
        let PageReport { seed, failures, split_again, counted, skewed, ordered, resolved, moved, stages: _ } = *report;
        parts.numbers([seed, failures as u64, split_again as u64, counted as u64, skewed as u64]);
        parts.numbers([ordered as u64, resolved, moved]);
        parts.section(Section::of(&self.words, words_of::<K, V>(layout)));
        Ok(())
    }

    fn from_parts(incoming: &mut Incoming<'_>) -> Result<Self> {
        let numbers = Self::numbers(incoming)?;
        let layout = numbers.layout;
        let mut words = Loading::<u64>::new(incoming.device, words_of::<K, V>(&layout))?;
        let limit = incoming.values;
        incoming.section(words.bytes(), &mut words, &|_, bytes| match limit {
            Some(limit) if !values_are_below::<K, V>(&layout, bytes, limit.below) => Err("a value numbers nothing"),
            _ => Ok(()),
        })?;
        let table = Self::of(incoming, numbers, words.done()?);
        table.check_tags(table.device.default_stream())?;
        Ok(table)
    }
}

impl<K: KeyWord, V: Payload> PageTable<K, V> {
    fn numbers(incoming: &mut Incoming<'_>) -> Result<Numbers> {
        let (length, config) = incoming
            .table(|incoming| Ok(Page { load: incoming.option()?.map(f64::from_bits), pairs: incoming.number()? }))?;
        if config.design.load.is_some_and(|load| !is_load(load)) {
            return Err(FileError::inconsistent("no page table has its load factor"));
        }
        let [a, b] = [incoming.number()?, incoming.number()?];
        let (page_bits, page_buckets) = (incoming.short()?, incoming.short()?);
        let buckets = (page_buckets as u64).checked_shl(page_bits).filter(|_| page_bits < 32).unwrap_or(0);
        let sensible = page_buckets as u64 >= MIN_PAGE_BUCKETS && page_buckets.is_multiple_of(2);
        if !sensible || !(MIN_BUCKETS as u64..=MAX_BUCKETS).contains(&buckets) {
            return Err(FileError::inconsistent("there is no page table with so many buckets"));
        }
        let layout = Layout { holes: incoming.flag()? as u32, ..Layout::new::<K, V>(a, b, page_bits, page_buckets) };
        if length > buckets * layout.slots as u64 {
            return Err(FileError::inconsistent("there are more keys than slots"));
        }
        let report = PageReport {
            seed: incoming.number()?,
            failures: incoming.short()?,
            split_again: incoming.flag()?,
            counted: incoming.flag()?,
            skewed: incoming.flag()?,
            ordered: incoming.flag()?,
            resolved: incoming.number()?,
            moved: incoming.number()?,
            stages: None,
        };
        Ok(Numbers { config, layout, length, report })
    }

    /// Fails unless every tag is one that an insertion can store and there are as many tags as
    /// keys.
    pub(super) fn check_tags(&self, stream: &Stream) -> Result<()> {
        let counts = Buffer::<u64>::zeroed(&self.device, 2)?;
        stream.batch(|batch| {
            let check = CheckTags::<K, V> {
                words: batch.read(&self.words).cast(),
                counts: batch.write(&counts),
                plan: CheckParams { layout: self.layout },
            };
            // SAFETY: the table and its layout belong together, and there are two counts. The words
            // of an empty table are arbitrary, but no thread is launched for it.
            unsafe { batch.launch(&check, self.buckets_with_pairs()) }
        })?;
        match counts.download(stream)?[..] {
            [pairs, 0] if pairs == self.length => Ok(()),
            [_, 0] => Err(FileError::inconsistent("its buckets have another number of keys than its header says")),
            _ => Err(FileError::inconsistent("a bucket has a tag that no key has")),
        }
    }

    fn of(incoming: &Incoming<'_>, numbers: Numbers, words: Buffer<u64>) -> Self {
        let Numbers { config, layout, length, report } = numbers;
        let device = incoming.device.clone();
        let scratch = Scratch::new(&device);
        Self { device, config, layout, words, scratch, length, changed: 0, mapped: false, report, types: PhantomData }
    }
}

impl<K: KeyWord, V: Payload> MapsFile for PageTable<K, V> {
    unsafe fn in_place(incoming: &mut Incoming<'_>, file: &[u8]) -> Result<Self> {
        let numbers = Self::numbers(incoming)?;
        let words = words_of::<K, V>(&numbers.layout);
        let at = incoming.skip_section(8 * words)?;
        let address = file[at..at + 8 * words as usize].as_ptr().expose_provenance();
        // Sections are aligned to memory pages. A mapped table is only lent out, so only kernels
        // that do not write receive this buffer.
        let allocation = Allocation::new(incoming.device.engine().clone(), address, 8 * words as usize, Owner::Lender);
        let words = Buffer::from_allocation(allocation, words as usize);
        Ok(Self { mapped: true, ..Self::of(incoming, numbers, words) })
    }
}

/// Returns whether the values of all pairs in some buckets are below a limit.
fn values_are_below<K: KeyWord, V: Payload>(layout: &Layout, buckets: &[u8], below: u64) -> bool {
    fn of<F: Form, W: Scalar>(buckets: &[u8], below: u64) -> bool {
        let (bits, words) = (F::tag_bits::<W>(), as_words::<W>(buckets));
        words.chunks_exact(BUCKET_WORDS as usize).all(|bucket| {
            (0..F::SLOTS).all(|slot| {
                let tag = bucket[(slot / F::TAGS) as usize].to_u64() >> (slot % F::TAGS * bits) & ((1 << bits) - 1);
                !F::VALUES || tag == 0 || bucket[(F::TAG_WORDS + slot) as usize].to_u64() < below
            })
        })
    }
    let wide = <K::PackedWord<V> as Scalar>::BITS > 32;
    match layout.slots {
        _ if wide && V::VALUE_BITS == 0 => of::<Eight, u64>(buckets, below),
        _ if wide => of::<Four, u64>(buckets, below),
        TwentyFour::SLOTS => of::<TwentyFour, u32>(buckets, below),
        Fifteen::SLOTS => of::<Fifteen, u32>(buckets, below),
        Eight::SLOTS => of::<Eight, u32>(buckets, below),
        Six::SLOTS => of::<Six, u32>(buckets, below),
        Five::SLOTS => of::<Five, u32>(buckets, below),
        _ => of::<Four, u32>(buckets, below),
    }
}
