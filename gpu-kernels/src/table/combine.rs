//! Combining new values with the values that keys have, for tables that cannot do so in place.

use super::fold::Fold;
use crate::seam::{Block, Global};
use crate::types::Scalar;

/// The scalar arguments of [`CombineFound`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CombineFoundParams {
    /// The count of values.
    pub items: u64,
    /// The function.
    pub fold: Fold,
    /// An unused field: 0.
    pub padding: u32,
}

kernel! {
    /// Combines `values[i]` with `held[i]` if bit `i mod 32` of `found[i / 32]` is set. `held` and
    /// `found` are the answers of a lookup of the values' keys. One thread processes a value.
    CombineFound<W: Scalar>, "combine_found", threads 256;
    { held: Global<W>, found: Global<u32>, values: Global<W>, plan: CombineFoundParams }
}

impl<W: Scalar> CombineFound<W> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let CombineFoundParams { items, fold, .. } = args.plan;
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            let index = first + thread as u64;
            if index < items && args.found.load_read_only(index / 32) >> (index % 32) & 1 != 0 {
                let combined = fold.of(args.held.load_streaming(index), args.values.load(index));
                args.values.store(index, combined);
            }
        });
    }
}

/// The conversion of a number to another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Cast {
    /// Takes the low bits, and sets higher bits to 0.
    Bits = 0,
    /// Converts an `f64` to the nearest `f32`.
    Narrow = 1,
    /// Converts a `u32` to the nearest floating-point number.
    Float = 2,
    /// Takes the upper 32 bits of a word of 64.
    Upper = 3,
}

/// The scalar arguments of [`CastNumbers`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CastParams {
    /// The count of numbers.
    pub items: u64,
    /// The conversion, a [`Cast`].
    pub cast: u32,
    /// An unused field: 0.
    pub padding: u32,
}

kernel! {
    /// Writes the numbers of `from` to `to`, converted as the plan says. One thread converts a
    /// number.
    CastNumbers<A: Scalar, T: Scalar>, "cast_numbers", threads 256;
    { from: Global<A>, to: Global<T>, plan: CastParams }
}

impl<A: Scalar, T: Scalar> CastNumbers<A, T> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let CastParams { items, cast, .. } = args.plan;
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            let index = first + thread as u64;
            if index < items {
                let number = args.from.load_streaming(index).to_u64();
                let number = if cast == Cast::Narrow as u32 {
                    (f64::from_bits(number) as f32).to_bits() as u64
                } else if cast == Cast::Float as u32 && T::BITS == 32 {
                    (number as u32 as f32).to_bits() as u64
                } else if cast == Cast::Float as u32 {
                    (number as u32 as f64).to_bits()
                } else if cast == Cast::Upper as u32 {
                    number >> 32
                } else {
                    number
                };
                args.to.store_streaming(index, T::from_u64(number));
            }
        });
    }
}
