//! Linear and logarithmic axes: the positions of values, and the values of the ticks.

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Linear, starting at 0.
    Linear,
    /// Logarithmic, with ticks at powers of 2.
    Log2,
    /// Logarithmic, with ticks at powers of 10.
    Log10,
}

/// The maximum number of ticks; more would be too close together.
const MAX_TICKS: i32 = 11;

impl Scale {
    /// Returns the position of `value`, in units of the axis.
    ///
    /// The result is `None` for a value that a logarithmic axis cannot show: a time of 0, which is
    /// below the clock's resolution.
    pub fn position(self, value: f64) -> Option<f64> {
        match self {
            Scale::Linear => Some(value),
            Scale::Log2 => (value > 0.0).then(|| value.log2()),
            Scale::Log10 => (value > 0.0).then(|| value.log10()),
        }
    }

    /// Returns the positions of the axis's ends, between which it shows all of `values`.
    pub fn range(self, values: impl Iterator<Item = f64>) -> (f64, f64) {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for position in values.filter_map(|value| self.position(value)) {
            (low, high) = (low.min(position), high.max(position));
        }
        if low > high {
            return (0.0, 1.0);
        }
        match self {
            Scale::Linear if high > 0.0 => {
                let step = nice_step(high);
                (0.0, (high / step).ceil() * step)
            }
            Scale::Linear => (0.0, 1.0),
            // A small margin keeps markers off the frame.
            Scale::Log2 => (low - 0.3, high + 0.3),
            Scale::Log10 => (low.floor(), high.ceil().max(low.floor() + 1.0)),
        }
    }

    /// Returns the positions of the ticks between two positions.
    pub fn ticks(self, (low, high): (f64, f64)) -> Vec<f64> {
        let step = match self {
            Scale::Linear => nice_step(high - low),
            Scale::Log2 | Scale::Log10 => ((high - low) / MAX_TICKS as f64).ceil().max(1.0),
        };
        // Ticks are multiples of the step, because sums would drift away from round values.
        let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
        (first..=last).map(|i| i as f64 * step).collect()
    }

    /// Returns the name of a tick.
    pub fn name(self, position: f64) -> String {
        match self {
            // Steps are round numbers, so digits that come from rounding errors are cut off.
            Scale::Linear => format!("{}", (position * 1e9).round() / 1e9),
            Scale::Log2 => power_of_two(position.round() as u32),
            Scale::Log10 => {
                let decade = position.round() as i32;
                let decimals = decade.min(0).unsigned_abs() as usize;
                format!("{:.decimals$}", 10f64.powi(decade))
            }
        }
    }
}

/// Returns the smallest of 1, 2 and 5 times a power of 10 of which at most ten steps cover
/// `length`.
fn nice_step(length: f64) -> f64 {
    let power = 10f64.powf((length / 10.0).log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power * 10.0 >= length * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// Returns a power of two as text: 2¹².
pub fn power_of_two(exponent: u32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raised = exponent.to_string().bytes().map(|digit| DIGITS[(digit - b'0') as usize]).collect::<String>();
    format!("2{raised}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(scale: Scale, values: &[f64]) -> Vec<String> {
        let range = scale.range(values.iter().copied());
        for &value in values {
            let inside = scale.position(value).is_none_or(|at| range.0 <= at && at <= range.1);
            assert!(inside, "{value} is not in {range:?}");
        }
        scale.ticks(range).into_iter().map(|tick| scale.name(tick)).collect()
    }

    #[test]
    fn linear_axes_start_at_zero_and_end_at_a_round_number() {
        assert_eq!(names(Scale::Linear, &[0.5, 9.7]), ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
        assert_eq!(names(Scale::Linear, &[0.3, 0.7]), ["0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7"]);
        assert_eq!(names(Scale::Linear, &[41.0]), ["0", "5", "10", "15", "20", "25", "30", "35", "40", "45"]);
    }

    #[test]
    fn logarithmic_axes_name_powers() {
        assert_eq!(names(Scale::Log10, &[0.0, 0.02, 3.0]), ["0.01", "0.1", "1", "10"]);
        assert_eq!(names(Scale::Log2, &[512.0, 8192.0]), ["2⁹", "2¹⁰", "2¹¹", "2¹²", "2¹³"]);
        assert_eq!(names(Scale::Log2, &[512.0, 2f64.powi(27)])[..3], ["2¹⁰", "2¹²", "2¹⁴"]);
    }

    #[test]
    fn nothing_to_show_is_no_panic() {
        for scale in [Scale::Linear, Scale::Log2, Scale::Log10] {
            for values in [&[][..], &[0.0], &[1.0]] {
                assert!(names(scale, values).len() <= MAX_TICKS as usize + 1);
            }
        }
    }
}
