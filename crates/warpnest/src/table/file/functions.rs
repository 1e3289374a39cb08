//! Hash families and functions in files.

use super::read::Incoming;
use crate::Result;
use crate::error::FileError;
use crate::hash::{Arithmetic, HashFamily};
use gpu_kernels::hash::{Formula, HashFunctions, MAX_FUNCTIONS};
use gpu_kernels::types::KeyWord;

/// Returns the two words that represent a hash family in a file: its formula, and its prime or 0.
pub(crate) fn family_number(family: HashFamily) -> [u64; 2] {
    [family.formula() as u64, family.prime().unwrap_or(0) as u64]
}

/// Returns the hash family that the next words of a file represent.
pub(crate) fn family_from(incoming: &mut Incoming<'_>) -> Result<HashFamily> {
    let (formula, prime) = (incoming.number()?, incoming.short()?);
    let (exact, wrapping) = (Arithmetic::Exact, Arithmetic::Wrapping);
    let family = match formula {
        0 if prime == 0 => HashFamily::Mix,
        1 => HashFamily::Linear { prime, arithmetic: exact },
        2 => HashFamily::Linear { prime, arithmetic: wrapping },
        3 => HashFamily::Xor { prime, arithmetic: exact },
        4 => HashFamily::Xor { prime, arithmetic: wrapping },
        _ => return Err(FileError::inconsistent("there is no such hash family")),
    };
    family.check_prime().map_err(|_| FileError::inconsistent("the modulus of its hash family is no prime"))?;
    Ok(family)
}

/// Returns the constants of hash functions.
pub(crate) fn constants_of(functions: &HashFunctions) -> [[u64; 2]; MAX_FUNCTIONS] {
    // SAFETY: the struct is `repr(C)`, and begins with these words.
    unsafe { std::ptr::from_ref(functions).cast::<[[u64; 2]; MAX_FUNCTIONS]>().read() }
}

/// Returns the family of functions. It is the configured family; but if a rebuild failed before it
/// drew constants, the functions still have the default family.
pub(crate) fn family_of<K: KeyWord>(functions: &HashFunctions, configured: HashFamily) -> HashFamily {
    let mut constants = constants_of(functions).into_iter().flatten();
    let draw = || constants.next().unwrap_or_default();
    let mix = HashFunctions::new(Formula::Mix, functions.count(), functions.slots(), 0, K::BITS, draw);
    if *functions == mix { HashFamily::Mix } else { configured }
}

/// Returns the functions onto `slots` slots whose constants a file contains. They are made in the
/// same way as in a build, so constants that no build can draw are refused.
pub(crate) fn functions_from<K: KeyWord>(
    incoming: &mut Incoming<'_>,
    family: HashFamily,
    count: u32,
    slots: u32,
) -> Result<HashFunctions> {
    let mut drawn = [0; 2 * MAX_FUNCTIONS];
    for constant in &mut drawn {
        *constant = incoming.number()?;
    }
    let (formula, prime) = (family.formula(), family.prime().unwrap_or(0));
    let mut constants = drawn.into_iter().enumerate();
    let functions = HashFunctions::new(formula, count, slots, prime, K::BITS, || {
        let (number, constant) = constants.next().unwrap_or_default();
        // In the exact linear form, the first constant is one more than the drawn value.
        constant.wrapping_sub((formula == Formula::Linear && number % 2 == 0) as u64)
    });
    if constants_of(&functions).as_flattened() == drawn {
        return Ok(functions);
    }
    Err(FileError::inconsistent("no build draws such constants of a hash function"))
}
