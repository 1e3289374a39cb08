//! What is done to the records of a bucket.
//!
//! **Layout.** A bucket is a row of lines of 64 bytes, what a random access moves anyway: first the keys of the line, then their values, eight of
//! each if both have 32 bits, else four of each. A key is sought from its home line on, up to a line with an empty slot.
//!
//! **No reserved keys.** Keys are kept mixed, and those of a bucket agree in what part of the range they are from. So words that would be
//! keys of another part say that a slot is empty, or that its key was removed.

use crate::seam::Global;
use crate::types::{Key, Scalar};

/// Words of 64 bits of a line.
pub const LINE_WORDS: u64 = 8;
/// The most records of a line.
const MAX_LINE_KEYS: usize = 8;

/// Records of a line of words `W`.
pub const fn records_of_line<W: Scalar>() -> u32 {
    256 / W::BITS
}

/// Lines of a bucket of `records` records, `of_line` to a line: one more for each eight that these fill, so that eight ninths of the slots
/// are taken at most. A line that is full sends searches on to the next one, and without a slot to spare more of them are. Fewer than eight
/// lines get none more.
pub const fn lines_for(records: u32, of_line: u32) -> u32 {
    let lines = records / of_line;
    lines + lines / 8
}

/// A bucket as kernels hold it.
#[derive(Clone, Copy, Debug)]
pub struct Bucket<W> {
    words: Global<W>,
    lines: u32,
    empty: W,
    removed: W,
}

/// What a line holds, a bit for each slot.
struct Seen {
    /// The key that is sought.
    own: u32,
    empty: u32,
    removed: u32,
}

/// Where a key is.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The number of its word in the bucket.
    word: u64,
    /// Whether its line has an empty slot.
    beside_empty: bool,
}

impl<W: Key> Bucket<W> {
    /// The bucket of these words; `lowest` if its keys are of the lowest part of the range, else there is another one below it. `ones` is the
    /// highest mixed key.
    #[inline(always)]
    pub fn new(words: Global<W>, lines: u32, lowest: bool, ones: u64) -> Self {
        let [empty, removed] = free_words(lowest, ones);
        Self { words, lines, empty: W::from_u64(empty), removed: W::from_u64(removed) }
    }

    /// The number of slots.
    #[inline(always)]
    pub fn slots(&self) -> u32 {
        self.lines * records_of_line::<W>()
    }

    #[inline(always)]
    fn line_words() -> u64 {
        2 * records_of_line::<W>() as u64
    }

    #[inline(always)]
    fn home(&self, mixed: W) -> u32 {
        home_line(mixed, self.lines)
    }

    #[inline(always)]
    fn next(&self, line: u32) -> u32 {
        next_line(line, self.lines)
    }

    /// Compares the keys of a line, which are given one by one.
    #[inline(always)]
    fn look(&self, keys: &[W; MAX_LINE_KEYS], mixed: W) -> Seen {
        let mut seen = Seen { own: 0, empty: 0, removed: 0 };
        for i in 0..records_of_line::<W>() as usize {
            seen.own |= ((keys[i] == mixed) as u32) << i;
            seen.empty |= ((keys[i] == self.empty) as u32) << i;
            seen.removed |= ((keys[i] == self.removed) as u32) << i;
        }
        seen
    }

    /// The keys of a line that no thread of the launch changes.
    #[inline(always)]
    fn keys(&self, line: u32) -> [W; MAX_LINE_KEYS] {
        let mut keys = [W::default(); MAX_LINE_KEYS];
        for group in 0..records_of_line::<W>() as usize / 4 {
            let four = self.words.load_four_read_only(line as u64 * Self::line_words() + 4 * group as u64);
            for i in 0..4 {
                keys[4 * group + i] = four[i];
            }
        }
        keys
    }

    /// The keys of a line while other threads may be changing it.
    #[inline(always)]
    fn load_relaxed(&self, line: u32) -> [W; MAX_LINE_KEYS] {
        let mut keys = [W::default(); MAX_LINE_KEYS];
        for pair in 0..records_of_line::<W>() as usize / 2 {
            let two = self.words.load_pair_relaxed(line as u64 * Self::line_words() + 2 * pair as u64);
            keys[2 * pair] = two[0];
            keys[2 * pair + 1] = two[1];
        }
        keys
    }

    #[inline(always)]
    fn seek(&self, mixed: W, keys: impl Fn(u32) -> [W; MAX_LINE_KEYS]) -> Option<Found> {
        let (mut line, mut left) = (self.home(mixed), self.lines);
        while left != 0 {
            let seen = self.look(&keys(line), mixed);
            if seen.own != 0 {
                let word = line as u64 * Self::line_words() + seen.own.trailing_zeros() as u64;
                return Some(Found { word, beside_empty: seen.empty != 0 });
            }
            if seen.empty != 0 {
                return None;
            }
            (line, left) = (self.next(line), left - 1);
        }
        None
    }

    /// Says that the home line of a key will be read soon.
    #[inline(always)]
    pub fn prefetch(&self, mixed: W) {
        self.words.prefetch(self.home(mixed) as u64 * Self::line_words());
    }

    /// Where a key is. No thread of the launch may change keys.
    #[inline(always)]
    pub fn find(&self, mixed: W) -> Option<Found> {
        self.seek(mixed, |line| self.keys(line))
    }

    /// Removes a key; its value if this thread did it. Other threads may do the same.
    #[inline(always)]
    pub fn remove(&self, mixed: W) -> Option<W> {
        let found = self.seek(mixed, |line| self.load_relaxed(line))?;
        let value = self.value(found);
        // No key has gone past a line with an empty slot; else a mark keeps the way to those behind it.
        let left = if found.beside_empty { self.empty } else { self.removed };
        if self.words.atomic(found.word).compare_exchange(mixed, left) == mixed { Some(value) } else { None }
    }

    /// The value of a key that is there.
    #[inline(always)]
    pub fn value(&self, found: Found) -> W {
        self.words.load_read_only(found.word + records_of_line::<W>() as u64)
    }

    /// Gives a key that is there another value. No other thread may do so.
    #[inline(always)]
    pub fn set_value(&self, found: Found, value: W) {
        self.words.atomic(found.word + records_of_line::<W>() as u64).store(value);
    }

    /// Inserts a key that is not there, in the first free slot on its way. Other threads may insert other keys; nobody may remove. Whether there
    /// was a slot.
    #[inline(always)]
    pub fn insert(&self, mixed: W, value: W) -> bool {
        let records = records_of_line::<W>();
        let (mut line, mut left) = (self.home(mixed), self.lines);
        let start = mixed.bits_from(0) % records;
        while left != 0 {
            let seen = self.look(&self.load_relaxed(line), mixed);
            let free = seen.empty | seen.removed;
            if free == 0 {
                (line, left) = (self.next(line), left - 1);
                continue;
            }
            // Each key begins elsewhere in the line, so that not all want the same slot.
            let turned = free >> start | free << (records - start);
            let slot = (turned.trailing_zeros() + start) % records;
            let held = if seen.empty >> slot & 1 != 0 { self.empty } else { self.removed };
            let word = line as u64 * Self::line_words() + slot as u64;
            if self.words.atomic(word).compare_exchange(held, mixed) == held {
                self.words.atomic(word + records as u64).store(value);
                return true;
            }
            // Another key took it: this line once more.
        }
        false
    }

    /// The word of the key in a slot.
    #[inline(always)]
    fn word_of_slot(number: u32) -> u64 {
        let records = records_of_line::<W>();
        (number / records) as u64 * Self::line_words() + (number % records) as u64
    }

    /// The record in the slot with a number, if there is one. Nobody may change it meanwhile.
    #[inline(always)]
    pub fn record(&self, number: u32) -> Option<(W, W)> {
        let key = self.key(number)?;
        Some((key, self.words.load_streaming(Self::word_of_slot(number) + records_of_line::<W>() as u64)))
    }

    /// The key of that record.
    #[inline(always)]
    pub fn key(&self, number: u32) -> Option<W> {
        let key = self.words.load_streaming(Self::word_of_slot(number));
        if key == self.empty || key == self.removed { None } else { Some(key) }
    }

    /// Groups of four words, as [`Bucket::write_four`] numbers them.
    #[inline(always)]
    pub fn fours(&self) -> u32 {
        self.lines * Self::line_words() as u32 / 4
    }

    /// Writes a group of four words of a bucket whose lines have their records in front: `held` says how many came to a line, of which it holds no more
    /// than it can, and `word` what a word of a record is.
    #[inline(always)]
    pub fn write_four(&self, four: u32, held: impl Fn(u32) -> u32, word: impl Fn(u32) -> W) {
        let records = records_of_line::<W>();
        let (line, within) = (4 * four / (2 * records), 4 * four % (2 * records));
        let held = held(line);
        let mut words = [W::from_u64(0); 4];
        for i in 0..4 {
            let slot = (within + i as u32) % records;
            if slot < held {
                words[i] = word(4 * four + i as u32);
            } else if within < records {
                words[i] = self.empty;
            }
        }
        self.words.store_four_streaming(4 * four as u64, words);
    }

    /// Copies line `line` to another bucket of the same part of the range.
    #[inline(always)]
    pub fn copy_line(&self, line: u32, to: &Self) {
        for four in 0..Self::line_words() / 4 {
            let word = line as u64 * Self::line_words() + 4 * four;
            to.words.store_four_streaming(word, self.words.load_four_streaming(word));
        }
    }
}

/// The line where the search for a key begins, of so many.
#[inline(always)]
pub fn home_line<W: Key>(mixed: W, lines: u32) -> u32 {
    // The lowest bits are those that keys of a bucket do not share.
    mixed.bits_from(0).wrapping_mul(0x9e37_79b1).scaled(lines)
}

/// The line after another one.
#[inline(always)]
pub fn next_line(line: u32, lines: u32) -> u32 {
    if line + 1 == lines { 0 } else { line + 1 }
}

/// What an empty slot of a bucket holds, and one whose key was removed: keys of another part of the range.
pub const fn free_words(lowest: bool, ones: u64) -> [u64; 2] {
    if lowest { [ones, ones - 1] } else { [0, 1] }
}
