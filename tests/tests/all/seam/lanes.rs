//! Comparisons by vector instructions, compared with their definition.

use gpu_kernels::seam::{LaneWork, Lanes, Narrow, vectorized_by_lanes};
use warpnest_tests::distinct_keys;

/// One comparison of each kind.
#[derive(Clone, Copy)]
struct Compared {
    words: [u64; 8],
    upper: u32,
    bytes: [u8; 32],
}

impl LaneWork for Compared {
    type Output = [u32; 2];
    fn run<L: Lanes>(self, lanes: L) -> [u32; 2] {
        [lanes.compare_eight(self.words, self.upper), lanes.nonzero(self.bytes)]
    }
}

impl Compared {
    /// Returns the expected results of the comparisons.
    fn expected(self) -> [u32; 2] {
        let bits = |first: usize, test: &dyn Fn(u64) -> bool| {
            (0..8).filter(|&i| test(self.words[i])).map(|i| 1 << (first + i)).sum::<u32>()
        };
        let upper = |word: u64| (word >> 32) as u32;
        let flags = bits(0, &|word| upper(word) == self.upper)
            + bits(8, &|word| word == u64::MAX)
            + bits(16, &|word| upper(word) == u32::MAX);
        [flags, (0..32).filter(|&i| self.bytes[i] != 0).map(|i| 1u32 << i).sum()]
    }
}

#[test]
fn every_word_and_byte_has_its_own_bit() {
    // With few different halves, many comparisons find equal ones.
    let halves = [0, 1, 0x8000_0000, 0x7fff_ffff, u32::MAX - 1, u32::MAX];
    let half = |random: u64| halves[(random >> 40) as usize % halves.len()];
    let mut seen = [0; 2];
    for (round, random) in distinct_keys::<u64>(40_000, 5).chunks_exact(40).enumerate() {
        let words = |i: usize| (half(random[i]) as u64) << 32 | half(random[i + 8]) as u64;
        let bytes = |i: usize| [0, 0, 1, 0x80, 0xff][(random[i] >> 50) as usize % 5];
        let compared = Compared {
            words: std::array::from_fn(words),
            upper: halves[round % halves.len()],
            bytes: std::array::from_fn(bytes),
        };
        assert_eq!(vectorized_by_lanes(compared), compared.expected());
        assert_eq!(compared.run(Narrow), compared.expected());
        let [flags, bytes] = compared.expected();
        seen = [seen[0] | flags, seen[1] | bytes];
    }
    // Every bit was set at least once.
    assert_eq!(seen, [0xff_ffff, u32::MAX]);
}
