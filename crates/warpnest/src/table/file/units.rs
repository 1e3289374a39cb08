//! Reads the units of a section. Several threads hash and check units, and copy them to the device.
//! A file is read by these threads; a stream is read by the calling thread alone.

use super::UNIT;
use super::header::{CHUNK, checksum};
use super::source::{read_file, read_up_to};
use super::target::Target;
use super::workers::Worker;
use crate::error::FileError;
use crate::{Error, Result, Stream};
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// A check of a part of a section, given its offset and bytes, before anything uses it. The error
/// says what contradicts the header.
pub(super) type Check<'c> = &'c (dyn Fn(u64, &[u8]) -> Result<(), &'static str> + Sync);

/// A section that is being read. Offsets are relative to the section.
pub(super) struct Units<'u> {
    /// The offset of the section in the file, and the bytes of the whole file.
    pub at: u64,
    pub file_bytes: u64,
    /// The header's checksum.
    pub seal: u64,
    pub target: &'u dyn Target,
    pub check: Check<'u>,
    pub found: &'u Found,
}

impl Units<'_> {
    /// Reads the bytes `span` of a section from a file; each thread reads its own units.
    pub(super) fn of_file(&self, file: &File, span: Range<u64>, workers: Vec<Worker<'_>>) -> Result<()> {
        let (next, failed) = (AtomicU64::new(span.start), Failed::default());
        let work = |(stream, staging): Worker<'_>| {
            loop {
                let from = next.fetch_add(UNIT, Relaxed);
                if from >= span.end {
                    return;
                }
                let unit = &mut staging[..(span.end - from).min(UNIT) as usize];
                let read = read_file(file, self.at + from, unit).and_then(|read| self.complete(from, read, unit));
                if let Err(error) = read.and_then(|()| self.take(stream, from, unit)) {
                    // No further units are begun. Earlier units have been begun, and may still
                    // fail, too.
                    next.fetch_max(span.end, Relaxed);
                    return failed.at(from, error);
                }
            }
        };
        thread::scope(|scope| {
            let mut workers = workers.into_iter();
            let own = workers.next();
            for worker in workers {
                scope.spawn(|| work(worker));
            }
            own.map(&work)
        });
        failed.first()
    }

    /// Reads the bytes `span` of a section from a stream.
    pub(super) fn of_stream(&self, from: &mut dyn Read, span: Range<u64>, mut workers: Vec<Worker<'_>>) -> Result<()> {
        let mut units = span.clone().step_by(UNIT as usize);
        let mut read = |at: u64, staging: &mut [u8]| -> Result<usize> {
            let unit = &mut staging[..(span.end - at).min(UNIT) as usize];
            let read = read_up_to(from, unit)?;
            self.complete(at, read, unit)?;
            Ok(unit.len())
        };
        if let [(stream, staging)] = &mut workers[..] {
            return units.try_for_each(|at| {
                let bytes = read(at, staging)?;
                self.take(stream, at, &staging[..bytes])
            });
        }
        let failed = Failed::default();
        thread::scope(|scope| -> Result<()> {
            let mut ways = Vec::new();
            for (stream, staging) in workers {
                let (give_back, free) = sync_channel::<&mut [u8]>(1);
                let (send, filled) = sync_channel::<(&mut [u8], u64, usize)>(1);
                // The channel has capacity, and its receiver exists.
                let _ = give_back.send(staging);
                let failed = &failed;
                scope.spawn(move || {
                    while let Ok((staging, at, bytes)) = filled.recv() {
                        if let Err(error) = self.take(stream, at, &staging[..bytes]) {
                            return failed.at(at, error);
                        }
                        // After the last unit nobody receives, so this send may fail.
                        let _ = give_back.send(staging);
                    }
                });
                ways.push((send, free));
            }
            for (at, (send, free)) in units.zip(ways.iter().cycle()) {
                // A thread that has ended has recorded its error.
                let Ok(staging) = free.recv() else { break };
                let bytes = read(at, staging)?;
                if send.send((staging, at, bytes)).is_err() {
                    break;
                }
            }
            Ok(())
        })?;
        failed.first()
    }

    /// Fails unless the read at offset `at` filled the unit.
    fn complete(&self, at: u64, read: usize, unit: &[u8]) -> Result<()> {
        if read == unit.len() {
            return Ok(());
        }
        Err(Error::File(FileError::Cut { has: self.at + at + read as u64, needs: self.file_bytes }))
    }

    /// Hashes, checks and puts the chunks of a unit that begins at offset `from`.
    fn take(&self, stream: &Stream, from: u64, bytes: &[u8]) -> Result<()> {
        for (chunk, at) in bytes.chunks(CHUNK as usize).zip((from..).step_by(CHUNK as usize)) {
            self.found.checksum(at, checksum(self.seal, self.at + at, chunk));
            if let Err(what) = (self.check)(at, chunk) {
                self.found.contradiction(what);
            }
        }
        self.target.put(stream, from, bytes)
    }
}

/// The error of the failed unit with the lowest offset.
#[derive(Default)]
struct Failed(Mutex<Option<(u64, Error)>>);

impl Failed {
    fn at(&self, at: u64, error: Error) {
        let mut failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.as_ref().is_none_or(|(first, _)| at < *first) {
            *failed = Some((at, error));
        }
    }

    fn first(self) -> Result<()> {
        let failed = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.map_or(Ok(()), |(_, error)| Err(error))
    }
}

/// The checksums and the contradictions that the threads find in a section.
#[derive(Default)]
pub(super) struct Found(Mutex<Findings>);

#[derive(Default)]
pub(super) struct Findings {
    /// The offsets and checksums of the chunks, in the order in which they were computed.
    pub checksums: Vec<(u64, u64)>,
    pub contradiction: Option<&'static str>,
}

impl Found {
    fn checksum(&self, at: u64, checksum: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).checksums.push((at, checksum));
    }

    fn contradiction(&self, what: &'static str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contradiction.get_or_insert(what);
    }

    pub(super) fn all(self) -> Findings {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, feature = "cpu"))]
mod tests {
    use super::*;
    use crate::Device;
    use crate::table::file::workers::Workers;
    use std::io::Write;

    /// A target that ignores all bytes.
    struct Nowhere;

    impl Target for Nowhere {
        fn reserve(&mut self, _bytes: u64) -> Result<()> {
            Ok(())
        }
        fn put(&self, _stream: &Stream, _at: u64, _bytes: &[u8]) -> Result<()> {
            Ok(())
        }
    }

    /// Reads a section of `bytes` bytes, which begins at byte 100 of a file.
    fn read(file: &File, bytes: u64) -> (Result<()>, Vec<(u64, u64)>) {
        let (found, mut workers) = (Found::default(), Workers::new(&Device::cpu(), bytes).unwrap());
        let check: Check<'_> = &|_, _| Ok(());
        let units = Units { at: 100, file_bytes: 100 + bytes, seal: 5, target: &Nowhere, check, found: &found };
        let read = units.of_file(file, 0..bytes, workers.of(bytes.div_ceil(UNIT)));
        let mut checksums = found.all().checksums;
        checksums.sort_unstable();
        (read, checksums)
    }

    #[test]
    fn a_file_that_shrinks_while_it_is_read_is_cut_where_it_ends() {
        let mut file = tempfile::tempfile().unwrap();
        for (units, ends) in [(1, [0, 5]), (3, [UNIT, 2 * UNIT + 7]), (30, [20 * UNIT, 21 * UNIT + 9])] {
            let bytes: Vec<u8> = (0..100 + units * UNIT).map(|i| (i * i / 128) as u8).collect();
            file.set_len(0).unwrap();
            std::io::Seek::rewind(&mut file).unwrap();
            file.write_all(&bytes).unwrap();
            let (whole, checksums) = read(&file, units * UNIT);
            assert_eq!(whole, Ok(()));
            let chunks = bytes[100..].chunks(CHUNK as usize).zip((0..).step_by(CHUNK as usize));
            assert!(checksums.into_iter().eq(chunks.map(|(chunk, at)| (at, checksum(5, 100 + at, chunk)))));
            for end in ends.into_iter().rev() {
                file.set_len(100 + end).unwrap();
                let cut = FileError::Cut { has: 100 + end, needs: 100 + units * UNIT };
                assert_eq!(read(&file, units * UNIT).0, Err(Error::File(cut)));
            }
        }
    }
}
