//! The input that tables are built from.

use crate::error::same_length;
use crate::primitives::Pairs;
use crate::relational::columns::{IntoColumn, OnDevice};
use crate::runtime::stream::Batch;
use crate::types::Plain;
use crate::{Buffer, Device, Key, Result, Stream};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Nothing, Payload, ValueWord, WordOf};

/// The first `pairs` pairs of two buffers, or the first `pairs` keys of one buffer.
#[derive(Clone, Copy, Debug)]
pub struct Input<'i, K, V: Payload> {
    pub keys: &'i Buffer<K>,
    /// A buffer of at least `pairs` values. `None` if the payload is nothing, or if the values do
    /// not matter.
    pub values: Option<&'i Buffer<WordOf<V>>>,
    pub pairs: u64,
    /// The knowledge about the input that a build may use.
    pub known: Known,
}

/// The knowledge about an input that a build may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Known {
    /// Nothing is known.
    Nothing,
    /// The values do not matter, because they are replaced before they are read. No values are
    /// given, and values are no wider than keys.
    AnyValues,
    /// Each key occurs once.
    Unique,
    /// Each key occurs once, and the keys are sorted by their mixed keys. The mix uses the first
    /// constants of a build with this seed ([`crate::hash::constants`]).
    OrderedBy(u64),
}

impl Known {
    /// Returns whether each key occurs once.
    pub fn unique(self) -> bool {
        matches!(self, Self::Unique | Self::OrderedBy(_))
    }
}

impl<'i, K: KeyWord, V: ValueWord> Input<'i, K, V> {
    /// Returns all pairs of two buffers, which are equally long.
    pub fn of(keys: &'i Buffer<K>, values: &'i Buffer<V>) -> Self {
        Self { keys, values: Some(values), pairs: keys.len() as u64, known: Known::Nothing }
    }
}

impl<'i, K: KeyWord> Input<'i, K, Nothing> {
    /// Returns the input of all keys of `keys`.
    pub fn of_keys(keys: &'i Buffer<K>) -> Self {
        Self { keys, values: None, pairs: keys.len() as u64, known: Known::Nothing }
    }
}

impl<'i, K: KeyWord> Input<'i, K, u32> {
    /// Returns the input of all keys of `keys`, with values that do not matter.
    pub fn with_any_values(keys: &'i Buffer<K>) -> Self {
        Self { keys, values: None, pairs: keys.len() as u64, known: Known::AnyValues }
    }
}

impl<'i, K: KeyWord, V: Payload> Input<'i, K, V> {
    /// Returns the arrays of the input, and records that the batch reads them.
    pub(crate) fn read(&self, batch: &Batch<'i>) -> Pairs<K, V> {
        let keys = batch.read(self.keys);
        let values = match (self.values, self.known) {
            (Some(values), _) => batch.read(values),
            // Kernels that read values read the words of the keys instead; the buffer of keys is
            // long enough for that.
            (None, Known::AnyValues) => {
                debug_assert!(V::VALUE_BITS <= K::BITS, "words of the keys are too few");
                keys.cast()
            }
            // SAFETY: the kernels' documentation allows a null array of values for keys alone.
            (None, _) => unsafe { Global::null() },
        };
        Pairs { keys, values }
    }

    /// Returns the same pairs, as input for a table whose payload is always a value.
    pub fn with_values(self) -> Input<'i, K, WordOf<V>> {
        Input { keys: self.keys, values: self.values, pairs: self.pairs, known: self.known }
    }

    /// Returns the seed by whose first constants the keys are ordered, if they are ordered.
    pub fn ordered_by(&self) -> Option<u64> {
        match self.known {
            Known::OrderedBy(seed) => Some(seed),
            _ => None,
        }
    }
}

/// Returns a column of keys on `device`.
pub(crate) fn keys_on<'c, K: Key>(device: &Device, keys: impl IntoColumn<'c, K>) -> Result<OnDevice<'c, K>> {
    keys.into_column().elements_on(device, "the buffer of keys")
}

/// Returns columns of keys and values on `device`; fails unless the columns are equally long.
pub(crate) fn pairs_on<'c, K: Key, V: Plain>(
    device: &Device,
    keys: impl IntoColumn<'c, K>,
    values: impl IntoColumn<'c, V>,
) -> Result<(OnDevice<'c, K>, OnDevice<'c, V>)> {
    let (keys, values) = (keys.into_column(), values.into_column());
    same_length(("the keys", keys.rows()), ("the values", values.rows()))?;
    Ok((keys_on(device, keys)?, values.elements_on(device, "the buffer of values")?))
}

/// Fails unless the keys and the stream are on `device`.
pub(crate) fn check_keys<K>(device: &Device, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
    stream.check_device(device)?;
    keys.check_argument("the buffer of keys", device)
}

/// Fails unless the buffers and the stream are on `device`, and there is a value for each key.
pub(crate) fn check_pairs<K: KeyWord, V: ValueWord>(
    device: &Device,
    stream: &Stream,
    keys: &Buffer<K>,
    values: &Buffer<V>,
) -> Result<()> {
    check_keys(device, stream, keys)?;
    values.check_argument("the buffer of values", device)?;
    same_length(("the keys", keys.len()), ("the values", values.len()))
}
