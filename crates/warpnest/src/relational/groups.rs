//! The result of a group-by.

use super::query::Aggregate;
use crate::runtime::stream::Batch;
use crate::{Buffer, Device, Error, InputError, Key, Result, Value};
use gpu_kernels::seam::Global;
use gpu_kernels::types::Scalar;

/// The groups of a [`GroupBy`](super::GroupBy), on the device: a key for each, and a column for
/// each aggregate, all in the same order.
#[derive(Debug)]
pub struct Groups<K> {
    pub(super) keys: Buffer<K>,
    pub(super) columns: Vec<Words>,
    /// The number of the query, which its aggregates know.
    pub(super) query: u64,
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

    /// Returns the words for a batch to write, whatever their size.
    pub fn write<'b>(&'b self, batch: &Batch<'b>) -> Global<u64> {
        match self {
            Self::Narrow(words) => batch.write(words).cast(),
            Self::Wide(words) => batch.write(words),
        }
    }
}

impl<K: Key> Groups<K> {
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

    /// Returns the keys and frees the aggregates.
    pub fn into_keys(self) -> Buffer<K> {
        self.keys
    }
}
