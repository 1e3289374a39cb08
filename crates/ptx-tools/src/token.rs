//! Tokens of PTX text, each with the `asm!` block from which it came.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name, number, directive or opcode. It has letters, digits, `_ $ % .`, and `::` inside.
    Word,
    /// A quoted string, with its quotes.
    Quoted,
    /// One character of punctuation.
    Punctuation,
}

/// One token of PTX.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub kind: TokenKind,
    pub text: &'a str,
    /// The offset of the token in the whole text.
    pub start: usize,
    /// The line, counted from 1.
    pub line: u32,
    /// The index (counted from 1) of the inline assembly block that contains the token, or 0
    /// outside of inline assembly.
    pub asm_block: u32,
}

impl Token<'_> {
    pub fn is(&self, text: &str) -> bool {
        self.kind != TokenKind::Quoted && self.text == text
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

/// Returns the length of the word at the start of `bytes`. The word includes `::` if a letter
/// follows, as in `L2::cache_hint`.
fn word_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match bytes.get(at) {
            Some(&b) if is_word(b) => at += 1,
            Some(b':') if bytes.get(at + 1) == Some(&b':') && bytes.get(at + 2).is_some_and(|&b| is_word(b)) => at += 2,
            _ => return at,
        }
    }
}

/// Returns the length in bytes of the character at byte `at` of `text`. PTX is ASCII, but comments
/// and strings need not be.
fn character_length(text: &str, at: usize) -> usize {
    (at + 1..=text.len()).find(|&end| text.is_char_boundary(end)).unwrap_or(text.len()) - at
}

/// Returns the tokens of `text`. Comments are skipped, except that LLVM's comments around inline
/// assembly determine `asm_block`.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(text.len() / 4);
    let (mut at, mut line) = (0, 1);
    let (mut blocks, mut asm_block) = (0, 0);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let length = match rest[0] {
            b'\n' => {
                line += 1;
                at += 1;
                continue;
            }
            b if b.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'/' if rest.get(1) == Some(&b'/') => {
                let end = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                match text[at + 2..at + end].trim() {
                    "begin inline asm" => {
                        blocks += 1;
                        asm_block = blocks;
                    }
                    "end inline asm" => asm_block = 0,
                    _ => {}
                }
                at += end;
                continue;
            }
            b'/' if rest.get(1) == Some(&b'*') => {
                let end = text[at + 2..].find("*/").map_or(rest.len(), |n| n + 4);
                line += rest[..end].iter().filter(|&&b| b == b'\n').count() as u32;
                at += end;
                continue;
            }
            b'"' => rest[1..].iter().position(|&b| b == b'"').map_or(rest.len(), |n| n + 2),
            b if is_word(b) => word_length(rest),
            _ => character_length(text, at),
        };
        let kind = match rest[0] {
            b'"' => TokenKind::Quoted,
            b if is_word(b) => TokenKind::Word,
            _ => TokenKind::Punctuation,
        };
        out.push(Token { kind, text: &text[at..at + length], start: at, line, asm_block });
        at += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        tokens(text).iter().map(|t| t.text).collect()
    }

    #[test]
    fn words_punctuation_and_qualified_names() {
        assert_eq!(
            texts("@!%p1 ld.global.L2::cache_hint.b32 %r1, [%rd1+-4], 0x1fU; // gone\n$L_0:"),
            [
                "@",
                "!",
                "%p1",
                "ld.global.L2::cache_hint.b32",
                "%r1",
                ",",
                "[",
                "%rd1",
                "+",
                "-",
                "4",
                "]",
                ",",
                "0x1fU",
                ";",
                "$L_0",
                ":"
            ]
        );
        assert_eq!(texts("a /* b\n c */ \"d; e\" f"), ["a", "\"d; e\"", "f"]);
        assert_eq!(tokens("a /* b\n c */\nd")[1].line, 3);
    }

    #[test]
    fn inline_assembly_is_numbered() {
        let text = "a; // begin inline asm\nb;\n// end inline asm\nc;\n// begin inline asm\nd;";
        let words: Vec<_> =
            tokens(text).iter().filter(|t| t.text != ";").map(|t| (t.text.to_string(), t.asm_block)).collect();
        assert_eq!(words, [("a".into(), 0), ("b".into(), 1), ("c".into(), 0), ("d".into(), 2)]);
    }
}
