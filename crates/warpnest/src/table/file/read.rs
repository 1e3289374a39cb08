//! Reads a table's file: its header, its numbers, and its sections. [`units`](super::units) reads
//! the units of the sections.
//!
//! A header may be wrong even if its checksum is right, so every length is compared with the length
//! that follows from the table's numbers. If the data's length is not known, memory is allocated as
//! the data arrives.

use super::UNIT;
use super::header::{CHECKSUM, CHUNK, Header, PAGE, padded, section_names};
use super::source::Source;
use super::target::Target;
use super::units::{Check, Found, Units};
use super::workers::Workers;
use crate::error::{FileError, TableKind};
use crate::table::config::Config;
use crate::{Device, Error, Result};
use std::ops::Range;

/// The bytes that may be allocated before any data has arrived, if the length of the data is not
/// known.
const UNSEEN: u64 = 64 << 20;
/// After that, each step allocates memory for this multiple of the bytes that have arrived.
const TIMES: u64 = 4;

/// The upper limit of values that are ids or indices.
#[derive(Clone, Copy)]
pub struct Limit {
    pub below: u64,
    /// Whether the table may contain copies of keys that no lookup finds, whose values can be
    /// anything.
    pub copies: bool,
}

/// A file that is being read.
pub struct Incoming<'r> {
    pub device: &'r Device,
    /// The limit of all values of the table, if they are ids or indices.
    pub values: Option<Limit>,
    from: Source<'r>,
    /// The workers, which are made when the first section with bytes is read.
    workers: Option<Workers>,
    /// Whether the data is known to have as many bytes as the header says.
    complete: bool,
    position: u64,
    header: Header,
    seal: u64,
    numbers: usize,
    sections: usize,
}

impl<'r> Incoming<'r> {
    /// Reads the header, and fails unless it belongs to a table of `kind`. `bytes` is the length of
    /// the file, if it is known.
    pub fn open(device: &'r Device, kind: TableKind, mut from: Source<'r>, bytes: Option<u64>) -> Result<Self> {
        let mut page = vec![0; PAGE as usize];
        let read = from.read_up_to(0, &mut page)?;
        let (header, seal) = Header::decode(&page[..read])?;
        check_length(&header, bytes)?;
        if header.kind != kind {
            return Err(Error::File(FileError::OtherTable { found: header.kind, asked: kind }));
        }
        let (complete, workers) = (bytes.is_some(), None);
        let (position, numbers, sections) = (PAGE, 0, 0);
        Ok(Self { device, values: None, from, workers, complete, position, header, seal, numbers, sections })
    }

    /// Returns the next number.
    pub fn number(&mut self) -> Result<u64> {
        self.numbers += 1;
        let missing = || FileError::inconsistent("its header has too few numbers for such a table");
        self.header.numbers.get(self.numbers - 1).copied().ok_or_else(missing)
    }

    /// Returns the next number, which must fit into 32 bits.
    pub fn short(&mut self) -> Result<u32> {
        let outside = |_| FileError::inconsistent("a number of its header has too many bits");
        self.number()?.try_into().map_err(outside)
    }

    pub fn flag(&mut self) -> Result<bool> {
        match self.number()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(FileError::inconsistent("a flag of its header is neither 0 nor 1")),
        }
    }

    pub fn float(&mut self) -> Result<f64> {
        self.number().map(f64::from_bits)
    }

    pub fn option(&mut self) -> Result<Option<u64>> {
        let (is_some, number) = (self.flag()?, self.number()?);
        Ok(is_some.then_some(number))
    }

    /// Returns the count of keys and the configuration. `design` reads the settings of the design.
    pub fn table<D>(&mut self, design: impl FnOnce(&mut Self) -> Result<D>) -> Result<(u64, Config<D>)> {
        let keys = self.number()?;
        let (seed, restarts) = (self.option()?, self.short()?);
        let (unique, statistics, timings) = (self.flag()?, self.flag()?, self.flag()?);
        Ok((keys, Config { design: design(self)?, seed, restarts, unique, statistics, timings }))
    }

    /// Fails if the file has numbers or sections that the table did not read.
    pub fn finish(self) -> Result<()> {
        if (self.numbers, self.sections) == (self.header.numbers.len(), self.header.sections.len()) {
            return Ok(());
        }
        Err(FileError::inconsistent("its header has more numbers or sections than such a table"))
    }

    /// Reads the next section, which must have `bytes` bytes, into `target`. `check` gets the
    /// section in parts that begin at multiples of a mebibyte.
    pub fn section(&mut self, bytes: u64, target: &mut dyn Target, check: Check<'_>) -> Result<()> {
        self.expect(bytes)?;
        let name = section_names(&self.header.kind)[self.sections - 1];
        let (at, chunks) = (self.position, bytes.div_ceil(CHUNK) as usize);
        let (found, mut done) = (Found::default(), 0);
        while done < bytes {
            let span = if self.complete { bytes } else { (TIMES * self.position).max(UNSEEN) };
            let end = done.saturating_add(span.next_multiple_of(UNIT)).min(bytes);
            target.reserve(end)?;
            let (file_bytes, seal) = (self.header.file_bytes(), self.seal);
            self.span(done..end, &Units { at, file_bytes, seal, target, check, found: &found })?;
            done = end;
        }
        let mut tail = vec![0; (padded(bytes) - bytes) as usize];
        self.read(&mut tail)?;
        let first = (bytes.next_multiple_of(CHECKSUM) - bytes) as usize;
        let (padding, rest) = tail.split_at(first);
        let (checksums, after) = rest.split_at(chunks * CHECKSUM as usize);
        let found = found.all();
        let damaged = |chunk: usize| {
            let chunk = chunk as u64;
            Error::File(FileError::Damaged { section: name, chunk, offset: at + (chunk * CHUNK).min(bytes) })
        };
        let mut computed = found.checksums;
        computed.sort_unstable();
        let differs = |(expected, (_, computed)): (&[u8], &(u64, u64))| *expected != computed.to_le_bytes();
        if let Some(chunk) = checksums.chunks_exact(CHECKSUM as usize).zip(&computed).position(differs) {
            return Err(damaged(chunk));
        }
        if padding.iter().chain(after).any(|&byte| byte != 0) {
            return Err(damaged(chunks));
        }
        // A contradiction counts only if the checksums match; otherwise the file is damaged.
        match found.contradiction {
            None => Ok(()),
            Some(what) => Err(FileError::inconsistent(what)),
        }
    }

    /// Skips the next section, which must have `bytes` bytes; returns its offset in the file.
    pub fn skip_section(&mut self, bytes: u64) -> Result<usize> {
        self.expect(bytes)?;
        let at = self.position;
        self.position += padded(bytes);
        Ok(at as usize)
    }

    /// Fails unless the next section has `bytes` bytes.
    fn expect(&mut self, bytes: u64) -> Result<()> {
        self.sections += 1;
        match self.header.sections.get(self.sections - 1) {
            Some(&found) if found == bytes => Ok(()),
            _ => Err(FileError::inconsistent("a section has another length than its header's numbers imply")),
        }
    }

    /// Reads the bytes `span` of a section.
    fn span(&mut self, span: Range<u64>, units: &Units<'_>) -> Result<()> {
        let workers = match &mut self.workers {
            Some(workers) => workers,
            none => {
                let most = self.header.sections.iter().copied().max().unwrap_or(0);
                none.insert(Workers::new(self.device, most)?)
            }
        };
        let bytes = span.end - span.start;
        let workers = workers.of(bytes.div_ceil(UNIT));
        match &mut self.from {
            Source::File(file) => units.of_file(file, span, workers)?,
            Source::Stream(from) => units.of_stream(*from, span, workers)?,
        }
        self.position += bytes;
        Ok(())
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        let read = self.from.read_up_to(self.position, bytes)?;
        self.position += read as u64;
        if read < bytes.len() {
            let (has, needs) = (self.position, self.header.file_bytes());
            return Err(Error::File(FileError::Cut { has, needs }));
        }
        Ok(())
    }
}

/// Fails unless a file of `bytes` bytes is as long as its header says. Unknown lengths are
/// accepted.
pub(crate) fn check_length(header: &Header, bytes: Option<u64>) -> Result<()> {
    let needs = header.file_bytes();
    match bytes {
        Some(has) if has < needs => Err(Error::File(FileError::Cut { has, needs })),
        Some(has) if has > needs => Err(Error::File(FileError::Longer { has, needs })),
        _ => Ok(()),
    }
}
