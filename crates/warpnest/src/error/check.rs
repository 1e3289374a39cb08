//! The checks of inputs that several operations share.

use super::{Error, InputError, Result};

/// Fails unless the two lengths are equal.
pub(crate) fn same_length(first: (&'static str, usize), second: (&'static str, usize)) -> Result<()> {
    if first.1 == second.1 {
        return Ok(());
    }
    Err(Error::Input(InputError::LengthsDiffer {
        first: first.0,
        first_length: first.1 as u64,
        second: second.0,
        second_length: second.1 as u64,
    }))
}

/// Fails if a table would have more slots than there are slot indices.
pub(crate) fn check_slots(asked: u64) -> Result<()> {
    // The largest index stands for "no slot".
    let limit = u32::MAX as u64 - 1;
    if asked > limit { Err(Error::Input(InputError::TooManySlots { asked, limit })) } else { Ok(()) }
}
