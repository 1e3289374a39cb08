//! Words of 32 or 64 bits, of which only the size is known.

use super::column::OnDevice;
use crate::primitives::Scratch;
use crate::runtime::stream::Batch;
use crate::types::Plain;
use crate::{Buffer, BufferView, Device, Result, Stream, Value};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{Scalar, ValueWord};
/// The words of an aggregate.
#[derive(Debug)]
pub(in crate::relational) enum Words {
    Narrow(Buffer<u32>),
    Wide(Buffer<u64>),
}

impl Words {
    /// Allocates words of 64 or 32 bits.
    pub(crate) fn uninitialized(device: &Device, is_wide: bool, length: usize) -> Result<Self> {
        Ok(match is_wide {
            true => Self::Wide(Buffer::uninitialized(device, length)?),
            false => Self::Narrow(Buffer::uninitialized(device, length)?),
        })
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Narrow(words) => words.len(),
            Self::Wide(words) => words.len(),
        }
    }

    /// Sets the count of words to `length`, with unspecified contents. Allocates memory only if
    /// there is too little.
    pub(crate) fn resize(&mut self, device: &Device, length: usize) -> Result<()> {
        self.fit_at_least(device, length)?;
        self.set_length(length);
        Ok(())
    }

    /// Makes the memory large enough for `length` words.
    pub(crate) fn fit_at_least(&mut self, device: &Device, length: usize) -> Result<()> {
        match self {
            Self::Narrow(words) => words.fit_at_least(device, length),
            Self::Wide(words) => words.fit_at_least(device, length),
        }
    }

    /// Sets the count of words, for which there is memory.
    pub(crate) fn set_length(&mut self, length: usize) {
        match self {
            Self::Narrow(words) => words.set_length(length),
            Self::Wide(words) => words.set_length(length),
        }
    }

    /// Returns the words, and leaves an empty buffer in their place, as [`Buffer::take`] does.
    pub(crate) fn take(&mut self) -> Self {
        match self {
            Self::Narrow(words) => Self::Narrow(words.take()),
            Self::Wide(words) => Self::Wide(words.take()),
        }
    }

    /// Returns the same words, with the variant of their size.
    pub(crate) fn of<W: ValueWord>(words: Buffer<W>) -> Self {
        // SAFETY: the branch is chosen by the word's size, so each word is cast to itself.
        unsafe { if W::BITS == 32 { Self::Narrow(words.reinterpreted()) } else { Self::Wide(words.reinterpreted()) } }
    }

    /// Returns the words as a buffer of type `W`.
    ///
    /// # Panics
    /// If `W` has another size than the words.
    pub(crate) fn into_buffer<W: Scalar>(self) -> Buffer<W> {
        // SAFETY: as in `of`.
        unsafe {
            match self {
                Self::Narrow(words) if W::BITS == 32 => words.reinterpreted(),
                Self::Wide(words) if W::BITS == 64 => words.reinterpreted(),
                Self::Narrow(_) | Self::Wide(_) => panic!("words of {} bits were wanted", W::BITS),
            }
        }
    }

    /// Queues copying the words to the memory of other words, and returns these. Allocates memory
    /// only if there is too little, or if it is for words of another size.
    pub(crate) fn copied_to(&self, memory: Self, stream: &Stream, device: &Device) -> Result<Self> {
        Ok(match (self, memory) {
            (Self::Narrow(words), Self::Narrow(memory)) => Self::Narrow(copied(words, memory, stream, device)?),
            (Self::Wide(words), Self::Wide(memory)) => Self::Wide(copied(words, memory, stream, device)?),
            (Self::Narrow(words), Self::Wide(_)) => Self::Narrow(words.duplicate(stream, device)?),
            (Self::Wide(words), Self::Narrow(_)) => Self::Wide(words.duplicate(stream, device)?),
        })
    }

    /// Returns a reference to the words.
    pub(crate) fn lent(&self) -> WordsRef<'_> {
        match self {
            Self::Narrow(words) => WordsRef::Narrow(words),
            Self::Wide(words) => WordsRef::Wide(words),
        }
    }

    /// Gives the memory of the words to the scratch.
    pub(crate) fn give_back(self, scratch: &mut Scratch) {
        match self {
            Self::Narrow(words) => scratch.give_back(words),
            Self::Wide(words) => scratch.give_back(words),
        }
    }

    /// Returns the words as an array for a batch to write, whatever their size.
    pub(crate) fn write<'b>(&'b self, batch: &Batch<'b>) -> Global<u64> {
        match self {
            Self::Narrow(words) => batch.write(words).cast(),
            Self::Wide(words) => batch.write(words),
        }
    }
}

fn copied<T: Plain>(words: &Buffer<T>, mut memory: Buffer<T>, stream: &Stream, device: &Device) -> Result<Buffer<T>> {
    memory.fit_at_least(device, words.len())?;
    memory.set_length(words.len());
    memory.copy_from(stream, words)?;
    Ok(memory)
}

/// A reference to words of either size.
#[derive(Clone, Copy, Debug)]
pub(in crate::relational) enum WordsRef<'w> {
    Narrow(&'w Buffer<u32>),
    Wide(&'w Buffer<u64>),
}

impl<'w> WordsRef<'w> {
    /// Returns a reference to a buffer, with the variant of its words' size.
    pub(crate) fn of<W: ValueWord>(words: &'w Buffer<W>) -> Self {
        // SAFETY: the branch is chosen by the word's size, so each word is cast to itself.
        unsafe { if W::BITS == 32 { Self::Narrow(words.as_type()) } else { Self::Wide(words.as_type()) } }
    }

    /// Returns the words as a column.
    pub(crate) fn into_column(self) -> WordsOf<'w> {
        match self {
            Self::Narrow(words) => WordsOf::Narrow(OnDevice::Buffer(words)),
            Self::Wide(words) => WordsOf::Wide(OnDevice::Buffer(words)),
        }
    }

    pub(crate) fn len(self) -> usize {
        match self {
            Self::Narrow(words) => words.len(),
            Self::Wide(words) => words.len(),
        }
    }

    /// Returns the words as an array for a batch to read, whatever their size.
    pub(crate) fn read(self, batch: &Batch<'w>) -> Global<u64> {
        match self {
            Self::Narrow(words) => batch.read(words).cast(),
            Self::Wide(words) => batch.read(words),
        }
    }

    /// Returns the words as an array for a batch to write, whatever their size.
    pub(crate) fn write(self, batch: &Batch<'w>) -> Global<u64> {
        match self {
            Self::Narrow(words) => batch.write(words).cast(),
            Self::Wide(words) => batch.write(words),
        }
    }
}

/// A part of a scratch as words of either size.
#[derive(Debug)]
pub(in crate::relational) enum WordsView<'w> {
    Narrow(BufferView<'w, u32>),
    Wide(BufferView<'w, u64>),
}

impl<'w> WordsView<'w> {
    /// Returns `length` words of `bits` bits, from word `first` of a scratch on.
    pub(crate) fn at(scratch: &'w Buffer<u64>, first: u64, bits: u32, length: usize) -> Self {
        if bits == 32 {
            Self::Narrow(scratch.elements_at(first, length))
        } else {
            Self::Wide(scratch.elements_at(first, length))
        }
    }

    pub(crate) fn lent(&self) -> WordsRef<'_> {
        match self {
            Self::Narrow(words) => WordsRef::Narrow(words),
            Self::Wide(words) => WordsRef::Wide(words),
        }
    }
}

/// A function that returns the words of a column on a device.
pub(in crate::relational) type Lend<'q> = Box<dyn Fn(&Device) -> Result<WordsOf<'q>> + Send + Sync + 'q>;

/// The words of a column on a device.
pub(in crate::relational) enum WordsOf<'q> {
    Narrow(OnDevice<'q, u32>),
    Wide(OnDevice<'q, u64>),
}

impl<'q> WordsOf<'q> {
    pub(crate) fn lent(&self) -> WordsRef<'_> {
        match self {
            Self::Narrow(words) => WordsRef::Narrow(words),
            Self::Wide(words) => WordsRef::Wide(words),
        }
    }

    /// Gives the memory of words that were computed to the scratch.
    pub(crate) fn give_back(self, scratch: &mut Scratch) {
        match self {
            Self::Narrow(words) => words.give_back(scratch),
            Self::Wide(words) => words.give_back(scratch),
        }
    }

    pub(crate) fn new<T: Value>(words: OnDevice<'q, T::Word>) -> Self {
        // SAFETY: the branch is chosen by the word's size, so each word is cast to itself.
        unsafe {
            if T::Word::BITS == 32 { Self::Narrow(words.reinterpreted()) } else { Self::Wide(words.reinterpreted()) }
        }
    }
}
