//! Answers to lookups of many keys.

use crate::runtime::huge_pages::advise_huge_pages;
use crate::types::check_size;
use crate::{Buffer, Device, Result, Stream, Value};
use gpu_kernels::plain::Plain;
use std::mem::MaybeUninit;

/// Answers on a device: a value for each query, and a bit that tells whether it was found, because
/// every value is legal.
#[derive(Debug)]
#[repr(C)]
pub struct Answers<V> {
    pub(crate) values: Buffer<V>,
    pub(crate) found: Buffer<u32>,
    /// The indices of the rows that lookups in a row map found. The buffer is kept for the next
    /// lookup, because freeing it would wait for the last lookup.
    pub(crate) numbers: Option<Buffer<u32>>,
}

impl<V: Plain> Answers<V> {
    /// Allocates the answers to `queries` queries. Until a lookup has filled them, every query
    /// counts as not found.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn new(device: &Device, queries: usize) -> Result<Self> {
        let (values, found) = (Buffer::zeroed(device, queries)?, Buffer::zeroed(device, queries.div_ceil(32))?);
        Ok(Self { values, found, numbers: None })
    }

    /// Makes answers from two buffers: the values, and found-words of which each has the found-bits
    /// of 32 values. A lookup writes both buffers.
    ///
    /// ```
    /// use warpnest::{Answers, Buffer, Device, PageMap};
    ///
    /// let device = Device::best()?;
    /// let map = PageMap::build(&device, &[7u32], &[70u32])?;
    /// let queries = Buffer::from_slice(&device, &[7, 8])?;
    /// let (values, found) = (Buffer::zeroed(&device, 2)?, Buffer::zeroed(&device, 1)?);
    /// let mut answers = Answers::from_parts(values, found)?;
    /// map.get_many_into(device.default_stream(), &queries, &mut answers)?;
    /// let (values, found) = answers.into_parts();
    /// assert_eq!(values.download(device.default_stream())?, [70, 0]);
    /// assert_eq!(found.download(device.default_stream())?, [0b01]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless there is a word for
    /// each 32 values.
    pub fn from_parts(values: Buffer<V>, found: Buffer<u32>) -> Result<Self> {
        let words = values.len().div_ceil(32);
        crate::error::same_length(("the values, in words of 32,", words), ("the found-words", found.len()))?;
        Ok(Self { values, found, numbers: None })
    }

    /// Returns the values and the found-words.
    pub fn into_parts(self) -> (Buffer<V>, Buffer<u32>) {
        (self.values, self.found)
    }

    /// Allocates answers that a lookup is about to fill.
    pub(crate) fn uninitialized(device: &Device, queries: usize) -> Result<Self> {
        Ok(Self {
            values: Buffer::uninitialized(device, queries)?,
            found: Buffer::uninitialized(device, queries.div_ceil(32))?,
            numbers: None,
        })
    }

    /// Returns the values in the order of the queries. A query that was not found has the value 0.
    pub fn values(&self) -> &Buffer<V> {
        &self.values
    }

    /// Returns the found-words: bit `i % 32` of word `i / 32` is 1 if query `i` was found. Bits
    /// past the last query are 0.
    pub fn found(&self) -> &Buffer<u32> {
        &self.found
    }

    /// Returns the count of queries.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether there are no queries.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Waits for the answers and copies them to the host.
    ///
    /// # Errors
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn download(&self, stream: &Stream) -> Result<Vec<Option<V>>> {
        let mut answers = Vec::new();
        self.append_to(stream, &mut answers)?;
        Ok(answers)
    }

    /// Waits for the answers and appends them to `answers`.
    pub(crate) fn append_to(&self, stream: &Stream, answers: &mut Vec<Option<V>>) -> Result<()> {
        answers.reserve(self.len());
        let spare = &mut answers.spare_capacity_mut()[..self.len()];
        advise_huge_pages(spare);
        self.write_to(stream, spare)?;
        // SAFETY: `write_to` has written `self.len()` more elements.
        unsafe { answers.set_len(answers.len() + self.len()) };
        Ok(())
    }

    /// Waits for the answers and writes them to `spare`, which has an element for each answer.
    pub(crate) fn write_to(&self, stream: &Stream, spare: &mut [MaybeUninit<Option<V>>]) -> Result<()> {
        let found = self.found.download(stream)?;
        self.values.with_elements(stream, |values| write_options(values, &found, spare))
    }
}

impl<T: Value> Answers<T> {
    /// Returns the same answers with the values as words.
    pub(crate) fn words_mut(&mut self) -> &mut Answers<T::Word> {
        const { check_size::<T>() };
        // SAFETY: both types have the same layout, which does not depend on the type of the values.
        // The words come from values of type `T`, or are 0.
        unsafe { &mut *std::ptr::from_mut(self).cast() }
    }
}

/// Writes each answer to an element of `spare`: the value if the query was found, else `None`.
fn write_options<V: Copy>(values: &[V], found: &[u32], spare: &mut [MaybeUninit<Option<V>>]) {
    assert_eq!(values.len(), spare.len(), "there is an element for each answer");
    let (words, rest) = values.as_chunks::<32>();
    let (spare_words, spare) = spare.as_chunks_mut::<32>();
    // The loops have a constant length, so there is no bounds check for each answer.
    for ((spare, values), &found) in spare_words.iter_mut().zip(words).zip(found) {
        // Most words have all bits set if most keys are found.
        if found == u32::MAX {
            for i in 0..32 {
                spare[i].write(Some(values[i]));
            }
            continue;
        }
        for i in 0..32 {
            spare[i].write((found >> i & 1 != 0).then_some(values[i]));
        }
    }
    for (i, (spare, &value)) in spare.iter_mut().zip(rest).enumerate() {
        spare.write((found[words.len()] >> i & 1 != 0).then_some(value));
    }
}

/// Returns the bit `index` of an array of 32-bit words.
pub(crate) fn bit(words: &[u32], index: usize) -> bool {
    words[index / 32] >> (index % 32) & 1 != 0
}
