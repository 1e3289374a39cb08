//! Reading the bytes of a text.

use crate::seam::Global;
use crate::types::Scalar;

/// A column of texts: their bytes, eight in a word, and the offsets between which each text is
/// stored.
#[derive(Clone, Copy)]
pub(super) struct Texts<O> {
    pub offsets: Global<O>,
    pub bytes: Global<u64>,
}

impl<O: Scalar> Texts<O> {
    /// Returns the text of a row.
    #[inline(always)]
    pub fn text(&self, row: u64) -> Text {
        let start = self.offsets.load_read_only(row).to_u64();
        let end = self.offsets.load_read_only(row + 1).to_u64();
        Text { bytes: self.bytes, start, length: end - start }
    }
}

/// A text: `length` bytes starting at byte `start`.
#[derive(Clone, Copy)]
pub(super) struct Text {
    bytes: Global<u64>,
    start: u64,
    pub length: u64,
}

impl Text {
    /// Returns the words of the text from its beginning.
    #[inline(always)]
    pub fn words(&self) -> TextWords {
        let at = self.start / 8;
        let held = if self.length == 0 { 0 } else { self.bytes.load_read_only(at) };
        TextWords { bytes: self.bytes, at, left: self.length, skipped: self.start as u32 % 8, held }
    }
}

/// The words of a text that begins at any byte. Each word of memory is read once, and only if it
/// contains a byte of the text.
pub(super) struct TextWords {
    bytes: Global<u64>,
    /// The index of the word in `held`.
    at: u64,
    /// The count of remaining bytes.
    pub left: u64,
    /// The count of bytes in a word of memory before the next byte of the text.
    skipped: u32,
    /// The word of memory that contains the next byte of the text.
    held: u64,
}

impl TextWords {
    /// Returns the next 8 bytes as a word. Bytes after the end of the text are 0. There must be at
    /// least one byte left.
    #[inline(always)]
    pub fn next(&mut self) -> u64 {
        let shift = 8 * self.skipped;
        self.at += 1;
        let goes_on = self.left > (8 - self.skipped) as u64;
        let next = if goes_on { self.bytes.load_read_only(self.at) } else { 0 };
        // There are two shifts, since a shift by 64 bits would have no effect.
        let word = self.held >> shift | next << 1 << (63 - shift);
        let word = if self.left < 8 { word & !(u64::MAX << (8 * self.left)) } else { word };
        self.held = next;
        self.left = self.left.saturating_sub(8);
        word
    }
}

#[cfg(test)]
mod tests {
    use super::Texts;
    use crate::seam::Global;

    #[test]
    fn words_of_texts_at_every_byte_and_of_every_length() {
        let bytes: [u8; 48] = core::array::from_fn(|byte| byte as u8 + 1);
        for start in 0..17 {
            for length in 0..31 {
                let end = start + length;
                // Bytes after the text must be cut off, and words without a byte of the text must
                // not be read.
                let mut words = [u64::MAX; 6];
                for (word, chunk) in words.iter_mut().zip(bytes[..end].chunks(8)) {
                    *word = chunk.iter().rev().fold(u64::MAX, |word, &byte| word << 8 | byte as u64);
                }
                let offsets = [start as u32, end as u32];
                // SAFETY: both arrays are only read, and only at their elements.
                let texts = unsafe {
                    let bytes = Global::new(words.as_ptr().cast_mut());
                    Texts { offsets: Global::new(offsets.as_ptr().cast_mut()), bytes }
                };
                let text = texts.text(0);
                assert_eq!(text.length, length as u64);
                let mut read = text.words();
                for chunk in bytes[start..end].chunks(8) {
                    let word = chunk.iter().rev().fold(0, |word, &byte| word << 8 | byte as u64);
                    assert_eq!(read.next(), word, "{start} {length}");
                }
                assert_eq!(read.left, 0);
            }
        }
    }
}
