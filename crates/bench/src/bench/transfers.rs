//! Copies between the host and a GPU: of ordinary memory as the library makes them and by one call
//! of the driver, and of page-locked memory.

use super::Bench;
use super::host_time::{median, median_after};
use super::record::{Record, Subject};
use warpnest::Buffer;
use warpnest::low_level::{LargeCopies, Staging, set_large_copies};

/// Measures copies of `n` bytes, so that rates are in GB/s. Times are the host's.
pub fn measure(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    let (device, runs, stream) = (at.device, at.runs, at.device.default_stream());
    let length = at.n.div_ceil(8) as usize;
    let words: Vec<u64> = (0..length as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let mut buffer = Buffer::<u64>::zeroed(device, length)?;
    let mut host = vec![1u64; length];

    // A staging buffer of fewer bytes is not page-locked.
    let mut locked = Staging::new(device, (8 * length).max(2 << 20))?;
    let locked: &mut [u64] = bytemuck::cast_slice_mut(&mut locked[..8 * length]);
    locked.copy_from_slice(&words);
    let up_limit = median(runs, || Ok(buffer.upload(stream, locked)?))?;
    let down_limit = median(runs, || Ok(buffer.download_into(stream, locked)?))?;

    let mut records = Vec::new();
    // The limit is given by the seconds that it takes.
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
            // The staging buffers are made anew.
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
    Ok(records)
}

/// Returns the number of words that differ.
fn wrong(words: &[u64], found: &[u64]) -> u64 {
    words.iter().zip(found).filter(|(word, found)| word != found).count() as u64
}
