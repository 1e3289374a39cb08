//! The different strings of a column, with an id and a count of each.

use super::column::Strings;
use super::hashing::{RandomState, With};
use super::numbered::Numbered;
use super::numbering::numbered;
use crate::{Device, Result};
use std::hash::BuildHasher;

/// The different strings of a column. Ids are in the order of first appearance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UniqueStrings {
    /// The id of each row's string: rows have the same id if and only if their strings are equal.
    pub ids: Vec<u32>,
    /// The count of rows of each different string.
    pub counts: Vec<u32>,
    /// The first row of each different string; they ascend.
    pub first_rows: Vec<u32>,
}

impl UniqueStrings {
    /// Returns the count of different strings.
    pub fn len(&self) -> usize {
        self.first_rows.len()
    }

    /// Returns whether there are no strings, and so were no rows.
    pub fn is_empty(&self) -> bool {
        self.first_rows.is_empty()
    }

    /// Returns the first row's element of each different string, in the order of their ids: the
    /// strings themselves, if `rows` are those that the ids are of.
    ///
    /// # Panics
    /// If there are fewer rows than there are ids.
    pub fn pick<T: Clone>(&self, rows: &[T]) -> Vec<T> {
        self.first_rows.iter().map(|&row| rows[row as usize].clone()).collect()
    }
}

/// Finds the different strings of a column, the id and the count of each, and its first row.
///
/// Ids are in the order of first appearance. The answer is exact: strings are compared themselves,
/// and not only their hashes. The hash is [`RandomState`], whose seed is random.
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
/// gives ids to the hashes, of 8 bytes a row; the cores of a CPU do all of it. The answer takes 4
/// bytes of the host a row, and 8 a different string. While it is found, a GPU takes 8 of the host
/// a row more, and cores some 50 to 110 for each different string among the rows of each.
///
/// # Errors
/// [`InputError::TooManyPairs`](crate::InputError::TooManyPairs) for more rows than a table has,
/// [`BuildError::Page`](crate::BuildError::Page),
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
#[doc(alias("deduplicate", "distinct", "dictionary_encode", "factorize", "value_counts", "word count"))]
pub fn unique(device: &Device, strings: &(impl Strings + ?Sized)) -> Result<UniqueStrings> {
    unique_with_hasher(device, strings, &RandomState::default())
}

/// Does [`unique`] with another hasher.
///
/// Whatever the hasher gives, the answer is right and the time grows with the rows alone, as long
/// as equal bytes have equal hashes: strings that share a hash go into a `HashMap` of `std`.
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
