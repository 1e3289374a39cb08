//! Texts of sequences, which a reader sends to packing threads.

use super::bases::{CODES, LINE_END, OTHER};
use std::sync::mpsc::SyncSender;

/// A letter that is not a base, after each sequence of a text.
const SEPARATOR: u8 = 0;
/// The minimum bytes of a text; the next text may repeat 31 of them.
const LEAST_BYTES: usize = 64;

/// Several sequences, or a part of one sequence, with their line ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Text {
    pub letters: Vec<u8>,
    /// The number of leading letters repeated from the text before, so that no k-mer of a continued
    /// sequence is lost.
    repeated: usize,
    separators: u64,
}

impl Text {
    /// Returns the counts of repeated bases, and of repeated other letters and separators.
    pub fn of_others(&self) -> [u64; 2] {
        let is_base = |letter: &&u8| CODES[**letter as usize] < LINE_END;
        let bases = self.letters[..self.repeated].iter().filter(is_base).count();
        [bases as u64, (self.repeated - bases) as u64 + self.separators]
    }
}

/// A maker of texts, which fills them with sequences and sends them.
#[derive(Debug)]
pub struct Texts {
    k: usize,
    bytes: usize,
    sender: SyncSender<Text>,
    text: Text,
}

impl Texts {
    /// Returns a maker of texts of about `bytes` bytes, for k-mers of `k` bases.
    pub fn new(k: u32, bytes: usize, sender: SyncSender<Text>) -> Self {
        const { assert!(CODES[SEPARATOR as usize] == OTHER, "a separator is no base") };
        Self { k: k as usize, bytes: bytes.max(LEAST_BYTES), sender, text: Text::default() }
    }

    /// Adds a sequence.
    pub fn add(&mut self, mut sequence: &[u8]) {
        loop {
            // A text always has space for at least one byte.
            let taken = sequence.len().min(self.bytes - self.text.letters.len());
            let (now, later) = sequence.split_at(taken);
            self.text.letters.extend_from_slice(now);
            if later.is_empty() {
                break;
            }
            let letters = self.last_letters();
            self.send();
            self.text.repeated = letters.len();
            self.text.letters.extend(letters);
            sequence = later;
        }
        self.text.letters.push(SEPARATOR);
        self.text.separators += 1;
        if self.text.letters.len() >= self.bytes {
            self.send();
        }
    }

    /// Returns the last `k - 1` letters of the sequence, with which the next text must begin.
    fn last_letters(&self) -> Vec<u8> {
        let of_sequence = self.text.letters.iter().rev().take_while(|letter| **letter != SEPARATOR);
        let letters = of_sequence.filter(|letter| CODES[**letter as usize] != LINE_END);
        let mut letters: Vec<u8> = letters.take(self.k - 1).copied().collect();
        letters.reverse();
        letters
    }

    /// Sends the text unless it is empty.
    pub fn send(&mut self) {
        let text =
            std::mem::replace(&mut self.text, Text { letters: Vec::with_capacity(self.bytes + 1), ..Text::default() });
        if !text.letters.is_empty() {
            // Sending fails if all packers have panicked. The reader notices this when it joins
            // them.
            let _ = self.sender.send(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    #[test]
    fn texts_have_all_sequences_and_repeat_what_kmers_begin_with() {
        let sequence = |length: usize| (0..length).map(|i| b"ACGTN\nACG\r"[i * i % 10]).collect::<Vec<u8>>();
        let sequences = [300, 0, 1, 63, 64, 65, 5, 129].map(sequence);
        for (k, bytes) in [(1, 64), (4, 64), (32, 64), (32, 100), (7, 1 << 20)] {
            let (sender, receiver) = sync_channel(100);
            let mut texts = Texts::new(k, bytes, sender);
            sequences.iter().for_each(|sequence| texts.add(sequence));
            texts.send();
            drop(texts);
            let texts: Vec<Text> = receiver.into_iter().collect();
            assert_eq!(texts.len() == 1, bytes == 1 << 20);
            let own = texts.iter().flat_map(|text| &text.letters[text.repeated..]).copied().collect::<Vec<u8>>();
            assert_eq!(own, sequences.iter().flat_map(|it| it.iter().copied().chain([SEPARATOR])).collect::<Vec<u8>>());
            let mut before = Vec::new();
            for text in &texts {
                assert!(text.letters.len() <= bytes + 1);
                let repeated = &text.letters[..text.repeated];
                let last = before.rsplit(|letter| *letter == SEPARATOR).next().unwrap_or_default();
                let letters: Vec<u8> = last.iter().copied().filter(|letter| !b"\r\n".contains(letter)).collect();
                assert_eq!(repeated, &letters[letters.len().saturating_sub(k as usize - 1)..]);
                let bases = repeated.iter().filter(|letter| b"ACGT".contains(letter)).count() as u64;
                let others = text.letters.iter().filter(|letter| **letter == SEPARATOR).count() as u64;
                assert_eq!(text.of_others(), [bases, others + repeated.len() as u64 - bases]);
                before.extend_from_slice(&text.letters[text.repeated..]);
            }
        }
    }
}
