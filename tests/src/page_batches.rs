//! Batches that change the first pages of a table, by the kernels of the page map. The whole table
//! would be too large for a test.

use crate::null;
use crate::pages::Pages;
use gpu_kernels::page::{
    AddDirectly, AddParams, AddToPages, BuildParams, EvictLeft, ListSizes, REPEAT_WORDS, RemoveDirectly,
    RemoveFromPages, RemoveParams, UnorderedParams, header,
};
use gpu_kernels::types::{Payload, Scalar, WordOf};
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device, Result};

/// The count of threads of a block that rewrites a page.
const THREADS: usize = 384;

/// The way in which a batch changes pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The batch changes single pairs, directly in the table's memory.
    Directly,
    /// The batch is split by pages, with pairs in any order.
    ByPages,
    /// The batch is split by pages, with pairs in order.
    ByPagesInOrder,
}

/// The results of a removal.
#[derive(Clone, Debug)]
pub struct Removed<W> {
    /// The words of the header.
    pub header: Vec<u64>,
    /// The values that the keys had; empty if the keys were removed page by page.
    pub answers: Vec<Option<W>>,
}

/// A batch that is split by pages: each page's mixed keys are in a bin; all bins have one capacity.
struct Bins<K> {
    keys: Vec<K>,
    counts: Vec<u32>,
    capacity: u64,
}

impl<K: Key, V: Payload> Pages<K, V> {
    /// Adds pairs of unique keys; returns the words of the header.
    pub fn add(&mut self, device: &Device, way: Way, pairs: &[(K, WordOf<V>)]) -> Result<Vec<u64>> {
        match way {
            Way::Directly => self.add_directly(device, pairs),
            _ => self.add_by_pages(device, way == Way::ByPagesInOrder, pairs),
        }
    }

    fn add_directly(&mut self, device: &Device, pairs: &[(K, WordOf<V>)]) -> Result<Vec<u64>> {
        let stream = device.default_stream();
        let (keys, values): (Vec<K>, Vec<V::Word>) = pairs.iter().copied().unzip();
        let (keys, values) = (Buffer::from_slice(device, &keys)?, Buffer::from_slice(device, &values)?);
        let mut left = Buffer::<u32>::zeroed(device, pairs.len())?;
        let mut header = Buffer::<u64>::zeroed(device, header::WORDS)?;
        let plan = AddParams { layout: self.layout, pairs: pairs.len() as u64, index_bits: 0, padding: 0 };
        // SAFETY: keys are unique, so the index may be missing; header and list have their words,
        // and all pairs belong to the pages.
        unsafe {
            stream.launch(pairs.len(), |uses| AddDirectly::<K, V> {
                keys: uses.read(&keys),
                values: uses.read(&values),
                words: uses.write(&mut self.words).cast(),
                index: null(),
                repeated: null(),
                left: uses.write(&mut left),
                header: uses.write(&mut header),
                plan,
            })?;
            // Two blocks run, and they share the pages.
            stream.launch(2 * THREADS, |uses| EvictLeft::<K, V> {
                keys: uses.read(&keys),
                values: uses.read(&values),
                words: uses.write(&mut self.words).cast(),
                left: uses.write(&mut left),
                header: uses.write(&mut header),
                plan,
            })?;
        }
        header.download(stream)
    }

    fn add_by_pages(&mut self, device: &Device, in_order: bool, pairs: &[(K, WordOf<V>)]) -> Result<Vec<u64>> {
        let stream = device.default_stream();
        let bins = self.bins(pairs.iter().map(|pair| pair.0));
        let mut values = vec![V::Word::from_u64(0); bins.keys.len()];
        let mut next = vec![0; self.pages() as usize];
        for (key, value) in pairs {
            let page = self.page_of(*key);
            values[page * bins.capacity as usize + next[page]] = *value;
            next[page] += 1;
        }
        let mut keys = bins.keys;
        if !in_order && K::BITS == V::VALUE_BITS {
            // Each key is followed by its value.
            keys = keys.iter().zip(&values).flat_map(|(key, value)| [*key, K::from_u64(value.to_u64())]).collect();
        }
        let (keys, values) = (Buffer::from_slice(device, &keys)?, Buffer::from_slice(device, &values)?);
        let counts = Buffer::from_slice(device, &bins.counts)?;
        let mut header = Buffer::<u64>::zeroed(device, header::WORDS)?;
        let sizes = ListSizes { pages: self.pages(), own: 16, common: pairs.len() as u32, padding: 0 };
        let list_words = REPEAT_WORDS * sizes.entries() + sizes.pages as u64;
        let mut list = Buffer::<u64>::zeroed(device, list_words as usize)?;
        let plan = self.plan(bins.capacity, pairs.len());
        // SAFETY: there is a count for each page, and the list has capacity for all keys. All pairs
        // belong to the pages, all words of which exist.
        unsafe {
            stream.launch_dyn(self.pages() as usize * THREADS, |uses| {
                let add = AddToPages::<K, V, false> {
                    keys: uses.read(&keys),
                    values: uses.read(&values),
                    counts: uses.read(&counts),
                    starts: null(),
                    words: uses.write(&mut self.words),
                    header: uses.write(&mut header),
                    repeats: uses.write(&mut list),
                    plan: UnorderedParams { build: plan, sizes },
                };
                if in_order { Box::new(add.variant::<true>()) } else { Box::new(add) }
            })?;
        }
        let found = header.download(stream)?;
        self.layout.holes = 0;
        Ok(found)
    }

    /// Removes keys.
    pub fn remove(&mut self, device: &Device, way: Way, keys: &[K]) -> Result<Removed<WordOf<V>>> {
        let stream = device.default_stream();
        let mut header = Buffer::<u64>::zeroed(device, header::WORDS)?;
        if way == Way::Directly {
            let on_device = Buffer::from_slice(device, keys)?;
            let mut values = Buffer::<V::Word>::zeroed(device, keys.len())?;
            let mut found = Buffer::<u32>::zeroed(device, keys.len().div_ceil(32))?;
            let plan = RemoveParams { layout: self.layout, keys: keys.len() as u64 };
            // SAFETY: the answers have capacity for all keys, which belong to the pages.
            unsafe {
                stream.launch(keys.len(), |uses| RemoveDirectly::<K, V> {
                    keys: uses.read(&on_device),
                    words: uses.write(&mut self.words).cast(),
                    values: uses.write(&mut values),
                    found: uses.write(&mut found),
                    header: uses.write(&mut header),
                    plan,
                })?;
            }
            let header = header.download(stream)?;
            self.layout.holes |= (header[header::HOLES as usize] != 0) as u32;
            let (values, found) = (values.download(stream)?, found.download(stream)?);
            let is_found = |i: usize| found[i / 32] >> (i % 32) & 1 == 1;
            let answers = values.into_iter().enumerate().map(|(i, value)| is_found(i).then_some(value)).collect();
            return Ok(Removed { header, answers });
        }
        let bins = self.bins(keys.iter().copied());
        let plan = self.plan(bins.capacity, keys.len());
        let (keys, counts) = (Buffer::from_slice(device, &bins.keys)?, Buffer::from_slice(device, &bins.counts)?);
        // SAFETY: there is a count for each page. All keys belong to the pages, all words of which
        // exist.
        unsafe {
            stream.launch(self.pages() as usize * THREADS, |uses| RemoveFromPages::<K, V> {
                keys: uses.read(&keys),
                counts: uses.read(&counts),
                words: uses.write(&mut self.words).cast(),
                header: uses.write(&mut header),
                plan,
            })?;
        }
        let header = header.download(stream)?;
        self.layout.holes = (header[header::HOLES as usize] != 0) as u32;
        Ok(Removed { header, answers: Vec::new() })
    }

    fn page_of(&self, key: K) -> usize {
        key.mixed(self.layout.a, self.layout.b).scaled(self.layout.pages()) as usize
    }

    fn bins(&self, keys: impl Iterator<Item = K>) -> Bins<K> {
        let mut of_pages = vec![Vec::new(); self.pages() as usize];
        for key in keys {
            of_pages[self.page_of(key)].push(key.mixed(self.layout.a, self.layout.b));
        }
        let capacity = of_pages.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let counts = of_pages.iter().map(|keys| keys.len() as u32).collect();
        let filled = |mut keys: Vec<K>| {
            keys.resize(capacity, K::ALL_ONES);
            keys
        };
        Bins { keys: of_pages.into_iter().flat_map(filled).collect(), counts, capacity: capacity as u64 }
    }

    fn plan(&self, page_capacity: u64, pairs: usize) -> BuildParams {
        BuildParams { layout: self.layout, page_capacity, pairs: pairs as u64, split: 1, zeroed: 0 }
    }
}
