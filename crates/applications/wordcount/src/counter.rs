//! The words of files, with their counts and first positions.

use super::parts::{MAX_WORD_BYTES, PartError, Parts};
use super::words::{Options, Words};
use std::path::{Path, PathBuf};
use warpnest::Device;
use warpnest::strings::StringCounts;
use warpnest_applications_shared::size::Size;
use warpnest_applications_shared::text::TextError;

/// The reason why a file cannot be counted.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    #[error(transparent)]
    Text(#[from] TextError),
    #[error(
        "{}: line {line}: a word has more than {limit}; is this a text? If so, {}",
        path.display(),
        if limit.0 < MAX_WORD_BYTES { "allow more by --memory" } else { "divide such words by white space" }
    )]
    Word { path: PathBuf, line: u64, limit: Size },
    #[error("{}: cannot count the words", path.display())]
    Count { path: PathBuf, source: warpnest::Error },
}

/// The position where a word first occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The index of the file, counted from 0.
    pub file: u32,
    /// The line number, starting at 1.
    pub line: u64,
    /// The byte offset of the word in the file's text.
    pub offset: u64,
}

/// The words of files, with their counts and first positions.
pub struct Counter {
    counts: StringCounts,
    /// The first position of each word, indexed by the word's id.
    places: Vec<Place>,
    options: Options,
    part_length: usize,
    files: u32,
    /// The number of bytes of text that were read.
    pub bytes: u64,
    pub lines: u64,
}

impl Counter {
    /// Returns a counter without words, which reads `part_length` bytes at once.
    pub fn new(device: &Device, options: Options, part_length: usize) -> Self {
        let counts = StringCounts::new(device);
        Self { counts, places: Vec::new(), options, part_length, files: 0, bytes: 0, lines: 0 }
    }

    /// Counts the words of a file. `progress` is called with the number of the file's bytes that
    /// were read.
    pub fn add(&mut self, path: &Path, progress: &mut dyn FnMut(u64)) -> Result<(), CountError> {
        // `line` is the line at which the part begins.
        let failed = |line: u64| {
            move |error| match error {
                PartError::Text(error) => CountError::Text(error),
                PartError::Word { lines, limit } => {
                    CountError::Word { path: path.to_owned(), line: line + lines, limit }
                }
            }
        };
        let mut parts = Parts::open(path, self.part_length, self.options.kind).map_err(failed(1))?;
        let (mut part, mut words) = (Vec::new(), Words::default());
        let (mut offset, mut line, mut last) = (0, 1, None);
        while parts.next(&mut part).map_err(failed(line))? {
            words.split(&part, self.options);
            let column = words.column();
            let new = column.and_then(|column| self.counts.add_many(&column));
            let new = new.map_err(|source| CountError::Count { path: path.to_owned(), source })?;
            // New words are in the order of their rows, so every line before a new word is counted
            // only once.
            let mut counted = 0;
            for row in new {
                let start = words.starts()[row as usize];
                line += lines(&part[counted..start]);
                counted = start;
                self.places.push(Place { file: self.files, line, offset: offset + start as u64 });
            }
            line += lines(&part[counted..]);
            offset += part.len() as u64;
            last = part.last().copied();
            progress(parts.bytes_read());
        }
        self.files += 1;
        self.bytes += offset;
        // The last line may lack a line end.
        self.lines += line - 1 + u64::from(last.is_some_and(|byte| byte != b'\n'));
        Ok(())
    }

    pub fn counts(&self) -> &StringCounts {
        &self.counts
    }

    /// Returns the first position of each word, indexed by the word's id.
    pub fn places(&self) -> &[Place] {
        &self.places
    }
}

fn lines(text: &[u8]) -> u64 {
    text.iter().filter(|byte| **byte == b'\n').count() as u64
}
