//! The course of a join.

use super::joined::{JoinKind, JoinMethod, JoinReport, Joined};
use super::launches::{Launches, Outputs};
use super::plan::{Arrangement, HEADERS, JoinPlan, LEFT, Machine, Pass, RIGHT, SideLayout};
use crate::primitives::Scratch;
use crate::table::hash::constants;
use crate::{Buffer, Result, Stream};
use gpu_kernels::page::header::{LEVELS, OVERFLOW};
use gpu_kernels::relational::join::header;
use gpu_kernels::types::KeyWord;

/// What is joined.
#[derive(Clone, Copy)]
pub(super) struct Input<'i, K> {
    pub keys: [&'i Buffer<K>; 2],
    pub kind: JoinKind,
    pub method: JoinMethod,
    pub seed: u64,
}

/// Joins both sides into `joined`, whose memory grows as needed, or only counts the pairs; returns
/// their number and how they were found.
pub(super) fn run<K: KeyWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    input: Input<'_, K>,
    mut joined: Option<&mut Joined>,
) -> Result<(u64, JoinReport)> {
    let Input { keys, kind, method, seed } = input;
    let device = scratch.device().clone();
    let rows = keys.map(|keys| keys.len() as u64);
    let passes = Pass::of(kind, rows);
    let mut report = JoinReport { method, overflowed: false, further_items: 0 };
    if let Some(joined) = joined.as_deref_mut() {
        joined.reserve(&device, kind, usual_pairs(kind, rows))?;
    }
    let mut are_skewed = [false; 2];
    loop {
        let plan = JoinPlan::new::<K>(Machine::of(stream), rows, (method, &passes), are_skewed);
        report.method = plan.method;
        let scratch = scratch.reserve(plan.words)?;
        let launches = Launches { plan: &plan, keys, constants: constants(seed), scratch };
        let mut course = Course { stream, launches: &launches, passes: &passes, have_starts: [false; 2] };
        let mut to_do = ToDo::Arrange;
        let overflowed = loop {
            let outputs = joined.as_deref().map(|joined| joined.outputs(kind));
            match course.attempt(outputs, to_do)? {
                Attempt::Overflowed(levels) => {
                    report.overflowed = true;
                    if levels.contains(&Overflow::Early) {
                        break levels;
                    }
                    course.have_starts = levels.map(|level| level == Overflow::Last);
                    to_do = ToDo::SplitAgain;
                }
                Attempt::Pairs { pairs, items } => {
                    report.further_items = items;
                    match joined.as_deref_mut() {
                        Some(joined) if pairs > joined.capacity(kind) => joined.reserve(&device, kind, pairs)?,
                        Some(joined) => {
                            joined.set_length(kind, pairs as usize);
                            joined.report = report;
                            return Ok((pairs, report));
                        }
                        None => return Ok((pairs, report)),
                    }
                    to_do = ToDo::Nothing;
                }
            }
        };
        for (is_skewed, overflow) in are_skewed.iter_mut().zip(overflowed) {
            *is_skewed |= overflow == Overflow::Early;
        }
    }
}

/// What has to be done before the passes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ToDo {
    Arrange,
    /// The last splits of those sides that are to have starts.
    SplitAgain,
    Nothing,
}

/// Which bins of a side got more rows than their capacity.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overflow {
    None,
    /// Bins of the last split alone, so that all rows were counted.
    Last,
    /// Bins of an earlier split; or a table got several rows of a key.
    Early,
}

enum Attempt {
    /// The number of pairs, all of which are written if there was capacity for them, and that of
    /// further work items.
    Pairs {
        pairs: u64,
        items: u64,
    },
    Overflowed([Overflow; 2]),
}

/// The course of a join with one plan.
struct Course<'c, K> {
    stream: &'c Stream,
    launches: &'c Launches<'c, K>,
    passes: &'c [Pass],
    /// Whether the last split of a side was made again, to bins with starts.
    have_starts: [bool; 2],
}

impl<K: KeyWord> Course<'_, K> {
    /// Makes all passes, after what has to be done.
    fn attempt(&self, outputs: Outputs<'_>, to_do: ToDo) -> Result<Attempt> {
        let Self { stream, launches, have_starts, .. } = *self;
        let (mut pairs, mut items) = (0, 0);
        for (number, &pass) in self.passes.iter().enumerate() {
            stream.batch(|batch| {
                match to_do {
                    // Each pass lists work items of its own.
                    _ if number != 0 => launches.clear_items(batch)?,
                    ToDo::Arrange => launches.arrange(batch)?,
                    ToDo::SplitAgain => {
                        launches.clear_headers(batch)?;
                        // What the right side's last split has read is there until the left side's
                        // splits are made.
                        for side in [RIGHT, LEFT].into_iter().filter(|&side| have_starts[side]) {
                            launches.split_again(batch, side)?;
                        }
                    }
                    ToDo::Nothing => launches.clear_headers(batch)?,
                }
                launches.pass(batch, pass, have_starts, outputs, None)
            })?;
            let found = self.headers()?;
            let overflows = [0, 1].map(|side| self.overflow(&found, side));
            if overflows != [Overflow::None; 2] {
                return Ok(Attempt::Overflowed(overflows));
            }
            let new_items = found[header::ITEMS as usize];
            pairs = found[header::LENGTH as usize];
            if new_items != 0 {
                stream.batch(|batch| launches.pass(batch, pass, have_starts, outputs, Some(new_items)))?;
                pairs = self.headers()?[header::LENGTH as usize];
            }
            items += new_items;
        }
        Ok(Attempt::Pairs { pairs, items })
    }

    fn headers(&self) -> Result<Vec<u64>> {
        let Launches { plan, scratch, .. } = *self.launches;
        scratch.elements_at::<u64>(plan.headers_at, HEADERS as usize).download(self.stream)
    }

    fn overflow(&self, headers: &[u64], side: usize) -> Overflow {
        let first = side * header::WORDS + OVERFLOW as usize;
        let SideLayout { arrangement, levels, .. } = &self.launches.plan.sides[side];
        if *arrangement == Arrangement::Table && headers[header::FAILED as usize] != 0 {
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

/// Returns the number of pairs that there is memory for before they are counted: that of joins in
/// which each row meets one row at most.
fn usual_pairs(kind: JoinKind, [left, right]: [u64; 2]) -> u64 {
    match kind {
        JoinKind::Inner => left.min(right),
        JoinKind::Left | JoinKind::Semi | JoinKind::Anti => left,
        JoinKind::Right => right,
        JoinKind::Full => left.max(right),
    }
}

impl Joined {
    /// Makes capacity for `pairs` pairs.
    fn reserve(&mut self, device: &crate::Device, kind: JoinKind, pairs: u64) -> Result<()> {
        let pairs = pairs as usize;
        self.left.fit_at_least(device, pairs)?;
        if kind.has_right_rows() {
            self.right.fit_at_least(device, pairs)?;
        }
        Ok(())
    }

    /// Returns the number of pairs that there is capacity for.
    fn capacity(&self, kind: JoinKind) -> u64 {
        let lengths = self.outputs(kind).into_iter().flatten().map(|buffer| buffer.len() as u64);
        lengths.min().unwrap_or(0)
    }

    fn set_length(&mut self, kind: JoinKind, pairs: usize) {
        self.left.set_length(pairs);
        self.right.set_length(if kind.has_right_rows() { pairs } else { 0 });
    }

    fn outputs(&self, kind: JoinKind) -> [Option<&Buffer<u32>>; 2] {
        let mut outputs = [None; 2];
        outputs[LEFT] = Some(&self.left);
        outputs[RIGHT] = kind.has_right_rows().then_some(&self.right);
        outputs
    }
}
