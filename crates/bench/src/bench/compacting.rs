//! Benchmarks of the compacting table.

use super::input::{Input, Repeats, repeated, wrong_misses};
use super::lab::{Bench, name_on};
use super::record::{Record, Subject};
use super::roofline::median_ms;
use warpnest::design::Config;
use warpnest::design::Ids;
use warpnest::types::WordKey as Key;
use warpnest::{Answers, Buffer, CompactingConfig};
use warpnest_bench_kernels::roofline::Access;

/// Builds tables of `n` rows with ids in either order, and looks up keys and ids. Then it builds
/// tables from repeated keys.
///
/// A build is a rebuild, in existing memory. The map under the tables has the configuration
/// `config`.
pub fn measure<K: Key, D: Ids>(at: Bench<'_>, config: &Config<D>) -> anyhow::Result<Vec<Record>> {
    let Bench { device, run, roofline, n, runs } = at;
    let stream = device.default_stream();
    let unique_rows = CompactingConfig::on(config.clone().assume_unique());
    let config = CompactingConfig::on(config.clone());
    let input = Input::<K, u32>::new(n);
    let rows = Buffer::from_slice(device, &input.keys)?;
    let table = config.build(device, &rows)?;
    let kept = table.memory_bytes();
    let subject = |op| Subject::new(name_on::<D>("CompactingTable"), op, n, [K::BITS, 32], kept as u64);
    let mut records = Vec::new();

    let built = |config: &CompactingConfig<D>, rows: &Buffer<K>, distinct: u64| -> anyhow::Result<(f64, u64)> {
        let mut table = config.build(device, rows)?;
        let ms = median_ms(stream, 1, runs, || table.rebuild(rows))?;
        Ok((ms, (table.len() as u64).abs_diff(distinct)))
    };
    let builds = [
        ("build", unique_rows),
        ("build_any", config.clone()),
        ("build_in_order", config.clone().in_order_of_appearance()),
    ];
    for (op, config) in builds {
        let (ms, wrong) = built(&config, &rows, n)?;
        records.push(run.record(subject(op), ms, 0.0, wrong));
    }

    let keys = table.key_buffer().download(stream)?;
    let find_limit = roofline.gops(Access::Find, (table.ids().memory_bytes() / 8) as u64, n)?;
    for (op, queries, present) in [("find_hit", &input.present, true), ("find_miss", &input.absent, false)] {
        let buffer = Buffer::from_slice(device, queries)?;
        let mut answers = Answers::new(device, queries.len())?;
        let ms = median_ms(stream, 2, runs, || table.get_many_into(stream, &buffer, &mut answers))?;
        let answers = answers.download(stream)?;
        let wrong = if present {
            let key_of = |answer: &Option<u32>| answer.and_then(|id| keys.get(id as usize));
            queries.iter().zip(&answers).filter(|(query, answer)| key_of(answer) != Some(query)).count() as u64
        } else {
            wrong_misses(&answers)
        };
        records.push(run.record(subject(op), ms, find_limit, wrong));
    }
    let mut ids = Answers::new(device, n as usize)?;
    table.get_many_into(stream, &rows, &mut ids)?;
    let mut answers = Answers::new(device, n as usize)?;
    let ms = median_ms(stream, 2, runs, || table.keys_of_many_into(stream, ids.values(), &mut answers))?;
    let wrong = input.keys.iter().zip(answers.download(stream)?).filter(|(key, answer)| *answer != Some(**key)).count();
    records.push(run.record(
        subject("keys_of"),
        ms,
        roofline.gops(Access::Find, n * K::BITS as u64 / 64, n)?,
        wrong as u64,
    ));
    drop((table, ids, answers));

    for repeats in [Repeats::Half, Repeats::Million, Repeats::Zipf] {
        let (keys, distinct) = repeated::<K>(n, repeats);
        let rows = Buffer::from_slice(device, &keys)?;
        let (ms, wrong) = built(&config, &rows, distinct)?;
        records.push(run.record(subject(repeats.op()), ms, 0.0, wrong));
    }
    Ok(records)
}
