//! Writing a table's file: chunks are copied from the device and hashed by several threads while
//! another one writes.

use super::header::{CHECKSUM, CHUNK, Header, PAGE, checksum, padded};
use super::parts::{Extent, Parts, Section};
use super::{UNIT, workers};
use crate::error::{FileError, TableKind};
use crate::runtime::staging::Staging;
use crate::{Device, Result, Stream};
use std::io::Write;
use std::sync::mpsc::sync_channel;
use std::thread;

/// A unit of a section on its way to the file.
struct Unit {
    staging: Staging,
    bytes: usize,
    checksums: Vec<u64>,
}

/// Writes all of a table.
pub fn write(device: &Device, kind: TableKind, parts: &Parts<'_>, to: &mut dyn Write) -> Result<()> {
    let sections = parts.sections.iter().map(Section::bytes).collect();
    let (page, seal) = Header { kind, numbers: parts.numbers.clone(), sections }.encode();
    put(to, &page)?;
    let mut at = PAGE;
    for section in &parts.sections {
        write_section(device, section, seal, at, to)?;
        at += padded(section.bytes());
    }
    to.flush().map_err(FileError::io("write the table"))
}

fn put(to: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    to.write_all(bytes).map_err(FileError::io("write the table"))
}

/// Writes a section that begins at offset `at` of the file.
fn write_section(device: &Device, section: &Section<'_>, seal: u64, at: u64, to: &mut dyn Write) -> Result<()> {
    let bytes = section.bytes();
    let mut checksums = Vec::with_capacity(bytes.div_ceil(CHUNK) as usize);
    let units = bytes.div_ceil(UNIT);
    let workers = workers(units);
    if workers <= 1 {
        let mut staging = Staging::new(device, bytes.min(UNIT) as usize)?;
        for unit in 0..units {
            let filled = fill(device.default_stream(), section, unit * UNIT, seal, at, staging)?;
            put(to, &filled.staging[..filled.bytes])?;
            checksums.extend(filled.checksums);
            staging = filled.staging;
        }
    } else {
        thread::scope(|scope| -> Result<()> {
            let mut ways = Vec::new();
            for first in 0..workers {
                // One buffer is being filled while the other one is written.
                let (give_back, free) = sync_channel::<Staging>(2);
                let (send, filled) = sync_channel::<Result<Unit>>(1);
                let stream = device.stream()?;
                for _ in 0..2 {
                    // The channel has capacity for both, and its other end is here.
                    let _ = give_back.send(Staging::new(device, UNIT as usize)?);
                }
                scope.spawn(move || {
                    for unit in (first..units).step_by(workers as usize) {
                        // If the other ends are gone, the write has failed.
                        let Ok(staging) = free.recv() else { return };
                        let unit = fill(&stream, section, unit * UNIT, seal, at, staging);
                        let failed = unit.is_err();
                        if send.send(unit).is_err() || failed {
                            return;
                        }
                    }
                });
                ways.push((filled, give_back));
            }
            for unit in 0..units {
                let (filled, give_back) = &ways[(unit % workers) as usize];
                let filled = filled.recv().expect("a worker sends each of its units, or an error")?;
                put(to, &filled.staging[..filled.bytes])?;
                checksums.extend(filled.checksums);
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

/// Copies the unit from byte `from` of a section on to the host, and hashes its chunks.
fn fill(stream: &Stream, section: &Section<'_>, from: u64, seal: u64, at: u64, mut staging: Staging) -> Result<Unit> {
    let bytes = (section.bytes() - from).min(UNIT) as usize;
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
            Extent::Device { tracked, address } => stream.batch(|batch| {
                batch.reads(*tracked);
                // SAFETY: the extent's bytes are its buffer's, and these are some of them.
                unsafe { batch.queue()?.download(address + skipped, target) }
            })?,
        }
        done += length;
    }
    let chunks = staging[..bytes].chunks(CHUNK as usize).zip((at + from..).step_by(CHUNK as usize));
    let checksums = chunks.map(|(chunk, at)| checksum(seal, at, chunk)).collect();
    Ok(Unit { staging, bytes, checksums })
}
