//! Rust source as tokens, in the detail that imports need.

/// A word, a `::` or a punctuation character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    pub text: &'a str,
    /// The line, counted from 1.
    pub line: usize,
}

/// Returns the tokens of `source` without comments, quoted literals and code that is compiled for
/// tests alone.
pub fn tokens(source: &str) -> Vec<Token<'_>> {
    without_tests(&all(source))
}

fn all(source: &str) -> Vec<Token<'_>> {
    let (mut out, mut rest, mut line) = (Vec::new(), source, 1);
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = quoted(rest) {
            length
        } else {
            let length = match first {
                _ if is_of_word(first) => rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()),
                _ if rest.starts_with("::") => 2,
                _ => first.len_utf8(),
            };
            if !first.is_whitespace() {
                out.push(Token { text: &rest[..length], line });
            }
            length
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    out
}

pub fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of the string or character at the start of `rest`, if there is one.
fn quoted(rest: &str) -> Option<usize> {
    // Literals begin with `b"`, `r#"` or `br##"`; names have more letters or no quote.
    let letters = rest.find(|c| !matches!(c, 'b' | 'c' | 'r'))?;
    let hashes = rest[letters..].find(|c| c != '#')?;
    let inside = letters + hashes + 1;
    match rest[inside - 1..].chars().next()? {
        '"' if rest[..letters].contains('r') => {
            let end = format!("\"{}", "#".repeat(hashes));
            Some(rest[inside..].find(&end).map_or(rest.len(), |at| inside + at + end.len()))
        }
        '"' if hashes == 0 => Some(inside + end_of(&rest[inside..], '"')),
        // A lifetime has no closing quote.
        '\'' if hashes == 0 => {
            let mut after = rest[inside..].chars();
            let is_character = after.next() == Some('\\') || after.next() == Some('\'');
            is_character.then(|| inside + end_of(&rest[inside..], '\''))
        }
        _ => None,
    }
}

/// Returns the length of `text` up to and including the first `quote` that does not follow a
/// backslash.
fn end_of(text: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = text.char_indices().find(|&(_, c)| {
        let ends = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// Removes the items after `#[cfg(test)]`.
fn without_tests<'a>(all: &[Token<'a>]) -> Vec<Token<'a>> {
    const ATTRIBUTE: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut out, mut at) = (Vec::new(), 0);
    while at < all.len() {
        let here = all[at..].iter().map(|token| token.text).take(ATTRIBUTE.len());
        if here.eq(ATTRIBUTE) {
            at += ATTRIBUTE.len();
            at += item_length(&all[at..]);
        } else {
            out.push(all[at]);
            at += 1;
        }
    }
    out
}

/// Returns the count of tokens of the first item, up to its `;` or the end of its body.
fn item_length(tokens: &[Token<'_>]) -> usize {
    let is_import =
        tokens.iter().find(|token| matches!(token.text, "use" | "{")).is_some_and(|token| token.text == "use");
    let mut depth = 0;
    let last = tokens.iter().position(|token| {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        depth == 0 && (token.text == ";" || token.text == "}" && !is_import)
    });
    last.map_or(tokens.len(), |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<&str> {
        tokens(source).iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_and_literals_are_left_out_and_lifetimes_are_not() {
        let source = "a::b /* c\n*/ d // e\n'f' '\\'' \"g \\\" h\" r#\"i \" j\"# b'k' br\"l\" &'m n raw";
        assert_eq!(texts(source), ["a", "::", "b", "d", "&", "'", "m", "n", "raw"]);
        assert_eq!(tokens(source).last().unwrap().line, 3);
        assert_eq!(tokens("\"a\n\"\nb"), [Token { text: "b", line: 3 }]);
    }

    #[test]
    fn items_of_tests_are_left_out() {
        assert_eq!(texts("a; #[cfg(test)] mod tests { fn b() {} } c"), ["a", ";", "c"]);
        assert_eq!(texts("#[cfg(test)]\nmod tests; #[cfg(test)] use d::{e, f}; g"), ["g"]);
        assert_eq!(texts("#[cfg(test)] #[allow(x)] fn b(c: [u8; 3]) {} h"), ["h"]);
        assert_eq!(texts("#[cfg(not(test))] i").len(), 11);
    }
}
