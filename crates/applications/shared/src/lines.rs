//! The conversion of all kinds of line ends to one.

use std::io::{self, BufRead, Read};

/// A text whose lines all end with a line feed, even if a carriage return alone ends them in the
/// file. Its length is the file's.
pub struct LineEnds<R>(pub R);

impl<R: BufRead> Read for LineEnds<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let (read, next) = read_with_next(&mut self.0, bytes)?;
        let mut from = 0;
        // Most texts have no carriage return, and `contains` is fast.
        while bytes[from..read].contains(&b'\r') {
            let Some(found) = bytes[from..read].iter().position(|byte| *byte == b'\r') else { break };
            let at = from + found;
            if bytes[..read].get(at + 1).copied().or(next) != Some(b'\n') {
                bytes[at] = b'\n';
            }
            from = at + 1;
        }
        Ok(read)
    }
}

/// Reads some bytes and returns their count. After a carriage return at their end, it also returns
/// the next byte, without consuming it.
pub(crate) fn read_with_next(from: &mut impl BufRead, bytes: &mut [u8]) -> io::Result<(usize, Option<u8>)> {
    let there = from.fill_buf()?;
    let read = there.len().min(bytes.len());
    bytes[..read].copy_from_slice(&there[..read]);
    from.consume(read);
    let next = match bytes[..read].last() {
        Some(b'\r') => from.fill_buf()?.first().copied(),
        _ => None,
    };
    Ok((read, next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn carriage_returns_alone_become_line_feeds_wherever_buffers_end() {
        for (text, expected) in [
            ("a\rb\r\rc\r", "a\nb\n\nc\n"),
            ("a\r\nb\n\rc\r\r\n", "a\r\nb\n\nc\n\r\n"),
            ("", ""),
            ("\r", "\n"),
            ("no end", "no end"),
        ] {
            for capacity in 1..8 {
                for length in 1..8 {
                    let mut reader = LineEnds(BufReader::with_capacity(capacity, text.as_bytes()));
                    let (mut all, mut bytes) = (Vec::new(), vec![0; length]);
                    loop {
                        let read = reader.read(&mut bytes).unwrap();
                        if read == 0 {
                            break;
                        }
                        all.extend_from_slice(&bytes[..read]);
                    }
                    assert_eq!(String::from_utf8(all).unwrap(), expected, "{text:?} {capacity} {length}");
                }
            }
        }
    }
}
