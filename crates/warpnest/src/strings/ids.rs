//! [`StringIds`]: a dense id for each distinct string, over any number of batches.

use super::column::Strings;
use super::dictionary::Dictionary;
use super::hashing::{Hashed, MIN_ROWS, RandomState, With, hash_of, hashes};
use super::numbered::Numbered;
use super::numbering::numbered;
use crate::{Device, InputError, Result};
use rayon::prelude::*;
use std::fmt;
use std::hash::BuildHasher;

/// The most strings of a [`StringIds`].
const MAX_STRINGS: u64 = u32::MAX as u64;

/// An interner, which assigns a dense id to each distinct string, over any number of batches.
///
/// Ids are in the order of first appearance, and never change. Strings are compared, not only their
/// hashes, so an id is never wrong. [`strings`](crate::strings) describes what an attacker can do.
///
/// * **Complexity.** A batch is deduplicated on the device. All cores then look up its distinct
///   strings, and one core adds the new strings.
/// * **Memory** is on the host: the bytes of each distinct string, 8 bytes for its offset, and 20
///   to 40 bytes for its hash and id. The device keeps nothing between batches.
///
/// ```
/// use warpnest::Device;
/// use warpnest::strings::StringIds;
///
/// let mut ids = StringIds::new(&Device::best()?);
/// assert_eq!(ids.get_or_insert_many(&["to", "be", "or", "not"])?, [0, 1, 2, 3]);
/// assert_eq!(ids.get_or_insert_many(&["to", "do"])?, [0, 4]);
/// assert_eq!(ids.get_many(&["do", "undo"]), [Some(4), None]);
/// assert_eq!(ids.string(4), Some(&b"do"[..]));
/// # Ok::<(), warpnest::Error>(())
/// ```
#[doc(alias("interner", "intern", "symbol table", "dictionary_encode"))]
#[derive(Clone)]
pub struct StringIds<S = RandomState> {
    device: Device,
    hasher: S,
    dictionary: Dictionary,
}

impl StringIds {
    /// Returns an empty interner whose batches are deduplicated on `device`.
    pub fn new(device: &Device) -> Self {
        Self::with_hasher(device, RandomState::default())
    }
}

impl<S: BuildHasher + Sync> StringIds<S> {
    /// Returns an empty interner with another hasher. Equal bytes must have equal hashes.
    pub fn with_hasher(device: &Device, hasher: S) -> Self {
        Self { device: device.clone(), hasher, dictionary: Dictionary::default() }
    }

    /// Returns the id of each row's string, and assigns the next ids to new strings.
    ///
    /// # Errors
    /// As for [`unique`](super::unique), and [`InputError::TooManyPairs`] if there would be 2^32
    /// distinct strings. After an error nothing has changed.
    pub fn get_or_insert_many(&mut self, strings: &(impl Strings + ?Sized)) -> Result<Vec<u32>> {
        Ok(self.add(strings)?.into_ids())
    }

    /// Adds the strings of a batch.
    pub(super) fn add(&mut self, strings: &(impl Strings + ?Sized)) -> Result<Added> {
        Added::to(&mut self.dictionary, &self.device, &With(strings, &self.hasher))
    }

    /// Returns the id of each row's string, if it has one. Only the host's cores work.
    pub fn get_many(&self, strings: &(impl Strings + ?Sized)) -> Vec<Option<u32>> {
        found(&self.dictionary, &With(strings, &self.hasher))
    }

    /// Returns the id of a string, if it has one.
    pub fn get(&self, string: impl AsRef<[u8]>) -> Option<u32> {
        let string = string.as_ref();
        self.dictionary.get(hash_of(&self.hasher, string), string)
    }
}

impl<S> StringIds<S> {
    /// Returns the string with an id, in constant time.
    pub fn string(&self, id: u32) -> Option<&[u8]> {
        self.dictionary.strings().get(id as usize)
    }

    /// Iterates over the strings in the order of their ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.dictionary.strings().iter()
    }

    /// Returns the count of distinct strings.
    pub fn len(&self) -> usize {
        self.dictionary.strings().len()
    }

    /// Returns whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the host bytes that the strings and their hash map take, except for copies of
    /// strings that share a hash.
    pub fn memory_bytes(&self) -> usize {
        self.dictionary.memory_bytes()
    }

    /// Returns the device on which batches are deduplicated.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

/// The result of adding a batch.
pub(super) struct Added {
    /// The rows of the batch, with the ids of their strings within the batch.
    pub rows: Numbered,
    /// The id of each distinct string of the batch.
    pub ids: Vec<u32>,
    /// The first row of each new string, in the order of the new ids.
    pub new_rows: Vec<u32>,
}

impl Added {
    /// Adds the strings of a batch to the dictionary.
    fn to(dictionary: &mut Dictionary, device: &Device, strings: &dyn Hashed) -> Result<Self> {
        let rows = numbered(device, strings)?;
        let different = rows.first_rows.par_iter().zip(&rows.hashes).with_min_len(MIN_ROWS);
        let found: Vec<Option<u32>> =
            different.map(|(&row, &hash)| dictionary.get(hash, strings.row(row as usize))).collect();
        let before = dictionary.strings().len() as u64;
        let asked = before + found.iter().filter(|id| id.is_none()).count() as u64;
        if asked > MAX_STRINGS {
            return Err(InputError::TooManyPairs { asked, limit: MAX_STRINGS }.into());
        }
        let new = found.iter().zip(&rows.first_rows).filter(|(id, _)| id.is_none());
        let new_rows: Vec<u32> = new.map(|(_, &row)| row).collect();
        let bytes = new_rows.iter().map(|&row| strings.row(row as usize).len()).sum();
        dictionary.reserve(new_rows.len(), bytes);
        let all = found.into_iter().zip(rows.first_rows.iter().zip(&rows.hashes));
        let id = |(id, (&row, &hash)): (Option<u32>, (&u32, &u64))| {
            id.unwrap_or_else(|| dictionary.push(hash, strings.row(row as usize)))
        };
        let ids = all.map(id).collect();
        Ok(Self { rows, ids, new_rows })
    }

    /// Returns the id of each row's string.
    fn into_ids(mut self) -> Vec<u32> {
        self.rows.ids.par_iter_mut().with_min_len(MIN_ROWS).for_each(|id| *id = self.ids[*id as usize]);
        self.rows.ids
    }
}

/// Returns the id of each row's string, if it has one.
fn found(dictionary: &Dictionary, strings: &dyn Hashed) -> Vec<Option<u32>> {
    let hashes = hashes(strings);
    let rows = hashes.par_iter().enumerate().with_min_len(MIN_ROWS);
    rows.map(|(row, &hash)| dictionary.get(hash, strings.row(row))).collect()
}

impl<S> fmt::Debug for StringIds<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StringIds")
            .field("strings", &self.len())
            .field("bytes", &self.memory_bytes())
            .field("device", &self.device.name())
            .finish_non_exhaustive()
    }
}
