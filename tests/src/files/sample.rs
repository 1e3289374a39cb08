//! Samples of saved tables.

use crate::distinct_keys;
use std::fmt;
use warpnest::files::FileInfo;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, Error, Result};

/// A function that runs all operations of the table in a file.
pub type Use = dyn Fn(&Device, &[u8], Contents) -> Result<()>;

/// What a test knows about the contents of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The sample's contents: all answers must be right.
    Same,
    /// Any contents: the answers may be wrong, but nothing may panic or access memory outside the
    /// table, and every call must end. The use goes on after an error.
    Any,
    /// The sample's contents, on a device that fails: the use ends with the first error.
    UpToAnError,
}

impl Contents {
    /// Returns the result of a call. If the file has any contents, the call may fail, and then
    /// there is no result to check; a fault of a kernel or of the device is still an error.
    pub fn after<T>(self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(result) => Ok(Some(result)),
            Err(error) if self == Self::Any && !is_fault(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether an error says that a kernel or the device did something that is never allowed.
pub fn is_fault(error: &Error) -> bool {
    match error {
        Error::Kernel { .. } | Error::Driver { .. } => true,
        Error::Emptied { source } => is_fault(source),
        _ => false,
    }
}

/// A saved table.
pub struct Sample {
    /// The kind of table, and the details of this sample.
    pub name: String,
    /// The file.
    pub bytes: Vec<u8>,
    /// All operations that tests run on the table.
    pub uses: Box<Use>,
}

impl fmt::Debug for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} bytes", self.name, self.bytes.len())
    }
}

impl Sample {
    /// Loads a file on a device and runs all operations on the table.
    pub fn use_on(&self, device: &Device, bytes: &[u8], contents: Contents) -> Result<()> {
        if contents == Contents::Any {
            // The file is also read by functions that do not know its types.
            let _ = FileInfo::verify(bytes);
        }
        (self.uses)(device, bytes, contents)
    }
}

/// Returns the value of a sample's key `i`.
pub fn value<V: Value>(i: usize) -> V {
    V::from_u64((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x55)
}

/// Returns the pairs of the samples: different keys, including the lowest and the highest key.
pub fn pairs<K: Key, V: Value>(n: usize) -> (Vec<K>, Vec<V>) {
    let mut keys: Vec<K> = distinct_keys(n, 77);
    for (i, extreme) in [K::ALL_ONES, K::from_u64(0)].into_iter().enumerate() {
        if i < n && !keys.contains(&extreme) {
            keys[i] = extreme;
        }
    }
    (keys, (0..n).map(value).collect())
}

/// Returns the name of a sample with keys `K` and values `V`.
pub fn name_of<K: Key, V: Value>(what: &str) -> String {
    format!("{what}, {} and {} bits", K::BITS, V::BITS)
}

/// Returns the file that `save` writes.
pub fn save(save: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    save(&mut bytes)?;
    Ok(bytes)
}
