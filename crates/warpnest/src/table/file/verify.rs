//! Compares all sections of a file with their checksums, without knowing the table's types.

use super::header::{CHECKSUM, CHUNK, Header, PAGE, checksum, padded, section_names};
use super::source::read_up_to;
use crate::error::FileError;
use crate::{Error, Result};
use std::io::Read;

/// Reads the sections that follow a header, and compares all checksums with their contents.
pub(super) fn verify(from: &mut dyn Read, header: &Header, seal: u64) -> Result<()> {
    let mut at = PAGE;
    let mut read = |bytes: &mut [u8], at: u64| -> Result<()> {
        match read_up_to(from, bytes)? {
            read if read == bytes.len() => Ok(()),
            read => Err(Error::File(FileError::Cut { has: at + read as u64, needs: header.file_bytes() })),
        }
    };
    for (section, &bytes) in section_names(&header.kind).into_iter().zip(&header.sections) {
        let damaged = |chunk: u64, at: u64| {
            Error::File(FileError::Damaged { section, chunk, offset: at + (chunk * CHUNK).min(bytes) })
        };
        let mut chunk = vec![0; bytes.min(CHUNK) as usize];
        let mut computed = Vec::new();
        for done in (0..bytes).step_by(CHUNK as usize) {
            let chunk = &mut chunk[..(bytes - done).min(CHUNK) as usize];
            read(chunk, at + done)?;
            computed.push(checksum(seal, at + done, chunk));
        }
        let mut tail = vec![0; (padded(bytes) - bytes) as usize];
        read(&mut tail, at + bytes)?;
        let (padding, rest) = tail.split_at((bytes.next_multiple_of(CHECKSUM) - bytes) as usize);
        let (expected, after) = rest.split_at(computed.len() * CHECKSUM as usize);
        let differs = |(expected, computed): (&[u8], &u64)| *expected != computed.to_le_bytes();
        if let Some(chunk) = expected.chunks_exact(CHECKSUM as usize).zip(&computed).position(differs) {
            return Err(damaged(chunk as u64, at));
        }
        if padding.iter().chain(after).any(|&byte| byte != 0) {
            return Err(damaged(computed.len() as u64, at));
        }
        at += padded(bytes);
    }
    Ok(())
}
