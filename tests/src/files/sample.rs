//! Samples of saved tables.

use crate::distinct_keys;
use std::fmt;
use warpnest::files::FileInfo;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, Error, Result};

/// The use of a file: all that can be done with the table in it.
pub type Use = dyn Fn(&Device, &[u8], Contents) -> Result<()>;

/// What is known of the contents of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The sample's: all answers must be right.
    Same,
    /// Any: whatever the answers are, nothing may panic or be accessed that is not the table's, and
    /// every call ends. After an error the use goes on.
    Any,
    /// The sample's, on a device that fails: the use ends with the first error.
    UpToAnError,
}

impl Contents {
    /// Returns the result of a call. With any contents it may also be an error, after which there
    /// is nothing to look at; a fault of a kernel or of the device is still one.
    pub fn after<T>(self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(result) => Ok(Some(result)),
            Err(error) if self == Self::Any && !is_fault(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether an error says that a kernel or the device did what it must not.
pub fn is_fault(error: &Error) -> bool {
    match error {
        Error::Kernel { .. } | Error::Driver { .. } => true,
        Error::Emptied { source } => is_fault(source),
        _ => false,
    }
}

/// A saved table.
pub struct Sample {
    /// The kind of table, and what is particular about this one.
    pub name: String,
    /// The file.
    pub bytes: Vec<u8>,
    /// What is done with the table.
    pub uses: Box<Use>,
}

impl fmt::Debug for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} bytes", self.name, self.bytes.len())
    }
}

impl Sample {
    /// Loads a file on a device and does with the table all that can be done.
    pub fn use_on(&self, device: &Device, bytes: &[u8], contents: Contents) -> Result<()> {
        if contents == Contents::Any {
            // Whoever does not know the types looks at it, too.
            let _ = FileInfo::verify(bytes);
        }
        (self.uses)(device, bytes, contents)
    }
}

/// Returns the value of key `i` of a sample.
pub fn value<V: Value>(i: usize) -> V {
    V::from_u64((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x55)
}

/// Returns the pairs of the samples: different keys, among them the lowest and the highest.
pub fn pairs<K: Key, V: Value>(n: usize) -> (Vec<K>, Vec<V>) {
    let mut keys: Vec<K> = distinct_keys(n, 77);
    for (i, extreme) in [K::ALL_ONES, K::from_u64(0)].into_iter().enumerate() {
        if i < n && !keys.contains(&extreme) {
            keys[i] = extreme;
        }
    }
    (keys, (0..n).map(value).collect())
}

/// Returns the name of a sample of such keys and values.
pub fn name_of<K: Key, V: Value>(what: &str) -> String {
    format!("{what}, {} and {} bits", K::BITS, V::BITS)
}

/// Returns a table's file.
pub fn save(save: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    save(&mut bytes)?;
    Ok(bytes)
}
