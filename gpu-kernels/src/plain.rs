//! Plain types: the elements of buffers.

use core::marker::PhantomData;

/// A type whose values are plain bytes, so that arrays of it are copied and cast as bytes.
// The message is for users of the host crate, where this trait is a bound of buffers' elements.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a buffer",
    label = "not a plain type",
    note = "elements are `u32`, `i32`, `f32`, `char`, `u64`, `i64`, `f64`, `usize`, `isize`, `u128`, `u8`, arrays of these, of bytes `[u8; 4]` and other multiples of 4, or a pair of two of the first four",
    note = "for a struct of your own, of any size: make it `#[repr(C)]`, derive `Clone, Copy, bytemuck::Pod, bytemuck::Zeroable`, and say `warpnest::plain!(Type);`",
    note = "convert a smaller integer by `u32::from`; strings have no fixed size, so they stay on the host"
)]
pub trait Plain: Copy + Send + Sync + 'static {
    /// The proof that the type is plain.
    const PROOF: Proof<Self>;
}

/// The proof that `T` has no padding and no pointers, and that zeros are a value of `T`. The bytes
/// of a value must remain a value wherever they are copied to.
///
/// Rows are copied word by word. If two rows are copied to the same row, some words of each may
/// remain. So a mixture of two values, which takes each word of 4 bytes from one of them, must be a
/// value of `T`, too. (If the size of `T` is not a multiple of 4, each byte may come from either
/// value.) A type with a tag that determines the meaning of other bytes is not plain.
#[derive(Clone, Copy, Debug)]
pub struct Proof<T>(PhantomData<fn() -> T>);

impl<T> Proof<T> {
    /// Promises that `T` has the properties of [`Proof`].
    ///
    /// # Safety
    /// `T` must have these properties.
    pub const unsafe fn promise() -> Self {
        Self(PhantomData)
    }
}

macro_rules! plain {
    ($($type:ty),+) => {$(
        impl Plain for $type {
            // SAFETY: each type is a number or a character. Zero is a value, and a copy of a
            // character's bytes is the same character, which is one word. Any bytes are a number.
            const PROOF: Proof<Self> = unsafe { Proof::promise() };
        }
    )+};
}
plain!(u8, u32, u64, u128, usize, i32, i64, isize, f32, f64, char);

#[diagnostic::do_not_recommend]
impl<T: Plain, const N: usize> Plain for [T; N] {
    const PROOF: Proof<Self> = {
        assert!(N != 0, "an array has elements");
        let is_whole = size_of::<T>() != 1 || N.is_multiple_of(4);
        assert!(is_whole, "an array of bytes has whole words of 4 bytes");
        let _ = T::PROOF;
        // SAFETY: the elements are plain, and an array has no padding between them.
        unsafe { Proof::promise() }
    };
}

/// A plain type of 4 bytes, so that a pair of such types has 8 bytes.
pub trait PlainHalf: Plain {}
impl PlainHalf for u32 {}
impl PlainHalf for i32 {}
impl PlainHalf for f32 {}
impl PlainHalf for char {}

// Without this attribute rustc says of `(u64, u64)` that `u64` is not a `PlainHalf`, instead of
// listing the types of elements.
#[diagnostic::do_not_recommend]
impl<A: PlainHalf, B: PlainHalf> Plain for (A, B) {
    const PROOF: Proof<Self> = {
        assert!(size_of::<A>() == 4 && size_of::<B>() == 4 && size_of::<Self>() == 8, "a pair of types of 4 bytes");
        let _ = (A::PROOF, B::PROOF);
        // SAFETY: both halves are plain, and the pair has no padding.
        unsafe { Proof::promise() }
    };
}
