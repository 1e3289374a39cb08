//! Tests of single splits: skewed bins, bins that overflow, several regions and tiles, and bins of
//! every size. Each pair is compared with its expected bin. Maps that an interpreter can build have
//! few of these cases.

use gpu_kernels::page::header;
use gpu_kernels::split::{self, MAX_SPLIT_BITS, Pairs, Split, SplitParams};
use gpu_kernels::types::{Payload, Scalar, WordOf};
use std::collections::HashMap;
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device};
use warpnest_tests::{at, distinct_keys, null, on_all};

/// The count of threads of a block that splits.
const THREADS: u64 = 512;

const CONSTANTS: [u64; 2] = [0x0123_4567_89ab_cdef, 0x0edc_ba98_7654_3210];

/// The input and the parameters of a split.
struct Case<K> {
    /// The keys of each region, before they are mixed.
    regions: Vec<Vec<K>>,
    /// The level of the split: 0 for a split of the input, which is one region.
    level: u32,
    bits: u32,
    skew_limit: u32,
    /// The capacity of every bin; if `None`, each bin has the capacity that it needs.
    bin_capacity: Option<u32>,
    /// The count of pairs that the previous split dropped.
    dropped_before: u64,
}

/// The result of a split.
struct Done<K, W> {
    /// The pairs of each bin; a bin that overflowed has none here.
    bins: Vec<Vec<(K, W)>>,
    counts: Vec<u32>,
    header: Vec<u64>,
}

impl<K: Key> Case<K> {
    fn bin_of(&self, region: usize, key: K) -> usize {
        let shift = K::BITS - self.bits - if self.level == 0 { 0 } else { 3 };
        let digit = key.mixed(CONSTANTS[0], CONSTANTS[1]).bits_from(shift) as usize & ((1 << self.bits) - 1);
        (region << self.bits) + digit
    }

    /// Returns the pairs that belong in each bin, in order. Each has its key, its index in its
    /// region, and its tile.
    fn expected<V: Payload>(&self) -> Vec<Vec<(K, u64, u64)>> {
        let mut bins = vec![Vec::new(); self.regions.len() << self.bits];
        for (region, keys) in self.regions.iter().enumerate() {
            for (&key, i) in keys.iter().zip(0..) {
                bins[self.bin_of(region, key)].push((key, i, i / split::tile::<K, V>()));
            }
        }
        bins
    }

    /// Runs the split. The value of a pair is its index in its region.
    fn run<const REPEATS: bool, V: Payload>(&self, device: &Device) -> Done<K, WordOf<V>> {
        let stream = device.default_stream();
        let [a, b] = CONSTANTS;
        let tiles = self.regions.iter().map(Vec::len).max().unwrap_or(0).div_ceil(split::tile::<K, V>() as usize);
        let region_capacity = self.regions.iter().map(Vec::len).max().unwrap_or(0) + 5;
        let all: usize = self.regions.iter().map(Vec::len).sum();
        let mut keys = vec![K::ALL_ONES; region_capacity * self.regions.len()];
        let mut values = vec![<WordOf<V>>::ALL_ONES; keys.len()];
        for (region, from) in self.regions.iter().enumerate() {
            for (i, &key) in from.iter().enumerate() {
                keys[region * region_capacity + i] = if self.level == 0 { key } else { key.mixed(a, b) };
                values[region * region_capacity + i] = Scalar::from_u64(i as u64);
            }
        }
        let side_by_side = Pairs::<REPEATS, K, V>::SIDE_BY_SIDE;
        if side_by_side && self.level != 0 {
            keys = keys.iter().zip(&values).flat_map(|(key, value)| [*key, K::from_u64(value.to_u64())]).collect();
        }
        let bins = self.regions.len() << self.bits;
        let expected = self.expected::<V>();
        let capacities = expected.iter().map(|bin| self.bin_capacity.unwrap_or(bin.len() as u32));
        let starts: Vec<u32> =
            capacities.scan(0, |sum, capacity| Some(std::mem::replace(sum, *sum + capacity))).collect();
        let capacity =
            starts[bins - 1] as usize + self.bin_capacity.unwrap_or(expected[bins - 1].len() as u32) as usize;
        let mut head = vec![0u64; header::WORDS];
        head[header::DROPPED as usize] = self.dropped_before;

        let counts_in: Vec<u32> = self.regions.iter().map(|keys| keys.len() as u32).collect();
        let counts_in = Buffer::from_slice(device, &counts_in).unwrap();
        let ends: Vec<u32> = starts.iter().copied().chain([capacity as u32]).collect();
        let starts_out = Buffer::from_slice(device, &ends).unwrap();
        let (keys, values) = (Buffer::from_slice(device, &keys).unwrap(), Buffer::from_slice(device, &values).unwrap());
        let mut keys_out = Buffer::<K>::zeroed(device, capacity * if side_by_side { 2 } else { 1 }).unwrap();
        let mut values_out = Buffer::<WordOf<V>>::zeroed(device, capacity).unwrap();
        let mut counts_out = Buffer::<u32>::zeroed(device, bins).unwrap();
        let state_words = split::state_words(self.regions.len() as u64, tiles as u64, self.bits);
        let mut state = Buffer::<u64>::zeroed(device, state_words as usize).unwrap();
        let mut head = Buffer::from_slice(device, &head).unwrap();
        let plan = SplitParams {
            a,
            b,
            region_capacity: region_capacity as u64,
            pairs: all as u64,
            bin_capacity: self.bin_capacity.unwrap_or(0),
            tiles: tiles as u32,
            shift: K::BITS - self.bits - if self.level == 0 { 0 } else { 3 },
            bits: self.bits,
            skew_limit: self.skew_limit,
            level: self.level,
        };
        // SAFETY: inputs have capacity for all regions, and outputs for all bins. The words for
        // publishing and the counts are 0. The kernel's documentation allows the nulls.
        unsafe {
            stream.launch_dyn(self.regions.len() * tiles * THREADS as usize, |uses| {
                let split = Split::<K, V, false> {
                    keys: uses.read(&keys),
                    values: uses.read(&values),
                    keys_out: uses.write(&mut keys_out),
                    values_out: uses.write(&mut values_out),
                    columns: null(),
                    counts_in: if self.level == 0 { null() } else { uses.read(&counts_in) },
                    starts_out: if self.bin_capacity.is_some() { null() } else { uses.read(&starts_out) },
                    counts_out: uses.write(&mut counts_out),
                    state: uses.write(&mut state),
                    header: uses.write(&mut head),
                    plan,
                };
                if REPEATS { Box::new(split.variant::<true>()) } else { Box::new(split) }
            })
        }
        .unwrap();

        let (keys, values) = (keys_out.download(stream).unwrap(), values_out.download(stream).unwrap());
        let counts = counts_out.download(stream).unwrap();
        let pair = |pair_index: usize| match side_by_side {
            true => (keys[2 * pair_index], Scalar::from_u64(keys[2 * pair_index + 1].to_u64())),
            false => (keys[pair_index], values[pair_index]),
        };
        let bin = |bin: usize| {
            let fits = self.bin_capacity.is_none_or(|capacity| counts[bin] <= capacity);
            let range = starts[bin] as usize..starts[bin] as usize + if fits { counts[bin] as usize } else { 0 };
            range.map(pair).map(|(key, value)| (key.unmixed(a, b), value)).collect()
        };
        Done { bins: (0..bins).map(bin).collect(), header: head.download(stream).unwrap(), counts }
    }

    /// Runs the split, checks every pair, and returns the count of dropped pairs. The last pair of
    /// a key in a tile must be kept. Other pairs may be dropped only if keys may be repeated.
    fn check<const REPEATS: bool, V: Payload>(&self, device: &Device) -> u64 {
        let expected = self.expected::<V>();
        let done = self.run::<REPEATS, V>(device);
        let mut dropped = 0;
        for (bin, expected) in expected.iter().enumerate() {
            dropped += expected.len() as u64 - done.counts[bin] as u64;
            let here = &done.bins[bin];
            if here.len() < done.counts[bin] as usize {
                continue;
            }
            // For keys without values this counts the copies of each key; for pairs it counts the
            // pairs.
            let mut left: HashMap<(K, u64), usize> = HashMap::new();
            for (key, value) in here {
                *left.entry((*key, if V::VALUE_BITS == 0 { 0 } else { value.to_u64() })).or_default() += 1;
            }
            if V::VALUE_BITS != 0 && REPEATS {
                assert!(here.is_sorted_by_key(|pair| pair.1), "bin {bin} is not in order");
            }
            let mut later = HashMap::new();
            for (i, &(key, number, tile)) in expected.iter().enumerate().rev() {
                let is_last = later.insert((key, tile), i).is_none();
                let name = (key, if V::VALUE_BITS == 0 { 0 } else { number });
                let there = left.get_mut(&name).filter(|times| **times > 0).map(|times| *times -= 1).is_some();
                assert!(there || REPEATS && !is_last, "bin {bin}: pair {number} of {key} is missing");
            }
            assert!(left.values().all(|times| *times == 0), "bin {bin} has pairs that do not belong there");
        }
        let overflow = self.bin_capacity.is_some_and(|capacity| done.counts.iter().any(|count| *count > capacity));
        let word = |word: u64| done.header[(word + self.level as u64) as usize];
        assert_eq!((word(header::OVERFLOW), word(header::DROPPED)), (overflow as u64, dropped));
        dropped
    }
}

/// Returns `n` keys: every second key is one of five, and all others are different.
fn skewed<K: Key>(n: usize) -> Vec<K> {
    let hot: Vec<K> = (0..5).map(|i| K::from_u64(i * 77 + 1)).collect();
    distinct_keys::<K>(n, 3).into_iter().enumerate().map(|(i, key)| if i % 2 == 0 { hot[i % 5] } else { key }).collect()
}

fn every_case<const REPEATS: bool, K: Key, V: Payload>(device: &Device) {
    let tile = split::tile::<K, V>() as usize;
    let spread = |n: usize| distinct_keys::<K>(n, 9);
    let case = |keys: Vec<K>, bits: u32, skew_limit: usize| Case {
        regions: vec![keys],
        level: 0,
        bits,
        skew_limit: skew_limit as u32,
        bin_capacity: None,
        dropped_before: 0,
    };
    let plain = |case: &Case<K>| assert_eq!(case.check::<REPEATS, V>(device), 0);
    let thinned = |case: &Case<K>| {
        let dropped = case.check::<REPEATS, V>(device);
        assert_eq!(dropped > 0, REPEATS, "{dropped} pairs were left out");
    };
    {
        let _at = at("into the most bins, the last tile not full");
        plain(&case(spread(tile + 100), MAX_SPLIT_BITS, tile));
        plain(&Case { bin_capacity: Some(64), ..case(spread(tile), MAX_SPLIT_BITS, tile) });
    }
    {
        let _at = at("few of many bins are skewed");
        thinned(&case(skewed(tile + 100), MAX_SPLIT_BITS, tile / 32));
    }
    {
        let _at = at("one of few bins is skewed, so that the others are looked at, too");
        thinned(&case(skewed(tile), 3, tile / 9));
    }
    {
        let _at = at("regions of a later split, the one before which left out many");
        let regions = vec![spread(tile + 50), Vec::new(), skewed(30)];
        let of_level = |level, dropped_before| Case {
            regions: regions.clone(),
            level,
            dropped_before,
            ..case(Vec::new(), 4, tile)
        };
        plain(&of_level(1, 0));
        thinned(&of_level(1, tile as u64));
    }
    {
        let _at = at("bins that overflow");
        plain(&Case { bin_capacity: Some(tile as u32 / 16 + 40), ..case(spread(tile + 100), 4, tile) });
    }
}

fn both_kernels<K: Key, V: Payload>() {
    on_all(|device| {
        every_case::<true, K, V>(device);
        every_case::<false, K, V>(device);
    });
}

warpnest_tests::of_pairs_and_keys_alone!(both_kernels);
