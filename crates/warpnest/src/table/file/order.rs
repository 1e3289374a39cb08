//! The check that certain words of a file are in ascending order.

use super::as_words;
use crate::Result;
use crate::error::FileError;
use gpu_kernels::types::KeyWord;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The check that words are in ascending order, each at least `step` above the previous word. The
/// parts of the words may be checked in any order.
pub(crate) struct Order {
    step: u64,
    /// The first and the last word of the part at each offset.
    ends: Mutex<BTreeMap<u64, [u64; 2]>>,
}

/// The error message for words that are not in order.
const NOT_IN_ORDER: &str = "what should be in ascending order is not";

impl Order {
    pub(crate) fn new(step: u64) -> Self {
        Self { step, ends: Mutex::default() }
    }

    /// Checks the part that begins at offset `at`.
    pub(crate) fn look<W: KeyWord>(&self, at: u64, bytes: &[u8]) -> Result<(), &'static str> {
        let words = as_words::<W>(bytes);
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return Ok(()) };
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).insert(at, [first.to_u64(), last.to_u64()]);
        let ascends = match self.step {
            0 => words.is_sorted(),
            _ => words.is_sorted_by(|one, next| one < next),
        };
        if ascends { Ok(()) } else { Err(NOT_IN_ORDER) }
    }

    /// Compares the last word of each part with the next part's first; returns the last word.
    pub(crate) fn finish(self) -> Result<Option<u64>> {
        let mut last = None;
        for [first, end] in self.ends.into_inner().unwrap_or_else(PoisonError::into_inner).into_values() {
            if last.is_some_and(|last: u64| last.saturating_add(self.step) > first) {
                return Err(FileError::inconsistent(NOT_IN_ORDER));
            }
            last = Some(end);
        }
        Ok(last)
    }
}
