//! Arrow's columns as keys, which are words of 4 or 8 bytes, or texts.

use super::columns::unpacked;
use super::texts::Texts;
use crate::{InputError, Result};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;

/// A column of keys.
pub(super) struct KeyColumn {
    /// The parts by which rows are compared. Two rows are equal if they are equal in each part.
    pub parts: Vec<Part>,
    pub nulls: Option<NullBuffer>,
    /// The type of the keys. For a dictionary it is the type of the dictionary's values.
    pub of_type: DataType,
}

/// The words or texts of a column of keys. In null rows they are unspecified.
pub(super) enum Part {
    Narrow(ScalarBuffer<u32>),
    Wide(ScalarBuffer<u64>),
    Texts(Texts),
}

impl KeyColumn {
    /// Returns the keys of the column `name`. Values of 4 and 8 bytes are not copied.
    ///
    /// # Errors
    /// [`InputError::ColumnType`] for nested types.
    pub(super) fn new(name: &str, array: &ArrayRef) -> Result<Self> {
        let array = unpacked(name, array)?;
        let of_type = array.data_type().clone();
        let parts = match (&of_type, of_type.primitive_width()) {
            (DataType::Null, _) => vec![Part::Narrow(vec![0; array.len()].into())],
            (DataType::Boolean, _) => {
                vec![Part::Narrow(array.as_boolean().values().iter().map(u32::from).collect())]
            }
            (_, Some(width)) => of_primitives(&values(&array, width), width),
            _ => match Texts::new(&array) {
                Some(texts) => vec![Part::Texts(texts)],
                None => return Err(not_keys(name, &of_type)),
            },
        };
        Ok(Self { parts, nulls: array.logical_nulls().filter(|nulls| nulls.null_count() > 0), of_type })
    }
}

fn not_keys(name: &str, of_type: &DataType) -> crate::Error {
    let (what, remedy) = ("no key", "take keys of numbers, times, texts, bytes or booleans, or cast the column to one");
    InputError::ColumnType { column: name.to_owned(), of_type: of_type.to_string(), what, remedy }.into()
}

/// Returns the values of an array whose values have `width` bytes each.
pub(super) fn values(array: &dyn Array, width: usize) -> Buffer {
    let data = array.to_data();
    data.buffers()[0].slice_with_length(data.offset() * width, data.len() * width)
}

/// Returns the same bytes as elements of another type. They are copied only if they are not aligned
/// for that type.
pub(super) fn elements<T: ArrowNativeType>(values: &Buffer) -> ScalarBuffer<T> {
    let length = values.len() / size_of::<T>();
    let is_aligned = values.as_ptr().addr().is_multiple_of(align_of::<T>());
    // Memory that Arrow allocates is aligned for all of its types.
    let values = if is_aligned { values.clone() } else { Buffer::from_slice_ref(values.as_slice()) };
    ScalarBuffer::new(values, 0, length)
}

/// Returns the parts of values of `width` bytes. Keys are equal if their bytes are equal.
fn of_primitives(values: &Buffer, width: usize) -> Vec<Part> {
    let widened = |value: &[u8]| value.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
    match width {
        1 | 2 => vec![Part::Narrow(values.chunks_exact(width).map(widened).collect())],
        4 => vec![Part::Narrow(elements(values))],
        8 => vec![Part::Wide(elements(values))],
        // Decimals of 128 and 256 bits, and intervals, have a part for every 8 bytes.
        _ => (0..width / 8)
            .map(|part| {
                let words = values.as_chunks::<8>().0.iter().skip(part).step_by(width / 8);
                Part::Wide(words.map(|bytes| u64::from_le_bytes(*bytes)).collect())
            })
            .collect(),
    }
}

impl Part {
    /// Returns the part with zeros in null rows, so that null rows are equal.
    pub(super) fn with_equal_nulls(self, nulls: &NullBuffer) -> Self {
        fn cleared<T: ArrowNativeType>(words: &ScalarBuffer<T>, nulls: &NullBuffer) -> ScalarBuffer<T> {
            let zero = T::default();
            words.iter().zip(nulls).map(|(word, is_valid)| if is_valid { *word } else { zero }).collect()
        }
        match self {
            Self::Narrow(words) => Self::Narrow(cleared(&words, nulls)),
            Self::Wide(words) => Self::Wide(cleared(&words, nulls)),
            // The texts of null rows are empty.
            Self::Texts(texts) => Self::Texts(texts),
        }
    }
}
