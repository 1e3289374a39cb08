//! Keys and values that are words themselves.

use super::number::Number;
use super::traits::{OrderedKey, Value};
use gpu_kernels::types as words;

/// A key that is itself a word, `u32` or `u64`. It is for generic code that computes with keys, and
/// for kernels.
pub trait WordKey: OrderedKey + Value<Word = Self> + words::KeyWord + words::ValueWord + bytemuck::Pod {}
impl<T: OrderedKey + Value<Word = T> + words::KeyWord + words::ValueWord + bytemuck::Pod> WordKey for T {}

/// A value that is itself a word, `u32` or `u64`.
pub trait WordValue: Number + Value<Word = Self> + words::ValueWord + words::KeyWord + bytemuck::Pod {}
impl<T: Number + Value<Word = T> + words::ValueWord + words::KeyWord + bytemuck::Pod> WordValue for T {}
