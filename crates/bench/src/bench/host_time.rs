//! Measurements by the host's clock.

use std::time::Instant;

/// Returns the median time of several calls in seconds. The result of a call is dropped before the
/// next call.
pub fn median<T>(runs: u32, work: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<f64> {
    median_after(runs, || Ok(()), work)
}

/// Returns the median time as [`median`] does. `before` is called before each call, and not timed.
pub fn median_after<T>(
    runs: u32,
    mut before: impl FnMut() -> anyhow::Result<()>,
    mut work: impl FnMut() -> anyhow::Result<T>,
) -> anyhow::Result<f64> {
    let mut times = Vec::new();
    // The first call is a warm-up: it compiles kernels, and the disk allocates space for the file.
    for run in 0..=runs {
        before()?;
        let start = Instant::now();
        let _done = work()?;
        if run != 0 {
            times.push(start.elapsed().as_secs_f64());
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
