//! Medians of interleaved runs, with one thread and with all threads.

use std::time::{Duration, Instant};

use anyhow::Result;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The minimum number of timed runs.
const MIN_RUNS: u32 = 5;
/// The maximum number of timed runs.
const MAX_RUNS: u32 = 301;

/// The pools of threads, and the time for a comparison.
pub struct Clock {
    one: ThreadPool,
    all: ThreadPool,
    time: Duration,
}

/// Median times in nanoseconds. The other side has one thread, and also all threads if it can use
/// them. Ours has one thread, then all threads.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub theirs: f64,
    pub theirs_all: Option<f64>,
    pub ours: [f64; 2],
}

/// A run of a side, which returns the time of the part that is compared.
pub type Side<'a> = dyn FnMut() -> Result<Duration> + Send + 'a;

impl Clock {
    /// Starts the pools.
    pub fn new(milliseconds: u64) -> Result<Self> {
        let pool = |threads| ThreadPoolBuilder::new().num_threads(threads).build();
        Ok(Self { one: pool(1)?, all: pool(0)?, time: Duration::from_millis(milliseconds) })
    }

    /// Returns the number of all threads.
    pub fn threads(&self) -> usize {
        self.all.current_num_threads()
    }

    /// Runs the sides in turn until the time is over.
    pub fn compare(
        &self,
        ours: &mut Side<'_>,
        theirs: &mut Side<'_>,
        mut theirs_all: Option<&mut Side<'_>>,
    ) -> Result<Times> {
        let mut times: [Vec<f64>; 4] = Default::default();
        let clock = Instant::now();
        let mut runs = 0;
        // The first run warms up.
        while runs <= MIN_RUNS || (clock.elapsed() < self.time && runs <= MAX_RUNS) {
            let mut now = [
                self.one.install(&mut *theirs)?,
                self.one.install(&mut *ours)?,
                self.all.install(&mut *ours)?,
                Duration::ZERO,
            ];
            if let Some(theirs_all) = &mut theirs_all {
                now[3] = self.all.install(&mut **theirs_all)?;
            }
            if runs > 0 {
                times.iter_mut().zip(now).for_each(|(times, time)| times.push(time.as_nanos() as f64));
            }
            runs += 1;
        }
        let [theirs, one, all, theirs_in_parallel] = times.map(median);
        Ok(Times { theirs, theirs_all: theirs_all.map(|_| theirs_in_parallel), ours: [one, all] })
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Returns the time of `work` and its result, which the compiler must not optimise away.
pub fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let clock = Instant::now();
    let made = std::hint::black_box(work());
    (clock.elapsed(), made)
}

/// Returns the time of `work` and of dropping its result.
pub fn timed_with_drop<T>(work: impl FnOnce() -> T) -> Duration {
    let clock = Instant::now();
    drop(std::hint::black_box(work()));
    clock.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_that_takes_longer_has_the_longer_median() {
        let clock = Clock::new(1).unwrap();
        let mut ours = || Ok(Duration::from_nanos(10));
        let mut theirs = || Ok(Duration::from_nanos(40));
        let mut all = || Ok(Duration::from_nanos(20));
        let times = clock.compare(&mut ours, &mut theirs, Some(&mut all)).unwrap();
        assert_eq!((times.theirs, times.theirs_all, times.ours), (40.0, Some(20.0), [10.0, 10.0]));
    }

    #[test]
    fn an_error_of_a_side_ends_the_comparison() {
        let clock = Clock::new(1).unwrap();
        let mut wrong = || anyhow::bail!("a wrong answer");
        let mut theirs = || Ok(Duration::from_nanos(40));
        assert!(clock.compare(&mut wrong, &mut theirs, None).is_err());
    }
}
