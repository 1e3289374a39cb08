//! The sum of the squares of deviations from a mean, in one pass over the values.

use gpu_kernels::seam::square_root;

/// The count of words of a state.
pub(super) const WORDS: usize = 4;

/// The mean of some numbers and the sum of the squares of their deviations from it, updated number
/// by number (Welford 1962, *Note on a Method for Calculating Corrected Sums of Squares and
/// Products*). The mean is relative to the first number, so large numbers that differ little lose
/// no digits. All fields are 0 at first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Squares {
    numbers: f64,
    first: f64,
    mean: f64,
    sum: f64,
}

impl Squares {
    /// Returns the state that is kept in some words.
    #[inline(always)]
    pub(super) fn of(words: [u64; WORDS]) -> Self {
        let [numbers, first, mean, sum] = words.map(f64::from_bits);
        Self { numbers, first, mean, sum }
    }

    /// Returns the words that keep the state.
    #[inline(always)]
    pub(super) fn words(self) -> [u64; WORDS] {
        let Self { numbers, first, mean, sum } = self;
        [numbers, first, mean, sum].map(f64::to_bits)
    }

    /// Returns the state with one more number.
    #[inline(always)]
    pub(super) fn with(self, number: f64) -> Self {
        let first = if self.numbers == 0.0 { number } else { self.first };
        let numbers = self.numbers + 1.0;
        let deviation = number - first - self.mean;
        let step = deviation / numbers;
        Self { numbers, first, mean: self.mean + step, sum: self.sum + deviation * (deviation - step) }
    }

    /// Returns the variance, or with `is_root` the standard deviation; a NaN unless there are more
    /// than `ddof` numbers.
    pub(super) fn spread(self, ddof: u32, is_root: bool) -> f64 {
        let divisor = self.numbers - f64::from(ddof);
        let variance = if divisor > 0.0 { self.sum / divisor } else { f64::NAN };
        if is_root { square_root(variance) } else { variance }
    }

    /// Returns the state of both sets of numbers (Chan, Golub and LeVeque 1983, *Algorithms for
    /// Computing the Sample Variance*).
    #[inline]
    pub(super) fn merged(self, other: Self) -> Self {
        if self.numbers == 0.0 || other.numbers == 0.0 {
            return if self.numbers == 0.0 { other } else { self };
        }
        let numbers = self.numbers + other.numbers;
        let deviation = other.first - self.first + other.mean - self.mean;
        let step = deviation * (other.numbers / numbers);
        let sum = self.sum + other.sum + deviation * step * self.numbers;
        Self { numbers, first: self.first, mean: self.mean + step, sum }
    }
}
