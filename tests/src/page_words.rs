//! The words of pages, read and changed field by field.

/// The fields of a bucket of eight words, as drawn in `page/form/bucket.rs`.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The count of slots.
    pub slots: usize,
    /// The count of words with tags; the other words have the values.
    pub tag_words: usize,
    tags_of_word: usize,
    /// The count of bits of a tag.
    pub tag_bits: u32,
    /// The word and the bit of each class of remainders in the filter.
    filters: Vec<(usize, u32)>,
}

impl Shape {
    /// Returns the shape of buckets with `slots` slots.
    ///
    /// # Errors
    /// A text that says that there are no such buckets.
    pub fn of(slots: u32, word_bits: u32) -> Result<Self, String> {
        let [tag_words, tags_of_word, tag_bits] = match (slots, word_bits) {
            (6, 32) => [2, 3, 10],
            (5, 32) => [3, 2, 16],
            (4, _) => [4, 1, word_bits as usize - 1],
            // These have keys alone.
            (24, 32) => [8, 3, 10],
            (15, 32) => [8, 2, 16],
            (8, _) => [8, 1, word_bits as usize - 1],
            _ => return Err(format!("no bucket has {slots} slots and words of {word_bits} bits")),
        };
        let filters = match slots {
            6 | 24 => (0..tag_words).flat_map(|word| [(word, 30), (word, 31)]).collect(),
            5 | 15 => (16..32).map(|bit| (tag_words - 1, bit)).collect(),
            _ => (0..tag_words).map(|word| (word, word_bits - 1)).collect(),
        };
        Ok(Self { slots: slots as usize, tag_words, tags_of_word, tag_bits: tag_bits as u32, filters })
    }

    /// Returns whether buckets have no values.
    pub fn is_of_keys_alone(&self) -> bool {
        self.tag_words == 8
    }

    /// Returns the index of the word with a slot's tag, and the tag's first bit in that word.
    fn place_of_tag(&self, slot: usize) -> (usize, u32) {
        (slot / self.tags_of_word, (slot % self.tags_of_word) as u32 * self.tag_bits)
    }
}

/// A slot: the index of its bucket, and the index of the slot in the bucket.
pub type Slot = (u64, usize);

/// The words of a table, of 32 or 64 bits as its kernels access them.
#[derive(Clone, Debug)]
pub struct Words<W> {
    /// All words, stored as 64-bit words.
    pub words: W,
    /// The count of bits of a word.
    pub bits: u32,
    /// The fields of a bucket.
    pub shape: Shape,
}

impl<W: AsRef<[u64]>> Words<W> {
    fn word(&self, bucket: u64, number: usize) -> u64 {
        let (at, words) = (bucket as usize * 8 + number, self.words.as_ref());
        if self.bits == 64 { words[at] } else { words[at / 2] >> (at % 2 * 32) & 0xffff_ffff }
    }

    /// Returns the tag in a slot, which is 0 if the slot is empty.
    pub fn tag(&self, (bucket, slot): Slot) -> u64 {
        let (word, shift) = self.shape.place_of_tag(slot);
        self.word(bucket, word) >> shift & ((1 << self.shape.tag_bits) - 1)
    }

    /// Returns the value in a slot, or 0 if buckets have none.
    pub fn value(&self, (bucket, slot): Slot) -> u64 {
        if self.shape.is_of_keys_alone() { 0 } else { self.word(bucket, self.shape.tag_words + slot) }
    }

    /// Returns all slots of the first buckets.
    pub fn slots(&self, buckets: u64) -> impl Iterator<Item = Slot> + use<W> {
        let slots = self.shape.slots;
        (0..buckets).flat_map(move |bucket| (0..slots).map(move |slot| (bucket, slot)))
    }

    /// Returns whether no slot of a bucket is empty.
    pub fn is_full(&self, bucket: u64) -> bool {
        (0..self.shape.slots).all(|slot| self.tag((bucket, slot)) != 0)
    }

    /// Returns whether a bucket's filter says that a key with this remainder may be in another
    /// bucket.
    pub fn lets_through(&self, bucket: u64, remainder: u64) -> bool {
        let (word, bit) = self.shape.filters[remainder as usize % self.shape.filters.len()];
        self.word(bucket, word) >> bit & 1 == 1
    }
}

impl Words<Vec<u64>> {
    fn set_word(&mut self, bucket: u64, number: usize, to: u64) {
        let at = bucket as usize * 8 + number;
        if self.bits == 64 {
            self.words[at] = to;
        } else {
            let shift = at % 2 * 32;
            self.words[at / 2] = self.words[at / 2] & !((u32::MAX as u64) << shift) | to << shift;
        }
    }

    /// Changes the tag in a slot.
    pub fn set_tag(&mut self, (bucket, slot): Slot, tag: u64) {
        let (word, shift) = self.shape.place_of_tag(slot);
        let rest = self.word(bucket, word) & !(((1 << self.shape.tag_bits) - 1) << shift);
        self.set_word(bucket, word, rest | tag << shift);
    }

    /// Changes the value in a slot, if buckets have values.
    pub fn set_value(&mut self, (bucket, slot): Slot, value: u64) {
        if !self.shape.is_of_keys_alone() {
            self.set_word(bucket, self.shape.tag_words + slot, value);
        }
    }

    /// Sets or clears all bits of a bucket's filter.
    pub fn set_filter(&mut self, bucket: u64, lets_through: bool) {
        for (word, bit) in self.shape.filters.clone() {
            let rest = self.word(bucket, word) & !(1 << bit);
            self.set_word(bucket, word, rest | (lets_through as u64) << bit);
        }
    }
}
