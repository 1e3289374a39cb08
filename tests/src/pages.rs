//! The first pages of a table, built by the kernels of the page map. The whole table would be too
//! large for a test.

use crate::null;
use gpu_kernels::page::{
    BUCKET_WORDS, BuildPages, BuildPagesUnordered, BuildParams, Find, FindParams, Layout, ListSizes, REPEAT_WORDS,
    UnorderedParams, Unpack, UnpackParams, header,
};
use gpu_kernels::split::Pairs;
use gpu_kernels::types::{Payload, Scalar, WordOf};
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device, Result};

/// The count of buckets that a block of [`Unpack`] writes out.
const UNPACK_BUCKETS: u64 = 256;

/// The arrangement of the pairs from which pages are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Bins with spare capacity, as a split leaves them.
    Bins,
    /// Bins without gaps, as a repeated split leaves them.
    Starts,
    /// Bins without gaps and without values, so all values are 0. They are allowed only where keys
    /// may be repeated.
    KeysAlone,
    /// Pairs in the order of the pages, with keys that are not mixed, as radix passes leave them.
    Sorted,
    /// Pairs in the user's order, for a single page.
    Input,
}

/// The first pages of a table.
#[derive(Debug)]
pub struct Pages<K: Key, V: Payload> {
    /// The layout of the whole table.
    pub layout: Layout,
    /// The words of the first pages, followed by some zeros.
    pub words: Buffer<u64>,
    /// The results of the build.
    pub header: Vec<u64>,
    /// The buckets and remainders of the repeated keys that a build without order has listed.
    pub listed: Vec<(u64, u64)>,
    pages: u32,
    types: std::marker::PhantomData<(K, V)>,
}

/// What a build knows about its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The keys are unique.
    Unique,
    /// Pairs are in the order of the input, which decides between copies.
    InOrder,
    /// Nothing is known.
    Nothing,
}

/// The capacity of each page's own part of the list of repeated keys.
const OWN: u32 = 16;

/// The count of threads of a block that builds a page.
const THREADS: u64 = 384;

/// Returns the key of page `page` whose mixed key has `bits` after the page's index.
pub fn key_of_page<K: Key>(layout: &Layout, page: u32, bits: u64) -> K {
    let below = K::from_u64(bits).to_u64() >> layout.page_bits;
    let mixed = ((page as u128) << (K::BITS - layout.page_bits)) as u64 | below;
    K::from_u64(mixed).unmixed(layout.a, layout.b)
}

impl<K: Key, V: Payload> Pages<K, V> {
    /// Builds the pages from the pairs of each page, as a split leaves them: in the order of the
    /// input, with mixed keys. Values are ignored if the pages have keys alone.
    pub fn build(device: &Device, layout: Layout, pairs: &[Vec<(K, WordOf<V>)>], repeats: bool) -> Result<Self> {
        let known = if repeats { Known::InOrder } else { Known::Unique };
        Self::build_from(Source::Bins, device, layout, pairs, known)
    }

    /// Builds pages as [`Pages::build`] does, from pairs that are arranged according to `source`.
    /// If the build knows nothing about its keys, its list of repeated keys has capacity for all of
    /// them.
    pub fn build_from(
        source: Source,
        device: &Device,
        layout: Layout,
        pairs: &[Vec<(K, WordOf<V>)>],
        known: Known,
    ) -> Result<Self> {
        assert!(source != Source::Input || pairs.len() == 1, "the input is one page");
        let stream = device.default_stream();
        let is_bins = source == Source::Bins;
        let capacity = pairs.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let split = matches!(source, Source::Bins | Source::Starts | Source::KeysAlone);
        let (mut keys, mut values) = (Vec::new(), Vec::<V::Word>::new());
        let (mut counts, mut starts) = (Vec::new(), vec![0]);
        for page in pairs {
            keys.extend(page.iter().map(|pair| if split { pair.0.mixed(layout.a, layout.b) } else { pair.0 }));
            values.extend(page.iter().map(|pair| pair.1));
            starts.push(keys.len() as u32);
            counts.push(page.len() as u32);
            if is_bins {
                keys.resize(counts.len() * capacity, K::ALL_ONES);
                values.resize(counts.len() * capacity, <V::Word>::ALL_ONES);
            }
        }
        let buckets = (pairs.len() as u64 * layout.page_buckets as u64).next_multiple_of(UNPACK_BUCKETS);
        let words = buckets * (BUCKET_WORDS * <K::PackedWord<V> as Scalar>::BITS / 64) as u64;
        let mut words = Buffer::<u64>::zeroed(device, words as usize)?;
        let mut header = Buffer::<u64>::zeroed(device, header::WORDS)?;
        let all = keys.len() as u64;
        if split && known != Known::InOrder && Pairs::<false, K, V>::SIDE_BY_SIDE {
            keys = keys.iter().zip(&values).flat_map(|(key, value)| [*key, K::from_u64(value.to_u64())]).collect();
            values.clear();
        }
        let keys = Buffer::from_slice(device, &keys)?;
        let values = Buffer::from_slice(device, &values)?;
        let counts = Buffer::from_slice(device, &counts)?;
        let starts = Buffer::from_slice(device, &starts)?;
        let in_pages = pairs.iter().map(Vec::len).sum::<usize>() as u32;
        // A page that is built again lists its repeated keys again.
        let sizes = ListSizes { pages: pairs.len() as u32, own: OWN, common: 4 * in_pages, padding: 0 };
        let list_words = REPEAT_WORDS * sizes.entries() + (pairs.len() as u64).div_ceil(2);
        let mut list = Buffer::<u64>::zeroed(device, list_words as usize)?;
        let plan = BuildParams { layout, page_capacity: capacity as u64, pairs: all, split: split as u32, zeroed: 0 };
        // SAFETY: all pages have counts and words, and the list has capacity for all keys. The
        // kernels' documentation allows the nulls.
        unsafe {
            stream.launch_dyn(pairs.len() * THREADS as usize, |uses| {
                let build = BuildPages::<K, V, false> {
                    keys: uses.read(&keys),
                    values: if source == Source::KeysAlone { null() } else { uses.read(&values) },
                    counts: if is_bins { uses.read(&counts) } else { null() },
                    starts: if is_bins || source == Source::Input { null() } else { uses.read(&starts) },
                    words_out: uses.write(&mut words).cast(),
                    header: uses.write(&mut header),
                    plan,
                };
                let BuildPages { keys, values, counts, starts, words_out, header, plan } = build;
                let (repeats, plan) = (uses.write(&mut list), UnorderedParams { build: plan, sizes });
                match known {
                    Known::Unique => Box::new(build),
                    Known::InOrder => Box::new(build.variant::<true>()),
                    Known::Nothing => Box::new(BuildPagesUnordered::<K, V> {
                        keys,
                        values,
                        counts,
                        starts,
                        words_out,
                        header,
                        repeats,
                        plan,
                    }),
                }
            })?;
        }
        let header = header.download(stream)?;
        let listed = Self::listed(&list.download(stream)?, &sizes, header[header::REPEATED as usize]);
        assert_eq!(listed.len() as u64, header[header::REPEATED as usize] + header[header::LISTED as usize]);
        Ok(Self { layout, words, header, listed, pages: pairs.len() as u32, types: std::marker::PhantomData })
    }

    /// Returns the entries of a list that has `common` entries in its common part.
    fn listed(list: &[u64], sizes: &ListSizes, common: u64) -> Vec<(u64, u64)> {
        assert!(common <= sizes.common as u64, "{common} entries in a list for {}", sizes.common);
        let (entries, lengths) = list.split_at((REPEAT_WORDS * sizes.entries()) as usize);
        let length = |page: u32| (lengths[page as usize / 2] >> (page % 2 * 32)) as u32;
        let own = (0..sizes.pages).flat_map(|page| page * sizes.own..page * sizes.own + length(page));
        let first = sizes.pages * sizes.own;
        let all = own.chain(first..first + common as u32);
        all.map(|entry| (entries[2 * entry as usize], entries[2 * entry as usize + 1])).collect()
    }

    /// Returns the count of pages.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Returns the values of `queries` (0 for keys alone), all of which must belong to these pages.
    pub fn find(&self, device: &Device, queries: &[K]) -> Result<Vec<Option<WordOf<V>>>> {
        let stream = device.default_stream();
        for query in queries {
            let page = query.mixed(self.layout.a, self.layout.b).scaled(self.layout.pages());
            assert!(page < self.pages, "{query} is in page {page}");
        }
        let on_device = Buffer::from_slice(device, queries)?;
        let mut values = Buffer::<V::Word>::zeroed(device, queries.len())?;
        let mut found = Buffer::<u32>::zeroed(device, queries.len().div_ceil(32))?;
        let plan = FindParams { layout: self.layout, queries: queries.len() as u64, absent: 0 };
        // SAFETY: flags may be null. The answers have capacity for all queries, which read no other
        // pages.
        unsafe {
            stream.launch(plan.queries as usize, |uses| Find::<K, V> {
                queries: uses.read(&on_device),
                words: uses.read(&self.words).cast(),
                values: uses.write(&mut values),
                found: uses.write(&mut found),
                flags: crate::null(),
                plan,
            })?;
        }
        let (values, found) = (values.download(stream)?, found.download(stream)?);
        let is_found = |i: usize| found[i / 32] >> (i % 32) & 1 == 1;
        Ok(values.into_iter().enumerate().map(|(i, value)| is_found(i).then_some(value)).collect())
    }

    /// Returns all pairs.
    pub fn unpack(&self, device: &Device) -> Result<Vec<(K, WordOf<V>)>> {
        let stream = device.default_stream();
        let buckets = self.pages as u64 * self.layout.page_buckets as u64;
        let capacity = (buckets * self.layout.slots as u64) as usize;
        let mut keys = Buffer::<K>::zeroed(device, capacity)?;
        let mut values = Buffer::<V::Word>::zeroed(device, capacity)?;
        let mut count = Buffer::<u64>::zeroed(device, 1)?;
        let plan = UnpackParams { layout: self.layout, capacity: capacity as u64 };
        // SAFETY: the outputs have capacity for all slots, and the words of whole blocks exist.
        unsafe {
            stream.launch(buckets as usize, |uses| Unpack::<K, V> {
                words: uses.read(&self.words).cast(),
                keys_out: uses.write(&mut keys),
                values_out: uses.write(&mut values),
                count: uses.write(&mut count),
                plan,
            })?;
        }
        let pairs = count.download(stream)?[0] as usize;
        let all = keys.download(stream)?.into_iter().zip(values.download(stream)?);
        Ok(all.take(pairs).collect())
    }
}
