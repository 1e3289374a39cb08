//! The course of a join.

use super::joined::{JoinKind, JoinMethod, JoinReport, Joined};
use super::launches::{Launches, Outputs};
use super::plan::{Arrangement, JoinPlan, LEFT, Pass, RIGHT};
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
    let mut plan = JoinPlan::new::<K>(stream.cores(), rows, (method, &passes));
    let mut report = JoinReport { method, overflowed: false, further_items: 0 };
    if let Some(joined) = joined.as_deref_mut() {
        joined.reserve(&device, kind, usual_pairs(kind, rows))?;
    }
    loop {
        let scratch = scratch.reserve(plan.words)?;
        let launches = Launches { plan: &plan, keys, constants: constants(seed), scratch };
        let mut is_arranged = false;
        loop {
            let outputs = joined.as_deref().map(|joined| joined.outputs(kind));
            let Some((pairs, items)) = attempt(stream, &launches, &passes, outputs, is_arranged)? else { break };
            (report.method, report.further_items) = (method_of(plan.arrangement), items);
            match joined.as_deref_mut() {
                Some(joined) if pairs > joined.left.len() as u64 => joined.reserve(&device, kind, pairs)?,
                Some(joined) => {
                    joined.set_length(kind, pairs as usize);
                    joined.report = report;
                    return Ok((pairs, report));
                }
                None => return Ok((pairs, report)),
            }
            is_arranged = true;
        }
        report.overflowed = true;
        plan = plan.sorted::<K>(&passes);
    }
}

/// Makes all passes, after arranging the rows unless that is done. Returns the number of pairs, of
/// which as many are written as there is capacity for, and that of further work items; `None` if
/// bins overflowed.
fn attempt<K: KeyWord>(
    stream: &Stream,
    launches: &Launches<'_, K>,
    passes: &[Pass],
    outputs: Outputs<'_>,
    is_arranged: bool,
) -> Result<Option<(u64, u64)>> {
    let plan = launches.plan;
    let (mut pairs, mut all_items) = (0, 0);
    for (number, &pass) in passes.iter().enumerate() {
        stream.batch(|batch| {
            if number == 0 && !is_arranged {
                launches.arrange(batch, passes)?;
            }
            if number == 0 && is_arranged {
                launches.clear_header(batch)?;
            }
            launches.pass(batch, pass, outputs, None)
        })?;
        let read = || launches.scratch.elements_at::<u64>(plan.header_at, header::WORDS).download(stream);
        let found = read()?;
        if found[OVERFLOW as usize..(OVERFLOW + LEVELS) as usize].iter().any(|&word| word != 0) {
            return Ok(None);
        }
        let items = found[header::ITEMS as usize] - all_items;
        pairs = found[header::LENGTH as usize];
        if items != 0 {
            stream.batch(|batch| launches.pass(batch, pass, outputs, Some(items)))?;
            pairs = read()?[header::LENGTH as usize];
        }
        all_items += items;
    }
    Ok(Some((pairs, all_items)))
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

fn method_of(arrangement: Arrangement) -> JoinMethod {
    match arrangement {
        Arrangement::Whole => JoinMethod::OnChip,
        Arrangement::Direct => JoinMethod::Direct,
        Arrangement::Split | Arrangement::Sorted => JoinMethod::Split,
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
