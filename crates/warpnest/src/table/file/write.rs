//! Writes a table's file. Several threads copy chunks from the device and hash them, while the
//! calling thread writes.

use super::UNIT;
use super::header::{CHECKSUM, CHUNK, Header, PAGE, checksum, padded};
use super::parts::{Extent, Parts, Section};
use super::workers::Workers;
use crate::error::{FileError, TableKind};
use crate::{Device, Result, Stream};
use std::io::Write;
use std::sync::mpsc::sync_channel;
use std::thread;

/// A unit of a section, copied to the memory of a worker.
struct Unit<'l> {
    staging: &'l mut [u8],
    bytes: usize,
    checksums: Vec<u64>,
}

/// Writes the header and all sections of a table.
pub(super) fn write(device: &Device, kind: TableKind, parts: &Parts<'_>, to: &mut dyn Write) -> Result<()> {
    let sections = parts.sections.iter().map(Section::bytes).collect();
    let (page, seal) = Header { kind, numbers: parts.numbers.clone(), sections }.encode();
    put(to, &page)?;
    let most = parts.sections.iter().map(Section::bytes).max().unwrap_or(0);
    let (mut at, mut workers) = (PAGE, Workers::new(device, most)?);
    for section in &parts.sections {
        write_section(section, seal, at, &mut workers, to)?;
        at += padded(section.bytes());
    }
    to.flush().map_err(FileError::io("write the table"))
}

fn put(to: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    to.write_all(bytes).map_err(FileError::io("write the table"))
}

/// Writes a section that begins at offset `at` of the file.
fn write_section(section: &Section<'_>, seal: u64, at: u64, workers: &mut Workers, to: &mut dyn Write) -> Result<()> {
    let bytes = section.bytes();
    let mut checksums = Vec::with_capacity(bytes.div_ceil(CHUNK) as usize);
    let units = (0..bytes).step_by(UNIT as usize);
    let mut workers = workers.of(bytes.div_ceil(UNIT));
    if let [(stream, staging)] = &mut workers[..] {
        for from in units {
            let filled = fill(stream, section, from, seal, at, staging)?;
            put(to, &filled.staging[..filled.bytes])?;
            checksums.extend(filled.checksums);
        }
    } else {
        thread::scope(|scope| -> Result<()> {
            let (mut ways, step) = (Vec::new(), workers.len());
            for (first, (stream, staging)) in workers.into_iter().enumerate() {
                let (give_back, free) = sync_channel::<&mut [u8]>(1);
                let (send, filled) = sync_channel::<Result<Unit<'_>>>(1);
                // The channel has capacity, and its receiver exists.
                let _ = give_back.send(staging);
                let own = units.clone().skip(first).step_by(step);
                scope.spawn(move || {
                    for from in own {
                        // If the other ends of the channels are gone, the write has failed.
                        let Ok(staging) = free.recv() else { return };
                        let unit = fill(stream, section, from, seal, at, staging);
                        let failed = unit.is_err();
                        if send.send(unit).is_err() || failed {
                            return;
                        }
                    }
                });
                ways.push((filled, give_back));
            }
            for (filled, give_back) in ways.iter().cycle().take(units.count()) {
                let filled = filled.recv().expect("a thread sends each of its units, or an error")?;
                put(to, &filled.staging[..filled.bytes])?;
                checksums.extend(filled.checksums);
                // After its last unit a thread does not receive, so this send may fail.
                let _ = give_back.send(filled.staging);
            }
            Ok(())
        })?;
    }
    let mut tail = vec![0; (padded(bytes) - bytes) as usize];
    let first = (bytes.next_multiple_of(CHECKSUM) - bytes) as usize;
    for (to, checksum) in tail[first..].chunks_exact_mut(CHECKSUM as usize).zip(checksums) {
        to.copy_from_slice(&checksum.to_le_bytes());
    }
    put(to, &tail)
}

/// Copies the unit that begins at byte `from` of a section to the host, and hashes its chunks.
fn fill<'l>(
    stream: &Stream,
    section: &Section<'_>,
    from: u64,
    seal: u64,
    at: u64,
    staging: &'l mut [u8],
) -> Result<Unit<'l>> {
    let bytes = (section.bytes() - from).min(UNIT) as usize;
    stream.batch(|batch| {
        let mut done = 0;
        for (range, extent) in section.from(from) {
            if done == bytes {
                break;
            }
            let skipped = (from + done as u64 - range.start) as usize;
            let length = ((range.end - range.start) as usize - skipped).min(bytes - done);
            let target = &mut staging[done..done + length];
            match extent {
                Extent::Host(host) => target.copy_from_slice(&host[skipped..skipped + length]),
                Extent::Device { tracked, address } => {
                    batch.reads(*tracked);
                    // SAFETY: the extent lies in its buffer, and these bytes lie in the extent.
                    unsafe { batch.download(address + skipped, target)? }
                }
            }
            done += length;
        }
        Ok(())
    })?;
    let chunks = staging[..bytes].chunks(CHUNK as usize).zip((at + from..).step_by(CHUNK as usize));
    let checksums = chunks.map(|(chunk, at)| checksum(seal, at, chunk)).collect();
    Ok(Unit { staging, bytes, checksums })
}
