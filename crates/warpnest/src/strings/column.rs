//! Columns of strings as input, which are slices of byte strings, or bytes with offsets.

use crate::{InputError, Result};
use std::fmt;

/// A column of byte strings, with one string per row.
///
/// Slices, arrays and vectors of any type that contains bytes are columns: of `&str`, `String`,
/// `&[u8]`, `Vec<u8>`, `Box<[u8]>` and so on. [`StringColumn`] is a column of bytes and offsets. If
/// you have an iterator, collect its items into a vector first, because rows are read more than
/// once. `Cow<str>` and `Arc<str>` are not `AsRef<[u8]>`, so collect `&**row` of each row.
///
/// All cores read rows, and each row is read more than once. A row must be the same each time.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no column of strings",
    label = "neither a slice, an array nor a vector of what is `AsRef<[u8]>`, nor a `StringColumn`",
    note = "collect what an iterator gives: `&text.split(' ').collect::<Vec<_>>()`",
    note = "of `Cow<str>`, `Arc<str>` or `Rc<str>`, collect references: `&rows.iter().map(|row| &**row).collect::<Vec<_>>()`"
)]
pub trait Strings: Sync {
    /// Returns the count of rows.
    fn rows(&self) -> usize;

    /// Returns the string of a row.
    ///
    /// # Panics
    /// May panic unless the row is less than [`Strings::rows`].
    fn row(&self, row: usize) -> &[u8];
}

#[diagnostic::do_not_recommend]
impl<T: AsRef<[u8]> + Sync> Strings for [T] {
    fn rows(&self) -> usize {
        self.len()
    }

    fn row(&self, row: usize) -> &[u8] {
        self[row].as_ref()
    }
}

#[diagnostic::do_not_recommend]
impl<T: AsRef<[u8]> + Sync, const N: usize> Strings for [T; N] {
    fn rows(&self) -> usize {
        N
    }

    fn row(&self, row: usize) -> &[u8] {
        self[row].as_ref()
    }
}

#[diagnostic::do_not_recommend]
impl<T: AsRef<[u8]> + Sync> Strings for Vec<T> {
    fn rows(&self) -> usize {
        self.len()
    }

    fn row(&self, row: usize) -> &[u8] {
        self[row].as_ref()
    }
}

#[diagnostic::do_not_recommend]
impl<S: Strings + ?Sized> Strings for &S {
    fn rows(&self) -> usize {
        (**self).rows()
    }

    fn row(&self, row: usize) -> &[u8] {
        (**self).row(row)
    }
}

/// A column of strings that are stored contiguously, as their bytes and the offset of each string.
///
/// This is the layout of string columns in Arrow: row `i` has the bytes from `offsets[i]` to
/// `offsets[i + 1]`. Offsets may be `i32` or `i64`, as in Arrow, or unsigned. They need not begin
/// at 0 or end with the bytes, so a slice of an Arrow array is a column, too.
///
/// ```
/// use warpnest::Device;
/// use warpnest::strings::{StringColumn, unique};
///
/// let column = StringColumn::new(b"toberortobe", &[0i32, 2, 4, 5, 7, 9, 11])?;
/// let unique = unique(&Device::best()?, &column)?;
/// assert_eq!(unique.ids, [0, 1, 2, 3, 0, 1]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct StringColumn<'a, O> {
    bytes: &'a [u8],
    offsets: &'a [O],
}

impl<'a, O: Copy + Sync + TryInto<usize>> StringColumn<'a, O> {
    /// Returns the column of these bytes and offsets. There is one offset more than there are rows,
    /// or no offset for no rows. Nothing is copied, and each offset is checked once.
    ///
    /// # Errors
    /// [`InputError::Offsets`] if an offset is less than the one before it, or greater than the
    /// count of bytes.
    pub fn new(bytes: &'a [u8], offsets: &'a [O]) -> Result<Self> {
        let column = Self { bytes, offsets };
        let mut start = 0;
        for (number, offset) in offsets.iter().enumerate() {
            match (*offset).try_into() {
                Ok(end) if (start..=bytes.len()).contains(&end) => start = end,
                _ => return Err(InputError::Offsets { number: number as u64, bytes: bytes.len() as u64 }.into()),
            }
        }
        Ok(column)
    }

    fn offset(&self, number: usize) -> usize {
        // `new` has converted each offset successfully, so the default is never used.
        self.offsets[number].try_into().unwrap_or(self.bytes.len())
    }
}

#[diagnostic::do_not_recommend]
impl<O: Copy + Sync + TryInto<usize>> Strings for StringColumn<'_, O> {
    fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn row(&self, row: usize) -> &[u8] {
        &self.bytes[self.offset(row)..self.offset(row + 1)]
    }
}

impl<O> fmt::Debug for StringColumn<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.offsets.len().saturating_sub(1);
        f.debug_struct("StringColumn").field("rows", &rows).field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}
