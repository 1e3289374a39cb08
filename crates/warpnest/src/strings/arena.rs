//! Strings that are stored contiguously in host memory.

/// Copies of strings, with ids that count from 0.
#[derive(Clone, Debug)]
pub(super) struct Arena {
    bytes: Vec<u8>,
    /// The offset of each string in `bytes`, followed by the end of the last string.
    offsets: Vec<usize>,
}

impl Default for Arena {
    fn default() -> Self {
        Self { bytes: Vec::new(), offsets: vec![0] }
    }
}

impl Arena {
    /// Makes an arena with copies of strings.
    pub(super) fn of<'s>(strings: impl Iterator<Item = &'s [u8]> + Clone) -> Self {
        let (rows, bytes) = strings.clone().fold((0, 0), |(rows, bytes), string| (rows + 1, bytes + string.len()));
        let mut arena = Self { bytes: Vec::with_capacity(bytes), offsets: Vec::with_capacity(rows + 1) };
        arena.offsets.push(0);
        strings.for_each(|string| arena.push(string));
        arena
    }

    /// Reserves memory for `strings` more strings with `bytes` bytes in all. The memory at least
    /// doubles if it grows, so that many small batches cause few copies.
    pub(super) fn reserve(&mut self, strings: usize, bytes: usize) {
        self.bytes.reserve(bytes);
        self.offsets.reserve(strings);
    }

    /// Appends a string.
    pub(super) fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.offsets.push(self.bytes.len());
    }

    /// Returns the count of strings.
    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the string with an id, if there is one.
    pub(super) fn get(&self, number: usize) -> Option<&[u8]> {
        let end = *self.offsets.get(number.checked_add(1)?)?;
        Some(&self.bytes[self.offsets[number]..end])
    }

    /// Iterates over the strings in the order of their ids.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        self.offsets.windows(2).map(|ends| &self.bytes[ends[0]..ends[1]])
    }

    /// Returns the bytes that the copies take, including memory that is allocated ahead.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.offsets.capacity() * size_of::<usize>()
    }
}
