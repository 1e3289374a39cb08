//! The header of a table's file, which describes the table and the lengths of its sections.

use crate::error::{FileError, TableKind};
use crate::{Error, Result};
use twox_hash::XxHash3_64;

/// The bytes of the header, and the alignment of sections in a file.
pub(super) const PAGE: u64 = 4096;
/// The bytes of a chunk; each chunk has its own checksum.
pub(super) const CHUNK: u64 = 1 << 20;
/// The bytes of a checksum.
pub(super) const CHECKSUM: u64 = 8;
/// The first bytes of a file. Programs that change line ends or the eighth bit of bytes damage
/// them.
const MAGIC: [u8; 8] = *b"\x89WNEST\r\n";
/// The version of the format that is written, and the newest version that can be read.
pub(super) const VERSION: u32 = 1;
/// The offset of the header's checksum, which covers the bytes before it.
const CHECKSUM_AT: usize = PAGE as usize - 8;
/// The offset of the header's numbers, which the lengths of the sections follow.
const NUMBERS_AT: usize = 32;
/// The most bytes of a section. The limit keeps sums of lengths from overflowing.
const MAX_SECTION: u64 = 1 << 54;

/// The names of the designs, each with the names of its table's sections. A file stores a design's
/// index in this array plus one.
const DESIGNS: [(&str, &[&str]); 6] = [
    ("Page", &["buckets"]),
    ("Cuckoo", &["header", "slots"]),
    ("TwoLevel", &["header", "seeds", "slots"]),
    ("Sorted", &["keys", "values"]),
    ("Linear", &["cell", "slots"]),
    ("Extendible", &["segments", "headers", "bucket tables", "records"]),
];
/// The names of façades, each with the names of the sections after the design's sections. A file
/// stores a façade's index in this array plus one.
const FORMS: [(&str, &[&str]); 5] = [
    ("Map", &[]),
    ("Set", &[]),
    ("CompactingTable", &["keys"]),
    ("MultiMap", &["ends of runs", "values"]),
    (ROW_MAP, &["rows"]),
];
/// The façade whose values may have more than 255 bytes. The header's second number is the count of
/// bytes.
pub(crate) const ROW_MAP: &str = "RowMap";

/// Returns the names of the sections of a table, in their order.
pub(super) fn section_names(kind: &TableKind) -> Vec<&'static str> {
    let of = |names: &[(&str, &'static [&'static str])], name| {
        names.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, sections)| *sections)
    };
    [of(&DESIGNS, kind.design), of(&FORMS, kind.form)].concat()
}

/// The contents of a header.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Header {
    pub kind: TableKind,
    /// The configuration, the layout and the counts, in the order in which the table writes them.
    pub numbers: Vec<u64>,
    /// The count of data bytes of each section.
    pub sections: Vec<u64>,
}

/// Returns the checksum of bytes at the offset `at` of a file. It depends on the offset and on
/// `seed`, the header's checksum, so swapped chunks, or chunks of another file, are noticed.
pub(super) fn checksum(seed: u64, at: u64, bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(seed.wrapping_add(at), bytes)
}

/// Returns the bytes that a section of `bytes` bytes takes in a file, with its checksums and its
/// padding.
pub(super) const fn padded(bytes: u64) -> u64 {
    (bytes.next_multiple_of(CHECKSUM) + bytes.div_ceil(CHUNK) * CHECKSUM).next_multiple_of(PAGE)
}

impl Header {
    /// Returns the bytes of the whole file.
    pub(crate) fn file_bytes(&self) -> u64 {
        PAGE + self.sections.iter().map(|&bytes| padded(bytes)).sum::<u64>()
    }

    /// Returns the bytes of the header in the file, and the header's checksum.
    pub(crate) fn encode(&self) -> (Vec<u8>, u64) {
        let mut page = vec![0; PAGE as usize];
        let number_of = |names: &[(&str, &[&str])], name| {
            names.iter().position(|(known, _)| *known == name).map_or(0, |at| at as u8 + 1)
        };
        let TableKind { design, form, key_bytes, value_bytes } = self.kind;
        page[..8].copy_from_slice(&MAGIC);
        page[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let value_byte = if form == ROW_MAP { 0 } else { value_bytes as u8 };
        page[12..16].copy_from_slice(&[number_of(&FORMS, form), number_of(&DESIGNS, design), key_bytes, value_byte]);
        page[16..20].copy_from_slice(&(self.numbers.len() as u32).to_le_bytes());
        page[20..24].copy_from_slice(&(self.sections.len() as u32).to_le_bytes());
        page[24..32].copy_from_slice(&self.file_bytes().to_le_bytes());
        let words = self.numbers.iter().chain(&self.sections);
        // Tables have a few dozen numbers and sections, so all fit.
        for (to, word) in page[NUMBERS_AT..CHECKSUM_AT].chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let seal = checksum(0, 0, &page[..CHECKSUM_AT]);
        page[CHECKSUM_AT..].copy_from_slice(&seal.to_le_bytes());
        (page, seal)
    }

    /// Reads a header from `page`, which is shorter than a header only if the data ends early.
    /// Returns the header's checksum, too.
    pub(crate) fn decode(page: &[u8]) -> Result<(Self, u64)> {
        let start = &page[..page.len().min(MAGIC.len())];
        if !MAGIC.starts_with(start) {
            return Err(Error::File(FileError::Foreign { found: start.to_vec() }));
        }
        if (page.len() as u64) < PAGE {
            return Err(Error::File(FileError::Cut { has: page.len() as u64, needs: PAGE }));
        }
        let word = |at: usize| u64::from_le_bytes(page[at..at + 8].try_into().expect("a slice of 8 bytes"));
        let short = |at: usize| u32::from_le_bytes(page[at..at + 4].try_into().expect("a slice of 4 bytes"));
        let seal = word(CHECKSUM_AT);
        // The header of every version has this many bytes, and ends with its checksum.
        if checksum(0, 0, &page[..CHECKSUM_AT]) != seal {
            return Err(Error::File(FileError::DamagedHeader));
        }
        if short(8) != VERSION {
            return Err(Error::File(FileError::Newer { version: short(8), newest: VERSION }));
        }
        let named = |names: &[(&'static str, _)], number: u8| {
            names.get((number as usize).wrapping_sub(1)).map(|(name, _)| *name)
        };
        let (Some(form), Some(design)) = (named(&FORMS, page[12]), named(&DESIGNS, page[13])) else {
            return Err(FileError::inconsistent("its header names a kind of table that there is not"));
        };
        let (numbers, sections) = (short(16) as usize, short(20) as usize);
        if numbers.saturating_add(sections) > (CHECKSUM_AT - NUMBERS_AT) / 8 {
            return Err(FileError::inconsistent("its header has more numbers than fit into it"));
        }
        let words = |from: usize, count| (from..from + count).map(|i| word(NUMBERS_AT + 8 * i)).collect::<Vec<_>>();
        let (numbers, sections) = (words(0, numbers), words(numbers, sections));
        let Some(value_bytes) = (match form {
            ROW_MAP => numbers.get(1).and_then(|&bytes| u32::try_from(bytes).ok()),
            _ => Some(page[15] as u32),
        }) else {
            return Err(FileError::inconsistent("its header does not say how many bytes a row has"));
        };
        let kind = TableKind { design, form, key_bytes: page[14], value_bytes };
        let header = Self { kind, numbers, sections };
        if header.sections.iter().any(|&bytes| bytes > MAX_SECTION) {
            return Err(FileError::inconsistent("a section is longer than any device's memory"));
        }
        // This comparison also checks the file's length, and that no unread byte of the header is
        // set.
        match header.encode().0 == page[..PAGE as usize] {
            true => Ok((header, seal)),
            false => Err(FileError::inconsistent("its header is not as `save` writes it")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let kind = TableKind { design: "Linear", form: "Map", key_bytes: 8, value_bytes: 4 };
        Header { kind, numbers: vec![1, u64::MAX, 3], sections: vec![0, 1, CHUNK, CHUNK + 1] }
    }

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let (page, seal) = header().encode();
        assert_eq!(Header::decode(&page), Ok((header(), seal)));
        // After the header: an empty section, a section of a byte, of a chunk, and of a chunk and a
        // byte.
        assert_eq!(header().file_bytes(), PAGE + PAGE + (CHUNK + PAGE) + (CHUNK + PAGE));
    }

    #[test]
    fn an_empty_section_takes_nothing_and_others_whole_pages() {
        assert_eq!(
            [0, 1, 4088, 4089, CHUNK, 513 * CHUNK].map(padded),
            [0, PAGE, PAGE, 2 * PAGE, CHUNK + PAGE, 513 * CHUNK + 2 * PAGE]
        );
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_found() {
        let (page, _) = header().encode();
        for bit in 0..8 * page.len() {
            let mut damaged = page.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            match Header::decode(&damaged).unwrap_err() {
                Error::File(FileError::Foreign { .. }) if bit < 64 => (),
                Error::File(FileError::DamagedHeader) if bit >= 64 => (),
                error => panic!("bit {bit}: {error}"),
            }
        }
    }

    #[test]
    fn a_header_with_a_right_checksum_that_save_would_not_write_is_refused() {
        let forged = |change: &dyn Fn(&mut Vec<u8>)| {
            let (mut page, _) = header().encode();
            change(&mut page);
            let seal = checksum(0, 0, &page[..CHECKSUM_AT]);
            page[CHECKSUM_AT..].copy_from_slice(&seal.to_le_bytes());
            Header::decode(&page).unwrap_err()
        };
        let newer = FileError::Newer { version: 7, newest: VERSION };
        assert_eq!(forged(&|page| page[8] = 7), Error::File(newer));
        let inconsistent =
            |error: Error| assert!(matches!(error, Error::File(FileError::Inconsistent { .. })), "{error}");
        inconsistent(forged(&|page| page[12] = 6));
        inconsistent(forged(&|page| (page[12], page[NUMBERS_AT + 8 + 7]) = (5, 1)));
        inconsistent(forged(&|page| page[13] = 0));
        inconsistent(forged(&|page| page[16..24].fill(0xff)));
        inconsistent(forged(&|page| page[24] += 1));
        // The sum of the lengths of these sections overflows.
        inconsistent(forged(&|page| {
            page[16..20].copy_from_slice(&0u32.to_le_bytes());
            page[20..24].copy_from_slice(&500u32.to_le_bytes());
            page[NUMBERS_AT..NUMBERS_AT + 8 * 500].copy_from_slice(&MAX_SECTION.to_le_bytes().repeat(500));
        }));
        inconsistent(forged(&|page| page[NUMBERS_AT + 8 * 3 + 7] = 0xff));
        inconsistent(forged(&|page| page[CHECKSUM_AT - 1] = 1));
    }
}
