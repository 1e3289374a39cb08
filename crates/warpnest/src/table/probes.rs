//! [`ProbeLengths`]: the counts of slots that lookups of present keys read.

/// The counts of slots that lookups of the keys of a table read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProbeLengths {
    /// The average count of slots that a lookup of a present key reads.
    pub mean: f64,
    /// The largest count of slots that a lookup of a present key reads.
    pub longest: u64,
    /// The counts of keys: `histogram[n]` is the count of keys whose lookup reads `n` slots. In a
    /// linear table the last entry counts all keys whose lookup reads at least that many slots. A
    /// key in the cell beside the slots is not counted.
    pub histogram: Vec<u64>,
}

impl ProbeLengths {
    /// Returns the lengths if `found[n]` keys are found by probe `n`, where the first probe is 0.
    pub(crate) fn of_probes(found: &[u64]) -> Self {
        let histogram: Vec<u64> = std::iter::once(0).chain(found.iter().copied()).collect();
        let (keys, probes) = (found.iter().sum::<u64>(), (1..).zip(found).map(|(n, keys)| n * keys).sum::<u64>());
        let longest = found.iter().rposition(|&keys| keys != 0).map_or(0, |last| last as u64 + 1);
        Self { mean: probes as f64 / keys.max(1) as f64, longest, histogram }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_probes() {
        let of = |found: &[u64]| ProbeLengths::of_probes(found);
        assert_eq!(of(&[3, 1, 0]), ProbeLengths { mean: 1.25, longest: 2, histogram: vec![0, 3, 1, 0] });
        assert_eq!(of(&[0, 0]), ProbeLengths { mean: 0.0, longest: 0, histogram: vec![0, 0, 0] });
    }
}
