//! The program's slices as inputs of launches.

use crate::runtime::allocation::{Allocation, Owner};
use crate::{Buffer, Device, Result};
use gpu_kernels::plain::Plain;
use std::marker::PhantomData;
use std::ops::Deref;

/// The alignment of a slice that is read in place, in bytes.
const ALIGNMENT: usize = 16;

/// A read-only buffer with the elements of a slice: the slice itself where the device can read
/// that, and otherwise a copy.
#[derive(Debug)]
pub(crate) struct Lent<'s, T> {
    buffer: Buffer<T>,
    slice: PhantomData<&'s [T]>,
}

impl<'s, T: Plain> Lent<'s, T> {
    /// Returns the elements of `slice` on `device`; returns when they are there.
    pub fn new(device: &Device, slice: &'s [T]) -> Result<Self> {
        let address = slice.as_ptr().expose_provenance();
        let in_place = device.engine().shares_memory_with_host() && address.is_multiple_of(ALIGNMENT);
        let buffer = if in_place && !slice.is_empty() {
            // No work writes it, since it is given out as `&Buffer` alone. It is dropped, which
            // waits for what reads it, before the borrow of the slice ends.
            let allocation = Allocation::new(device.engine().clone(), address, size_of_val(slice), Owner::Other);
            Buffer::from_allocation(allocation, slice.len())
        } else {
            Buffer::from_slice(device, slice)?
        };
        Ok(Self { buffer, slice: PhantomData })
    }
}

impl<'s, K: Plain> Lent<'s, K> {
    /// Returns the keys and the values on `device`, if there are as many of either.
    pub fn pairs<V: Plain>(device: &Device, keys: &'s [K], values: &'s [V]) -> Result<(Self, Lent<'s, V>)> {
        crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
        Ok((Self::new(device, keys)?, Lent::new(device, values)?))
    }
}

impl<T> Deref for Lent<'_, T> {
    type Target = Buffer<T>;
    fn deref(&self) -> &Buffer<T> {
        &self.buffer
    }
}
