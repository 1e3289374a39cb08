//! Times by the host's clock.

use std::time::Instant;

/// Returns the seconds of the median of several calls. What a call returns is given back before the
/// next.
pub fn median<T>(runs: u32, work: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<f64> {
    median_after(runs, || Ok(()), work)
}

/// Returns the same of calls before each of which something is done that takes no part.
pub fn median_after<T>(
    runs: u32,
    mut before: impl FnMut() -> anyhow::Result<()>,
    mut work: impl FnMut() -> anyhow::Result<T>,
) -> anyhow::Result<f64> {
    let mut times = Vec::new();
    // The first one warms up: kernels are compiled, the file gets its place on the disk.
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
