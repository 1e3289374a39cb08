//! Lookups whose queries and answers are Arrow's arrays.

use super::memory::{bits, from_buffer};
use crate::design::Design;
use crate::relational::{Column, IntoColumn};
use crate::runtime::lent::Lent;
use crate::{Answers, BulkMap, Key, Result, Stream, Value};
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, NullBuffer, ScalarBuffer};

/// The values of an array. Null rows have unspecified values.
impl<'c, T: ArrowNativeType> IntoColumn<'c, T> for &'c ScalarBuffer<T> {
    fn into_column(self) -> Column<'c, T> {
        self[..].into_column()
    }
}

/// Returns the answers of a lookup as an array, which is null where no key was found.
///
/// On the CPU engine the array reuses the memory of the answers. The found-bits become the validity
/// bitmap. From a GPU, values and bits are downloaded once.
///
/// ```
/// use arrow_array::Int64Array;
/// use arrow_array::types::Int64Type;
/// use warpnest::{Buffer, Device, PageMap, arrow};
///
/// let device = Device::best()?;
/// let stream = device.default_stream();
/// let map = PageMap::build(&device, &[3u32, 4, 5], &[30i64, 40, 50])?;
/// let queries = Buffer::from_slice(&device, &[5u32, 9, 3])?;
/// let array = arrow::from_answers::<Int64Type>(stream, map.get_many_on(stream, &queries)?)?;
/// assert_eq!(array, Int64Array::from(vec![Some(50), None, Some(30)]));
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// # Errors
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn from_answers<T>(stream: &Stream, answers: Answers<T::Native>) -> Result<PrimitiveArray<T>>
where
    T: ArrowPrimitiveType<Native: Value>,
{
    let Answers { values, found, .. } = answers;
    let length = values.len();
    let nulls = bits(stream, found, length)?;
    Ok(PrimitiveArray::new(from_buffer(stream, values)?, Some(nulls)))
}

/// Looks up the keys of an array in a map. The result is null where a key is null or is not in the
/// map.
///
/// On the CPU engine only bitmaps are copied if the array begins at a multiple of 16 bytes, which
/// all arrays do except slices. In the same way, maps are built from arrays without a copy:
///
/// ```
/// use arrow_array::{Float64Array, UInt32Array};
/// use warpnest::{Device, PageMap, arrow};
///
/// let stations = UInt32Array::from(vec![3, 4, 5]);
/// let heights = Float64Array::from(vec![0.3, 0.4, 0.5]);
/// let map = PageMap::build(&Device::best()?, stations.values(), heights.values())?;
/// let queries = UInt32Array::from(vec![Some(5), None, Some(9), Some(3)]);
/// let found: Float64Array = arrow::lookup(&map, &queries)?;
/// assert_eq!(found, Float64Array::from(vec![Some(0.5), None, None, Some(0.3)]));
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// If the result should have a type with a time zone or a precision, set that type by
/// [`PrimitiveArray::with_data_type`].
///
/// # Errors
/// [`InputError::TooManyItems`](crate::InputError::TooManyItems),
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
pub fn lookup<K, V, D>(map: &BulkMap<K::Native, V::Native, D>, queries: &PrimitiveArray<K>) -> Result<PrimitiveArray<V>>
where
    K: ArrowPrimitiveType<Native: Key>,
    V: ArrowPrimitiveType<Native: Value>,
    D: Design,
{
    let stream = map.device().default_stream();
    let keys = Lent::new(map.device(), queries.values())?;
    let array = from_answers::<V>(stream, map.get_many_on(stream, &keys)?)?;
    if queries.nulls().is_none() {
        return Ok(array);
    }
    let (_, values, found) = array.into_parts();
    Ok(PrimitiveArray::new(values, NullBuffer::union(found.as_ref(), queries.nulls())))
}
