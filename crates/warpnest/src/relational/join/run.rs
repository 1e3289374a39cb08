//! Runs a join.

use super::columns::{Columns, Outputs};
use super::joined::{JoinKind, JoinMethod, JoinReport};
use super::launches::Launches;
use super::pass::{LEFT, Pass, RIGHT};
use super::plan::{HEADERS, JoinPlan, ToArrange};
use super::side_layout::{Arrangement, SideLayout};
use crate::hash::constants;
use crate::primitives::Scratch;
use crate::runtime::stream::Batch;
use crate::{Buffer, Result, Stream};
use gpu_kernels::page::header::{LEVELS, OVERFLOW};
use gpu_kernels::relational::join::header;
use gpu_kernels::types::KeyWord;

/// The inputs and options of a join.
#[derive(Clone, Copy)]
pub(super) struct Input<'i, K> {
    pub keys: [&'i Buffer<K>; 2],
    /// The values that are written instead of row indices if rows are split.
    pub values: [Option<&'i Buffer<u32>>; 2],
    pub kind: JoinKind,
    pub method: JoinMethod,
    pub seed: u64,
    /// The most build rows of a bin that does not count as heavy, if it differs from the plan's
    /// value.
    pub light_rows: Option<u32>,
}

/// A right side that has been arranged, in its own memory.
#[derive(Debug)]
pub(super) struct Arranged {
    pub plan: JoinPlan,
    pub memory: Buffer<u64>,
    /// Whether the last split was repeated.
    has_starts: bool,
}

/// Arranges only the right side, for later joins of left rows with it.
pub(super) fn arrange<K: KeyWord>(stream: &Stream, scratch: &mut Scratch, input: Input<'_, K>) -> Result<Arranged> {
    let Input { keys, values, mut method, seed, light_rows, .. } = input;
    let device = scratch.device().clone();
    let rows = keys.map(|keys| keys.len() as u64);
    // Any pass whose build side is the right side would do.
    let passes = Pass::of(JoinKind::Left, rows);
    let mut is_skewed = false;
    loop {
        let how = (method, &passes[..], light_rows);
        let plan = JoinPlan::new::<K>(stream.machine(), rows, how, [false, is_skewed], ToArrange::Right);
        let memory = Buffer::uninitialized(&device, plan.sides[RIGHT].end as usize)?;
        let scratch = scratch.reserve(plan.words)?;
        let values = if plan.method == JoinMethod::Split { values } else { [None; 2] };
        let own = Some(&memory);
        let launches = Launches { plan: &plan, keys, values, constants: constants(seed), scratch, own };
        let mut course = Course { stream, launches: &launches, passes: &passes, have_starts: [false; 2] };
        stream.batch(|batch| launches.arrange(batch))?;
        let mut overflow = course.overflow(&course.headers()?, RIGHT);
        if overflow == Overflow::Last {
            course.have_starts[RIGHT] = true;
            stream.batch(|batch| course.split_again(batch))?;
            overflow = course.overflow(&course.headers()?, RIGHT);
        }
        match overflow {
            Overflow::None => {
                let has_starts = course.have_starts[RIGHT];
                return Ok(Arranged { plan, memory, has_starts });
            }
            _ if is_skewed && plan.method == JoinMethod::Direct => (method, is_skewed) = (JoinMethod::Split, false),
            _ => is_skewed = true,
        }
    }
}

/// Joins both sides into `columns`, or only counts the pairs. Returns the count of pairs, and a
/// report. If rows are split, keys are written, too, and values replace row indices. If there are
/// more pairs than `columns.most`, no pair is written. The right side may be arranged already.
pub(super) fn run<K: KeyWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    input: Input<'_, K>,
    arranged: Option<&Arranged>,
    mut columns: Option<Columns<'_, K>>,
) -> Result<(u64, JoinReport)> {
    let Input { keys, values, kind, mut method, seed, light_rows } = input;
    let device = scratch.device().clone();
    let rows = keys.map(|keys| keys.len() as u64);
    let passes = if arranged.is_some() { Pass::of_kept(kind) } else { Pass::of(kind, rows) };
    let mut report = JoinReport { method, overflowed: false, further_items: 0 };
    if let Some(columns) = &mut columns {
        columns.reserve(&device, kind, usual_pairs(kind, rows))?;
    }
    let mut are_skewed = [false; 2];
    loop {
        let plan = match arranged {
            Some(arranged) => arranged.plan.probing::<K>(rows[LEFT], are_skewed[LEFT]),
            None => {
                let how = (method, &passes[..], light_rows);
                JoinPlan::new::<K>(stream.machine(), rows, how, are_skewed, ToArrange::Both)
            }
        };
        report.method = plan.method;
        let scratch = scratch.reserve(plan.words)?;
        let values = if plan.method == JoinMethod::Split { values } else { [None; 2] };
        let own = arranged.map(|arranged| &arranged.memory);
        let launches = Launches { plan: &plan, keys, values, constants: constants(seed), scratch, own };
        let at_first = [false, arranged.is_some_and(|arranged| arranged.has_starts)];
        let mut course = Course { stream, launches: &launches, passes: &passes, have_starts: at_first };
        let mut to_do = ToDo::Arrange;
        let overflowed = loop {
            let outputs = columns.as_ref().map(|columns| columns.outputs(kind));
            match course.attempt(outputs, to_do)? {
                Attempt::Overflowed(levels) => {
                    report.overflowed = true;
                    if levels.contains(&Overflow::Early) {
                        break levels;
                    }
                    for side in plan.to_arrange.sides() {
                        course.have_starts[side] = levels[side] == Overflow::Last;
                    }
                    to_do = ToDo::SplitAgain;
                }
                Attempt::Pairs { pairs, items } => {
                    report.further_items = items;
                    match &mut columns {
                        Some(columns) if pairs > columns.capacity(kind) && pairs <= columns.most => {
                            columns.reserve(&device, kind, pairs)?;
                        }
                        Some(columns) => {
                            let written = if pairs <= columns.most { pairs as usize } else { 0 };
                            columns.set_length(kind, written);
                            return Ok((pairs, report));
                        }
                        None => return Ok((pairs, report)),
                    }
                    to_do = ToDo::Nothing;
                }
            }
        };
        if plan.method == JoinMethod::Direct && (are_skewed.contains(&true) || !plan.is_worth_sorting(passes[0])) {
            // Keys are repeated, or a bucket has too many rows for a warp.
            (method, are_skewed) = (JoinMethod::Split, [false; 2]);
            continue;
        }
        for (is_skewed, overflow) in are_skewed.iter_mut().zip(overflowed) {
            *is_skewed |= overflow == Overflow::Early;
        }
    }
}

/// Queues joining left rows with an arranged right side, without a wait. The outputs have the
/// capacity for pairs, and `count`, one word, becomes the count of all pairs. The right side is not
/// arranged as bins.
pub(super) fn run_bounded<K: KeyWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    input: Input<'_, K>,
    arranged: &Arranged,
    (outputs, count): (Outputs<'_, K>, &Buffer<u64>),
) -> Result<()> {
    let Input { keys, values, kind, seed, .. } = input;
    let plan = arranged.plan.probing::<K>(keys[LEFT].len() as u64, false);
    let scratch = scratch.reserve(plan.words)?;
    let own = Some(&arranged.memory);
    let launches = Launches { plan: &plan, keys, values, constants: constants(seed), scratch, own };
    let length = 8 * (plan.headers_at + header::LENGTH) as usize;
    stream.batch(|batch| {
        launches.clear_headers(batch)?;
        for pass in Pass::of_kept(kind) {
            // Without bins, no work items are listed.
            launches.pass(batch, pass, [false, arranged.has_starts], Some(outputs), None)?;
        }
        batch.copy(scratch, length..length + 8, count)
    })
}

/// Returns the most bytes of scratch of a join with `rows` rows on its sides, for any keys.
pub(super) fn scratch_bytes<K: KeyWord>(stream: &Stream, rows: [u64; 2], kind: JoinKind, method: JoinMethod) -> u64 {
    let passes = Pass::of(kind, rows);
    let plan = |method: JoinMethod, are_skewed: [bool; 2]| {
        let how = (method, &passes[..], None);
        JoinPlan::new::<K>(stream.machine(), rows, how, are_skewed, ToArrange::Both)
    };
    let most = |method: JoinMethod| {
        let skews = [[false, false], [false, true], [true, false], [true, true]];
        skews.into_iter().map(|are_skewed| plan(method, are_skewed).words).max().unwrap_or(0)
    };
    // If buckets in memory are too long, the rows are split instead.
    let is_direct = plan(method, [false; 2]).method == JoinMethod::Direct;
    8 * most(method).max(if is_direct { most(JoinMethod::Split) } else { 0 })
}

/// The work that must be queued before the passes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ToDo {
    Arrange,
    /// Repeat the last splits of the sides whose bins get starts.
    SplitAgain,
    Nothing,
}

/// The bins of a side that got more rows than their capacity.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overflow {
    None,
    /// Only bins of the last split, so all rows were counted.
    Last,
    /// Bins of an earlier split, or a hash table that got several rows of one key.
    Early,
}

enum Attempt {
    /// The count of pairs, which were written if there was capacity, and of additional work items.
    Pairs {
        pairs: u64,
        items: u64,
    },
    Overflowed([Overflow; 2]),
}

/// The state of a join that is run with one plan.
struct Course<'c, K> {
    stream: &'c Stream,
    launches: &'c Launches<'c, K>,
    passes: &'c [Pass],
    /// Whether the last split of each side was repeated, so that its bins have starts.
    have_starts: [bool; 2],
}

impl<'c, K: KeyWord> Course<'c, K> {
    /// Does the work of `to_do`, and then all passes.
    fn attempt<'o>(&'o self, outputs: Option<Outputs<'o, K>>, to_do: ToDo) -> Result<Attempt> {
        let launches = self.launches;
        let (mut pairs, mut items) = (0, 0);
        for (number, &pass) in self.passes.iter().enumerate() {
            let prepare = |batch: &Batch<'o>| match to_do {
                // Each pass makes its own list of work items.
                _ if number != 0 => launches.clear_items(batch),
                ToDo::Arrange => launches.arrange(batch),
                ToDo::SplitAgain => self.split_again(batch),
                ToDo::Nothing => launches.clear_headers(batch),
            };
            let mut found = self.pass(pass, outputs, prepare)?;
            let overflows = [0, 1].map(|side| self.overflow(&found, side));
            if overflows != [Overflow::None; 2] {
                return Ok(Attempt::Overflowed(overflows));
            }
            items += found[header::ITEMS as usize];
            let has_heavy_bins = found[header::HEAVY as usize] != 0;
            for heavy in pass.of_heavy_bins().filter(|_| has_heavy_bins) {
                found = self.pass(heavy, outputs, |batch| {
                    launches.clear_items(batch)?;
                    match heavy.is_of_distinct_keys() {
                        true => launches.find_distinct(batch, heavy, self.have_starts),
                        false => Ok(()),
                    }
                })?;
                items += found[header::ITEMS as usize];
            }
            pairs = found[header::LENGTH as usize];
        }
        Ok(Attempt::Pairs { pairs, items })
    }

    /// Runs a pass after the work that `prepare` queues, and then the work items that the pass
    /// listed. Returns the headers.
    fn pass<'o>(
        &'o self,
        pass: Pass,
        outputs: Option<Outputs<'o, K>>,
        prepare: impl FnOnce(&Batch<'o>) -> Result<()>,
    ) -> Result<Vec<u64>> {
        let Self { stream, launches, have_starts, .. } = *self;
        stream.batch(|batch| {
            prepare(batch)?;
            launches.pass(batch, pass, have_starts, outputs, None)
        })?;
        let found = self.headers()?;
        let items = found[header::ITEMS as usize];
        if items == 0 {
            return Ok(found);
        }
        stream.batch(|batch| launches.pass(batch, pass, have_starts, outputs, Some(items)))?;
        self.headers()
    }

    /// Queues repeating the last splits of the sides whose bins get starts.
    fn split_again<'o>(&'o self, batch: &Batch<'o>) -> Result<()> {
        let Launches { plan, .. } = self.launches;
        self.launches.clear_headers(batch)?;
        // The right side comes first, because the left side's splits overwrite the input of the
        // right side's last split.
        let mut sides = plan.to_arrange.sides().rev().filter(|&side| self.have_starts[side]);
        sides.try_for_each(|side| self.launches.split_again(batch, side))
    }

    fn headers(&self) -> Result<Vec<u64>> {
        let Launches { plan, scratch, .. } = *self.launches;
        scratch.elements_at::<u64>(plan.headers_at, HEADERS as usize).download(self.stream)
    }

    fn overflow(&self, headers: &[u64], side: usize) -> Overflow {
        let first = side * header::WORDS + OVERFLOW as usize;
        let SideLayout { arrangement, levels, .. } = &self.launches.plan.sides[side];
        let is_direct = self.launches.plan.method == JoinMethod::Direct && *arrangement != Arrangement::Whole;
        if is_direct && headers[header::FAILED as usize] != 0 {
            return Overflow::Early;
        }
        match headers[first..first + LEVELS as usize].iter().position(|&word| word != 0) {
            None => Overflow::None,
            // Bins with starts have capacity for all rows.
            Some(level) if level + 1 == levels.len() && !self.have_starts[side] => Overflow::Last,
            Some(_) => Overflow::Early,
        }
    }
}

/// Returns the count of pairs for which memory is allocated before the pairs are counted. It is
/// enough for joins in which each row matches at most one row.
fn usual_pairs(kind: JoinKind, [left, right]: [u64; 2]) -> u64 {
    match kind {
        JoinKind::Inner => left.min(right),
        JoinKind::Left | JoinKind::Semi | JoinKind::Anti => left,
        JoinKind::Right => right,
        JoinKind::Full => left.max(right),
    }
}
