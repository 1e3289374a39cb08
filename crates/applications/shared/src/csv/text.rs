//! The text of CSV, which is checked before a parser reads it. The parser alone would accept
//! anything: an unclosed quote would swallow the rest of a file.

use crate::lines::read_with_next;
use crate::size::Size;
use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::rc::Rc;
use thiserror::Error;

/// The maximum bytes of a record, besides an eighth of the memory that is left.
const MAX_RECORD_BYTES: u64 = 256 << 20;
/// The maximum number of fields of a record, because parsers and columns take memory for each.
const MAX_FIELDS: u32 = 1 << 20;

/// A fault in the text of a CSV file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CsvFault {
    #[error("line {line}: a quoted field begins here and nothing closes it; add the quote that closes it")]
    Unclosed { line: u64 },
    #[error(
        "line {line}: a quoted field begins here and nothing closes it within {limit}; add the quote that closes it"
    )]
    UnclosedLong { line: u64, limit: Size },
    #[error(
        "line {line}: text follows the quote that closes a field, which begins on line {begins}; \
        close that field where it ends, or double the quotes within it"
    )]
    BehindQuote { line: u64, begins: u64 },
    #[error(
        "line {line}: a row begins here and has no end within {limit}; is this CSV? If so, {}",
        if limit.0 < MAX_RECORD_BYTES { "allow more by --memory" } else { "divide such rows" }
    )]
    Long { line: u64, limit: Size },
    #[error("line {line}: a row has more than {MAX_FIELDS} fields; leave out columns, or divide the file")]
    Fields { line: u64 },
    #[error("line {line}: a byte is 0, which no CSV has; if the file is UTF-16, save it as UTF-8")]
    Zero { line: u64 },
    #[error("the file is UTF-16; save it as UTF-8")]
    Utf16,
    #[error("the file is compressed by gzip; unpack it, and give what was in it")]
    Gzip,
    #[error("the file is Parquet; name it .parquet")]
    Parquet,
}

/// Faults and line numbers, passed beside the parser, which keeps only the words of a reader's
/// error, and counts neither carriage returns nor empty lines.
#[derive(Clone, Debug, Default)]
pub struct Findings(Rc<Found>);

#[derive(Debug, Default)]
struct Found {
    fault: OnceCell<CsvFault>,
    /// The first lines of records that were read, until they are taken.
    lines: RefCell<VecDeque<u64>>,
}

impl Findings {
    /// Returns the fault that ended the text, if there was one.
    pub fn fault(&self) -> Option<CsvFault> {
        self.0.fault.get().cloned()
    }

    /// Removes and returns the line at which the next record begins.
    pub fn take_line(&self) -> Option<u64> {
        self.0.lines.borrow_mut().pop_front()
    }
}

/// The position of the text within a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Start,
    Plain,
    Quoted,
    /// After a quote in a quoted field, which closes the field unless another quote follows.
    Quote,
    /// After blanks that follow a quoted field.
    Blanks,
}

/// A reader of the text of a CSV file, as UTF-8 without a byte order mark. Every record ends with a
/// line feed. Reading fails at a fault.
pub struct CheckedText<R> {
    inner: R,
    delimiter: u8,
    max_record_bytes: u64,
    findings: Findings,
    keeps_lines: bool,
    is_begun: bool,
    state: State,
    line: u64,
    /// The line at which the record begins.
    record_line: u64,
    /// The line at which the quoted field begins.
    quote_line: u64,
    fields: u32,
    /// The number of bytes of the text so far.
    bytes: u64,
    /// The number of bytes of the text before the record.
    record_start: u64,
}

impl<R: BufRead> CheckedText<R> {
    /// Returns the text, and the findings that reading it will fill.
    pub fn new(inner: R, delimiter: u8) -> (Self, Findings) {
        Self::within(inner, delimiter, MAX_RECORD_BYTES.min(crate::memory::left() / 8))
    }

    /// Makes the text record the line of each record.
    pub fn keep_lines(mut self) -> Self {
        self.keeps_lines = true;
        self
    }

    /// Returns the same as [`CheckedText::new`], with another limit for a record's bytes.
    fn within(inner: R, delimiter: u8, max_record_bytes: u64) -> (Self, Findings) {
        let findings = Findings::default();
        let text = Self {
            inner,
            delimiter,
            max_record_bytes,
            findings: findings.clone(),
            keeps_lines: false,
            is_begun: false,
            state: State::Start,
            line: 1,
            record_line: 1,
            quote_line: 1,
            fields: 0,
            bytes: 0,
            record_start: 0,
        };
        (text, findings)
    }

    fn fail<T>(&self, fault: CsvFault) -> io::Result<T> {
        let text = fault.to_string();
        // The first fault is kept, because a parser may continue to read.
        let _ = self.findings.0.fault.set(fault);
        Err(io::Error::other(text))
    }

    /// Skips the byte order mark, and refuses files that are not text.
    fn begin(&mut self) -> io::Result<()> {
        self.is_begun = true;
        let first = self.inner.fill_buf()?;
        match first {
            [0xef, 0xbb, 0xbf, ..] => self.inner.consume(3),
            [0xfe, 0xff, ..] | [0xff, 0xfe, ..] => return self.fail(CsvFault::Utf16),
            [0x1f, 0x8b, ..] => return self.fail(CsvFault::Gzip),
            [b'P', b'A', b'R', b'1', 0x15, ..] => return self.fail(CsvFault::Parquet),
            _ => (),
        }
        Ok(())
    }

    /// Checks a byte, given the byte after it, and returns the byte for the parser.
    #[inline]
    fn step(&mut self, byte: u8, next: Option<u8>) -> Result<u8, CsvFault> {
        let (line, begins) = (self.line, self.quote_line);
        self.bytes += 1;
        if matches!(byte, b'\n' | b'\r') {
            // A carriage return before a line feed belongs to the same line end.
            let ends = byte == b'\n' || next != Some(b'\n');
            self.line += u64::from(ends);
            if self.state == State::Quoted {
                return Ok(byte);
            }
            self.state = State::Start;
            (self.record_line, self.record_start, self.fields) = (self.line, self.bytes, 0);
            return Ok(if ends { b'\n' } else { byte });
        }
        if byte == 0 {
            return Err(CsvFault::Zero { line });
        }
        // This is the first byte of a record; empty lines are not records.
        if self.keeps_lines && self.bytes - self.record_start == 1 {
            self.findings.0.lines.borrow_mut().push_back(line);
        }
        self.state = match (self.state, byte) {
            (State::Quoted, b'"') => State::Quote,
            (State::Quoted, _) => State::Quoted,
            (_, byte) if byte == self.delimiter => {
                self.fields += 1;
                if self.fields >= MAX_FIELDS {
                    return Err(CsvFault::Fields { line: self.record_line });
                }
                State::Start
            }
            (State::Start, b'"') => {
                self.quote_line = line;
                State::Quoted
            }
            (State::Start | State::Plain, _) => State::Plain,
            (State::Quote, b'"') => State::Quoted,
            (State::Quote | State::Blanks, b' ' | b'\t') => State::Blanks,
            (State::Quote | State::Blanks, _) => return Err(CsvFault::BehindQuote { line, begins }),
        };
        Ok(byte)
    }
}

impl<R: BufRead> Read for CheckedText<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if let Some(fault) = self.findings.fault() {
            return self.fail(fault);
        }
        if !self.is_begun {
            self.begin()?;
        }
        let (read, next) = read_with_next(&mut self.inner, bytes)?;
        if read == 0 && !bytes.is_empty() && self.state == State::Quoted {
            return self.fail(CsvFault::Unclosed { line: self.quote_line });
        }
        let bytes = &mut bytes[..read];
        for at in 0..read {
            bytes[at] = match self.step(bytes[at], bytes.get(at + 1).copied().or(next)) {
                Ok(byte) => byte,
                Err(fault) => return self.fail(fault),
            };
        }
        if self.bytes - self.record_start > self.max_record_bytes {
            let limit = Size(self.max_record_bytes);
            return self.fail(match self.state {
                State::Quoted => CsvFault::UnclosedLong { line: self.quote_line, limit },
                _ => CsvFault::Long { line: self.record_line, limit },
            });
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
