//! The words of a part of a text.

use warpnest::Result;
use warpnest::strings::StringColumn;

/// The definition of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Runs of letters and digits of any script, with apostrophes between them.
    #[default]
    Letters,
    /// Runs of any characters between white space.
    Spaces,
}

/// The options for splitting a text into words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub kind: Kind,
    /// Whether words are counted in lower case.
    pub fold: bool,
}

/// The words of a part of a text, one after the other. Memory is reused from part to part.
#[derive(Debug, Default)]
pub struct Words {
    bytes: Vec<u8>,
    offsets: Vec<u64>,
    /// The byte offset of each word in the part.
    starts: Vec<usize>,
}

impl Words {
    /// Splits a part into words. Bytes that are not UTF-8 separate words.
    pub fn split(&mut self, part: &[u8], options: Options) {
        self.bytes.clear();
        self.offsets.clear();
        self.offsets.push(0);
        self.starts.clear();
        let mut start = 0;
        for chunk in part.utf8_chunks() {
            match options.kind {
                Kind::Letters => self.split_at(chunk.valid(), start, options.fold, is_letter),
                Kind::Spaces => {
                    self.split_at(chunk.valid(), start, options.fold, |character| !character.is_whitespace())
                }
            }
            start += chunk.valid().len() + chunk.invalid().len();
        }
    }

    /// Adds the runs of word characters of a text that begins at offset `start`.
    fn split_at(&mut self, text: &str, start: usize, fold: bool, is_of_word: impl Fn(char) -> bool + Copy) {
        for word in text.split(|character| !is_of_word(character)) {
            // Apostrophes belong to a word only inside it. All other trimmed characters belong to
            // no word.
            let word = word.trim_matches(is_apostrophe_alone(is_of_word));
            if word.is_empty() {
                continue;
            }
            self.starts.push(start + (word.as_ptr().addr() - text.as_ptr().addr()));
            if !fold {
                self.bytes.extend_from_slice(word.as_bytes());
            } else if word.is_ascii() {
                self.bytes.extend(word.bytes().map(|byte| byte.to_ascii_lowercase()));
            } else {
                self.bytes.extend_from_slice(word.to_lowercase().as_bytes());
            }
            self.offsets.push(self.bytes.len() as u64);
        }
    }

    /// Returns the words as a column of strings.
    pub fn column(&self) -> Result<StringColumn<'_, u64>> {
        StringColumn::new(&self.bytes, &self.offsets)
    }

    /// Returns the byte offset of each word in its part.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }
}

fn is_letter(character: char) -> bool {
    if character.is_ascii() {
        character.is_ascii_alphanumeric() || character == '\''
    } else {
        character.is_alphanumeric() || character == '’'
    }
}

/// Returns a test for characters to trim from both ends of a word: apostrophes, unless only white
/// space separates words.
fn is_apostrophe_alone(is_of_word: impl Fn(char) -> bool) -> impl Fn(char) -> bool {
    let words_are_letters = !is_of_word('.');
    move |character| words_are_letters && matches!(character, '\'' | '’')
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpnest::strings::Strings;

    fn words(part: &[u8], options: Options) -> Vec<(String, usize)> {
        let mut words = Words::default();
        words.split(part, options);
        let column = words.column().unwrap();
        let word = |row: usize| String::from_utf8(column.row(row).to_vec()).unwrap();
        (0..column.rows()).map(|row| (word(row), words.starts()[row])).collect()
    }

    fn texts(part: &[u8], kind: Kind, fold: bool) -> Vec<String> {
        words(part, Options { kind, fold }).into_iter().map(|(word, _)| word).collect()
    }

    #[test]
    fn words_are_letters_digits_and_inner_apostrophes() {
        let text = "'Tis the dogs' day—don’t (1611) Ärger, ''x''!".as_bytes();
        let expected = ["Tis", "the", "dogs", "day", "don’t", "1611", "Ärger", "x"];
        assert_eq!(texts(text, Kind::Letters, false), expected);
        assert_eq!(texts(b"", Kind::Letters, false), [""; 0]);
        assert_eq!(texts(b"... ' --", Kind::Letters, false), [""; 0]);
    }

    #[test]
    fn words_are_what_is_between_spaces() {
        let text = "'Tis  (done),\n\tso\u{a0}it's.".as_bytes();
        assert_eq!(texts(text, Kind::Spaces, false), ["'Tis", "(done),", "so", "it's."]);
    }

    #[test]
    fn words_are_folded_and_keep_their_places() {
        let text = "The ÄRGER the".as_bytes();
        let expected = [("the", 0), ("ärger", 4), ("the", 11)];
        let folded = words(text, Options { kind: Kind::Letters, fold: true });
        assert_eq!(folded, expected.map(|(word, start)| (word.to_owned(), start)));
    }

    #[test]
    fn what_is_no_utf_8_is_between_words() {
        let found = words(b"one\xfftwo \xc3\x28three\xe2\x82", Options::default());
        let expected = [("one", 0), ("two", 4), ("three", 10)];
        assert_eq!(found, expected.map(|(word, start)| (word.to_owned(), start)));
    }
}
