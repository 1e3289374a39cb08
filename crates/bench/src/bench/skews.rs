//! Benchmarks of frequent keys beside distinct keys: every kind of join with either side skewed,
//! and batches that change a map.

use super::Bench;
use super::input::{Repeats, key, ranks};
use super::record::{Record, Subject};
use super::roofline::median_ms;
use warpnest::design::Changes;
use warpnest::design::{BulkMap, Config};
use warpnest::primitives::Scratch;
use warpnest::relational::{Join, JoinKind, Joined, NO_ROW};
use warpnest::types::WordKey as Key;
use warpnest::{Answers, Buffer, ExtendibleConfig, LinearConfig, PageConfig};

/// The number of unmeasured calls of an operation.
const WARM_UPS: u32 = 1;

/// The distributions of the keys of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Skew {
    Distinct,
    OneKey,
    TwoKeys,
    /// 2^10 keys with equally many rows each.
    Equal,
    /// Frequencies about proportional to 1 / rank^1.2.
    Zipf,
    /// One key in the last quarter of the rows, and a distinct key in each other row.
    HotQuarter,
}

impl Skew {
    const ALL: [Self; 6] = [Self::Distinct, Self::OneKey, Self::TwoKeys, Self::Equal, Self::Zipf, Self::HotQuarter];

    fn name(self) -> &'static str {
        match self {
            Self::Distinct => "distinct",
            Self::OneKey => "one_key",
            Self::TwoKeys => "two_keys",
            Self::Equal => "equal",
            Self::Zipf => "zipf_1.2",
            Self::HotQuarter => "hot_quarter",
        }
    }

    /// Returns the rank of each row's key, below `n`; the most frequent key has rank 0.
    fn ranks(self, n: u64) -> Vec<u64> {
        match self {
            // A prime step that does not divide n visits every rank once.
            Self::Distinct => (0..n).map(|row| row * 2_147_483_647 % n).collect(),
            Self::OneKey => vec![0; n as usize],
            Self::TwoKeys => (0..n).map(|row| row % 2).collect(),
            Self::Equal => (0..n).map(|row| row * 2_147_483_647 % n % (1 << 10)).collect(),
            Self::Zipf => ranks(n, Repeats::Zipf).into_iter().map(|rank| rank - 1).collect(),
            Self::HotQuarter => (0..n).map(|row| if row < n - n / 4 { row } else { 0 }).collect(),
        }
    }
}

/// The kinds of joins, and the names of their records.
const KINDS: [(JoinKind, &str); 6] = [
    (JoinKind::Inner, "inner"),
    (JoinKind::Left, "left"),
    (JoinKind::Right, "right"),
    (JoinKind::Full, "full"),
    (JoinKind::Semi, "semi"),
    (JoinKind::Anti, "anti"),
];

/// Measures every kind of join of `n` with `n` rows. One side has frequent keys, and two rows of
/// the other side have the most frequent key. An eighth of each side's keys are absent from the
/// other side. Semi and anti joins are also measured with Zipf's distribution on both sides. All
/// rows of all results are checked.
pub fn joins<K: Key>(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    let n = at.n;
    // The most frequent key has the last rank that is on both sides.
    let skewed = |skew: Skew| -> Vec<u64> { skew.ranks(n).into_iter().map(|rank| n - 1 - rank).collect() };
    let mut other: Vec<u64> = Skew::Distinct.ranks(n).into_iter().map(|rank| rank + n / 8).collect();
    other[n as usize / 2] = n - 1;
    let mut records = Vec::new();
    for skew in Skew::ALL {
        let hot = skewed(skew);
        for (side, columns) in [("left", [&hot, &other]), ("right", [&other, &hot])] {
            if skew == Skew::Distinct && side == "right" {
                continue;
            }
            let name = format!("{}_{side}", skew.name());
            records.extend(joins_of::<K>(at, &name, columns, &KINDS)?);
        }
    }
    let zipf = skewed(Skew::Zipf);
    records.extend(joins_of::<K>(at, "zipf_1.2_both", [&zipf, &zipf], &KINDS[4..])?);
    Ok(records)
}

fn joins_of<K: Key>(
    at: Bench<'_>,
    skew: &str,
    ranks: [&Vec<u64>; 2],
    kinds: &[(JoinKind, &str)],
) -> anyhow::Result<Vec<Record>> {
    let (device, stream) = (at.device, at.device.default_stream());
    let column = |ranks: &[u64]| Buffer::from_slice(device, &ranks.iter().map(|&rank| key(rank)).collect::<Vec<K>>());
    let [left, right] = [column(ranks[0])?, column(ranks[1])?];
    let mut counts = [vec![0u32; 2 * at.n as usize], vec![0u32; 2 * at.n as usize]];
    for (counts, ranks) in counts.iter_mut().zip(ranks) {
        ranks.iter().for_each(|&rank| counts[rank as usize] += 1);
    }
    let (mut scratch, mut joined, mut records) = (Scratch::new(device), Joined::new(device)?, Vec::new());
    for &(kind, name) in kinds {
        let mut join = Join::new(&left, &right);
        join.kind(kind).seed(1);
        let ms = median_ms(stream, WARM_UPS, at.runs, || join.run_into(stream, &mut scratch, &mut joined))?;
        let rows = [joined.left_rows().download(stream)?, joined.right_rows().download(stream)?];
        let wrong = wrong_rows(kind, ranks, &counts, &rows);
        let op = format!("join_{name}_{skew}");
        eprintln!("{op}, {} rows a side: {ms:.3} ms, {} results, {:?}", at.n, rows[0].len(), joined.report());
        let subject =
            Subject { table: "join".to_owned(), op: &op, n: 2 * at.n, load: 0.0, key_bits: K::BITS, value_bits: 32 };
        let bytes = 2 * at.n * K::BITS as u64 / 8 + 8 * rows[0].len() as u64;
        let limit = 2.0 * at.n as f64 / (at.roofline.copy_milliseconds((bytes / 16).next_multiple_of(2))? * 1e6);
        records.push(at.run.record(subject, ms, limit, wrong));
    }
    Ok(records)
}

/// Returns the number of rows that are in a wrong number of results, plus the number of results
/// that join rows of different keys. `counts` has the number of rows with each rank on each side.
fn wrong_rows(kind: JoinKind, ranks: [&Vec<u64>; 2], counts: &[Vec<u32>; 2], rows: &[Vec<u32>; 2]) -> u64 {
    let (has_pairs, alone) = match kind {
        JoinKind::Inner => (true, [false, false]),
        JoinKind::Left => (true, [true, false]),
        JoinKind::Right => (true, [false, true]),
        JoinKind::Full => (true, [true, true]),
        _ => (false, [false, false]),
    };
    let mut wrong = 0;
    let mut times = [vec![0u32; ranks[0].len()], vec![0u32; ranks[1].len()]];
    for result in 0..rows[0].len() {
        let row = [rows[0][result], rows[1].get(result).copied().unwrap_or(NO_ROW)];
        let there = row.map(|row| row != NO_ROW);
        let is_pair = there == [true, true];
        wrong += (is_pair && ranks[0][row[0] as usize] != ranks[1][row[1] as usize]) as u64;
        wrong += (is_pair && !has_pairs || there == [false, false]) as u64;
        for side in 0..2 {
            if there[side] {
                times[side][row[side] as usize] += 1;
            }
        }
    }
    for side in 0..2 {
        for (row, &times) in times[side].iter().enumerate() {
            let of_other = counts[1 - side][ranks[side][row] as usize];
            let expected = match kind {
                JoinKind::Semi => (side == 0 && of_other != 0) as u32,
                JoinKind::Anti => (side == 0 && of_other == 0) as u32,
                _ => of_other.max(alone[side] as u32),
            };
            wrong += (times != expected) as u64;
        }
    }
    wrong
}

/// Measures batches of each skew that change maps of each design. Three quarters of `n` keys are in
/// the map before. The operations are insertions of new keys (for `grow`, into a map without
/// capacity for them), and removals with and without answers, by batches of n / 4 and n / 64 rows.
/// A record's `n` is the rows of its batch.
pub fn changes<K: Key>(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    let pairs = at.n as usize;
    let (page, linear) = (PageConfig::default().seed(1), LinearConfig::default().seed(1));
    let mut records = changes_of::<K, _>(at, [page.clone().pairs(pairs), page])?;
    records.extend(changes_of::<K, _>(at, [linear.clone().pairs(pairs), linear])?);
    let extendible = ExtendibleConfig::default().seed(1);
    records.extend(changes_of::<K, _>(at, [extendible.clone(), extendible])?);
    Ok(records)
}

/// Measures the batches in maps of the first configuration, or for `grow` of the second one.
fn changes_of<K: Key, D: Changes>(at: Bench<'_>, configs: [Config<D>; 2]) -> anyhow::Result<Vec<Record>> {
    let (device, stream) = (at.device, at.device.default_stream());
    let base = at.n - at.n / 4;
    let column = |ranks: &[u64]| Buffer::from_slice(device, &ranks.iter().map(|&rank| key(rank)).collect::<Vec<K>>());
    let base_keys = column(&(0..base).collect::<Vec<u64>>())?;
    let base_values = Buffer::from_slice(device, &(0..base as u32).collect::<Vec<u32>>())?;
    let mut map: BulkMap<K, u32, D> = configs[0].create(device)?;
    let mut records = Vec::new();
    for share in [4, 64] {
        let rows = at.n / share;
        let numbers = Buffer::from_slice(device, &(0..rows as u32).collect::<Vec<u32>>())?;
        let mut answers = Answers::new(device, rows as usize)?;
        for skew in Skew::ALL {
            let ranks = skew.ranks(rows);
            let new: Vec<u64> = ranks.iter().map(|rank| base + rank).collect();
            let [old_keys, new_keys] = [column(&ranks)?, column(&new)?];
            let mut seen = vec![false; rows as usize];
            ranks.iter().for_each(|&rank| seen[rank as usize] = true);
            let distinct = seen.iter().filter(|&&seen| seen).count();
            for op in ["insert", "grow", "erase", "remove"] {
                let (mut times, mut wrong) = (Vec::new(), 0);
                for _ in 0..WARM_UPS + at.runs {
                    if op == "grow" {
                        map = configs[1].create(device)?;
                    } else {
                        map.clear()?;
                    }
                    map.insert_many(&base_keys, &base_values)?;
                    let start = stream.record()?;
                    let changed = match op {
                        "insert" | "grow" => map.insert_many(&new_keys, &numbers)?,
                        "erase" => map.erase_many(&old_keys)?,
                        _ => map.remove_many_into(stream, &old_keys, &mut answers)?,
                    };
                    times.push(stream.record()?.milliseconds_since(&start)?);
                    wrong += changed.abs_diff(distinct) as u64;
                }
                wrong += match op {
                    "insert" | "grow" => {
                        let found = map.get_many_on(stream, &new_keys)?.download(stream)?;
                        let is_right = |(row, found): (usize, &Option<u32>)| {
                            found.is_some_and(|found| ranks[found as usize] == ranks[row])
                        };
                        found.iter().enumerate().filter(|&pair| !is_right(pair)).count() as u64
                    }
                    _ => {
                        let words = map.contains_many_on(stream, &old_keys)?.download(stream)?;
                        words.iter().map(|word| word.count_ones() as u64).sum()
                    }
                };
                if op == "grow" {
                    map = configs[0].create(device)?;
                }
                times.remove(0);
                times.sort_by(f64::total_cmp);
                let op = format!("{op}_1/{share}_{}", skew.name());
                eprintln!("{} {op}, {rows} rows: {:.3} ms", D::NAME, times[times.len() / 2]);
                let subject = Subject {
                    table: format!("{}Map", D::NAME),
                    op: &op,
                    n: rows,
                    load: 0.0,
                    key_bits: K::BITS,
                    value_bits: 32,
                };
                records.push(at.run.record(subject, times[times.len() / 2], 0.0, wrong));
            }
        }
    }
    Ok(records)
}
