//! The types of keys and values: any plain type of 4 or 8 bytes. A table holds the word that a key
//! or value is made of, so arrays are cast and not converted.

use crate::{Answers, Buffer};
pub use gpu_kernels::plain::{Plain, Proof};
use gpu_kernels::types::{self as words, Nothing};

/// A type of values: a plain type of 4 or 8 bytes. Every value of the type is legal.
///
/// These are `u32`, `i32`, `f32`, `char`, `u64`, `i64`, `f64`, `usize`, `isize`, `[u8; 4]`,
/// `[u8; 8]`, pairs of two of the first four, and any type of your own that is
/// [`bytemuck::Pod`]:
///
/// ```
/// use bytemuck::{Pod, Zeroable};
/// use warpnest::{Device, Key, PageMap, Value};
/// use warpnest::types::Proof;
///
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
/// struct Cell {
///     column: i16,
///     row: i16,
/// }
/// impl warpnest::types::Plain for Cell {
///     const PROOF: Proof<Self> = warpnest::types::pod();
/// }
/// impl Value for Cell {
///     type Word = u32;
/// }
/// impl Key for Cell {}
///
/// let cells = [Cell { column: 3, row: -1 }, Cell { column: 5, row: 0 }];
/// let map = PageMap::build(&Device::best()?, &cells, &[0.5f32, 1.5])?;
/// assert_eq!(map.get_many(&[cells[1], Cell { column: 5, row: 1 }])?, [Some(1.5), None]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// Larger values go by the numbers of their rows: the guide shows it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a value of a table: it is not a plain type of 4 or 8 bytes",
    note = "values of any size go by the numbers of their rows: see the guide of warpnest",
    note = "implement `warpnest::Value` for a type of your own that is `bytemuck::Pod` and has 4 or 8 bytes"
)]
pub trait Value: Plain {
    /// The word of as many bytes: `u32` or `u64`.
    type Word: words::Key + words::Value;
}

/// A type of keys: a [`Value`] whose values are equal if their bytes are. So floating-point numbers
/// are no keys: their zeros are equal, and no NaN is.
///
/// ```compile_fail,E0277
/// # let device = warpnest::Device::cpu();
/// warpnest::PageMap::build(&device, &[1.5f32], &[1])?;
/// # Ok::<(), warpnest::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key of a table: it is not a plain type of 4 or 8 bytes whose values are equal if \
               their bytes are",
    note = "implement `warpnest::Key` for a type of your own that is `bytemuck::Pod` and has 4 or 8 bytes"
)]
pub trait Key: Value {}

/// A type of keys whose order is that of their words, for what a [`SortedMap`](crate::SortedMap)
/// knows of the order of its keys: `u32`, `u64`, `usize` and `char`.
pub trait OrderedKey: Key + Ord {}
impl OrderedKey for u32 {}
impl OrderedKey for u64 {}
impl OrderedKey for usize {}
impl OrderedKey for char {}

/// A key that is a word itself, `u32` or `u64`: for generic code that computes with keys, and for
/// kernels.
pub trait KeyWord: OrderedKey + Value<Word = Self> + words::Key {}
impl<T: OrderedKey + Value<Word = T> + words::Key> KeyWord for T {}

/// A value that is a word itself, `u32` or `u64`.
pub trait ValueWord: Value<Word = Self> + words::Value {}
impl<T: Value<Word = T> + words::Value> ValueWord for T {}

/// The payload of a table: a [`Value`] in a map, and `()` in a set.
pub trait Payload {
    /// The payload of the table's words.
    type Words: words::Payload;
}

impl<V: Value> Payload for V {
    type Words = V::Word;
}

impl Payload for () {
    type Words = Nothing;
}

/// Returns the proof that a type is plain, for a type of your own.
pub const fn pod<T: bytemuck::Pod>() -> Proof<T> {
    // SAFETY: a type that is `Pod` has no padding and no pointers, and any bytes are a value of it.
    unsafe { Proof::promise() }
}

macro_rules! keys {
    ($word:ty: $($key:ty),+) => {$(
        impl Value for $key {
            type Word = $word;
        }
        impl Key for $key {}
    )+};
}
keys!(u32: u32, i32, char, [u8; 4]);
keys!(u64: u64, i64, usize, isize, [u8; 8], (u32, u32), (u32, i32), (i32, u32), (i32, i32));

impl Value for f32 {
    type Word = u32;
}
impl Value for f64 {
    type Word = u64;
}
macro_rules! pairs_with_a_float {
    ($($pair:ty),+) => {$(
        impl Value for $pair {
            type Word = u64;
        }
    )+};
}
pairs_with_a_float!((f32, f32), (f32, u32), (u32, f32), (f32, i32), (i32, f32));

/// Fails to compile for a type that is not as large as its word.
const fn check_size<T: Value>() {
    assert!(size_of::<T>() == size_of::<T::Word>(), "the `Word` of a `Value` has another size");
}

/// Returns the word of a value.
pub(crate) fn to_word<T: Value>(value: T) -> T::Word {
    const { check_size::<T>() };
    // SAFETY: both are plain and as large.
    unsafe { std::mem::transmute_copy(&value) }
}

impl<T: Value> Buffer<T> {
    /// Returns the same buffer, as words.
    pub(crate) fn words(&self) -> &Buffer<T::Word> {
        const { check_size::<T>() };
        // SAFETY: both have the same layout, which does not depend on the type of the elements, and
        // those are as large.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    /// Returns the same buffer, as words. Only what comes from values of the type may be written.
    pub(crate) fn words_mut(&mut self) -> &mut Buffer<T::Word> {
        const { check_size::<T>() };
        // SAFETY: as in `words`.
        unsafe { &mut *std::ptr::from_mut(self).cast() }
    }
}

impl<T: Value> Answers<T> {
    /// Returns the same answers, as words.
    pub(crate) fn words_mut(&mut self) -> &mut Answers<T::Word> {
        const { check_size::<T>() };
        // SAFETY: both have the same layout, which does not depend on the type of the values. The
        // words come from values of the type, or are 0.
        unsafe { &mut *std::ptr::from_mut(self).cast() }
    }
}
