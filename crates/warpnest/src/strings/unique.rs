//! The distinct strings of a column, with the id and the count of each.

use super::column::Strings;
use super::hashing::{RandomState, With};
use super::numbered::Numbered;
use super::numbering::numbered;
use crate::{Device, Result};
use std::hash::BuildHasher;

/// The distinct strings of a column. Ids are in the order of first appearance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UniqueStrings {
    /// The id of each row's string. Two rows have the same id if and only if their strings are
    /// equal.
    pub ids: Vec<u32>,
    /// The count of rows of each distinct string.
    pub counts: Vec<u32>,
    /// The first row of each distinct string, in ascending order.
    pub first_rows: Vec<u32>,
}

impl UniqueStrings {
    /// Returns the count of distinct strings.
    pub fn len(&self) -> usize {
        self.first_rows.len()
    }

    /// Returns whether there are no strings, which is so if the column had no rows.
    pub fn is_empty(&self) -> bool {
        self.first_rows.is_empty()
    }

    /// Returns the element of `rows` at the first row of each distinct string, in the order of the
    /// ids. If `rows` is the column, these elements are the distinct strings.
    ///
    /// # Panics
    /// If `rows` has no element for the first row of some string.
    pub fn pick<T: Clone>(&self, rows: &[T]) -> Vec<T> {
        self.first_rows.iter().map(|&row| rows[row as usize].clone()).collect()
    }
}

/// Finds the distinct strings of a column, and the id, the count and the first row of each.
///
/// Ids are in the order of first appearance. The answer is exact, because strings are compared and
/// not only their hashes. The hasher is [`RandomState`], whose seed is random.
///
/// ```
/// use warpnest::{Device, strings};
///
/// let words: Vec<&str> = "to be or not to be".split(' ').collect();
/// let unique = strings::unique(&Device::best()?, &words)?;
/// assert_eq!(unique.pick(&words), ["to", "be", "or", "not"]);
/// assert_eq!((unique.ids, unique.counts), (vec![0, 1, 2, 3, 0, 1], vec![2, 2, 1, 1]));
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// **Complexity.** Each byte is hashed once and compared once, on all cores of the host. The device
/// assigns ids to the hashes, which have 8 bytes per row. On the CPU engine, cores do that, too.
/// The answer takes 4 host bytes per row, and 8 per distinct string. During the call, a GPU takes 8
/// more host bytes per row. The CPU engine takes some 50 to 110 bytes for each distinct string in
/// the rows of each core.
///
/// # Errors
/// [`InputError::TooManyPairs`](crate::InputError::TooManyPairs) if a table cannot have so many
/// rows, [`BuildError::Page`](crate::BuildError::Page),
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
#[doc(alias("deduplicate", "distinct", "dictionary_encode", "factorize", "value_counts", "word count"))]
pub fn unique(device: &Device, strings: &(impl Strings + ?Sized)) -> Result<UniqueStrings> {
    unique_with_hasher(device, strings, &RandomState::default())
}

/// Does [`unique`] with another hasher.
///
/// For any hasher with equal hashes for equal bytes, the answer is right, and the time is
/// proportional to the size of the column. Strings that share a hash go into a `HashMap` of `std`.
///
/// # Errors
/// As for [`unique`].
pub fn unique_with_hasher(
    device: &Device,
    strings: &(impl Strings + ?Sized),
    hasher: &(impl BuildHasher + Sync),
) -> Result<UniqueStrings> {
    let Numbered { ids, counts, first_rows, .. } = numbered(device, &With(strings, hasher))?;
    Ok(UniqueStrings { ids, counts, first_rows })
}
