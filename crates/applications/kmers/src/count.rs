//! The count of packed k-mers on a device, several bins at a time.

use super::bases::Batch;
use super::keys::KeyMaker;
use super::map::CountMap;
use super::packed::{Packed, kmers};
use warpnest::primitives::{Scratch, runs_of_sorted, sort_keys};
use warpnest::types::WordKey;
use warpnest::{Buffer, Device, Result};
use warpnest_applications_kernels::kmers::MAX_NARROW_K;

/// The number of k-mers in a part on the cores of a CPU, whose keys then stay in a cache.
const PART_ON_CORES: usize = 1 << 18;
/// The number of k-mers in a part on a GPU, so that kernels take most of the time.
const PART_ON_GPU: usize = 1 << 26;
/// The number of pairs copied to the host at once.
const CHUNK: usize = 1 << 18;

/// The key of a k-mer and its count.
pub type Count = (u64, u64);
/// A function that receives some of the counts.
pub type Work<'w, E> = dyn FnMut(&[Count]) -> std::result::Result<(), E> + 'w;

/// Counts k-mers, and calls `work` with the key and the count of every distinct k-mer, some at a
/// time and in any order. The first error of `work` ends the count.
///
/// Bins are joined into parts, whose keys are made and sorted at once. The keys of a bin with more
/// k-mers than `at_once` would take too much memory. A map counts it, which stores each distinct
/// k-mer once.
///
/// # Errors
/// [`Error::OutOfMemory`](warpnest::Error::OutOfMemory),
/// [`Error::Driver`](warpnest::Error::Driver), and the errors of loading kernels.
pub fn count<E>(device: &Device, packed: &Packed, at_once: usize, work: &mut Work<'_, E>) -> Result<Result<(), E>> {
    match packed.options.k <= MAX_NARROW_K {
        true => Counter::<u32, E>::new(device, packed, at_once, work)?.count(),
        false => Counter::<u64, E>::new(device, packed, at_once, work)?.count(),
    }
}

/// A counter with keys of one type, which reuses its memory from part to part.
struct Counter<'c, K, E> {
    device: &'c Device,
    packed: &'c Packed,
    at_once: usize,
    maker: KeyMaker,
    keys: Buffer<K>,
    /// The distinct keys.
    distinct: Buffer<K>,
    /// The index at which each distinct key begins.
    starts: Buffer<u32>,
    /// The number of distinct keys.
    length: Buffer<u32>,
    scratch: Scratch,
    work: &'c mut Work<'c, E>,
    pairs: Vec<Count>,
}

impl<'c, K: WordKey + Into<u64>, E> Counter<'c, K, E> {
    fn new(device: &'c Device, packed: &'c Packed, at_once: usize, work: &'c mut Work<'c, E>) -> Result<Self> {
        Ok(Self {
            device,
            packed,
            at_once: at_once.max(1),
            maker: KeyMaker::new(device, packed.options.k, packed.options.canonical)?,
            keys: Buffer::zeroed(device, 0)?,
            distinct: Buffer::zeroed(device, 0)?,
            starts: Buffer::zeroed(device, 0)?,
            length: Buffer::zeroed(device, 1)?,
            scratch: Scratch::new(device),
            work,
            pairs: Vec::new(),
        })
    }

    fn count(mut self) -> Result<Result<(), E>> {
        let usual = if *self.device == Device::cpu() { PART_ON_CORES } else { PART_ON_GPU };
        let limit = self.at_once.min(usual);
        let mut bins = &self.packed.bins[..];
        while let Some(first) = bins.first() {
            let (mut of_part, mut total) = (1, kmers(first));
            while let Some(next) = bins.get(of_part).map(kmers).filter(|next| total + next <= limit) {
                total += next;
                of_part += 1;
            }
            let (part, rest) = bins.split_at(of_part);
            bins = rest;
            let batches: Vec<&Batch> = part.iter().flatten().collect();
            let counted = if total <= self.at_once { self.sort(&batches, total)? } else { self.add_up(&batches)? };
            if counted.is_err() {
                return Ok(counted);
            }
        }
        Ok(Ok(()))
    }

    /// Counts the k-mers of some batches by sorting them.
    fn sort(&mut self, batches: &[&Batch], total: usize) -> Result<Result<(), E>> {
        if total == 0 {
            return Ok(Ok(()));
        }
        let stream = self.device.default_stream();
        self.make_keys(batches, total)?;
        self.distinct.resize(stream, total)?;
        self.starts.resize(stream, total + 1)?;
        let Self { keys, distinct, starts, length, scratch, .. } = self;
        sort_keys(stream, scratch, keys)?;
        runs_of_sorted(stream, scratch, keys, distinct, starts, length)?;
        let length = length.download(stream)?.first().map_or(0, |length| *length as usize);
        for first in (0..length).step_by(CHUNK) {
            let end = length.min(first + CHUNK);
            let keys = self.distinct.slice(first..end)?.download(stream)?;
            let starts = self.starts.slice(first..end + 1)?.download(stream)?;
            let counts = starts.windows(2).map(|pair| u64::from(pair[1] - pair[0]));
            self.pairs.clear();
            self.pairs.extend(keys.into_iter().map(Into::into).zip(counts));
            if let Err(error) = (self.work)(&self.pairs) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    /// Counts some batches by a map, at most `at_once` k-mers at a time.
    fn add_up(&mut self, batches: &[&Batch]) -> Result<Result<(), E>> {
        let mut map: Option<CountMap<K>> = None;
        let mut batches = batches;
        while let Some(first) = batches.first() {
            let (mut of_turn, mut total) = (1, first.kmers);
            while let Some(next) = batches.get(of_turn).filter(|next| total + next.kmers <= self.at_once) {
                total += next.kmers;
                of_turn += 1;
            }
            let (turn, rest) = batches.split_at(of_turn);
            batches = rest;
            self.make_keys(turn, total)?;
            let map = match &mut map {
                Some(map) => map,
                none => none.insert(CountMap::new(self.device, total)?),
            };
            map.count(&self.keys)?;
        }
        let Some(map) = map else { return Ok(Ok(())) };
        let (keys, counts) = map.pairs(self.device)?;
        drop(map);
        let stream = self.device.default_stream();
        for first in (0..keys.len()).step_by(CHUNK) {
            let end = keys.len().min(first + CHUNK);
            let (keys, counts) =
                (keys.slice(first..end)?.download(stream)?, counts.slice(first..end)?.download(stream)?);
            self.pairs.clear();
            self.pairs.extend(keys.into_iter().map(Into::into).zip(counts));
            if let Err(error) = (self.work)(&self.pairs) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    /// Makes the keys of all batches.
    fn make_keys(&mut self, batches: &[&Batch], total: usize) -> Result<()> {
        self.keys.resize(self.device.default_stream(), total)?;
        let mut first = 0;
        for batch in batches {
            self.maker.write(batch, &mut self.keys, first)?;
            first += batch.kmers;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
