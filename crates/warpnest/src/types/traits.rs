//! The traits of keys and values.

use crate::Buffer;
use gpu_kernels::plain::PlainHalf;
pub use gpu_kernels::plain::{Plain, Proof};
use gpu_kernels::types as words;
use std::marker::PhantomData;

/// A type of values: a plain type of 4 or 8 bytes. Every value of the type is legal.
///
/// These types are `u32`, `i32`, `f32`, `char`, `u64`, `i64`, `f64`, `usize`, `isize`, `[u8; 4]`
/// and `[u8; 8]`, and tuples of two of the first four. A type of your own can be a type of values
/// if it is [`bytemuck::Pod`]. Declare it by [`key!`](crate::key) or [`value!`](crate::value). That
/// needs `bytemuck = { version = "1", features = ["derive"] }` among your dependencies:
///
/// ```
/// use bytemuck::{Pod, Zeroable};
/// use warpnest::{Device, PageMap};
///
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
/// struct Cell {
///     column: i16,
///     row: i16,
/// }
/// warpnest::key!(Cell);
///
/// let cells = [Cell { column: 3, row: -1 }, Cell { column: 5, row: 0 }];
/// let map = PageMap::build(&Device::best()?, &cells, &[0.5f32, 1.5])?;
/// assert_eq!(map.get_many(&[cells[1], Cell { column: 5, row: 1 }])?, [Some(1.5), None]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// Larger values can be the rows of a [`RowMap`](crate::RowMap). Or they can be in an array, and a
/// map stores their indices; see [`gather_found`](crate::primitives::gather_found).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key or a value of a table",
    label = "not a type of 4 or 8 bytes that tables know",
    note = "values are `u32`, `i32`, `f32`, `char`, `u64`, `i64`, `f64`, `usize`, `isize`, `[u8; 4]`, `[u8; 8]`, or a pair of two of the first four",
    note = "convert a smaller integer by `u32::from`; keep larger values in a `RowMap`; or, as strings, in an array, and give the map their indices: see `primitives::gather_found`; a `strings::StringMap` has values of any type",
    note = "for a struct of your own, of 4 or 8 bytes: make it `#[repr(C)]`, derive `Clone, Copy, bytemuck::Pod, bytemuck::Zeroable`, and say `warpnest::value!(Type);`"
)]
pub trait Value: Plain {
    /// The word of the type's size, `u32` or `u64`. Another one does not compile:
    ///
    /// ```compile_fail,E0080
    /// use warpnest::types::{Plain, Proof, pod};
    /// use warpnest::{Device, LinearMap, Value};
    ///
    /// #[repr(C)]
    /// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    /// struct Tiny(u8);
    /// impl Plain for Tiny {
    ///     const PROOF: Proof<Self> = pod();
    /// }
    /// impl Value for Tiny {
    ///     type Word = u64;
    /// }
    /// LinearMap::<u32, Tiny>::new(&Device::cpu()).unwrap();
    /// ```
    type Word: words::KeyWord + words::ValueWord;

    /// The proof that any bytes are a value of the type, or `None` if some are not. Files may have
    /// any bytes.
    #[doc(hidden)]
    const ANY_BYTES: Option<AnyBytes<Self>> = None;
}

/// The proof that any bytes of the right count are a value of `T`.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct AnyBytes<T>(PhantomData<fn() -> T>);

/// Returns the proof that any bytes are a value of a type.
#[doc(hidden)]
pub const fn any_bytes<T: bytemuck::AnyBitPattern>() -> Option<AnyBytes<T>> {
    Some(AnyBytes(PhantomData))
}

/// Fails to compile for a type if a file could have bytes that are not a value of the type.
pub(crate) const fn check_any_bytes<T: Value>() {
    assert!(
        T::ANY_BYTES.is_some(),
        "a file may have any bytes, and not all are a value of this type: load it with `u32` in the place of `char`"
    );
}

/// A type of keys: a [`Value`] whose values are equal exactly if their bytes are. So floating-point
/// numbers are no keys, because both zeros are equal and no NaN equals itself. Wider keys, such as
/// UUIDs, are first mapped to dense ids ([example](crate::cookbook#uuids)).
///
/// ```compile_fail,E0277
/// # let device = warpnest::Device::cpu();
/// warpnest::PageMap::build(&device, &[1.5f32], &[1])?;
/// # Ok::<(), warpnest::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key of a table",
    label = "not a type of keys",
    note = "keys are `u32`, `i32`, `char`, `u64`, `i64`, `usize`, `isize`, `[u8; 4]`, `[u8; 8]`, or a pair of two of the first three",
    note = "strings and bytes, `[u8; 16]` too, are exact keys in the module `strings`: of `StringMap`, `StringIds`, `unique`; several columns, or the halves of a `u128`, in `relational::RowIds`",
    note = "convert a float by `to_bits()`, a smaller integer by `u32::from`",
    note = "for a struct of your own, of 4 or 8 bytes: make it `#[repr(C)]`, derive `Clone, Copy, bytemuck::Pod, bytemuck::Zeroable`, and say `warpnest::key!(Type);`"
)]
pub trait Key: Value {
    /// The transformation of a key's word into a word that sorts like the key.
    #[doc(hidden)]
    const ORDER: KeyOrder = KeyOrder { flip: 0, rotate: 0 };
}

/// A transformation of the words of keys into words that sort like the keys. Some bits are flipped,
/// and then the word is rotated.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyOrder {
    pub flip: u64,
    /// The bits of the rotation: 0 or 32.
    pub rotate: u32,
}

impl KeyOrder {
    /// Returns the transformation for signed integers of `bytes` bytes.
    const fn of_signed(bytes: usize) -> Self {
        Self { flip: 1 << (8 * bytes - 1), rotate: 0 }
    }
}

/// A type of keys that sort like their words: `u32`, `u64`, `usize` and `char`. Only for these keys
/// can a [`SortedMap`](crate::SortedMap) answer queries about the order of keys.
#[diagnostic::on_unimplemented(
    message = "a sorted map does not keep keys of type `{Self}` in their own order, so it has no ranges of them",
    note = "take `u32`, `u64`, `usize` or `char`; of an `i32`, take `(key as u32) ^ (1 << 31)`"
)]
pub trait OrderedKey: Key + Ord {}
impl OrderedKey for u32 {}
impl OrderedKey for u64 {}
impl OrderedKey for usize {}
impl OrderedKey for char {}

/// The size of a key or value: the types `[(); 4]` and `[(); 8]` stand for 4 and 8 bytes.
#[doc(hidden)]
#[diagnostic::on_unimplemented(message = "a key or value has 4 or 8 bytes, and this type has another size")]
pub trait Bytes {
    /// The word with this count of bytes.
    type Word: words::KeyWord + words::ValueWord;
}
impl Bytes for [(); 4] {
    type Word = u32;
}
impl Bytes for [(); 8] {
    type Word = u64;
}

/// Makes a type of your own [`Plain`](crate::types::Plain), so that a [`Buffer`](crate::Buffer) can
/// have elements of the type. It may have any size and must be [`bytemuck::Pod`].
///
/// [`key!`](crate::key) and [`value!`](crate::value) do this too.
///
/// ```
/// use bytemuck::{Pod, Zeroable};
/// use warpnest::{Buffer, Device};
///
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
/// struct Point {
///     x: f32,
///     y: f32,
///     z: f32,
/// }
/// warpnest::plain!(Point);
///
/// let device = Device::best()?;
/// let points = [Point { x: 0.0, y: 1.0, z: 2.0 }; 3];
/// let buffer = Buffer::from_slice(&device, &points)?;
/// assert_eq!(buffer.download(device.default_stream())?, points);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[macro_export]
macro_rules! plain {
    ($type:ty) => {
        impl $crate::types::Plain for $type {
            const PROOF: $crate::types::Proof<Self> = $crate::types::pod();
        }
    };
}

/// Makes a type of your own a [`Value`](crate::Value). It must have 4 or 8 bytes and be
/// [`bytemuck::Pod`].
#[macro_export]
macro_rules! value {
    ($type:ty) => {
        $crate::plain!($type);
        impl $crate::Value for $type {
            type Word = <[(); ::core::mem::size_of::<$type>()] as $crate::types::Bytes>::Word;
            const ANY_BYTES: ::core::option::Option<$crate::types::AnyBytes<Self>> = $crate::types::any_bytes();
        }
    };
}

/// Makes a type of your own a [`Key`](crate::Key). It must have 4 or 8 bytes and be
/// [`bytemuck::Pod`], and its values must be equal exactly if their bytes are equal.
#[macro_export]
macro_rules! key {
    ($type:ty) => {
        $crate::value!($type);
        impl $crate::Key for $type {}
    };
}

/// Returns the proof that a type of your own is plain. [`plain!`](crate::plain) calls this
/// function.
pub const fn pod<T: bytemuck::Pod>() -> Proof<T> {
    // SAFETY: a `Pod` type has no padding and no pointers, and any bytes are a value of the type.
    unsafe { Proof::promise() }
}

// The notes of the traits list the types, so rustc need not list the implementations.
macro_rules! keys {
    ($word:ty, $order:expr; $($key:ty),+) => {$(
        #[diagnostic::do_not_recommend]
        impl Value for $key {
            type Word = $word;
            const ANY_BYTES: Option<AnyBytes<Self>> = any_bytes();
        }
        #[diagnostic::do_not_recommend]
        impl Key for $key {
            const ORDER: KeyOrder = $order;
        }
    )+};
}
keys!(u32, KeyOrder { flip: 0, rotate: 0 }; u32, [u8; 4]);
keys!(u64, KeyOrder { flip: 0, rotate: 0 }; u64, usize, [u8; 8]);
keys!(u32, KeyOrder::of_signed(4); i32);
keys!(u64, KeyOrder::of_signed(8); i64, isize);

#[diagnostic::do_not_recommend]
impl Value for char {
    type Word = u32;
}
#[diagnostic::do_not_recommend]
impl Key for char {}
#[diagnostic::do_not_recommend]
impl Value for f32 {
    type Word = u32;
    const ANY_BYTES: Option<AnyBytes<Self>> = any_bytes();
}
#[diagnostic::do_not_recommend]
impl Value for f64 {
    type Word = u64;
    const ANY_BYTES: Option<AnyBytes<Self>> = any_bytes();
}
// Without this attribute, rustc says of `(u64, u64)` that `u64` is no `PlainHalf`, and not which
// types are values.
#[diagnostic::do_not_recommend]
impl<A: PlainHalf + Value, B: PlainHalf + Value> Value for (A, B) {
    type Word = u64;
    // A tuple of two halves has no padding or other bytes.
    const ANY_BYTES: Option<AnyBytes<Self>> = match (A::ANY_BYTES, B::ANY_BYTES) {
        (Some(_), Some(_)) => Some(AnyBytes(PhantomData)),
        _ => None,
    };
}
#[diagnostic::do_not_recommend]
impl<A: PlainHalf + Key, B: PlainHalf + Key> Key for (A, B) {
    // The first half of a tuple is compared first. So it becomes the upper half of the word, unless
    // the compiler's layout puts it there already.
    const ORDER: KeyOrder = if std::mem::offset_of!(Self, 0) == 0 {
        KeyOrder { flip: A::ORDER.flip | B::ORDER.flip << 32, rotate: 32 }
    } else {
        KeyOrder { flip: B::ORDER.flip | A::ORDER.flip << 32, rotate: 0 }
    };
}

/// Fails to compile for a type that is not plain, or has another size than its word.
pub(crate) const fn check_size<T: Value>() {
    let _ = T::PROOF;
    assert!(
        size_of::<T>() == size_of::<T::Word>(),
        "`Word` must have as many bytes as the type: `u32` for 4, `u64` for 8"
    );
}

/// Returns the word of a value.
pub(crate) fn to_word<T: Value>(value: T) -> T::Word {
    const { check_size::<T>() };
    // SAFETY: both types are plain and have the same size.
    unsafe { std::mem::transmute_copy(&value) }
}

impl<T: Value> Buffer<T> {
    /// Returns the same buffer as a buffer of words.
    pub(crate) fn words(&self) -> &Buffer<T::Word> {
        const { check_size::<T>() };
        // SAFETY: a buffer's layout does not depend on the type of its elements, and the elements
        // of both types have the same size.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    /// Converts the buffer to a buffer of words.
    pub(crate) fn into_words(self) -> Buffer<T::Word> {
        const { check_size::<T>() };
        // SAFETY: a value has the same bytes as its word.
        unsafe { self.reinterpreted() }
    }

    /// Returns the same buffer as a buffer of words. Only words of values of the type may be
    /// written to it.
    pub(crate) fn words_mut(&mut self) -> &mut Buffer<T::Word> {
        const { check_size::<T>() };
        // SAFETY: as in `words`.
        unsafe { &mut *std::ptr::from_mut(self).cast() }
    }
}
