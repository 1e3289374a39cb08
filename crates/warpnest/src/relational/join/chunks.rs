//! Joins whose pairs are returned in chunks.

use super::by_keys::Join;
use super::columns::Columns;
use super::joined::{JoinKind, JoinMethod, Joined};
use super::run::{Arranged, Input, arrange, run};
use super::sides::{Side, Sides, renumber};
use crate::primitives::Scratch;
use crate::runtime::view::BufferView;
use crate::types::Plain;
use crate::{Buffer, Error, Key, Result, Stream};
use gpu_kernels::types::KeyWord;
use std::iter::once;
use std::ops::{Deref, Range};

/// The first row of a part is a multiple of this, because kernels need arrays that are aligned to
/// 16 bytes.
const ALIGNED_ROWS: usize = 4;

impl<K: Key> Join<'_, K> {
    /// Passes the pairs to `each` in chunks of at most `most_pairs` pairs (0 counts as 1), for
    /// joins with more pairs than fit into memory. Returns the count of all pairs.
    ///
    /// ```
    /// use warpnest::relational::Join;
    /// use warpnest::{Device, Error, primitives::Scratch};
    ///
    /// let device = Device::best()?;
    /// let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
    /// let (left, right) = ([7u32; 1000], [7u32; 300]);
    /// let mut chunks = 0;
    /// let pairs = Join::new(&left, &right).run_in_chunks(stream, &mut scratch, 4096, |chunk| {
    ///     assert!(chunk.left_rows().len() <= 4096);
    ///     chunks += 1;
    ///     Ok::<(), Error>(())
    /// })?;
    /// assert_eq!(pairs, 300_000);
    /// assert!(chunks > 300_000 / 4096);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// - **Kinds.** All kinds are supported. In a right or full join, unmatched right rows come
    ///   last.
    /// - **Complexity.** The rows of one side are arranged once, and read for each chunk, as in a
    ///   [`KeptSide`](super::KeptSide): the smaller side in inner joins, and the right side in
    ///   other joins. The rows of the other side are joined in parts. If a part has more pairs than
    ///   a chunk, it is divided further, so some rows are looked up two or three times. If one row
    ///   has more pairs than a chunk, it is joined with one part of the arranged side at a time.
    ///   Right and full joins also arrange the left rows, to find the unmatched right rows.
    /// - **Memory.** A chunk takes 8 bytes per pair, and its memory is reused for the next chunk.
    ///   The arranged side takes the memory of a [`KeptSide`](super::KeptSide), and so does the
    ///   scratch. It may be more than [`Join::scratch_bytes`], because large sides are split.
    ///
    /// # Errors
    /// The errors of [`Join::run_on`], and the errors of `each`, after which no further chunk is
    /// passed to it.
    pub fn run_in_chunks<E: From<Error>>(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        most_pairs: usize,
        each: impl FnMut(&Joined) -> Result<(), E>,
    ) -> Result<u64, E> {
        let joined = Joined::new(scratch.device())?;
        let mut chunks = Chunks { stream, most: most_pairs.max(1), joined, pairs: 0, each };
        // Errors of `each` are returned beside the library's own errors.
        let done =
            self.joined.run_with(&self.options, stream, scratch, |sides, scratch| Ok(chunks.all(sides, scratch)))?;
        done.map(|()| chunks.pairs)
    }
}

/// The chunks of a join.
struct Chunks<'c, F> {
    stream: &'c Stream,
    /// The most pairs of a chunk.
    most: usize,
    joined: Joined,
    /// The count of pairs of all chunks so far.
    pairs: u64,
    each: F,
}

/// A join that is computed in parts.
struct Task<'t, W> {
    /// The tables. The rows of the first table are divided into parts.
    sides: [&'t Side<'t, W>; 2],
    kind: JoinKind,
    method: JoinMethod,
    seed: u64,
    /// Whether the first table is the right one.
    are_swapped: bool,
}

impl<'t, W: KeyWord> Task<'t, W> {
    /// Returns the keys of some rows of a table, and their indices unless all rows have keys.
    fn part(
        &self,
        stream: &Stream,
        scratch: &Scratch,
        table: usize,
        rows: &Range<usize>,
    ) -> Result<(Part<'t, W>, Option<Part<'t, u32>>)> {
        let side = self.sides[table];
        let numbers = side.numbers().map(|numbers| Part::new(stream, scratch, numbers, rows)).transpose()?;
        Ok((Part::new(stream, scratch, side.keys(), rows)?, numbers))
    }
}

impl<E: From<Error>, F: FnMut(&Joined) -> Result<(), E>> Chunks<'_, F> {
    fn all<W: KeyWord>(&mut self, sides: &Sides<'_, W>, scratch: &mut Scratch) -> Result<(), E> {
        let Sides { left, right, method, seed, .. } = sides;
        let task = |sides, kind, are_swapped| Task { sides, kind, method: *method, seed: *seed, are_swapped };
        let right_is_larger = left.keys().len() < right.keys().len();
        let (first, has_right_alone) = match sides.kind {
            JoinKind::Right => (JoinKind::Inner, true),
            JoinKind::Full => (JoinKind::Left, true),
            kind => (kind, false),
        };
        // If the kind of join allows either side, the smaller side is arranged.
        match first {
            JoinKind::Inner if right_is_larger => self.by_parts(scratch, &task([right, left], first, true))?,
            _ => self.by_parts(scratch, &task([left, right], first, false))?,
        }
        if has_right_alone { self.by_parts(scratch, &task([right, left], JoinKind::Anti, true)) } else { Ok(()) }
    }

    /// Joins the first table, one part at a time, with the whole second table, and passes on the
    /// chunks.
    fn by_parts<W: KeyWord>(&mut self, scratch: &mut Scratch, task: &Task<'_, W>) -> Result<(), E> {
        let Task { sides: [probe, build], kind, method, seed, .. } = *task;
        let nothing = Buffer::uninitialized(scratch.device(), 0)?;
        let values = [None, build.numbers()];
        let input =
            Input { keys: [&nothing, build.keys()], values, kind: JoinKind::Left, method, seed, light_rows: None };
        let arranged = arrange(self.stream, scratch, input)?;
        let all = 0..build.keys().len();
        let mut parts: Vec<Range<usize>> = once(0..probe.keys().len()).collect();
        while let Some(rows) = parts.pop() {
            let pairs = self.join(scratch, task, Some(&arranged), [&rows, &all])?;
            if pairs <= self.most as u64 {
                self.give(task)?;
            } else if rows.len() > 1 {
                divide(&mut parts, &rows, pairs, self.most);
            } else {
                // The row has pairs, so it is not unmatched.
                let of_row = Task { kind: JoinKind::Inner, method: JoinMethod::OnChip, ..*task };
                self.by_parts_of_second(scratch, &of_row, &rows, all.clone())?;
            }
        }
        if kind.has_rows_alone()[0] { self.null_rows(scratch, task) } else { Ok(()) }
    }

    /// Passes on the pairs of a row with more pairs than a chunk, from one part of the second table
    /// at a time.
    fn by_parts_of_second<W: KeyWord>(
        &mut self,
        scratch: &mut Scratch,
        task: &Task<'_, W>,
        row: &Range<usize>,
        all: Range<usize>,
    ) -> Result<(), E> {
        let mut parts: Vec<Range<usize>> = once(all).collect();
        while let Some(rows) = parts.pop() {
            let pairs = self.join(scratch, task, None, [row, &rows])?;
            if pairs <= self.most as u64 {
                self.give(task)?;
            } else {
                divide(&mut parts, &rows, pairs, self.most);
            }
        }
        Ok(())
    }

    /// Joins a part of each table; returns the count of pairs. If the pairs fit into a chunk, they
    /// are written, with the indices of the rows in their tables.
    fn join<W: KeyWord>(
        &mut self,
        scratch: &mut Scratch,
        task: &Task<'_, W>,
        arranged: Option<&Arranged>,
        parts: [&Range<usize>; 2],
    ) -> Result<u64> {
        let Task { kind, method, seed, .. } = *task;
        let stream = self.stream;
        let (left_keys, left_numbers) = task.part(stream, scratch, 0, parts[0])?;
        let (right_keys, right_numbers) = task.part(stream, scratch, 1, parts[1])?;
        let values = [left_numbers.as_deref(), right_numbers.as_deref()];
        let input = Input { keys: [&*left_keys, &*right_keys], values, kind, method, seed, light_rows: None };
        let Joined { left, right, report } = &mut self.joined;
        let columns = Columns { most: self.most as u64, besides: 0, left: &mut *left, right: &mut *right, keys: None };
        let (pairs, new) = run(stream, scratch, input, arranged, Some(columns))?;
        *report = new;
        for ((rows, numbers), part) in [left, right].into_iter().zip(values).zip(parts) {
            match numbers {
                // Splits write the rows' indices in the table.
                Some(_) if new.method == JoinMethod::Split => {}
                Some(_) => renumber(stream, rows, numbers, 0)?,
                None if part.start == 0 => {}
                None => renumber(stream, rows, None, part.start as u32)?,
            }
        }
        Ok(pairs)
    }

    /// Passes on the rows of the first table that have no key.
    fn null_rows<W>(&mut self, scratch: &mut Scratch, task: &Task<'_, W>) -> Result<(), E> {
        let side = task.sides[0];
        let numbers = scratch.lend::<u32>(side.null_rows() as usize)?;
        side.write_null_rows(self.stream, scratch, &numbers)?;
        for start in (0..numbers.len()).step_by(self.most) {
            let part = numbers.slice(start..numbers.len().min(start + self.most))?;
            let Joined { left, right, .. } = &mut self.joined;
            left.resize(self.stream, part.len())?;
            left.copy_from(self.stream, &part)?;
            right.empty();
            if task.kind.has_right_rows() {
                alone(self.stream, right, part.len())?;
            }
            self.give(task)?;
        }
        scratch.give_back(numbers);
        Ok(())
    }

    /// Passes the current chunk to `each`, unless it is empty.
    fn give<W>(&mut self, task: &Task<'_, W>) -> Result<(), E> {
        if self.joined.is_empty() {
            return Ok(());
        }
        if task.are_swapped {
            let Joined { left, right, .. } = &mut self.joined;
            std::mem::swap(left, right);
            if !task.kind.has_right_rows() {
                alone(self.stream, left, right.len())?;
            }
        }
        self.stream.synchronize()?;
        self.pairs += self.joined.len() as u64;
        (self.each)(&self.joined)
    }
}

/// Sets `rows` to `length` elements of `NO_ROW`.
fn alone(stream: &Stream, rows: &mut Buffer<u32>, length: usize) -> Result<()> {
    rows.resize(stream, length)?;
    stream.batch(|batch| batch.fill_bytes(rows, 0..4 * length, u8::MAX))
}

/// Divides `rows`, which have `pairs` pairs, into parts and adds these to `parts`. If pairs are
/// spread evenly, each part has fewer pairs than a chunk.
fn divide(parts: &mut Vec<Range<usize>>, rows: &Range<usize>, pairs: u64, most: usize) {
    let wanted = (pairs.saturating_add(pairs / 8).div_ceil(most as u64) as usize).clamp(2, rows.len());
    let length = match rows.len().div_ceil(wanted).next_multiple_of(ALIGNED_ROWS) {
        length if length < rows.len() => length,
        _ => rows.len().div_ceil(2),
    };
    let starts = rows.clone().step_by(length).rev();
    parts.extend(starts.map(|start| start..rows.end.min(start + length)));
}

/// A part of a buffer that is aligned as kernels need it.
enum Part<'b, T> {
    View(BufferView<'b, T>),
    /// A copy of rows whose first row is not aligned.
    Copy(Buffer<T>),
}

impl<'b, T: Plain> Part<'b, T> {
    fn new(stream: &Stream, scratch: &Scratch, buffer: &'b Buffer<T>, rows: &Range<usize>) -> Result<Self> {
        let view = buffer.slice(rows.clone())?;
        if rows.start.is_multiple_of(ALIGNED_ROWS) {
            return Ok(Self::View(view));
        }
        Ok(Self::Copy(view.duplicate(stream, scratch.device())?))
    }
}

impl<T> Deref for Part<'_, T> {
    type Target = Buffer<T>;
    fn deref(&self) -> &Buffer<T> {
        match self {
            Self::View(view) => view,
            Self::Copy(copy) => copy,
        }
    }
}
