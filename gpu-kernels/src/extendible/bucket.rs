//! Operations on the records of a bucket.
//!
//! **Layout.** A bucket is an array of lines of 64 bytes, the unit of a random access to memory. A
//! line contains its keys first and then their values: eight of each if both have 32 bits, else
//! four of each. A search for a key begins at its home line and ends at a line with an empty slot.
//!
//! **No reserved keys.** Keys are stored mixed, and all keys of a bucket come from one part of the
//! range. So words that would be keys of another part represent an empty slot and a tombstone.

use crate::seam::Global;
use crate::types::{KeyWord, Scalar};

/// The count of 64-bit words of a line.
pub const LINE_WORDS: u64 = 8;
/// The most records of a line.
const MAX_LINE_KEYS: usize = 8;

/// Returns the count of records of a line of words `W`.
pub const fn records_of_line<W: Scalar>() -> u32 {
    256 / W::BITS
}

/// Returns the count of lines of a bucket of `records` records, with `of_line` records to a line.
/// There is one extra line for each eight lines that the records fill, so that at most eight ninths
/// of the slots are used. Searches continue after a full line, and without spare slots more lines
/// would be full. Fewer than eight lines get no extra line.
pub const fn lines_for(records: u32, of_line: u32) -> u32 {
    let lines = records / of_line;
    lines + lines / 8
}

/// The words of a bucket as kernels access them.
#[derive(Clone, Copy, Debug)]
pub struct Bucket<W> {
    words: Global<W>,
    lines: u32,
    empty: W,
    removed: W,
}

/// The slots of a line with certain contents, one bit for each slot.
struct Seen {
    /// The slot with the key that is searched.
    own: u32,
    empty: u32,
    removed: u32,
}

/// The slot of a key.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The index of the key's word in the bucket.
    word: u64,
    /// Whether the key's line has an empty slot.
    beside_empty: bool,
}

impl<W: KeyWord> Bucket<W> {
    /// Returns the bucket at `words`. `lowest` tells whether its keys are in the lowest part of the
    /// range; otherwise there is a part below. `ones` is the highest mixed key.
    #[inline(always)]
    pub fn new(words: Global<W>, lines: u32, lowest: bool, ones: u64) -> Self {
        let [empty, removed] = free_words(lowest, ones);
        Self { words, lines, empty: W::from_u64(empty), removed: W::from_u64(removed) }
    }

    /// Returns the count of slots.
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

    /// Compares the keys of a line one by one.
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

    /// Returns the keys of a line that no thread of the launch changes.
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

    /// Loads the keys of a line while other threads may be changing them.
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
        // At most as many steps as lines.
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

    /// Prefetches the home line of a key, which will be read soon.
    #[inline(always)]
    pub fn prefetch(&self, mixed: W) {
        self.words.prefetch(self.home(mixed) as u64 * Self::line_words());
    }

    /// Finds the slot of a key. No thread of the launch may change keys.
    #[inline(always)]
    pub fn find(&self, mixed: W) -> Option<Found> {
        self.seek(mixed, |line| self.keys(line))
    }

    /// Removes a key. Returns its value if this thread removed it. Other threads may remove keys
    /// concurrently.
    #[inline(always)]
    pub fn remove(&self, mixed: W) -> Option<W> {
        let found = self.seek(mixed, |line| self.load_relaxed(line))?;
        let value = self.value(found);
        // No search continues after a line with an empty slot. In any other line a tombstone keeps
        // later keys reachable.
        let left = if found.beside_empty { self.empty } else { self.removed };
        if self.words.atomic(found.word).compare_exchange(mixed, left) == mixed { Some(value) } else { None }
    }

    /// Returns the value of a key that was found.
    #[inline(always)]
    pub fn value(&self, found: Found) -> W {
        self.words.load_read_only(found.word + records_of_line::<W>() as u64)
    }

    /// Replaces the value of a key that was found. No other thread may write this value.
    #[inline(always)]
    pub fn set_value(&self, found: Found, value: W) {
        self.words.atomic(found.word + records_of_line::<W>() as u64).store(value);
    }

    /// Inserts a key that is not in the bucket into the first free slot of its probe sequence, and
    /// returns whether there was a free slot. Other threads may insert other keys; no thread may
    /// remove keys.
    #[inline(always)]
    pub fn insert(&self, mixed: W, value: W) -> bool {
        let records = records_of_line::<W>();
        let (mut line, mut left) = (self.home(mixed), self.lines);
        let start = mixed.bits_from(0) % records;
        // At most as many lines as the bucket has. A line is read again only if another thread took
        // a slot of it.
        while left != 0 {
            let seen = self.look(&self.load_relaxed(line), mixed);
            let free = seen.empty | seen.removed;
            if free == 0 {
                (line, left) = (self.next(line), left - 1);
                continue;
            }
            // The slot where the search in a line begins depends on the key, so that not all keys
            // compete for one slot.
            let turned = free >> start | free << (records - start);
            let slot = (turned.trailing_zeros() + start) % records;
            let held = if seen.empty >> slot & 1 != 0 { self.empty } else { self.removed };
            let word = line as u64 * Self::line_words() + slot as u64;
            if self.words.atomic(word).compare_exchange(held, mixed) == held {
                self.words.atomic(word + records as u64).store(value);
                return true;
            }
            // Another key took the slot, so this line is read again.
        }
        false
    }

    /// Returns the index of the word with the key of slot `number`.
    #[inline(always)]
    fn word_of_slot(number: u32) -> u64 {
        let records = records_of_line::<W>();
        (number / records) as u64 * Self::line_words() + (number % records) as u64
    }

    /// Returns the record in slot `number`, if the slot contains one. No thread may change it
    /// concurrently.
    #[inline(always)]
    pub fn record(&self, number: u32) -> Option<(W, W)> {
        let key = self.key(number)?;
        Some((key, self.words.load_streaming(Self::word_of_slot(number) + records_of_line::<W>() as u64)))
    }

    /// Returns the key in slot `number`, if the slot contains one.
    #[inline(always)]
    pub fn key(&self, number: u32) -> Option<W> {
        let key = self.words.load_streaming(Self::word_of_slot(number));
        if key == self.empty || key == self.removed { None } else { Some(key) }
    }

    /// Returns the count of groups of four words, which [`Bucket::write_four`] writes.
    #[inline(always)]
    pub fn fours(&self) -> u32 {
        self.lines * Self::line_words() as u32 / 4
    }

    /// Writes a group of four words of a bucket whose lines have their records in front. `held`
    /// returns the count of requests for slots of a line, which may be more than its slots. `word`
    /// returns a staged word.
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

/// Returns the home line of a key, at which its search begins, among `lines` lines.
#[inline(always)]
pub fn home_line<W: KeyWord>(mixed: W, lines: u32) -> u32 {
    // The multiplication uses the lowest bits, since they differ among the keys of a bucket.
    mixed.bits_from(0).wrapping_mul(0x9e37_79b1).scaled(lines)
}

/// Returns the line after `line`, cyclically.
#[inline(always)]
pub fn next_line(line: u32, lines: u32) -> u32 {
    if line + 1 == lines { 0 } else { line + 1 }
}

/// Returns the words of an empty slot and of a tombstone in a bucket, which would be keys of
/// another part of the range.
pub const fn free_words(lowest: bool, ones: u64) -> [u64; 2] {
    if lowest { [ones, ones - 1] } else { [0, 1] }
}
