//! The result of a group-by.

use super::query::Aggregate;
use crate::runtime::stream::Batch;
use crate::{Buffer, Device, Error, InputError, Key, Result, Stream, Value};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{Scalar, ValueWord};

/// The groups of a [`GroupBy`](super::GroupBy), on the device: a key for each, and a column for
/// each aggregate, all in the same order.
#[derive(Debug)]
pub struct Groups<K> {
    pub(super) keys: Buffer<K>,
    pub(super) columns: Vec<Words>,
    pub(super) report: GroupReport,
    /// The number of the query, which its aggregates know.
    pub(super) query: u64,
}

/// How groups were computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// The faster of the others, by the query and by a sample of the keys.
    Auto,
    /// Rows were sorted by key. Every query can be answered so.
    Sort,
    /// Rows were aggregated on chip: those of frequent keys in one pass over all rows, the others
    /// in bins that hold a part of the keys each.
    Hash,
}

/// What is known of the way that groups were computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupReport {
    /// How the groups were computed: not [`Method::Auto`].
    pub method: Method,
    /// The number of groups that a sample of the keys let expect, if one was drawn. It is low if
    /// most rows have few keys, and many keys have few rows.
    pub estimated_groups: Option<u64>,
    /// The number of rows with frequent keys, which were aggregated in one pass.
    pub hot_rows: u64,
    /// Whether the sample was wrong about the keys, so that rows were taken another way.
    pub overflowed: bool,
}

/// The words of an aggregate.
#[derive(Debug)]
pub(super) enum Words {
    Narrow(Buffer<u32>),
    Wide(Buffer<u64>),
}

impl Words {
    /// Allocates words of 64 or 32 bits.
    pub fn uninitialized(device: &Device, is_wide: bool, length: usize) -> Result<Self> {
        Ok(match is_wide {
            true => Self::Wide(Buffer::uninitialized(device, length)?),
            false => Self::Narrow(Buffer::uninitialized(device, length)?),
        })
    }

    /// Makes them `length` words with unspecified contents. Allocates memory only if there is less.
    pub fn resize(&mut self, device: &Device, length: usize) -> Result<()> {
        match self {
            Self::Narrow(words) => words.fit_at_least(device, length).map(|()| words.set_length(length)),
            Self::Wide(words) => words.fit_at_least(device, length).map(|()| words.set_length(length)),
        }
    }

    /// Returns the words, and leaves none in their place, as [`Buffer::take`] does.
    pub fn take(&mut self) -> Self {
        match self {
            Self::Narrow(words) => Self::Narrow(words.take()),
            Self::Wide(words) => Self::Wide(words.take()),
        }
    }

    /// Returns the same words, whose type is told by their size.
    pub fn of<W: ValueWord>(words: Buffer<W>) -> Self {
        // SAFETY: the branch is that of the word's size, so each word is cast to itself.
        unsafe { if W::BITS == 32 { Self::Narrow(words.reinterpreted()) } else { Self::Wide(words.reinterpreted()) } }
    }

    /// Returns the words as ones of a type of their size.
    ///
    /// # Panics
    /// If their size is another one.
    pub fn into_buffer<W: Scalar>(self) -> Buffer<W> {
        // SAFETY: as in `of`.
        unsafe {
            match self {
                Self::Narrow(words) if W::BITS == 32 => words.reinterpreted(),
                Self::Wide(words) if W::BITS == 64 => words.reinterpreted(),
                Self::Narrow(_) | Self::Wide(_) => panic!("words of {} bits were wanted", W::BITS),
            }
        }
    }

    /// Returns another buffer with the same words.
    pub fn duplicate(&self, stream: &Stream, device: &Device) -> Result<Self> {
        Ok(match self {
            Self::Narrow(words) => Self::Narrow(words.duplicate(stream, device)?),
            Self::Wide(words) => Self::Wide(words.duplicate(stream, device)?),
        })
    }

    /// Returns the words for a batch to write, whatever their size.
    pub fn write<'b>(&'b self, batch: &Batch<'b>) -> Global<u64> {
        match self {
            Self::Narrow(words) => batch.write(words).cast(),
            Self::Wide(words) => batch.write(words),
        }
    }
}

impl<K: Key> Groups<K> {
    /// Makes them no groups; the memory stays.
    pub(super) fn clear(&mut self) {
        self.keys.empty();
        for column in &mut self.columns {
            match column {
                Words::Narrow(words) => words.empty(),
                Words::Wide(words) => words.empty(),
            }
        }
    }

    /// Returns the number of groups.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns whether there are no groups, since there were no rows.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the keys, each once.
    pub fn keys(&self) -> &Buffer<K> {
        &self.keys
    }

    /// Returns an aggregate of each group.
    ///
    /// # Errors
    /// [`InputError::ForeignAggregate`] if it was asked of another query.
    pub fn column<T: Value>(&self, aggregate: Aggregate<T>) -> Result<&Buffer<T>> {
        let words = self.columns.get(aggregate.number).filter(|_| aggregate.query == self.query);
        let address: *const Buffer<T> = match words {
            Some(Words::Narrow(words)) if T::Word::BITS == 32 => std::ptr::from_ref(words).cast(),
            Some(Words::Wide(words)) if T::Word::BITS == 64 => std::ptr::from_ref(words).cast(),
            _ => return Err(Error::Input(InputError::ForeignAggregate)),
        };
        // SAFETY: the layout of a buffer does not depend on the type of its elements. These are as
        // large, and values of the type: the query that gave the aggregate computed them so.
        Ok(unsafe { &*address })
    }

    /// Returns the keys, and the aggregates in the order in which they were asked for.
    pub(super) fn into_parts(self) -> (Buffer<K>, Vec<Words>) {
        (self.keys, self.columns)
    }

    /// Returns how the groups were computed.
    pub fn report(&self) -> GroupReport {
        self.report
    }

    /// Returns the keys and frees the aggregates.
    pub fn into_keys(self) -> Buffer<K> {
        self.keys
    }
}
