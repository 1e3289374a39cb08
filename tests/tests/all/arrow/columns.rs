//! Columns of many types, whose values are made from small numbers.

use arrow_array::types::{Int16Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array,
    DictionaryArray, FixedSizeBinaryArray, Float32Array, Float64Array, Int8Array, Int32Array, Int64Array,
    IntervalDayTimeArray, IntervalMonthDayNanoArray, LargeBinaryArray, LargeStringArray, NullArray, StringArray,
    StringViewArray, Time32SecondArray, TimestampMicrosecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano, i256};
use arrow_select::nullif::nullif;
use std::sync::Arc;

/// The count of column shapes: types of columns.
pub const SHAPES: usize = 27;

/// The indices of the shape whose values are all null, and of the shape with two values.
const NULL: usize = 26;
const BOOLEAN: usize = 8;

/// Returns the value that a shape has for a number, as an integer that only equal values share;
/// `None` for null.
pub fn cell(shape: usize, number: Option<u8>) -> Option<u64> {
    match shape {
        NULL => None,
        // Entry 255 of the dictionary is null.
        22 if number == Some(255) => None,
        BOOLEAN => number.map(|number| u64::from(number % 2)),
        _ => number.map(u64::from),
    }
}

/// Returns the column of a shape with these numbers, as a slice after `offset` other rows. Null
/// rows have values other than zero beneath them.
pub fn column(shape: usize, numbers: &[Option<u8>], offset: usize) -> ArrayRef {
    let before = (0..offset).map(|row| (row % 3 != 0).then_some(row as u8));
    let numbers: Vec<Option<u8>> = before.chain(numbers.iter().copied()).collect();
    let values: Vec<u8> =
        numbers.iter().enumerate().map(|(row, number)| number.unwrap_or((row * 7 % 5) as u8)).collect();
    let array = of_values(shape, &values);
    let is_null: BooleanArray = numbers.iter().map(|number| Some(number.is_none())).collect();
    let has_nulls = numbers[offset..].contains(&None);
    let array = if has_nulls && shape != NULL { nullif(&array, &is_null).unwrap() } else { array };
    array.slice(offset, array.len() - offset)
}

fn of_values(shape: usize, values: &[u8]) -> ArrayRef {
    let numbers = || values.iter().copied();
    let text = |number: u8| match number {
        0 => String::new(),
        1 => "\0".to_owned(),
        2 => "a text of more than twelve bytes".to_owned(),
        _ => format!("{}{number}", "é".repeat(usize::from(number % 3))),
    };
    let texts: Vec<String> = numbers().map(text).collect();
    let bytes: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
    // The two kinds of NaN and the two zeros are four different values.
    let floats = |number: u8| match number {
        0 => 0.0,
        1 => -0.0,
        2 => f64::NAN,
        3 => -f64::NAN,
        _ => f64::from(number) / 4.0,
    };
    match shape {
        0 => Arc::new(numbers().map(|number| Some(i32::from(number) - 3)).collect::<Int32Array>()),
        1 => Arc::new(numbers().map(|number| u32::MAX - u32::from(number)).map(Some).collect::<UInt32Array>()),
        2 => Arc::new(numbers().map(|number| Some(floats(number) as f32)).collect::<Float32Array>()),
        3 => Arc::new(numbers().map(|number| Some(i32::from(number))).collect::<Date32Array>()),
        4 => Arc::new(numbers().map(|number| Some(-(i64::from(number) << 33))).collect::<Int64Array>()),
        5 => Arc::new(numbers().map(|number| Some(u64::MAX - u64::from(number))).collect::<UInt64Array>()),
        6 => Arc::new(numbers().map(|number| Some(floats(number))).collect::<Float64Array>()),
        7 => {
            let times: TimestampMicrosecondArray = numbers().map(|number| Some(i64::from(number) << 40)).collect();
            Arc::new(times.with_timezone("+01:00"))
        }
        BOOLEAN => Arc::new(numbers().map(|number| Some(number % 2 == 1)).collect::<BooleanArray>()),
        9 => Arc::new(numbers().map(|number| Some(number as i8)).collect::<Int8Array>()),
        10 => Arc::new(numbers().map(|number| Some(u16::from(number) << 8)).collect::<UInt16Array>()),
        11 => Arc::new(numbers().map(Some).collect::<UInt8Array>()),
        12 => {
            let decimals: Decimal128Array = numbers().map(|number| Some(i128::from(number) << 62)).collect();
            Arc::new(decimals.with_precision_and_scale(38, 3).unwrap())
        }
        13 => Arc::new(
            numbers()
                .map(|number| Some(i256::from_i128(1 << 70) * i256::from(i32::from(number))))
                .collect::<Decimal256Array>(),
        ),
        14 => Arc::new(StringArray::from_iter_values(&texts)),
        15 => Arc::new(LargeStringArray::from_iter_values(&texts)),
        16 => Arc::new(StringViewArray::from_iter_values(&texts)),
        17 => Arc::new(BinaryArray::from_iter_values(&bytes)),
        18 => Arc::new(LargeBinaryArray::from_iter_values(&bytes)),
        19 => Arc::new(BinaryViewArray::from_iter_values(&bytes)),
        20 => {
            let values = numbers().map(|number| Some([number, 0, number]));
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, 3).unwrap())
        }
        21 => {
            let dictionary: DictionaryArray<Int16Type> = texts.iter().map(|text| text.as_str()).collect();
            Arc::new(dictionary)
        }
        22 => {
            // The dictionary contains each value twice, and also a null.
            let keys: Int32Array =
                numbers().enumerate().map(|(row, number)| Some(i32::from(number) * 2 + row as i32 % 2)).collect();
            let held: Int64Array = (0..512).map(|key| (key < 510).then_some(i64::from(key / 2))).collect();
            Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::new(held)))
        }
        23 => Arc::new(
            numbers().map(|number| Some(IntervalDayTime::new(i32::from(number), -1))).collect::<IntervalDayTimeArray>(),
        ),
        24 => {
            let interval = |number: u8| IntervalMonthDayNano::new(1, i32::from(number % 2), i64::from(number));
            Arc::new(numbers().map(|number| Some(interval(number))).collect::<IntervalMonthDayNanoArray>())
        }
        25 => Arc::new(numbers().map(|number| Some(i32::from(number))).collect::<Time32SecondArray>()),
        NULL => Arc::new(NullArray::new(values.len())),
        _ => unreachable!("{shape} is a shape"),
    }
}
