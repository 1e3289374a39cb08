//! Benchmarks of copies between the host and a GPU: of ordinary memory, by the library and by one
//! call of the driver, and of page-locked memory; and of lookups of queries in the host's memory.

use super::Bench;
use super::host_time::{median, median_after};
use super::record::{Record, Subject};
use warpnest::low_level::{
    HostAnswers, HostChunks, LargeCopies, Staging, advise_huge_pages, get_on_host, set_host_chunks, set_large_copies,
};
use warpnest::{Buffer, PageMap};

/// Measures copies of `n` bytes, so that rates are in GB/s. Times are by the host's clock.
pub fn measure(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    let (device, runs, stream) = (at.device, at.runs, at.device.default_stream());
    let length = at.n.div_ceil(8) as usize;
    let words: Vec<u64> = (0..length as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let mut buffer = Buffer::<u64>::zeroed(device, length)?;
    let mut host = vec![1u64; length];

    // A staging buffer of fewer bytes would not be page-locked.
    let mut locked = Staging::new(device, (8 * length).max(2 << 20))?;
    let locked: &mut [u64] = bytemuck::cast_slice_mut(&mut locked[..8 * length]);
    locked.copy_from_slice(&words);
    let up_limit = median(runs, || Ok(buffer.upload(stream, locked)?))?;
    let down_limit = median(runs, || Ok(buffer.download_into(stream, locked)?))?;

    let mut records = Vec::new();
    // `limit` is the number of seconds that the limit takes.
    let mut keep = |op: &str, seconds: f64, limit: f64, wrong: u64| {
        let subject = Subject { table: "transfers".to_owned(), op, n: at.n, load: 0.0, key_bits: 64, value_bits: 0 };
        records.push(at.run.record(subject, 1e3 * seconds, at.n as f64 / limit / 1e9, wrong));
    };
    keep("upload_page_locked", up_limit, f64::INFINITY, 0);
    keep("download_page_locked", down_limit, f64::INFINITY, wrong(&words, locked));
    let plain = LargeCopies { min_bytes: usize::MAX, ..LargeCopies::default() };
    for (settings, behind) in [(LargeCopies::default(), ""), (plain, "_plain")] {
        set_large_copies(device, settings);
        if behind.is_empty() {
            // The staging buffers are allocated again.
            let anew = || {
                set_large_copies(device, settings);
                Ok(())
            };
            let first = median_after(runs, anew, || Ok(buffer.upload(stream, &words)?))?;
            keep("upload_first", first, up_limit, 0);
        }
        let up = median(runs, || Ok(buffer.upload(stream, &words)?))?;
        host.fill(1);
        let down = median(runs, || Ok(buffer.download_into(stream, &mut host)?))?;
        let new = median(runs, || Ok(buffer.download(stream)?))?;
        keep(&format!("upload{behind}"), up, up_limit, 0);
        keep(&format!("download{behind}"), down, down_limit, wrong(&words, &host));
        keep(&format!("download_new{behind}"), new, down_limit, wrong(&words, &buffer.download(stream)?));
    }
    set_large_copies(device, LargeCopies::default());

    let (other, mut target) = (device.stream()?, Buffer::<u64>::zeroed(device, length)?);
    let both = median(runs, || {
        std::thread::scope(|scope| {
            let up = scope.spawn(|| target.upload(&other, &words));
            buffer.download_into(stream, &mut host)?;
            Ok(up.join().expect("the thread does not panic")?)
        })
    })?;
    // Equally many bytes are copied in each direction.
    let both_limit = up_limit.max(down_limit);
    keep("upload_and_download", both, both_limit, wrong(&words, &host) + wrong(&words, &target.download(stream)?));
    drop((buffer, target, host));
    lookups(at, |op, seconds, wrong| keep(op, seconds, both_limit, wrong))?;
    Ok(records)
}

/// Measures lookups of `n` bytes of queries in the host's memory, which return equally many bytes
/// of values. A quarter of the queries are keys of the map.
fn lookups(at: Bench<'_>, mut keep: impl FnMut(&str, f64, u64)) -> anyhow::Result<()> {
    let (device, runs, stream) = (at.device, at.runs, at.device.default_stream());
    let rows = at.n.div_ceil(4) as u32;
    let queries: Vec<u32> = (0..rows).map(|i| i.wrapping_mul(0x9e37_79b1) % rows).collect();
    let keys: Vec<u32> = (0..rows.div_ceil(4)).collect();
    let map = PageMap::build(device, &keys, &keys)?;
    let expected = |query: u32| if query < rows.div_ceil(4) { query } else { u32::MAX };
    let look_up = |values: &mut [u32]| {
        let answers = HostAnswers { values, default: Some(u32::MAX), bits: &mut [], flags: &mut [], counted: false };
        Ok(get_on_host(&map, stream, &queries, answers)?)
    };
    let wrong =
        |values: &[u32]| queries.iter().zip(values).filter(|(query, value)| expected(**query) != **value).count();

    let chunks = |mebibytes: usize, workers| HostChunks { bytes: mebibytes << 20, workers };
    let others = [("_whole", chunks(64, 1)), ("_16m", chunks(16, 3)), ("_32m", chunks(32, 3)), ("_64m", chunks(64, 3))];
    let workers = [("_2_workers", chunks(128, 2)), ("_4_workers", chunks(128, 4))];
    for (behind, settings) in others.into_iter().chain(workers).chain([("", HostChunks::default())]) {
        set_host_chunks(device, settings);
        let mut values = vec![1; queries.len()];
        let used = median(runs, || look_up(&mut values))?;
        keep(&format!("lookup{behind}"), used, wrong(&values) as u64);
        let new = median(runs, || {
            let mut values = vec![0; queries.len()];
            advise_huge_pages(&raw mut *values);
            look_up(&mut values)?;
            Ok(values)
        })?;
        keep(&format!("lookup_new{behind}"), new, 0);
    }
    let options = median(runs, || Ok(map.get_many(&queries)?))?;
    let answers = map.get_many(&queries)?;
    let values: Vec<u32> = answers.into_iter().map(|answer| answer.unwrap_or(u32::MAX)).collect();
    keep("lookup_get_many", options, wrong(&values) as u64);
    let contains = median(runs, || Ok(map.contains_many(&queries)?))?;
    let found = map.contains_many(&queries)?;
    let wrong = queries.iter().zip(&found).filter(|(query, found)| (**query < rows.div_ceil(4)) != **found).count();
    keep("lookup_contains_many", contains, wrong as u64);
    Ok(())
}

/// Returns the number of words that differ.
fn wrong(words: &[u64], found: &[u64]) -> u64 {
    words.iter().zip(found).filter(|(word, found)| word != found).count() as u64
}
