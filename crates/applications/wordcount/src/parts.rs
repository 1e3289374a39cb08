//! The parts of a file that is read one after the other, each of whole words.

use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A file, plain or compressed by gzip, whatever its name.
pub struct Parts {
    text: Box<dyn Read>,
    /// The bytes of a part, unless a word is longer.
    length: usize,
    /// The end of the last part, which begins a word of the next.
    rest: Vec<u8>,
    read: Arc<AtomicU64>,
    /// The bytes of the file.
    pub file_length: u64,
}

/// A reader that counts the bytes that were read.
struct Counted<R>(R, Arc<AtomicU64>);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(bytes)?;
        self.1.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}

impl Parts {
    /// Opens a file. A part has `length` bytes of the text, and more if a word is longer.
    pub fn open(path: &Path, length: usize) -> io::Result<Self> {
        const GZIP: [u8; 2] = [0x1f, 0x8b];
        let file = File::open(path)?;
        let file_length = file.metadata()?.len();
        let read = Arc::new(AtomicU64::new(0));
        let mut file = BufReader::with_capacity(1 << 18, Counted(file, read.clone()));
        let is_compressed = file.fill_buf()?.starts_with(&GZIP);
        let text: Box<dyn Read> = if is_compressed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        Ok(Self { text, length: length.max(1), rest: Vec::new(), read, file_length })
    }

    /// Returns how many bytes of the file were read.
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Relaxed)
    }

    /// Reads the next part into `part`; returns whether there was one. It ends behind white space,
    /// or with the text.
    pub fn next(&mut self, part: &mut Vec<u8>) -> io::Result<bool> {
        part.clear();
        part.append(&mut self.rest);
        let mut searched = 0;
        loop {
            let wanted = self.length.max(part.len()) as u64;
            let read = self.text.by_ref().take(wanted).read_to_end(part)?;
            if read == 0 {
                return Ok(!part.is_empty());
            }
            // ASCII white space is between words of any kind, and in no other character of UTF-8.
            if let Some(last) = part[searched..].iter().rposition(u8::is_ascii_whitespace) {
                self.rest.extend_from_slice(&part[searched + last + 1..]);
                part.truncate(searched + last + 1);
                return Ok(true);
            }
            searched = part.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn compressed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn parts_of(name: &str, bytes: &[u8], length: usize) -> io::Result<Vec<Vec<u8>>> {
        let path = std::env::temp_dir().join(format!("warpnest-wordcount-{name}-{}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let read = || {
            let mut parts = Parts::open(&path, length)?;
            let (mut part, mut all) = (Vec::new(), Vec::new());
            while parts.next(&mut part)? {
                all.push(part.clone());
            }
            assert_eq!((parts.bytes_read(), parts.file_length), (bytes.len() as u64, bytes.len() as u64));
            Ok(all)
        };
        let all = read();
        std::fs::remove_file(&path).unwrap();
        all
    }

    #[test]
    fn parts_end_between_words_and_are_the_text() {
        let text = b"a bc\ndef  ghijklmnop\tq rs";
        for length in 1..30 {
            for (name, bytes) in [("plain", text.to_vec()), ("compressed", compressed(text))] {
                let parts = parts_of(name, &bytes, length).unwrap();
                assert_eq!(parts.concat(), text);
                let (last, others) = parts.split_last().unwrap();
                assert!(
                    others.iter().all(|part| part.ends_with(b" ") || part.ends_with(b"\n") || part.ends_with(b"\t"))
                );
                assert!(!last.is_empty() && parts.len() > 1 || length > text.len() / 2, "{length}: {parts:?}");
            }
        }
        assert_eq!(parts_of("empty", b"", 4).unwrap(), [b""; 0]);
        let two = [compressed(b"one "), compressed(b"two")].concat();
        assert_eq!(parts_of("two", &two, 100).unwrap().concat(), b"one two");
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let whole = compressed(&b"word ".repeat(1000));
        assert!(parts_of("cut", &whole[..whole.len() - 9], 100).is_err());
    }
}
