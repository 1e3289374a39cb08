//! The types of numbers that are added and compared.

use super::traits::Value;
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::primitives::reduce::SumKind;

mod sealed {
    use super::{ColumnParams, SumKind};

    pub trait Sealed {
        /// The way in which kernels add and compare the words of the type.
        const COLUMN: ColumnParams;
        /// The kind of the type's sums.
        const SUM_KIND: SumKind;
    }
}

/// A type of numbers that are added and compared: `u32`, `i32`, `u64`, `i64`, `f32` or `f64`.
///
/// Numbers have their usual order, and −0 is less than 0. The minimum and the maximum of values are
/// never a NaN if one of the values is a number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type of numbers that can be added and compared",
    note = "numbers are `u32`, `i32`, `u64`, `i64`, `f32` and `f64`"
)]
pub trait Number: Value + sealed::Sealed {
    /// The type of sums. Sums of integers are `u64` or `i64` and wrap, and sums of floating-point
    /// numbers are `f64`. A sum is a NaN if one of its terms is a NaN.
    type Sum: Value<Word = u64>;
}

macro_rules! numbers {
    ($($number:ty: $sum:ty, $kind:ident, $column:expr;)+) => {$(
        impl sealed::Sealed for $number {
            const COLUMN: ColumnParams = $column;
            const SUM_KIND: SumKind = SumKind::$kind;
        }
        impl Number for $number {
            type Sum = $sum;
        }
    )+};
}
numbers! {
    u32: u64, Unsigned, ColumnParams::unsigned();
    u64: u64, Unsigned, ColumnParams::unsigned();
    i32: i64, Signed, ColumnParams::signed(32);
    i64: i64, Signed, ColumnParams::signed(64);
    f32: f64, Float, ColumnParams::float(32);
    f64: f64, Float, ColumnParams::float(64);
}
