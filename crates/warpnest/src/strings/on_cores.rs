//! The assignment of ids to rows on the cores of a CPU. Each core first assigns ids to a chunk of
//! the rows, and then merges the strings of all chunks in its part of the hash range.

use super::hashing::Hashed;
use super::numbered::Numbered;
use super::numbers::Numbers;
use rayon::prelude::*;

/// The fewest rows of a chunk. With smaller chunks, merging their strings takes longer than another
/// core saves.
const MIN_CHUNK_ROWS: usize = 1 << 14;

/// The count of rows that are hashed together before ids are assigned to them.
const ROWS_AT_ONCE: usize = 256;

/// Assigns ids to the rows of a column on `cores` cores. There must be fewer than 2^32 rows.
pub(super) fn numbered(cores: usize, strings: &dyn Hashed) -> Numbered {
    let rows = strings.rows();
    let cores = (rows / MIN_CHUNK_ROWS).clamp(1, cores.max(1));
    let chunk_rows = rows.div_ceil(cores).max(1);
    let mut ids = vec![0; rows];
    let chunks: Vec<Chunk> = ids
        .par_chunks_mut(chunk_rows)
        .enumerate()
        .with_max_len(1)
        .map(|(chunk, ids)| Chunk::of(chunk * chunk_rows, ids, strings))
        .collect();
    let numbered = match <[Chunk; 1]>::try_from(chunks) {
        Ok([chunk]) => chunk.into_numbered(),
        Err(chunks) => {
            let (numbered, translations) = merged(&chunks);
            let of_chunks = ids.par_chunks_mut(chunk_rows).zip(&translations);
            of_chunks.for_each(|(ids, translation)| ids.iter_mut().for_each(|id| *id = translation[*id as usize]));
            numbered
        }
    };
    Numbered { ids, ..numbered }
}

/// The distinct strings in a chunk of the rows.
#[derive(Default)]
struct Chunk<'s> {
    numbers: Numbers<'s>,
    counts: Vec<u32>,
    first_rows: Vec<u32>,
}

impl<'s> Chunk<'s> {
    /// Assigns ids to `ids.len()` rows that begin at `first`.
    fn of(first: usize, ids: &mut [u32], strings: &'s dyn Hashed) -> Self {
        let (mut chunk, mut hashes) = (Self::default(), [0; ROWS_AT_ONCE]);
        for (part, ids) in ids.chunks_mut(ROWS_AT_ONCE).enumerate() {
            let first = first + part * ROWS_AT_ONCE;
            strings.hash(first, &mut hashes[..ids.len()]);
            for ((row, id), &hash) in (first..).zip(ids).zip(&hashes) {
                *id = chunk.numbers.get_or_insert(hash, strings.row(row));
                if *id as usize == chunk.counts.len() {
                    chunk.counts.push(0);
                    chunk.first_rows.push(row as u32);
                }
                chunk.counts[*id as usize] += 1;
            }
        }
        chunk
    }

    /// Returns the results for all rows if this chunk contains all of them, except for the ids.
    fn into_numbered(self) -> Numbered {
        let Self { numbers, counts, first_rows } = self;
        let mut sharing: Vec<u32> = numbers.sharing().collect();
        sharing.sort_unstable();
        Numbered { counts, first_rows, hashes: numbers.hashes().to_vec(), sharing, ..Numbered::default() }
    }
}

/// Merges the chunks. Returns the results for the rows of all chunks, except for the ids, and for
/// each chunk the ids of its strings.
fn merged(chunks: &[Chunk<'_>]) -> (Numbered, Vec<Vec<u32>>) {
    let part_of = |hash: u64| ((u128::from(hash) * chunks.len() as u128) >> 64) as usize;
    // For each part of the hash range, its strings, and their ids in the order of the chunks.
    let parts = (0..chunks.len()).into_par_iter().with_max_len(1).map(|part| {
        let mut numbers = Numbers::default();
        let all = chunks.iter().flat_map(|chunk| chunk.numbers.iter());
        let of_part = all.filter(|&(_, hash)| part_of(hash) == part);
        let in_turn: Vec<u32> = of_part.map(|(string, hash)| numbers.get_or_insert(hash, string)).collect();
        (numbers, in_turn)
    });
    let parts: Vec<(Numbers<'_>, Vec<u32>)> = parts.collect();
    let mut in_turn: Vec<_> = parts.iter().map(|(_, in_turn)| in_turn.iter()).collect();
    let mut ids: Vec<Vec<u32>> = parts.iter().map(|(numbers, _)| Vec::with_capacity(numbers.len())).collect();
    let mut numbered = Numbered::default();
    let mut id = |chunk: &Chunk<'_>, number: usize| {
        let hash = chunk.numbers.hashes()[number];
        let part = part_of(hash);
        // `in_turn` has an id for each string of every chunk, in this order.
        let in_part = in_turn[part].next().copied().unwrap_or_default() as usize;
        if in_part == ids[part].len() {
            ids[part].push(numbered.counts.len() as u32);
            numbered.hashes.push(hash);
            numbered.counts.push(0);
            numbered.first_rows.push(chunk.first_rows[number]);
        }
        let id = ids[part][in_part];
        numbered.counts[id as usize] += chunk.counts[number];
        id
    };
    let translations =
        chunks.iter().map(|chunk| (0..chunk.numbers.len()).map(|number| id(chunk, number)).collect()).collect();
    for ((numbers, _), ids) in parts.iter().zip(&ids) {
        numbered.sharing.extend(numbers.sharing().map(|number| ids[number as usize]));
    }
    numbered.sharing.sort_unstable();
    (numbered, translations)
}
