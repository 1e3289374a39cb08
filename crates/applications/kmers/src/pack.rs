//! The packing of sequences into batches, each with k-mers of one bin.

use super::bases::{Batch, CODES, LINE_END, OTHER, Runs};
use super::minimizer::{BINS, Minimizer};
use warpnest_applications_kernels::kmers::BASES_IN_WORD;

/// The maximum bases of a piece, which fill whole words.
const PIECE: usize = 1 << 15;
/// The value of `bin` without a k-mer.
const NONE: usize = usize::MAX;

/// A packer, which makes batches of sequences.
///
/// A piece is a run of bases without other letters between them. Its k-mers are divided into bins
/// by their minimizers, and neighbouring k-mers of the same bin are added to the bin as one run of
/// bases. If a piece is full, the next piece repeats its last bases.
#[derive(Debug)]
pub struct Packer {
    k: usize,
    /// The number of bases at which a batch is full.
    capacity: usize,
    bins: Vec<Runs>,
    /// The minimizer of the last k-mer, if there are several bins.
    minimizer: Option<Minimizer>,
    /// The full words of the piece.
    piece: Vec<u64>,
    /// The piece's bases that do not fill a word yet.
    word: u64,
    length: usize,
    /// The bin of the last k-mer.
    bin: usize,
    /// The index of the piece's base at which the bin's run begins.
    run: usize,
    /// The number of bases that were added.
    pub bases: u64,
    /// The number of letters that are not bases.
    pub others: u64,
}

impl Packer {
    /// Returns whether there are several bins for k-mers of `k` bases.
    pub fn has_bins(k: u32) -> bool {
        k >= Minimizer::LEAST_K
    }

    /// Returns a packer for k-mers of `k` bases (1 to 32), with batches of about `capacity` bases.
    pub fn new(k: u32, capacity: usize) -> Self {
        let minimizer = Self::has_bins(k).then(|| Minimizer::new(k));
        let bins = vec![Runs::default(); if minimizer.is_some() { BINS } else { 1 }];
        let (piece, k) = (Vec::with_capacity(PIECE / BASES_IN_WORD + 2), k as usize);
        Self { k, capacity, bins, minimizer, piece, word: 0, length: 0, bin: NONE, run: 0, bases: 0, others: 0 }
    }

    /// Adds a whole sequence. `full` is called with each batch that becomes full, and its bin.
    pub fn add(&mut self, sequence: &[u8], full: &mut dyn FnMut(usize, Batch)) {
        let (mut line_ends, mut others) = (0, 0);
        for &byte in sequence {
            match CODES[byte as usize] {
                LINE_END => line_ends += 1,
                OTHER => {
                    others += 1;
                    self.end_piece(full);
                }
                code => {
                    self.push(code, full);
                    if self.length == PIECE {
                        self.next_piece(full);
                    }
                }
            }
        }
        self.end_piece(full);
        self.others += others;
        self.bases += sequence.len() as u64 - line_ends - others;
    }

    /// Calls `full` with the remaining batch of each bin.
    pub fn finish(&mut self, full: &mut dyn FnMut(usize, Batch)) {
        for (number, bin) in self.bins.iter_mut().enumerate().filter(|(_, bin)| bin.length > 0) {
            full(number, bin.take());
        }
    }

    #[inline(always)]
    fn push(&mut self, code: u8, full: &mut dyn FnMut(usize, Batch)) {
        let bin = match &mut self.minimizer {
            Some(minimizer) => {
                minimizer.push(code);
                minimizer.bin()
            }
            None => 0,
        };
        if bin != self.bin && self.length + 1 >= self.k {
            self.end_run(full);
            (self.bin, self.run) = (bin, self.length + 1 - self.k);
        }
        self.word = self.word << 2 | u64::from(code);
        self.length += 1;
        if self.length.is_multiple_of(BASES_IN_WORD) {
            self.piece.push(self.word);
        }
    }

    /// Adds the current run of k-mers to its bin.
    fn end_run(&mut self, full: &mut dyn FnMut(usize, Batch)) {
        if self.bin == NONE {
            return;
        }
        let words = self.piece.len();
        let rest = self.length % BASES_IN_WORD;
        // If `rest` is 0, this word is not read.
        self.piece.push(self.word << (2 * (BASES_IN_WORD - rest) - 1) << 1);
        self.piece.push(0);
        let bin = &mut self.bins[self.bin];
        bin.add(&self.piece, self.run, self.length, self.k);
        self.piece.truncate(words);
        if bin.length >= self.capacity {
            full(self.bin, bin.take());
        }
    }

    /// Begins a piece that does not continue the last one.
    fn end_piece(&mut self, full: &mut dyn FnMut(usize, Batch)) {
        self.end_run(full);
        self.piece.clear();
        (self.length, self.bin) = (0, NONE);
        if let Some(minimizer) = &mut self.minimizer {
            minimizer.begin();
        }
    }

    /// Begins a piece that continues the last one, which is full.
    fn next_piece(&mut self, full: &mut dyn FnMut(usize, Batch)) {
        let last = self.word;
        self.end_piece(full);
        for place in (0..self.k - 1).rev() {
            self.push((last >> (2 * place)) as u8 & 3, full);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bases::text_of;
    use std::collections::HashMap;

    /// Returns batches with their bins, and the counts of bases and other letters.
    fn packed(k: u32, capacity: usize, sequences: &[&[u8]]) -> (Vec<(usize, Batch)>, [u64; 2]) {
        let mut packer = Packer::new(k, capacity);
        let mut batches = Vec::new();
        let mut full = |bin, batch| batches.push((bin, batch));
        for sequence in sequences {
            packer.add(sequence, &mut full);
        }
        packer.finish(&mut full);
        (batches, [packer.bases, packer.others])
    }

    /// Returns the texts of a batch's k-mers.
    fn kmers(batch: &Batch, k: u32) -> Vec<String> {
        let base = |at: usize| batch.bases[at / 32] >> (62 - 2 * (at % 32)) & 3;
        let begins = |at: &usize| batch.starts[at / 32] >> (at % 32) & 1 != 0;
        let key = |at: usize| (at..at + k as usize).fold(0, |key, at| key << 2 | base(at));
        (0..batch.length).filter(begins).map(|at| text_of(key(at), k)).collect()
    }

    #[test]
    fn other_letters_and_sequences_divide_pieces_and_lines_do_not() {
        let (batches, totals) = packed(3, 1 << 20, &[b"ac\r\nGTnAC\nGRTT", b"TA", b"CCC", b""]);
        assert_eq!(batches.len(), 1);
        assert_eq!(kmers(&batches[0].1, 3), ["ACG", "CGT", "ACG", "CCC"]);
        assert_eq!((batches[0].1.kmers, totals), (4, [14, 2]));
        assert_eq!(packed(3, 100, &[b"AC", b"GT", b"ACNNGT-AC"]).0, []);
    }

    #[test]
    fn bins_have_the_kmers_of_the_whole_once_and_each_in_one_bin() {
        let sequence: Vec<u8> =
            (0..PIECE as u64 * 2 + 1000).map(|i| b"ACGT"[(i * i * 31 % 1009 * i / 7 % 4) as usize]).collect();
        let (first, second) = sequence.split_at(333);
        for k in [1, 2, 5, 12, 13, 16, 31, 32] {
            let mut expected = HashMap::<String, usize>::new();
            for part in [first, second] {
                let texts = part.windows(k as usize).map(|it| String::from_utf8(it.to_vec()).unwrap());
                texts.for_each(|text| *expected.entry(text).or_default() += 1);
            }
            for capacity in [1, 320, 1 << 20] {
                let (batches, totals) = packed(k, capacity, &[first, second]);
                assert_eq!(totals, [sequence.len() as u64, 0]);
                let (mut found, mut bin_of) = (HashMap::<String, usize>::new(), HashMap::new());
                for (bin, batch) in &batches {
                    let kmers = kmers(batch, k);
                    assert_eq!(kmers.len(), batch.kmers);
                    for kmer in kmers {
                        assert_eq!(bin_of.entry(kmer.clone()).or_insert(*bin), bin);
                        *found.entry(kmer).or_default() += 1;
                    }
                }
                assert!(found == expected, "{k} {capacity}");
            }
        }
    }
}
