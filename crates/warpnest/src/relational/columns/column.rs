//! Columns: slices in host memory, or buffers on a device.

use crate::primitives::Scratch;
use crate::runtime::lent::Lent;
use crate::types::Plain;
use crate::{Buffer, BufferView, Device, Result, Value};
use std::ops::Deref;
use std::sync::Arc;

/// A column: a slice in host memory, which is copied to the device if that is a GPU, or a buffer or
/// part of a buffer. [`IntoColumn`] lists the types that can be passed as a column.
#[derive(Clone, Copy, Debug)]
pub struct Column<'q, T>(pub(crate) Source<'q, T>);

/// The memory in which a column is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'q, T> {
    Slice(&'q [T]),
    Buffer(&'q Buffer<T>),
}

/// A type that can be passed as a [`Column`]: `slice`, `&vec`, `&array`, `&buffer` and `&view`.
/// With the feature `arrow`, an Arrow array can be passed, too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a column of `{T}`",
    note = "pass a slice, `&vec`, `&array` or `&buffer` of `{T}`; numbers of other types are converted by the caller"
)]
pub trait IntoColumn<'c, T> {
    /// Returns the column.
    fn into_column(self) -> Column<'c, T>;
}

impl<'c, T> IntoColumn<'c, T> for Column<'c, T> {
    fn into_column(self) -> Column<'c, T> {
        self
    }
}

impl<'c, T> IntoColumn<'c, T> for &'c [T] {
    fn into_column(self) -> Column<'c, T> {
        Column(Source::Slice(self))
    }
}

impl<'c, T> IntoColumn<'c, T> for &'c Vec<T> {
    fn into_column(self) -> Column<'c, T> {
        Column(Source::Slice(self))
    }
}

impl<'c, T, const N: usize> IntoColumn<'c, T> for &'c [T; N] {
    fn into_column(self) -> Column<'c, T> {
        Column(Source::Slice(self))
    }
}

impl<'c, T> IntoColumn<'c, T> for &'c Buffer<T> {
    fn into_column(self) -> Column<'c, T> {
        Column(Source::Buffer(self))
    }
}

impl<'c, T> IntoColumn<'c, T> for &'c BufferView<'_, T> {
    fn into_column(self) -> Column<'c, T> {
        Column(Source::Buffer(self))
    }
}

impl<'q, T: Plain> Column<'q, T> {
    /// Returns the count of rows.
    pub(crate) fn rows(&self) -> usize {
        match self.0 {
            Source::Slice(slice) => slice.len(),
            Source::Buffer(buffer) => buffer.len(),
        }
    }

    /// Returns an id of the memory and the address of the first element, which together distinguish
    /// columns that are not empty. Addresses in different memories may be equal.
    pub(in crate::relational) fn address(&self) -> [usize; 2] {
        match self.0 {
            Source::Slice(slice) => [0, slice.as_ptr().addr()],
            Source::Buffer(buffer) => [Arc::as_ptr(buffer.engine()).addr(), buffer.at()],
        }
    }

    /// Returns the elements on `device`. `what` names the buffer in error messages.
    pub(crate) fn elements_on(&self, device: &Device, what: &'static str) -> Result<OnDevice<'q, T>> {
        match self.0 {
            Source::Slice(slice) => Ok(OnDevice::Lent(Lent::new(device, slice)?)),
            Source::Buffer(buffer) => {
                buffer.check_argument(what, device)?;
                Ok(OnDevice::Buffer(buffer))
            }
        }
    }
}

impl<'q, T: Value> Column<'q, T> {
    /// Returns the column on `device`, as words.
    pub(in crate::relational) fn on_device(&self, device: &Device) -> Result<OnDevice<'q, T::Word>> {
        // SAFETY: a value has the bytes of its word.
        Ok(unsafe { self.elements_on(device, "the buffer of a column")?.reinterpreted() })
    }
}

/// A column on a device.
#[derive(Debug)]
pub(crate) enum OnDevice<'q, W> {
    Lent(Lent<'q, W>),
    Buffer(&'q Buffer<W>),
    /// Words that were computed from the user's words.
    Own(Buffer<W>),
}

impl<'q, W> OnDevice<'q, W> {
    /// Gives the memory of words that were computed to the scratch.
    pub(crate) fn give_back(self, scratch: &mut Scratch) {
        if let Self::Own(buffer) = self {
            scratch.give_back(buffer);
        }
    }

    /// Returns the same column with elements of another type.
    ///
    /// # Safety
    /// Elements of type `W` are valid values of type `U`, and both types have the same size.
    pub(crate) unsafe fn reinterpreted<U>(self) -> OnDevice<'q, U> {
        match self {
            // SAFETY: the caller guarantees it.
            Self::Lent(lent) => OnDevice::Lent(unsafe { lent.reinterpreted() }),
            // SAFETY: the caller guarantees it.
            Self::Buffer(buffer) => OnDevice::Buffer(unsafe { buffer.as_type() }),
            // SAFETY: the caller guarantees it.
            Self::Own(buffer) => OnDevice::Own(unsafe { buffer.reinterpreted() }),
        }
    }
}

impl<W> Deref for OnDevice<'_, W> {
    type Target = Buffer<W>;
    fn deref(&self) -> &Buffer<W> {
        match self {
            Self::Lent(lent) => lent,
            Self::Buffer(buffer) => buffer,
            Self::Own(buffer) => buffer,
        }
    }
}
