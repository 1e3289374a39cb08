//! Benchmarks of joins: unique keys, small build sides, repeated keys, and all kinds.

use super::input::key;
use super::record::{Record, Subject};
use super::roofline::median_ms;
use super::{Bench, is_cpu};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::{available_parallelism, scope};
use warpnest::primitives::Scratch;
use warpnest::relational::{Join, JoinKind, JoinReport, JoinWithValues, Joined, JoinedValues, KeptSide, NO_ROW};
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device};

/// The numbers of rows per key.
const MULTIPLICITIES: [u64; 7] = [2, 16, 1 << 8, 1 << 11, 1 << 14, 1 << 17, 1 << 20];
/// The maximum number of pairs if both sides have many rows per key.
const MAX_PAIRS: u64 = 1 << 28;

/// The binary logarithms of the numbers of rows in small build sides.
const BUILD_BITS: [u32; 8] = [10, 12, 14, 16, 18, 20, 21, 22];

/// A join. Each side has consecutive key ids, starting at the side's first id.
struct Case {
    op: String,
    kind: JoinKind,
    form: Form,
    /// The two sides: the number of rows, the rows per key, and the first key id of each.
    sides: [Rows; 2],
}

/// The outputs of a join, and whether its right side is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    RowNumbers,
    /// Keys, and a value of each side. The values are row indices, so that they can be checked.
    Values,
    /// Row indices, with a right side that is kept between joins; the rate counts left rows.
    Kept,
}

/// The result of a join on the host, with its time and report.
struct Found {
    ms: f64,
    left: Vec<u32>,
    right: Vec<u32>,
    /// The number of results whose key is not the key of the left row.
    wrong_keys: u64,
    report: JoinReport,
}

#[derive(Clone, Copy)]
struct Rows {
    rows: u64,
    of_key: u64,
    first: u64,
}

impl Rows {
    fn new(rows: u64, of_key: u64) -> Self {
        Self { rows, of_key, first: 0 }
    }

    /// Returns the range of the key ids.
    fn keys(&self) -> (u64, u64) {
        (self.first, self.first + self.rows / self.of_key)
    }

    /// Returns the keys of the rows. Rows with one key are far apart; `step` is a prime that does
    /// not divide the count of rows, and determines the order.
    fn column<K: Key>(&self, step: u64) -> Vec<K> {
        (0..self.rows).map(|row| key(self.first + row * step % self.rows / self.of_key)).collect()
    }
}

impl Case {
    /// Returns the number of keys that are on both sides.
    fn common(&self) -> u64 {
        let [(a, b), (c, d)] = [self.sides[0].keys(), self.sides[1].keys()];
        b.min(d).saturating_sub(a.max(c))
    }

    /// Returns the number of pairs of rows with equal keys, and of each side's rows in no pair.
    fn pairs(&self) -> (u64, [u64; 2]) {
        let [left, right] = self.sides;
        let alone = self.sides.map(|side| side.rows - self.common() * side.of_key);
        (self.common() * left.of_key * right.of_key, alone)
    }

    /// Returns the number of rows of the result.
    fn results(&self) -> u64 {
        let (pairs, [left, right]) = self.pairs();
        match self.kind {
            JoinKind::Inner => pairs,
            JoinKind::Left => pairs + left,
            JoinKind::Right => pairs + right,
            JoinKind::Full => pairs + left + right,
            JoinKind::Semi => self.sides[0].rows - left,
            _ => left,
        }
    }
}

/// Returns the joins of `n` rows on each side, and of small build sides.
fn cases(n: u64) -> Vec<Case> {
    let unique = Rows::new(n, 1);
    let half = Rows { first: n / 2, ..unique };
    let case = |op: &str, kind, form, sides| Case { op: op.to_owned(), kind, form, sides };
    let inner = |op: &str, left, right| case(op, JoinKind::Inner, Form::RowNumbers, [left, right]);
    let kind = |op: &str, kind| case(op, kind, Form::RowNumbers, [unique, half]);
    let form = |op: &str, form| case(op, JoinKind::Inner, form, [unique, unique]);
    let mut cases = vec![
        inner("join", unique, unique),
        inner("join_half", unique, half),
        kind("join_left", JoinKind::Left),
        kind("join_full", JoinKind::Full),
        kind("join_semi", JoinKind::Semi),
        kind("join_anti", JoinKind::Anti),
        form("join_values", Form::Values),
        form("join_kept", Form::Kept),
    ];
    for bits in BUILD_BITS.into_iter().filter(|bits| 1 << bits < n) {
        let build = 1u64 << bits;
        cases.push(inner(&format!("join_build_2^{bits}"), Rows::new(n, n / build), Rows::new(build, 1)));
    }
    for times in MULTIPLICITIES.into_iter().filter(|times| times * 8 <= n) {
        cases.push(inner("join_repeated_probe", Rows::new(n, times), unique));
        cases.push(inner("join_repeated_build", unique, Rows::new(n, times)));
        if times * times <= MAX_PAIRS {
            let rows = n.min(MAX_PAIRS / times);
            cases.push(inner("join_repeated_both", Rows::new(rows, times), Rows::new(rows, times)));
        }
    }
    cases
}

/// Measures joins of `n` with `n` rows, and of `n` with fewer rows. A record's `n` is the number of
/// rows of both sides, or of left rows if the right side is kept. All pairs are checked.
///
/// The limit is a copy of the bytes of keys and pairs.
pub fn measure<K: Key>(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    cases(at.n).iter().map(|case| case.measure::<K>(&at)).collect()
}

impl Case {
    fn measure<K: Key>(&self, at: &Bench<'_>) -> anyhow::Result<Record> {
        let Bench { device, run, runs, .. } = *at;
        let op = self.op.as_str();
        let columns = [self.sides[0].column::<K>(2_654_435_761), self.sides[1].column::<K>(2_147_483_647)];
        let mut scratch = Scratch::new(device);
        let warm_ups = if is_cpu(device) { 0 } else { 2 };
        let found = self.run(device, &mut scratch, &columns, (warm_ups, runs))?;
        let Found { ms, left, right, wrong_keys, report } = found;
        let wrong = self.wrong(&columns, left, right) + wrong_keys;
        let JoinReport { method, overflowed, further_items, .. } = report;
        let rows = self.sides.map(|side| side.rows);
        let scratch_bytes = scratch.memory_bytes() as u64 / (rows[0] + rows[1]);
        let n = if self.form == Form::Kept { rows[0] } else { rows[0] + rows[1] };
        let (rate, how) = (n as f64 / ms / 1e6, if overflowed { " after an overflow" } else { "" });
        eprintln!(
            "{op}, {rows:?} rows: {ms:.3} ms, {rate:.1} G/s; {method:?}{how}, {further_items} further items, scratch {scratch_bytes} B a row"
        );
        let key_bytes = K::BITS as u64 / 8;
        let bytes = match self.form {
            Form::Values => (rows[0] + rows[1]) * (key_bytes + 4) + (key_bytes + 8) * self.results(),
            _ => (rows[0] + rows[1]) * key_bytes + 8 * self.results(),
        };
        let limit = n as f64 / (at.roofline.copy_milliseconds((bytes / 16).next_multiple_of(2).max(2))? * 1e6);
        let subject = Subject { table: "join".to_owned(), op, n, load: 0.0, key_bits: K::BITS, value_bits: 32 };
        let record = run.record(subject, ms, limit, wrong);
        let multiplicity = self.sides[0].of_key.max(self.sides[1].of_key);
        Ok(Record { multiplicity: Some(multiplicity), ..record })
    }

    /// Joins the columns `warm_ups` and `runs` times.
    fn run<K: Key>(
        &self,
        device: &Device,
        scratch: &mut Scratch,
        columns: &[Vec<K>; 2],
        (warm_ups, runs): (u32, u32),
    ) -> anyhow::Result<Found> {
        let stream = device.default_stream();
        let [left, right] = [Buffer::from_slice(device, &columns[0])?, Buffer::from_slice(device, &columns[1])?];
        if self.form == Form::Values {
            let numbers =
                |side: usize| Buffer::from_slice(device, &(0..columns[side].len() as u32).collect::<Vec<_>>());
            let (left_numbers, right_numbers) = (numbers(0)?, numbers(1)?);
            let mut join = JoinWithValues::new((&left, &left_numbers), (&right, &right_numbers));
            let mut joined = JoinedValues::new(device)?;
            join.seed(1).run_into(stream, scratch, &mut joined)?;
            let ms = median_ms(stream, warm_ups, runs, || join.run_into(stream, scratch, &mut joined))?;
            let (keys, left) = (joined.keys().download(stream)?, joined.left_values().download(stream)?);
            let is_wrong = |(key, row): &(K, u32)| columns[0][*row as usize] != *key;
            let wrong_keys = keys.into_iter().zip(left.iter().copied()).filter(is_wrong).count() as u64;
            let right = joined.right_values().download(stream)?;
            return Ok(Found { ms, left, right, wrong_keys, report: joined.report() });
        }
        let mut joined = Joined::new(device)?;
        let ms = if self.form == Form::Kept {
            let kept = KeptSide::new(device, &right)?;
            kept.join_into(self.kind, stream, scratch, &left, &mut joined)?;
            median_ms(stream, warm_ups, runs, || kept.join_into(self.kind, stream, scratch, &left, &mut joined))?
        } else {
            let mut join = Join::new(&left, &right);
            join.kind(self.kind).seed(1).run_into(stream, scratch, &mut joined)?;
            median_ms(stream, warm_ups, runs, || join.run_into(stream, scratch, &mut joined))?
        };
        let (left, right) = (joined.left_rows().download(stream)?, joined.right_rows().download(stream)?);
        Ok(Found { ms, left, right, wrong_keys: 0, report: joined.report() })
    }

    /// Returns the number of rows of both sides that are in a wrong number of pairs, plus the
    /// number of pairs that should not exist.
    fn wrong<K: Key>(&self, columns: &[Vec<K>; 2], left: Vec<u32>, mut right: Vec<u32>) -> u64 {
        let has_pairs = !matches!(self.kind, JoinKind::Semi | JoinKind::Anti);
        right.resize(left.len(), NO_ROW);
        let times = columns.each_ref().map(|column| column.iter().map(|_| AtomicU32::new(0)).collect::<Vec<_>>());
        let wrong = AtomicU64::new(left.len().abs_diff(self.results() as usize) as u64);
        let a_thread = left.len().div_ceil(available_parallelism().map_or(1, usize::from)).max(1);
        scope(|scope| {
            for (left, right) in left.chunks(a_thread).zip(right.chunks(a_thread)) {
                let (times, wrong) = (&times, &wrong);
                scope.spawn(move || {
                    for (&left, &right) in left.iter().zip(right) {
                        for (row, times) in [left, right].into_iter().zip(times).filter(|(row, _)| *row != NO_ROW) {
                            times[row as usize].fetch_add(1, Ordering::Relaxed);
                        }
                        let is_pair = left != NO_ROW && right != NO_ROW;
                        let agree = !is_pair || columns[0][left as usize] == columns[1][right as usize];
                        if !agree || is_pair && !has_pairs || left == NO_ROW && right == NO_ROW {
                            wrong.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        // A row is in as many pairs as the other side has rows with its key, or in one result
        // alone.
        let (pairs, alone) = self.pairs();
        for (side, times) in times.iter().enumerate() {
            let of_other = if has_pairs { self.sides[1 - side].of_key } else { 1 };
            let is_wrong = |times: &&AtomicU32| ![0, 1, of_other as u32].contains(&times.load(Ordering::Relaxed));
            let all: u64 = times.iter().map(|times| times.load(Ordering::Relaxed) as u64).sum();
            let expected = match (self.kind, side) {
                (JoinKind::Semi | JoinKind::Anti, 0) => self.results(),
                (JoinKind::Semi | JoinKind::Anti, _) => 0,
                (JoinKind::Full, _) | (JoinKind::Left, 0) | (JoinKind::Right, 1) => pairs + alone[side],
                _ => pairs,
            };
            let of_side = times.iter().filter(is_wrong).count() as u64 + all.abs_diff(expected);
            wrong.fetch_add(of_side, Ordering::Relaxed);
        }
        wrong.into_inner()
    }
}
