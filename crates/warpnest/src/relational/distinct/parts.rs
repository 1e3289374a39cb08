//! The parts of a result besides the distinct keys, and the memory to which they are written.

use crate::relational::Order;
use crate::{Buffer, Device, Key, Result};
use std::fmt::Debug;

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl Sealed for u32 {}
}

/// The type of ids, counts or first rows: `u32` if they are requested, or `()` if they are not. The
/// trait is sealed.
pub trait Part: sealed::Sealed {
    /// The words on the host: a `Vec`, or `()`.
    type OnHost: Clone + Debug + PartialEq;
    /// The words on a device: a [`Buffer`], or `()`.
    type OnDevice: Debug;

    /// Whether the part is requested.
    #[doc(hidden)]
    const IS_WANTED: bool;

    #[doc(hidden)]
    fn on_host(numbers: Vec<u32>) -> Self::OnHost;

    /// Returns the buffer, which exists if the part was requested.
    #[doc(hidden)]
    fn on_device(numbers: Option<Buffer<u32>>) -> Self::OnDevice;

    /// Takes the buffer, if there is one, and leaves an empty buffer in its place.
    #[doc(hidden)]
    fn take(numbers: &mut Self::OnDevice) -> Option<Buffer<u32>>;

    /// Sets the count of elements, for which there is memory.
    #[doc(hidden)]
    fn set_length(numbers: &mut Self::OnDevice, length: usize);
}

impl Part for () {
    type OnHost = ();
    type OnDevice = ();
    const IS_WANTED: bool = false;

    fn on_host(_: Vec<u32>) {}

    fn on_device(_: Option<Buffer<u32>>) {}

    fn take((): &mut ()) -> Option<Buffer<u32>> {
        None
    }

    fn set_length((): &mut (), _: usize) {}
}

impl Part for u32 {
    type OnHost = Vec<Self>;
    type OnDevice = Buffer<Self>;
    const IS_WANTED: bool = true;

    fn on_host(numbers: Vec<Self>) -> Vec<Self> {
        numbers
    }

    fn on_device(numbers: Option<Buffer<Self>>) -> Buffer<Self> {
        numbers.expect("what is asked for is computed")
    }

    fn take(numbers: &mut Buffer<Self>) -> Option<Buffer<Self>> {
        Some(numbers.take())
    }

    fn set_length(numbers: &mut Buffer<Self>, length: usize) {
        numbers.set_length(length);
    }
}

/// The requested parts and options of a query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub ids: bool,
    pub counts: bool,
    pub first_rows: bool,
    pub order: Order,
    pub seed: Option<u64>,
}

/// The arrays to which rows are encoded, each with an element for each row.
#[derive(Clone, Copy)]
pub(super) struct Encoded<'b, K> {
    /// The distinct keys.
    pub keys: &'b Buffer<K>,
    /// The count of rows of each key.
    pub counts: Option<&'b Buffer<u32>>,
    /// The id of each row's key.
    pub ids: Option<&'b Buffer<u32>>,
}

/// The keys and the other wanted parts, on a device, or the memory for them.
#[derive(Debug)]
pub(super) struct Parts<K> {
    pub keys: Buffer<K>,
    pub ids: Option<Buffer<u32>>,
    pub counts: Option<Buffer<u32>>,
    pub first_rows: Option<Buffer<u32>>,
}

impl<K: Key> Parts<K> {
    /// Returns empty memory, which grows later.
    pub(super) fn new(device: &Device, wanted: &Wanted) -> Result<Self> {
        let part = |is_wanted: bool| is_wanted.then(|| Buffer::uninitialized(device, 0)).transpose();
        Ok(Self {
            keys: Buffer::uninitialized(device, 0)?,
            ids: part(wanted.ids)?,
            counts: part(wanted.counts)?,
            first_rows: part(wanted.first_rows)?,
        })
    }
}
