//! Arrow's columns of texts in the form that joins and group-bys accept.

use crate::strings::Strings;
use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray};
use arrow_schema::DataType;

/// A column of texts or bytes. The text of a null row is empty.
#[derive(Clone, Debug)]
pub(super) enum Texts {
    Small(BinaryArray),
    Large(LargeBinaryArray),
    View(BinaryViewArray),
    Fixed(FixedSizeBinaryArray),
}

impl Texts {
    /// Returns the texts of an array, or `None` if it has no texts or bytes. Nothing is copied.
    pub(super) fn new(array: &dyn Array) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Utf8 => Self::Small(array.as_string().clone().into()),
            DataType::LargeUtf8 => Self::Large(array.as_string().clone().into()),
            DataType::Utf8View => Self::View(array.as_string_view().clone().to_binary_view()),
            DataType::Binary => Self::Small(array.as_binary().clone()),
            DataType::LargeBinary => Self::Large(array.as_binary().clone()),
            DataType::BinaryView => Self::View(array.as_binary_view().clone()),
            DataType::FixedSizeBinary(_) => Self::Fixed(array.as_fixed_size_binary().clone()),
            _ => return None,
        })
    }
}

impl Strings for Texts {
    fn rows(&self) -> usize {
        match self {
            Self::Small(array) => array.len(),
            Self::Large(array) => array.len(),
            Self::View(array) => array.len(),
            Self::Fixed(array) => array.len(),
        }
    }

    fn row(&self, row: usize) -> &[u8] {
        match self {
            Self::Small(array) if array.is_valid(row) => array.value(row),
            Self::Large(array) if array.is_valid(row) => array.value(row),
            Self::View(array) if array.is_valid(row) => array.value(row),
            Self::Fixed(array) if array.is_valid(row) => array.value(row),
            _ => &[],
        }
    }
}
