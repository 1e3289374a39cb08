//! Benchmarks of whole calls, as a program of ordinary size makes them. Each call allocates and
//! releases its results and scratch memory; times are by the host's clock.

use super::input::{Input, key};
use super::lab::Bench;
use super::record::{Record, Subject};
use std::time::Instant;
use warpnest::primitives::Scratch;
use warpnest::relational::{GroupBy, Unique, isin_on};
use warpnest::types::WordKey as Key;
use warpnest::{Answers, Buffer, Device, Graph, PageMap, Stream};

/// The number of rows with the same key in a column.
const ROWS_A_KEY: u64 = 8;

/// The minimum number of calls, because a small call takes microseconds.
const CALLS: u32 = 101;

/// The count of kernels in a graph whose time tells the time of one: `kernels_get` is the time of
/// all.
const KERNELS: u64 = 64;

/// Launches a graph of a call.
fn launch(graph: &Graph, stream: &Stream) -> warpnest::Result<()> {
    // SAFETY: the map is not changed, and one thread uses what was captured.
    unsafe { graph.launch(stream) }
}

/// Measures calls on buffers of `n` keys or rows. A call ends when the host knows that the result
/// is complete, and has dropped it.
pub fn measure<K: Key>(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    let Bench { device, run, n, .. } = at;
    let stream = device.default_stream();
    let Input { keys, present, .. } = Input::<K, u32>::new(n);
    let values = Buffer::from_slice(device, &(0..n as u32).collect::<Vec<_>>())?;
    let (keys, queries) = (Buffer::from_slice(device, &keys)?, Buffer::from_slice(device, &present)?);
    let groups = n.div_ceil(ROWS_A_KEY);
    let column = Buffer::from_slice(device, &(0..n).map(|row| key(row % groups)).collect::<Vec<K>>())?;
    let among = Buffer::from_slice(device, &(0..groups).step_by(8).map(key).collect::<Vec<K>>())?;
    let map = PageMap::build(device, &keys, &values)?;

    let mut records = Vec::new();
    let mut keep = |op, call: &mut dyn FnMut() -> warpnest::Result<u64>, expected: u64| {
        let (mut times, mut wrong) = (Vec::new(), 0);
        for _ in 0..at.runs.max(CALLS) {
            stream.synchronize()?;
            let start = Instant::now();
            wrong += call()?.abs_diff(expected);
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        let subject = Subject { table: "calls".to_owned(), op, n, load: 0.0, key_bits: K::BITS, value_bits: 32 };
        records.push(run.record(subject, times[times.len() / 2], 0.0, wrong));
        warpnest::Result::<()>::Ok(())
    };
    let call_get = &mut || {
        let answers = map.get_many_on(stream, &queries)?;
        stream.synchronize()?;
        Ok(answers.len() as u64)
    };
    keep("call_get", call_get, n)?;
    let mut answers = Answers::new(device, n as usize)?;
    let call_get_into = &mut || {
        map.get_many_into(stream, &queries, &mut answers)?;
        stream.synchronize()?;
        Ok(answers.len() as u64)
    };
    keep("call_get_into", call_get_into, n)?;
    let one = stream.capture(|| map.get_many_into(stream, &queries, &mut answers))?;
    let many = stream.capture(|| (0..KERNELS).try_for_each(|_| launch(&one, stream)))?;
    for (op, graph) in [("graph_get", &one), ("kernels_get", &many)] {
        let call = &mut || {
            launch(graph, stream)?;
            stream.synchronize()?;
            Ok(graph.len() as u64)
        };
        keep(op, call, graph.len() as u64)?;
    }
    keep("call_build", &mut || Ok(PageMap::build(device, &keys, &values)?.len() as u64), n)?;
    let call_unique = &mut || {
        let found = Unique::of(&column).ids().counts().run_on(stream, &mut Scratch::new(device))?;
        stream.synchronize()?;
        Ok(found.keys.len() as u64)
    };
    keep("call_unique", call_unique, groups)?;
    let call_isin = &mut || {
        let found = isin_on(stream, &mut Scratch::new(device), &column, &among)?;
        stream.synchronize()?;
        Ok(found.len() as u64)
    };
    keep("call_isin", call_isin, n.div_ceil(32))?;
    let call_group_by = &mut || {
        let mut query = GroupBy::new(&column);
        query.sum(&values);
        let found = query.run_on(stream, &mut Scratch::new(device))?;
        stream.synchronize()?;
        Ok(found.len() as u64)
    };
    keep("call_group_by", call_group_by, groups)?;

    relational_graphs(device, (&column, &values), groups, &mut keep)?;
    Ok(records)
}

/// Measures one call, whose name and expected count are given.
type Keep<'k> = dyn FnMut(&'static str, &mut dyn FnMut() -> warpnest::Result<u64>, u64) -> warpnest::Result<()> + 'k;

/// Measures graphs of relational calls, which have a capacity for the groups.
fn relational_graphs<K: Key>(
    device: &Device,
    (column, values): (&Buffer<K>, &Buffer<u32>),
    groups: u64,
    keep: &mut Keep<'_>,
) -> warpnest::Result<()> {
    let stream = device.default_stream();
    let (mut scratch, unique) = (Scratch::new(device), Unique::of(column).ids().counts());
    let mut distinct = unique.run_bounded(stream, &mut scratch, groups as usize)?;
    let graph = stream.capture(|| unique.run_bounded_into(stream, &mut scratch, &mut distinct))?;
    let graph_unique = &mut || {
        launch(&graph, stream)?;
        Ok(distinct.finish(stream)?.keys.len() as u64)
    };
    keep("graph_unique", graph_unique, groups)?;
    let mut query = GroupBy::new(column);
    query.sum(values);
    let mut grouped = query.run_bounded(stream, &mut scratch, groups as usize)?;
    let graph = stream.capture(|| query.run_bounded_into(stream, &mut scratch, &mut grouped))?;
    let graph_group_by = &mut || {
        launch(&graph, stream)?;
        Ok(grouped.finish(stream)?.len() as u64)
    };
    keep("graph_group_by", graph_group_by, groups)
}
