//! What is wanted of a column besides its different keys, and the memory that it is written to.

use crate::relational::Order;
use crate::{Buffer, Device, Key, Result};
use std::fmt::Debug;

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl Sealed for u32 {}
}

/// The type of ids, counts or rows that may be asked for: `u32`, or `()` if they are not. The trait
/// is sealed.
pub trait Part: sealed::Sealed {
    /// The words on the host: a `Vec`, or `()`.
    type OnHost: Clone + Debug + PartialEq;
    /// The words on a device: a [`Buffer`], or `()`.
    type OnDevice: Debug;

    /// Whether they are asked for.
    #[doc(hidden)]
    const IS_WANTED: bool;

    #[doc(hidden)]
    fn on_host(numbers: Vec<u32>) -> Self::OnHost;

    /// Returns the buffer, which is there if it was asked for.
    #[doc(hidden)]
    fn on_device(numbers: Option<Buffer<u32>>) -> Self::OnDevice;

    /// Takes the buffer, if there is one, and leaves an empty one in its place.
    #[doc(hidden)]
    fn take(numbers: &mut Self::OnDevice) -> Option<Buffer<u32>>;
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
}

/// What is asked of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub ids: bool,
    pub counts: bool,
    pub first_rows: bool,
    pub order: Order,
    pub seed: Option<u64>,
}

/// The arrays that rows are encoded to, each as long as the rows.
#[derive(Clone, Copy)]
pub(super) struct Encoded<'b, K> {
    /// The different keys.
    pub keys: &'b Buffer<K>,
    /// The count of rows of each key.
    pub counts: Option<&'b Buffer<u32>>,
    /// The id of each row's key.
    pub ids: Option<&'b Buffer<u32>>,
}

/// The keys, and what else is wanted, on a device; or the memory for that.
#[derive(Debug)]
pub(super) struct Parts<K> {
    pub keys: Buffer<K>,
    pub ids: Option<Buffer<u32>>,
    pub counts: Option<Buffer<u32>>,
    pub first_rows: Option<Buffer<u32>>,
}

impl<K: Key> Parts<K> {
    /// Returns memory that begins with none.
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
