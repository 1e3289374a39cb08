//! Bases of two bits: sequences packed on the host, and the texts of keys.

use warpnest_applications_kernels::kmers::BASES_IN_WORD;

/// What a byte of a sequence is, if it is no base: the end of a line, which says nothing.
const LINE_END: u8 = 4;
/// The same of any other byte, over which no k-mer goes.
const OTHER: u8 = 5;

/// The code of each byte: that of a base, or one of the two above.
const CODES: [u8; 256] = {
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

/// Packed bases, and where k-mers begin among them, as the kernel takes them: a quarter of a byte a
/// base, and as much for both arrays besides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Words of bases, and one more.
    pub bases: Vec<u64>,
    /// Bit `i` of word `w` says whether a k-mer begins at base `32 · w + i`.
    pub starts: Vec<u32>,
    /// The number of k-mers that begin before each word.
    pub before: Vec<u32>,
    /// The number of bases.
    pub length: usize,
    /// The number of k-mers.
    pub kmers: usize,
}

/// What makes batches of sequences.
///
/// Bases stand side by side, those of all sequences. A run of bases that nothing else divides gives
/// the k-mers; where a batch is full, the next one repeats the last bases of the run.
#[derive(Debug)]
pub struct Packer {
    k: usize,
    /// The most bases of a batch, a multiple of those in a word.
    capacity: usize,
    batch: Batch,
    /// The bases that do not fill a word yet, in its low bits.
    word: u64,
    /// The base of the batch with which the run begins.
    run: usize,
    /// The number of bases that were added.
    pub bases: u64,
    /// The number of other letters.
    pub others: u64,
}

impl Packer {
    /// Returns a packer of batches of about so many bases, for k-mers of `k` bases: 1 to 32.
    pub fn new(k: u32, capacity: usize) -> Self {
        // The bases that are repeated leave as many to be added.
        let capacity = capacity.clamp(2 * BASES_IN_WORD, 1 << 30).next_multiple_of(BASES_IN_WORD);
        Self { k: k as usize, capacity, batch: Batch::default(), word: 0, run: 0, bases: 0, others: 0 }
    }

    /// Adds a whole sequence. Batches that become full go to `full`, whose error ends it.
    pub fn add<E>(&mut self, sequence: &[u8], full: &mut dyn FnMut(Batch) -> Result<(), E>) -> Result<(), E> {
        let (mut line_ends, mut others) = (0, 0);
        for &byte in sequence {
            match CODES[byte as usize] {
                LINE_END => line_ends += 1,
                OTHER => {
                    others += 1;
                    self.end_run();
                }
                code => {
                    self.push(code);
                    if self.batch.length == self.capacity {
                        full(self.take())?;
                    }
                }
            }
        }
        self.end_run();
        self.others += others;
        self.bases += sequence.len() as u64 - line_ends - others;
        Ok(())
    }

    /// Returns the bases that are left, if a k-mer begins at one.
    pub fn finish(mut self) -> Option<Batch> {
        let batch = self.take();
        (batch.kmers > 0).then_some(batch)
    }

    #[inline(always)]
    fn push(&mut self, code: u8) {
        self.word = self.word << 2 | u64::from(code);
        self.batch.length += 1;
        if self.batch.length.is_multiple_of(BASES_IN_WORD) {
            self.batch.bases.push(self.word);
        }
    }

    /// Marks where the k-mers of the run begin. The next base begins another one.
    fn end_run(&mut self) {
        let length = self.batch.length;
        if length - self.run >= self.k {
            set_bits(&mut self.batch.starts, self.run, length - self.k + 1);
        }
        self.run = length;
    }

    /// Returns the batch, and begins the next one with the last bases of the run, which is not at
    /// its end.
    fn take(&mut self) -> Batch {
        let repeated = (self.batch.length - self.run).min(self.k - 1);
        let last = self.word;
        self.end_run();
        let mut batch = std::mem::take(&mut self.batch);
        let words = batch.length.div_ceil(BASES_IN_WORD);
        if batch.bases.len() < words {
            batch.bases.push(self.word << (2 * (words * BASES_IN_WORD - batch.length)));
        }
        batch.bases.push(0);
        batch.starts.resize(words, 0);
        for starts in &batch.starts {
            batch.before.push(batch.kmers as u32);
            batch.kmers += starts.count_ones() as usize;
        }
        (self.word, self.run) = (0, 0);
        // As many as the next batch will have at most.
        self.batch.bases.reserve(batch.bases.len());
        for place in (0..repeated).rev() {
            self.push((last >> (2 * place)) as u8 & 3);
        }
        batch
    }
}

/// Sets some bits of words, which are as many as the bits need.
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
    use std::convert::Infallible;

    /// Returns the batches of some sequences.
    fn packed(k: u32, capacity: usize, sequences: &[&[u8]]) -> (Vec<Batch>, [u64; 2]) {
        let mut packer = Packer::new(k, capacity);
        let mut batches = Vec::new();
        for sequence in sequences {
            let Ok(()) = packer.add::<Infallible>(sequence, &mut |batch| {
                batches.push(batch);
                Ok(())
            });
        }
        let totals = [packer.bases, packer.others];
        batches.extend(packer.finish());
        (batches, totals)
    }

    /// Returns the texts of a batch's k-mers.
    fn kmers(batch: &Batch, k: u32) -> Vec<String> {
        let base = |at: usize| batch.bases[at / 32] >> (62 - 2 * (at % 32)) & 3;
        let begins = |at: &usize| batch.starts[at / 32] >> (at % 32) & 1 != 0;
        let starts = (0..batch.length).filter(begins);
        let key = |at: usize| (at..at + k as usize).fold(0, |key, at| key << 2 | base(at));
        starts.map(|at| text_of(key(at), k)).collect()
    }

    #[test]
    fn other_letters_and_sequences_divide_runs_and_lines_do_not() {
        let (batches, totals) = packed(3, 1 << 20, &[b"ac\r\nGTnAC\nGRTT", b"TA", b"CCC", b""]);
        let expected = ["ACG", "CGT", "ACG", "CCC"];
        assert_eq!(batches.len(), 1);
        assert_eq!(kmers(&batches[0], 3), expected);
        assert_eq!((batches[0].kmers, totals), (4, [14, 2]));
        assert_eq!(packed(3, 100, &[b"AC", b"GT", b"ACNNGT-AC"]).0, []);
    }

    #[test]
    fn batches_have_the_kmers_of_the_whole_once() {
        let sequence: Vec<u8> = (0..1000u32).map(|i| LETTERS[(i * i % 251 % 4) as usize]).collect();
        let (first, second) = sequence.split_at(333);
        for k in [1, 2, 5, 16, 31, 32] {
            let texts = |text: &[u8]| {
                text.windows(k as usize).map(|it| String::from_utf8(it.to_vec()).unwrap()).collect::<Vec<_>>()
            };
            let expected = [texts(first), texts(second)].concat();
            for capacity in [64, 96, 320, 4096] {
                let (batches, totals) = packed(k, capacity, &[first, second]);
                let found: Vec<String> = batches.iter().flat_map(|batch| kmers(batch, k)).collect();
                assert_eq!(found, expected, "{k} {capacity}");
                assert_eq!(totals, [1000, 0]);
                for batch in &batches {
                    let words = batch.length.div_ceil(32);
                    assert!(batch.length <= capacity);
                    assert_eq!(
                        (batch.bases.len(), batch.starts.len(), batch.before.len()),
                        (words + 1, words, words)
                    );
                }
            }
        }
    }

    #[test]
    fn bits_are_set_across_words() {
        for start in 0..70 {
            for end in start + 1..100 {
                let mut words = vec![];
                set_bits(&mut words, start, end);
                let found: Vec<usize> = (0..32 * words.len()).filter(|at| words[at / 32] >> (at % 32) & 1 != 0).collect();
                assert_eq!(found, (start..end).collect::<Vec<_>>());
            }
        }
    }
}
