//! Bases of two bits each: packed on the host, as the kernel reads them, and as texts of keys.

use warpnest_applications_kernels::kmers::BASES_IN_WORD;

/// The code of a byte that ends a line, and is skipped.
pub const LINE_END: u8 = 4;
/// The code of any other byte, which no k-mer contains.
pub const OTHER: u8 = 5;

/// The code of each byte: the code of a base, [`LINE_END`] or [`OTHER`].
pub const CODES: [u8; 256] = {
    let mut codes = [OTHER; 256];
    let mut code = 0;
    while code < 4 {
        let letter = LETTERS[code as usize];
        codes[letter as usize] = code;
        codes[letter.to_ascii_lowercase() as usize] = code;
        code += 1;
    }
    codes[b'\n' as usize] = LINE_END;
    codes[b'\r' as usize] = LINE_END;
    codes
};
/// The letters of the codes.
const LETTERS: [u8; 4] = *b"ACGT";

/// Packed bases, and where k-mers begin among them, as the kernel reads them. Bases take a quarter
/// of a byte each, and the other arrays together as much again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// The words of bases, and one word more.
    pub bases: Vec<u64>,
    /// Bit `i` of word `w` is set if a k-mer begins at base `32 · w + i`.
    pub starts: Vec<u32>,
    /// The number of k-mers that begin before each word.
    pub before: Vec<u32>,
    /// The number of bases.
    pub length: usize,
    /// The number of k-mers.
    pub kmers: usize,
}

/// A batch that is being filled: runs of bases side by side, each with at least one k-mer.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    bases: Vec<u64>,
    starts: Vec<u32>,
    /// The number of bases.
    pub length: usize,
    /// The bases that do not fill a word yet, in the low bits.
    word: u64,
}

impl Runs {
    /// Adds the run of packed bases from `start` to `end`. Another word must follow the run's
    /// words.
    pub fn add(&mut self, packed: &[u64], start: usize, end: usize, k: usize) {
        let first = self.length;
        let mut at = start;
        while at < end {
            let space = BASES_IN_WORD - self.length % BASES_IN_WORD;
            let taken = (end - at).min(space);
            let (word, place) = (at / BASES_IN_WORD, at % BASES_IN_WORD);
            // Two shifts are used, because none may be by all bits of a word.
            let window = packed[word] << (2 * place) | packed[word + 1] >> 1 >> (63 - 2 * place);
            self.word = self.word << 1 << (2 * taken - 1) | window >> (64 - 2 * taken);
            self.length += taken;
            at += taken;
            if taken == space {
                self.bases.push(self.word);
            }
        }
        set_bits(&mut self.starts, first, self.length - k + 1);
    }

    /// Returns the batch, and leaves an empty one.
    pub fn take(&mut self) -> Batch {
        let Self { mut bases, mut starts, length, word } = std::mem::take(self);
        let words = length.div_ceil(BASES_IN_WORD);
        if bases.len() < words {
            bases.push(word << (2 * (words * BASES_IN_WORD - length)));
        }
        bases.push(0);
        starts.resize(words, 0);
        let (mut before, mut kmers) = (Vec::with_capacity(words), 0);
        for starts in &starts {
            before.push(kmers as u32);
            kmers += starts.count_ones() as usize;
        }
        Batch { bases, starts, before, length, kmers }
    }
}

/// Sets the bits from `start` to `end`, and extends `words` for them.
fn set_bits(words: &mut Vec<u32>, start: usize, end: usize) {
    words.resize(words.len().max(end.div_ceil(32)), 0);
    for (word, bits) in words.iter_mut().enumerate().take(end.div_ceil(32)).skip(start / 32) {
        let (low, high) = (start.max(32 * word) - 32 * word, end.min(32 * word + 32) - 32 * word);
        *bits |= u32::MAX >> (32 - (high - low)) << low;
    }
}

/// Returns the text of a k-mer.
pub fn text_of(key: u64, k: u32) -> String {
    (0..k).rev().map(|base| LETTERS[(key >> (2 * base)) as usize & 3] as char).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_stand_side_by_side() {
        let packed: Vec<u64> = (1..=6u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let base = |words: &[u64], at: usize| words[at / 32] >> (62 - 2 * (at % 32)) & 3;
        let mut runs = Runs::default();
        let (mut expected, mut begin) = (Vec::new(), Vec::new());
        for (start, end) in [(0, 5), (3, 160), (31, 63), (32, 64), (64, 159), (7, 8), (1, 33)] {
            let k = (end - start).min(9);
            runs.add(&packed, start, end, k);
            begin.extend(expected.len()..expected.len() + end - start - k + 1);
            expected.extend((start..end).map(|at| base(&packed, at)));
        }
        let batch = runs.take();
        assert_eq!((batch.length, batch.kmers), (expected.len(), begin.len()));
        assert!((0..batch.length).map(|at| base(&batch.bases, at)).eq(expected));
        let begins = |at: &usize| batch.starts[at / 32] >> (at % 32) & 1 != 0;
        assert!((0..batch.length).filter(begins).eq(begin));
        let words = batch.length.div_ceil(32);
        assert_eq!((batch.bases.len(), batch.starts.len(), batch.before.len()), (words + 1, words, words));
        assert_eq!(batch.before[2], batch.starts[0].count_ones() + batch.starts[1].count_ones());
        assert_eq!(Runs::default().take(), Batch { bases: vec![0], ..Batch::default() });
    }

    #[test]
    fn bits_are_set_across_words() {
        for start in 0..70 {
            for end in start + 1..100 {
                let mut words = vec![];
                set_bits(&mut words, start, end);
                let found = (0..32 * words.len()).filter(|at| words[at / 32] >> (at % 32) & 1 != 0);
                assert!(found.eq(start..end));
            }
        }
    }

    #[test]
    fn texts_are_in_the_order_of_keys() {
        assert_eq!([0, 1, 4, 0x1b].map(|key| text_of(key, 4)), ["AAAA", "AAAC", "AACA", "ACGT"]);
        assert_eq!(text_of(u64::MAX, 32), "T".repeat(32));
    }
}
