//! Reading a table's file: the calling thread reads, others check and hash the chunks and copy them
//! to the device.
//!
//! A header may lie, also one whose checksum is right. So every length is compared with the one
//! that follows from the table's numbers. Of data whose length is not known beforehand, memory is
//! taken as data comes.

use super::header::{CHECKSUM, CHUNK, Header, PAGE, checksum, padded};
use super::target::{Nowhere, Target};
use super::{UNIT, workers};
use crate::error::{FileError, TableKind};
use crate::runtime::staging::Staging;
use crate::table::config::Config;
use crate::{Device, Error, Result, Stream};
use std::io::{ErrorKind, Read};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// A check of a part of a section, from an offset on, before anything uses it. It says what
/// contradicts what the header says.
pub type Check<'c> = &'c (dyn Fn(u64, &[u8]) -> Result<(), &'static str> + Sync);

/// The bytes for which memory is taken before they have come, if it is not known how many come.
const UNSEEN: u64 = 64 << 20;
/// How many times as much memory is taken as has come, from then on.
const TIMES: u64 = 4;

/// The limit of values that number something.
#[derive(Clone, Copy)]
pub struct Limit {
    pub below: u64,
    /// Whether there may be copies of keys that lookups do not find, with any values.
    pub copies: bool,
}

/// A file that is being read.
pub struct Incoming<'r> {
    pub device: &'r Device,
    /// The limit of all values of the table, if they number something.
    pub values: Option<Limit>,
    from: &'r mut dyn Read,
    /// Whether there are as many bytes as the header says.
    complete: bool,
    position: u64,
    header: Header,
    seal: u64,
    numbers: usize,
    sections: usize,
}

impl<'r> Incoming<'r> {
    /// Reads the header, and fails unless it is that of such a table. `bytes` is the length of the
    /// file, if it is known.
    pub fn open(device: &'r Device, kind: TableKind, from: &'r mut dyn Read, bytes: Option<u64>) -> Result<Self> {
        let mut page = vec![0; PAGE as usize];
        let read = read_up_to(from, &mut page)?;
        let (header, seal) = Header::decode(&page[..read])?;
        check_length(&header, bytes)?;
        if header.kind != kind {
            return Err(Error::File(FileError::OtherTable { found: header.kind, asked: kind }));
        }
        let (complete, position) = (bytes.is_some(), PAGE);
        Ok(Self { device, values: None, from, complete, position, header, seal, numbers: 0, sections: 0 })
    }

    /// Returns the next number.
    pub fn number(&mut self) -> Result<u64> {
        self.numbers += 1;
        let missing = || FileError::inconsistent("its header has too few numbers for such a table");
        self.header.numbers.get(self.numbers - 1).copied().ok_or_else(missing)
    }

    /// Returns the next number, which has 32 bits.
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

    /// Returns the number of keys and the configuration, whose own settings `design` reads.
    pub fn table<D>(&mut self, design: impl FnOnce(&mut Self) -> Result<D>) -> Result<(u64, Config<D>)> {
        let keys = self.number()?;
        let (seed, restarts) = (self.option()?, self.short()?);
        let (unique, statistics, timings) = (self.flag()?, self.flag()?, self.flag()?);
        Ok((keys, Config { design: design(self)?, seed, restarts, unique, statistics, timings }))
    }

    /// Fails if the file has numbers or sections that the table did not ask for.
    pub fn finish(self) -> Result<()> {
        if (self.numbers, self.sections) == (self.header.numbers.len(), self.header.sections.len()) {
            return Ok(());
        }
        Err(FileError::inconsistent("its header has more numbers or sections than such a table"))
    }

    /// Reads the next section, which must have `bytes` bytes. It is handed to `check` in parts that
    /// begin at multiples of a mebibyte.
    pub fn section(&mut self, name: &'static str, bytes: u64, target: &mut dyn Target, check: Check<'_>) -> Result<()> {
        self.expect(bytes)?;
        let (at, chunks) = (self.position, bytes.div_ceil(CHUNK) as usize);
        let (found, mut done) = (Found::default(), 0);
        while done < bytes {
            let span = if self.complete { bytes } else { (TIMES * self.position).max(UNSEEN) };
            let end = done.saturating_add(span.next_multiple_of(UNIT)).min(bytes);
            target.reserve(end)?;
            self.span(at, done..end, target, check, &found)?;
            done = end;
        }
        let mut tail = vec![0; (padded(bytes) - bytes) as usize];
        self.read(&mut tail)?;
        let first = (bytes.next_multiple_of(CHECKSUM) - bytes) as usize;
        let (padding, rest) = tail.split_at(first);
        let (checksums, after) = rest.split_at(chunks * CHECKSUM as usize);
        let found = found.0.into_inner().unwrap_or_else(PoisonError::into_inner);
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
        // What is wrong with the contents counts only if they are those that were saved.
        match found.contradiction {
            None => Ok(()),
            Some(what) => Err(FileError::inconsistent(what)),
        }
    }

    /// Leaves out the next section, which must have `bytes` bytes; returns its offset in the file.
    pub fn skip_section(&mut self, bytes: u64) -> Result<usize> {
        self.expect(bytes)?;
        let at = self.position;
        self.position += padded(bytes);
        Ok(at as usize)
    }

    /// Compares all checksums with the contents.
    pub fn verify(mut self) -> Result<()> {
        for bytes in self.header.sections.clone() {
            self.section("buckets", bytes, &mut Nowhere, &|_, _| Ok(()))?;
        }
        Ok(())
    }

    /// Fails unless the next section has `bytes` bytes.
    fn expect(&mut self, bytes: u64) -> Result<()> {
        self.sections += 1;
        match self.header.sections.get(self.sections - 1) {
            Some(&found) if found == bytes => Ok(()),
            _ => Err(FileError::inconsistent("a section has another length than its header's numbers imply")),
        }
    }

    /// Reads some bytes of a section that begins at offset `at` of the file.
    fn span(
        &mut self,
        at: u64,
        span: std::ops::Range<u64>,
        target: &dyn Target,
        check: Check<'_>,
        found: &Found,
    ) -> Result<()> {
        let (device, seal) = (self.device, self.seal);
        let units = (span.end - span.start).div_ceil(UNIT);
        let place = |unit: u64| {
            let from = span.start + unit * UNIT;
            (from, (span.end - from).min(UNIT) as usize)
        };
        let take = |stream: &Stream, from: u64, bytes: &[u8]| -> Result<()> {
            for (chunk, at_chunk) in bytes.chunks(CHUNK as usize).zip((from..).step_by(CHUNK as usize)) {
                found.checksum(at_chunk, checksum(seal, at + at_chunk, chunk));
                if let Err(what) = check(at_chunk, chunk) {
                    found.contradiction(what);
                }
            }
            target.put(stream, from, bytes)
        };
        let workers = workers(units);
        if workers <= 1 {
            let mut staging = Staging::new(device, (span.end - span.start).min(UNIT) as usize)?;
            for unit in 0..units {
                let (from, bytes) = place(unit);
                self.read(&mut staging[..bytes])?;
                take(device.default_stream(), from, &staging[..bytes])?;
            }
            return Ok(());
        }
        let failed = Mutex::new(None);
        let read = thread::scope(|scope| -> Result<()> {
            let mut ways = Vec::new();
            for _ in 0..workers {
                // One buffer is being filled while the other one is copied.
                let (give_back, free) = sync_channel::<Staging>(2);
                let (send, filled) = sync_channel::<(Staging, u64, usize)>(1);
                let stream = device.stream()?;
                for _ in 0..2 {
                    // The channel has capacity for both, and its other end is here.
                    let _ = give_back.send(Staging::new(device, UNIT as usize)?);
                }
                let (take, failed) = (&take, &failed);
                scope.spawn(move || {
                    while let Ok((staging, from, bytes)) = filled.recv() {
                        if let Err(error) = take(&stream, from, &staging[..bytes]) {
                            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                            return;
                        }
                        // After the last unit nobody waits for the buffer.
                        let _ = give_back.send(staging);
                    }
                });
                ways.push((send, free));
            }
            for unit in 0..units {
                let (send, free) = &ways[(unit % workers) as usize];
                // A worker that is gone has left its error.
                let Ok(mut staging) = free.recv() else { break };
                let (from, bytes) = place(unit);
                self.read(&mut staging[..bytes])?;
                if send.send((staging, from, bytes)).is_err() {
                    break;
                }
            }
            Ok(())
        });
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        read.and(failed.map_or(Ok(()), Err))
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        let read = read_up_to(self.from, bytes)?;
        self.position += read as u64;
        if read < bytes.len() {
            let (has, needs) = (self.position, self.header.file_bytes());
            return Err(Error::File(FileError::Cut { has, needs }));
        }
        Ok(())
    }
}

/// Fails unless a file of `bytes` bytes, if that is known, is as long as its header says.
pub fn check_length(header: &Header, bytes: Option<u64>) -> Result<()> {
    let needs = header.file_bytes();
    match bytes {
        Some(has) if has < needs => Err(Error::File(FileError::Cut { has, needs })),
        Some(has) if has > needs => Err(Error::File(FileError::Longer { has, needs })),
        _ => Ok(()),
    }
}

/// Reads until all is full or there is no more; returns the number of bytes.
pub fn read_up_to(from: &mut dyn Read, bytes: &mut [u8]) -> Result<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match from.read(&mut bytes[done..]) {
            Ok(0) => break,
            // A reader that says more than it was asked for is wrong, and must not do harm.
            Ok(read) => done = (done + read).min(bytes.len()),
            Err(error) if error.kind() == ErrorKind::Interrupted => (),
            Err(error) => return Err(FileError::io("read the table")(error)),
        }
    }
    Ok(done)
}

/// What the threads find out about a section.
#[derive(Default)]
struct Found(Mutex<Findings>);

#[derive(Default)]
struct Findings {
    /// The offsets and checksums of the chunks, in the order in which they come.
    checksums: Vec<(u64, u64)>,
    contradiction: Option<&'static str>,
}

impl Found {
    fn checksum(&self, at: u64, checksum: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).checksums.push((at, checksum));
    }

    fn contradiction(&self, what: &'static str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contradiction.get_or_insert(what);
    }
}
