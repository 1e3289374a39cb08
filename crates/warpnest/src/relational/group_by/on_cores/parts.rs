//! Many groups: rows are divided into parts by the hashes of their keys, and each part is
//! aggregated by one core.

use super::rows::{Grouped, Rows, elements};
use super::states::{Fold, Values};
use super::table::{AT_ONCE, Hash};
use crate::primitives::Scratch;
use crate::relational::columns::Words;
use crate::relational::group_by::outputs::Computed;
use crate::runtime::engine::share;
use crate::{Buffer, Result, Stream};
use gpu_kernels::seam::{Global, Work, vectorized};
use gpu_kernels::types::{KeyWord, ValueWord};
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The count of groups of a part, if that makes neither too few nor too many parts. Their slots fit
/// into a core's private caches.
const GROUPS_OF_PART: usize = 1 << 10;
/// The bounds of the binary logarithm of the count of parts.
const MIN_BITS: u32 = 4;
const MAX_BITS: u32 = 9;
/// The fewest rows of a chunk, and the most chunks per core. With several chunks per core, a core
/// that wakes up late can process fewer.
const MIN_CHUNK_ROWS: usize = 1 << 14;
const CHUNKS_A_CORE: usize = 4;

/// Aggregates the rows of each key. Returns the count of groups, of which `expected` is an
/// estimate.
pub(super) fn by_parts<K: KeyWord + ValueWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    (rows, folds): (&Rows<'_, K>, &[Fold]),
    (hash, expected): (Hash, usize),
    computed: &mut Computed<K>,
) -> Result<usize> {
    let (device, all_rows) = (scratch.device().clone(), rows.keys.len());
    let cores = stream.machine().cores().unwrap_or(1);
    let hash = Hash { skipped: bits_for(expected, 0), ..hash };
    let divided = Divided::new(stream, scratch, rows, (hash, cores))?;
    let of_parts = divided.rows(stream)?;
    // The largest parts come first, so that no core is left with one at the end.
    let mut parts: Vec<Range<usize>> = divided.parts().collect();
    parts.sort_unstable_by_key(|part| Reverse(part.len()));
    // A part has about as many groups as any other, also where the sample missed many rare keys.
    let (mut done, count) = (Grouped::new(hash, folds), parts.len());
    done.clear(expected / count);
    parts.pop().into_iter().for_each(|part| done.add(&of_parts, part));
    let likely = done.len() * count / 4 * 5;
    let mut capacity = computed.reserve(&device, likely.max(expected).min(all_rows) as u64)?;
    // At most two steps: after the first, the groups are counted.
    let groups = loop {
        let groups = aggregate(stream, &of_parts, (&parts, &done), (hash, folds, cores), (computed, capacity))?;
        if groups as u64 <= capacity {
            break groups;
        }
        capacity = computed.reserve(&device, groups as u64)?;
    };
    computed.set_length(groups as u64);
    drop(of_parts);
    divided.give_back(scratch);
    Ok(groups)
}

/// Returns the binary logarithm of the count of parts for this many groups, but of at least `parts`
/// parts, if they are not too many.
pub(super) fn bits_for(groups: usize, parts: usize) -> u32 {
    (groups / GROUPS_OF_PART).max(parts).max(1).next_power_of_two().ilog2().clamp(MIN_BITS, MAX_BITS)
}

/// Rows in parts by the hashes of their keys, in memory of the scratch.
#[derive(Debug)]
pub(super) struct Divided<K> {
    keys: Buffer<K>,
    columns: Vec<Words>,
    /// The index of the first row of each part, and the count of all rows.
    starts: Vec<usize>,
}

impl<K: KeyWord + ValueWord> Divided<K> {
    /// Divides rows by the bits of the hashes that `hash` skips.
    pub(super) fn new(
        stream: &Stream,
        scratch: &mut Scratch,
        rows: &Rows<'_, K>,
        (hash, cores): (Hash, usize),
    ) -> Result<Self> {
        let all_rows = rows.keys.len();
        let keys = scratch.lend::<K>(all_rows)?;
        let lend = |values: &Values<'_>| match values {
            Values::Wide(_) => scratch.lend(all_rows).map(Words::Wide),
            Values::Narrow(_) | Values::RowNumbers(_) => scratch.lend(all_rows).map(Words::Narrow),
        };
        let columns = rows.columns.iter().map(lend).collect::<Result<Vec<_>>>()?;
        let starts = divide(stream, rows, (hash, cores), (&keys, &columns))?;
        Ok(Self { keys, columns, starts })
    }

    /// Returns the rows, part by part.
    pub(super) fn rows(&self, stream: &Stream) -> Result<Rows<'_, K>> {
        Ok(Rows {
            keys: elements(stream, &self.keys)?.unwrap_or_default(),
            columns: self.columns.iter().map(|words| values(stream, words)).collect::<Result<_>>()?,
        })
    }

    /// Returns the rows of each part.
    pub(super) fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.windows(2).map(|ends| ends[0]..ends[1])
    }

    pub(super) fn give_back(self, scratch: &mut Scratch) {
        scratch.give_back(self.keys);
        self.columns.into_iter().for_each(|column| column.give_back(scratch));
    }
}

/// Returns the values of a divided column.
fn values<'w>(stream: &Stream, words: &'w Words) -> Result<Values<'w>> {
    Ok(match words {
        Words::Narrow(words) => Values::Narrow(elements(stream, words)?.unwrap_or_default()),
        Words::Wide(words) => Values::Wide(elements(stream, words)?.unwrap_or_default()),
    })
}

/// Copies the rows to parts, in the order of the rows. Returns the index of the first row of each
/// part, and the count of all rows.
fn divide<K: KeyWord + ValueWord>(
    stream: &Stream,
    rows: &Rows<'_, K>,
    (hash, cores): (Hash, usize),
    (keys, columns): (&Buffer<K>, &[Words]),
) -> Result<Vec<usize>> {
    let (all_rows, parts) = (rows.keys.len(), 1 << hash.skipped);
    let chunks = (all_rows / MIN_CHUNK_ROWS).clamp(1, CHUNKS_A_CORE * cores);
    let chunk_rows = all_rows.div_ceil(chunks);
    let range = |chunk: u32| {
        let first = chunk as usize * chunk_rows;
        first.min(all_rows)..all_rows.min(first + chunk_rows)
    };
    let counts: Vec<OnceLock<Vec<u32>>> = vec![OnceLock::new(); chunks];
    share(chunks as u32, &|chunk| {
        let count = Count { hash, keys: &rows.keys[range(chunk)], counts: vec![0; parts] };
        _ = counts[chunk as usize].set(vectorized(count));
    });
    let (mut of_parts, mut before) = (Vec::with_capacity(parts + 1), 0);
    let mut of_chunks: Vec<Vec<u32>> =
        counts.into_iter().map(|counts| counts.into_inner().unwrap_or_default()).collect();
    for part in 0..parts {
        of_parts.push(before as usize);
        for chunk in &mut of_chunks {
            before += std::mem::replace(&mut chunk[part], before);
        }
    }
    of_parts.push(before as usize);
    stream.batch(|batch| {
        let (keys, columns) = (batch.write(keys), columns.iter().map(|words| words.write(batch)).collect::<Vec<_>>());
        batch.queue()?.synchronize()?;
        share(chunks as u32, &|chunk| {
            let starts = of_chunks[chunk as usize].clone();
            vectorized(Divide { hash, rows, range: range(chunk), starts, keys, columns: &columns });
        });
        Ok(())
    })?;
    Ok(of_parts)
}

/// Returns the part of each key.
#[inline(always)]
fn parts_of<K: KeyWord>(hash: Hash, keys: &[K], parts: &mut [u32; AT_ONCE]) {
    for (part, &key) in parts.iter_mut().zip(keys) {
        *part = hash.of(key).bits_from(K::BITS - hash.skipped);
    }
}

/// Counts the keys of each part.
struct Count<'k, K> {
    hash: Hash,
    keys: &'k [K],
    counts: Vec<u32>,
}

impl<K: KeyWord> Work for Count<'_, K> {
    type Output = Vec<u32>;

    #[inline(always)]
    fn run(mut self) -> Vec<u32> {
        let mut parts = [0; AT_ONCE];
        for keys in self.keys.chunks(AT_ONCE) {
            parts_of(self.hash, keys, &mut parts);
            for &part in &parts[..keys.len()] {
                self.counts[part as usize] += 1;
            }
        }
        self.counts
    }
}

/// Copies some rows to their parts, in which they begin at `starts`.
struct Divide<'r, K> {
    hash: Hash,
    rows: &'r Rows<'r, K>,
    range: Range<usize>,
    starts: Vec<u32>,
    keys: Global<K>,
    columns: &'r [Global<u64>],
}

impl<K: KeyWord> Work for Divide<'_, K> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { hash, rows, range, mut starts, keys: keys_out, columns } = self;
        let mut places = [0; AT_ONCE];
        for first in range.clone().step_by(AT_ONCE) {
            let keys = &rows.keys[first..range.end.min(first + AT_ONCE)];
            parts_of(hash, keys, &mut places);
            let places = &mut places[..keys.len()];
            for (place, &key) in places.iter_mut().zip(keys) {
                let start = &mut starts[*place as usize];
                *place = *start;
                *start += 1;
                keys_out.store((*place).into(), key);
            }
            for (values, out) in rows.columns.iter().zip(columns) {
                match values.from(first) {
                    Values::Narrow(words) => scatter(places, words.iter().copied(), out.cast::<u32>()),
                    Values::Wide(words) => scatter(places, words.iter().copied(), *out),
                    Values::RowNumbers(first) => scatter(places, first.., out.cast::<u32>()),
                }
            }
        }
    }
}

#[inline(always)]
fn scatter<W: ValueWord>(places: &[u32], words: impl Iterator<Item = W>, out: Global<W>) {
    for (&place, word) in places.iter().zip(words) {
        out.store(place.into(), word);
    }
}

/// Aggregates parts, and writes their groups and the groups of a part that is done, as long as
/// there is capacity. Returns the count of groups.
fn aggregate<K: KeyWord + ValueWord>(
    stream: &Stream,
    rows: &Rows<'_, K>,
    (parts, done): (&[Range<usize>], &Grouped<'_, K>),
    (hash, folds, cores): (Hash, &[Fold], usize),
    (computed, capacity): (&Computed<K>, u64),
) -> Result<usize> {
    let (next, found) = (AtomicUsize::new(0), AtomicUsize::new(0));
    stream.batch(|batch| {
        let (keys, outputs) = (batch.write(&computed.keys), Fold::outputs(computed, batch));
        batch.queue()?.synchronize()?;
        let write = |groups: &Grouped<'_, K>| {
            let first = found.fetch_add(groups.len(), Ordering::Relaxed);
            if (first + groups.len()) as u64 <= capacity {
                groups.write((keys, &outputs), first);
            }
        };
        write(done);
        share(cores as u32, &|_| {
            let (mut own, mut expected) = (Grouped::new(hash, folds), done.len());
            // At most as many steps as there are parts.
            while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                own.clear(expected);
                own.add(rows, part.clone());
                expected = own.len();
                write(&own);
            }
        });
        Ok(())
    })?;
    Ok(found.into_inner())
}
