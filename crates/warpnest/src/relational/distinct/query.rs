//! The query for the distinct keys of a column.

use super::compute::compute;
use super::on_cores::{encoded, encoding_cores, needs_ids};
use super::on_device::on_device;
use super::parts::{Encoded, Part, Parts, Wanted};
use crate::primitives::{Scratch, check_items};
use crate::relational::Order;
use crate::relational::columns::{Column, IntoColumn};
use crate::relational::group_by::bounded::{Bounded, Rows};
use crate::runtime::lent::Output;
use crate::{Buffer, Device, InputError, Key, Result, Stream};
use std::fmt;
use std::marker::PhantomData;

/// A query for the distinct keys of a column. It can also request the id of each row's key, the
/// count of rows of each key, and the first row of each key. Parts that are not requested are not
/// computed, and are not in the result.
///
/// ```
/// use warpnest::Device;
/// use warpnest::relational::{Order, Unique};
///
/// let device = Device::best()?;
/// let found = Unique::of(&['b', 'a', 'b']).ids().counts().order(Order::FirstSeen).run(&device)?;
/// assert_eq!(found.keys, ['b', 'a']);
/// assert_eq!(found.ids, [0, 1, 0]);
/// assert_eq!(found.counts, [2, 1]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// * **Ids** start at 0 and have no gaps: `keys[ids[row]]` is the key of the row. They are the
///   *inverse* of NumPy, the codes of pandas' `factorize`, and the indices of a dictionary array.
/// * **Order** of the keys, and so of ids and counts: it is arbitrary, and may differ between two
///   runs, unless [`Unique::order`] sets it.
/// * **All keys are legal**, in columns of up to 2^32 - 1 rows.
/// * **Complexity.** On a GPU up to 2^20 rows go to one hash table in memory, which gives all
///   parts. For more rows, the keys take a [group-by](super::super::GroupBy). Ids also take a
///   lookup of each row in a map of the keys, which is one random read. For first rows, the
///   group-by also processes the indices of all rows. On a CPU each core encodes its rows with a
///   dictionary. If there are many distinct keys, the rows are first divided by their keys.
///
/// A [`CompactingTable`](crate::CompactingTable) keeps ids for lookups, but gives no ids to later
/// keys. [`RowIds`](super::super::RowIds) gives ids over many batches.
#[doc(alias("deduplicate", "dedup", "distinct", "dictionary_encode", "group_ids", "bincount", "inverse"))]
pub struct Unique<'q, K, Ids = (), Counts = (), FirstRows = ()> {
    keys: Column<'q, K>,
    order: Order,
    seed: Option<u64>,
    parts: Asked<Ids, Counts, FirstRows>,
}

/// The types of the requested parts.
type Asked<Ids, Counts, FirstRows> = PhantomData<fn() -> (Ids, Counts, FirstRows)>;

/// The distinct keys of a column and the requested parts, on the host or on a device. A part that
/// was not requested is `()`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Distinct<Keys, Ids, Counts, FirstRows> {
    /// The distinct keys.
    pub keys: Keys,
    /// The id of each row's key: `keys[ids[row]]` is the key of the row.
    pub ids: Ids,
    /// The count of rows of each key: `counts[id]` rows have the key `keys[id]`.
    pub counts: Counts,
    /// The first row of each key.
    pub first_rows: FirstRows,
}

/// The result of a query on the host.
pub type OnHost<K, I, C, F> = Distinct<Vec<K>, <I as Part>::OnHost, <C as Part>::OnHost, <F as Part>::OnHost>;
/// The result of a query on a device.
pub type OnDevice<K, I, C, F> =
    Distinct<Buffer<K>, <I as Part>::OnDevice, <C as Part>::OnDevice, <F as Part>::OnDevice>;

impl<'q, K: Key> Unique<'q, K> {
    /// Returns a query for the distinct keys of a column.
    pub fn of(keys: impl IntoColumn<'q, K>) -> Self {
        Self { keys: keys.into_column(), order: Order::Any, seed: None, parts: PhantomData }
    }
}

impl<'q, K: Key, I: Part, C: Part, F: Part> Unique<'q, K, I, C, F> {
    fn asking<I2, C2, F2>(self) -> Unique<'q, K, I2, C2, F2> {
        let Self { keys, order, seed, .. } = self;
        Unique { keys, order, seed, parts: PhantomData }
    }

    /// Requests the id of each row's key.
    #[must_use]
    pub fn ids(self) -> Unique<'q, K, u32, C, F> {
        self.asking()
    }

    /// Requests the count of rows of each key.
    #[must_use]
    pub fn counts(self) -> Unique<'q, K, I, u32, F> {
        self.asking()
    }

    /// Requests the first row of each key.
    #[must_use]
    pub fn first_rows(self) -> Unique<'q, K, I, C, u32> {
        self.asking()
    }

    /// Sets the order of the keys; the default is [`Order::Any`].
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Sets the seed of samples and hash constants, which are random by default. Do not set it if
    /// untrusted people choose the keys.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    fn wanted(&self) -> Wanted {
        let Self { order, seed, .. } = *self;
        Wanted { ids: I::IS_WANTED, counts: C::IS_WANTED, first_rows: F::IS_WANTED, order, seed }
    }

    /// Returns the result on the host.
    ///
    /// # Errors
    /// As for [`Unique::run_on`].
    pub fn run(&self, device: &Device) -> Result<OnHost<K, I, C, F>> {
        let (stream, wanted, rows) = (device.default_stream(), self.wanted(), self.keys.rows());
        check_items(rows)?;
        let keys = self.keys.elements_on(device, "the buffer of a column")?;
        let mut scratch = Scratch::new(device);
        let Some(cores) = encoding_cores(stream, &wanted) else {
            let Parts { keys, ids, counts, first_rows } =
                on_device(stream, &mut scratch, &keys, &wanted, Parts::new(device, &wanted)?, None)?;
            let host = |numbers: Option<Buffer<u32>>| match numbers {
                Some(numbers) => numbers.download(stream),
                None => Ok(Vec::new()),
            };
            return Ok(Distinct {
                keys: keys.download(stream)?,
                ids: I::on_host(host(ids)?),
                counts: C::on_host(host(counts)?),
                first_rows: F::on_host(host(first_rows)?),
            });
        };
        // The cores write directly to the host memory of the result.
        let output = |is_needed: bool| is_needed.then(|| Output::new(device, rows)).transpose();
        let (ids, counts) = (output(needs_ids(&wanted))?, output(wanted.counts)?);
        let keys_out = Buffer::uninitialized(device, rows)?;
        let arrays = Encoded { keys: &keys_out, counts: counts.as_deref(), ids: ids.as_deref() };
        let (length, first_rows) = encoded(stream, &mut scratch, &keys, &wanted, (arrays, cores))?;
        let numbers = |of: Option<Output>, length| of.map_or(Ok(Vec::new()), |of| of.into_vec(stream, length));
        Ok(Distinct {
            keys: keys_out.download_front(stream, length)?,
            ids: I::on_host(numbers(ids, rows)?),
            counts: C::on_host(numbers(counts, length)?),
            first_rows: F::on_host(first_rows),
        })
    }

    /// Returns the result on the device, computed on `stream`; waits for the count of keys. The
    /// scratch should be kept for later calls.
    ///
    /// # Errors
    /// [`InputError::TooManyItems`](crate::InputError::TooManyItems) if there are more than 2^32 -
    /// 1 rows; [`Error::BuildFailed`](crate::Error::BuildFailed) as for a
    /// [`PageMap`](crate::PageMap) of the keys;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn run_on(&self, stream: &Stream, scratch: &mut Scratch) -> Result<OnDevice<K, I, C, F>> {
        let memory = Parts::new(scratch.device(), &self.wanted())?;
        self.run_with(stream, scratch, memory)
    }

    /// Computes the result as [`Unique::run_on`] does, in the memory of an earlier result, which
    /// grows as needed. If that memory and the scratch are large enough, no memory is allocated.
    /// After an error the result is empty.
    ///
    /// # Errors
    /// As for [`Unique::run_on`].
    pub fn run_into(&self, stream: &Stream, scratch: &mut Scratch, result: &mut OnDevice<K, I, C, F>) -> Result<()> {
        result.keys.check_device("the memory of the result", scratch.device())?;
        *result = self.run_with(stream, scratch, taken::<K, I, C, F>(result))?;
        Ok(())
    }

    /// Queues computing at most `capacity` keys on `stream`, without waiting for their count, which
    /// stays on the device ([`Bounded`] has an example). The scratch should be kept for later
    /// calls.
    ///
    /// All rows are added to one hash table in memory, whose slots are for the capacity, or for the
    /// rows if they are fewer. There are two to four slots for each key, of 4 bytes each, or of 8
    /// bytes with counts. So a small capacity is faster. If there are more keys, most of the rows
    /// are left out, which is fast.
    ///
    /// # Errors
    /// [`InputError::NotBounded`](crate::InputError::NotBounded) unless the order is
    /// [`Order::Any`]; [`InputError::TooManyItems`](crate::InputError::TooManyItems) if there are
    /// more than 2^32 - 1 rows; [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    /// More keys than the capacity are an error only when [`Bounded::finish`] waits for their
    /// count.
    pub fn run_bounded(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        capacity: usize,
    ) -> Result<Bounded<OnDevice<K, I, C, F>>> {
        let device = scratch.device().clone();
        let keys = Buffer::zeroed(&device, capacity)?;
        let memory = given::<K, I, C, F>(Parts { keys, ..Parts::new(&device, &self.wanted())? });
        let set_length = |found: &mut OnDevice<K, I, C, F>, keys: usize| {
            found.keys.set_length(keys);
            C::set_length(&mut found.counts, keys);
            F::set_length(&mut found.first_rows, keys);
        };
        let mut found = Bounded::new(&device, capacity, memory, Rows { name: "different keys", set_length })?;
        self.run_bounded_into(stream, scratch, &mut found)?;
        Ok(found)
    }

    /// Queues computing the result as [`Unique::run_bounded`] does, in the memory of an earlier
    /// result, with its capacity. If that and the scratch are large enough, no memory is allocated.
    /// If an input is refused, `found` is unchanged; after any other error it is empty.
    ///
    /// # Errors
    /// As for [`Unique::run_bounded`].
    pub fn run_bounded_into(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        found: &mut Bounded<OnDevice<K, I, C, F>>,
    ) -> Result<()> {
        let (wanted, device) = (self.wanted(), scratch.device().clone());
        if wanted.order != Order::Any {
            return Err(InputError::NotBounded { what: "an order of the keys" }.into());
        }
        found.check_device(&device)?;
        stream.check_device(&device)?;
        check_items(self.keys.rows())?;
        let keys = self.keys.elements_on(&device, "the buffer of a column")?;
        found.refill(|found, bound| {
            let memory = taken::<K, I, C, F>(found);
            *found = given::<K, I, C, F>(on_device(stream, scratch, &keys, &wanted, memory, Some(bound))?);
            Ok(())
        })
    }

    fn run_with(&self, stream: &Stream, scratch: &mut Scratch, memory: Parts<K>) -> Result<OnDevice<K, I, C, F>> {
        let (wanted, device) = (self.wanted(), scratch.device().clone());
        stream.check_device(&device)?;
        check_items(self.keys.rows())?;
        let keys = self.keys.elements_on(&device, "the buffer of a column")?;
        compute(stream, scratch, &keys, &wanted, memory).map(given::<K, I, C, F>)
    }
}

/// Takes the memory of a result, and leaves an empty result.
fn taken<K: Key, I: Part, C: Part, F: Part>(found: &mut OnDevice<K, I, C, F>) -> Parts<K> {
    Parts {
        keys: found.keys.take(),
        ids: I::take(&mut found.ids),
        counts: C::take(&mut found.counts),
        first_rows: F::take(&mut found.first_rows),
    }
}

/// Returns the parts of a result as their own types.
fn given<K: Key, I: Part, C: Part, F: Part>(parts: Parts<K>) -> OnDevice<K, I, C, F> {
    let Parts { keys, ids, counts, first_rows } = parts;
    Distinct { keys, ids: I::on_device(ids), counts: C::on_device(counts), first_rows: F::on_device(first_rows) }
}

impl<K, I, C, F> fmt::Debug for Unique<'_, K, I, C, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unique").field("order", &self.order).finish_non_exhaustive()
    }
}
