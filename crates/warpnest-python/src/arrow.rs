//! The import and export of Arrow columns by the C data interface, without a copy.

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::ArrayStreamReader;
use arrow_array::{
    Array as _, ArrayReader, ArrayRef, BooleanArray, Int32Array, Int64Array, make_array, new_empty_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use arrow_select::concat::concat;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::any::Any;
use std::ffi::CStr;
use std::panic::RefUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

/// The capsule names that the protocol requires.
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// A column of another library, which lives as long as this object. NumPy reads its memory.
#[pyclass(frozen, module = "warpnest._native")]
pub struct ArrowColumn {
    elements: Buffer,
    length: usize,
    /// The element type as NumPy writes it.
    typestr: String,
    /// The name of the type in Arrow, if it says more than NumPy's type.
    #[pyo3(get)]
    arrow: Option<String>,
}

#[pymethods]
impl ArrowColumn {
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", &self.typestr)?;
        interface.set_item("shape", (self.length,))?;
        interface.set_item("data", (self.elements.as_ptr().expose_provenance(), true))?;
        Ok(interface)
    }
}

/// Imports a column by `__arrow_c_stream__` or `__arrow_c_array__`. A single chunk is not copied.
/// Several chunks are copied to one.
#[pyfunction]
pub fn import_arrow(object: &Bound<'_, PyAny>, what: &str) -> PyResult<ArrowColumn> {
    let (data_type, mut chunks) =
        if object.hasattr("__arrow_c_stream__")? { all_chunks(object, what) } else { one_chunk(object, what) }?;
    let (typestr, arrow) = element(&data_type).ok_or_else(|| not_taken(&data_type, what))?;
    let nulls: usize = chunks.iter().map(|chunk| chunk.null_count()).sum();
    if nulls > 0 {
        let (plural, them) = if nulls == 1 { ("", "it") } else { ("s", "them") };
        return Err(PyValueError::new_err(format!("{what} has {nulls} null{plural}: fill or drop {them} first")));
    }
    chunks.retain(|chunk| !chunk.is_empty());
    let column = match &*chunks {
        [] => new_empty_array(&data_type),
        [only] => only.clone(),
        _ => object.py().detach(|| {
            let chunks: Vec<_> = chunks.iter().map(AsRef::as_ref).collect();
            concat(&chunks).map_err(|error| invalid(&error, what))
        })?,
    };
    // A column may be a part of its buffer.
    let data = column.to_data();
    let bytes = data_type.primitive_width().unwrap_or_default();
    let elements = data.buffers()[0].slice_with_length(bytes * data.offset(), bytes * data.len());
    Ok(ArrowColumn { elements, length: column.len(), typestr, arrow })
}

/// The type of a column, and its chunks.
type Chunks = (DataType, Vec<ArrayRef>);

fn one_chunk(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Chunks> {
    let capsules = object.call_method0("__arrow_c_array__")?;
    let (schema, array) = capsules.extract::<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>()?;
    let (schema, array) = (schema.pointer_checked(Some(SCHEMA))?, array.pointer_checked(Some(ARRAY))?);
    // SAFETY: by the protocol, capsules of these names contain these structs, which a consumer
    // moves out.
    let (schema, array) =
        unsafe { (FFI_ArrowSchema::from_raw(schema.cast().as_ptr()), FFI_ArrowArray::from_raw(array.cast().as_ptr())) };
    let data_type = DataType::try_from(&schema).map_err(|error| invalid(&error, what))?;
    if element(&data_type).is_none() {
        return Ok((data_type, Vec::new()));
    }
    // SAFETY: the other library promises that the array has the type of the schema.
    let data = unsafe { from_ffi(array, &schema) }.map_err(|error| invalid(&error, what))?;
    Ok((data_type, vec![make_array(data)]))
}

fn all_chunks(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Chunks> {
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let stream = capsule.cast::<PyCapsule>()?.pointer_checked(Some(STREAM))?;
    // SAFETY: by the protocol, a capsule of this name contains this struct, which a consumer moves
    // out.
    let reader = unsafe { ArrayStreamReader::from_raw(stream.cast().as_ptr()) };
    let reader = reader.map_err(|error| invalid(&error, what))?;
    let data_type = reader.field().data_type().clone();
    if element(&data_type).is_none() {
        return Ok((data_type, Vec::new()));
    }
    let chunks = reader.collect::<Result<_, _>>().map_err(|error| invalid(&error, what))?;
    Ok((data_type, chunks))
}

/// Returns a type as NumPy writes it, with Arrow's name if that says more. Returns `None` for a
/// type that is not supported.
fn element(data_type: &DataType) -> Option<(String, Option<String>)> {
    let (typestr, says_more) = match data_type {
        DataType::Int32 => ("<i4".to_owned(), false),
        DataType::Int64 => ("<i8".to_owned(), false),
        DataType::UInt32 => ("<u4".to_owned(), false),
        DataType::UInt64 => ("<u8".to_owned(), false),
        DataType::Float32 => ("<f4".to_owned(), false),
        DataType::Float64 => ("<f8".to_owned(), false),
        DataType::Duration(unit) => (format!("<m8[{}]", name(*unit)), false),
        DataType::Timestamp(unit, _) => (format!("<M8[{}]", name(*unit)), true),
        DataType::Date64 => ("<M8[ms]".to_owned(), true),
        DataType::Date32 | DataType::Time32(_) => ("<i4".to_owned(), true),
        DataType::Time64(_) => ("<i8".to_owned(), true),
        _ => return None,
    };
    Some((typestr, says_more.then(|| data_type.to_string())))
}

/// Returns the Arrow type for elements of a NumPy type.
pub fn data_type(typestr: &str) -> Option<DataType> {
    let unit = |unit: &str| units().into_iter().find(|known| unit.strip_suffix(']') == Some(name(*known)));
    Some(match typestr {
        "<i4" => DataType::Int32,
        "<i8" => DataType::Int64,
        "<u4" => DataType::UInt32,
        "<u8" => DataType::UInt64,
        "<f4" => DataType::Float32,
        "<f8" => DataType::Float64,
        _ => match (typestr.strip_prefix("<M8["), typestr.strip_prefix("<m8[")) {
            (Some(of_time), _) => DataType::Timestamp(unit(of_time)?, None),
            (_, Some(of_duration)) => DataType::Duration(unit(of_duration)?),
            _ => return None,
        },
    })
}

fn units() -> [TimeUnit; 4] {
    [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond]
}

/// Returns NumPy's name of a unit.
fn name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

/// Returns the exception for a type that is not supported.
fn not_taken(data_type: &DataType, what: &str) -> PyErr {
    let advice = match data_type {
        DataType::Boolean | DataType::UInt8 | DataType::UInt16 => "cast it to uint32",
        DataType::Int8 | DataType::Int16 => "cast it to int32",
        DataType::Float16 => "cast it to float32",
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            "cast it to int64 or float64, if all values stay the same there"
        }
        DataType::Dictionary(..) => {
            "cast it to the type of its values; the same code stands for different values in another column, so \
             codes are only keys where both columns have one dictionary"
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            "give equal texts of all columns equal integers of 4 or 8 bytes first, for example by one dictionary \
             of the columns together"
        }
        DataType::Struct(_) => "pass its columns one by one",
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => {
            "flatten it first, or pass an array of NumPy"
        }
        DataType::Null => "cast it to the type that its elements shall have",
        _ => "cast it to a type of 4 or 8 bytes, such as int64",
    };
    let name = match data_type {
        DataType::Struct(_) => "Struct".to_owned(),
        _ => data_type.to_string(),
    };
    PyTypeError::new_err(format!(
        "{what} has elements of Arrow's type {name}, and numbers and times of 4 or 8 bytes are taken: {advice}"
    ))
}

fn invalid(error: &ArrowError, what: &str) -> PyErr {
    PyTypeError::new_err(format!("{what} cannot be taken from Arrow: {error}"))
}

/// The owner of a buffer's memory.
struct Owner(#[allow(dead_code)] Arc<dyn Any + Send + Sync>);

// The owner is only dropped, so a panic cannot break it.
impl RefUnwindSafe for Owner {}

/// Returns the bytes at an address in host memory as a buffer, which owns `owner`.
pub fn buffer(address: usize, bytes: usize, owner: Arc<dyn Any + Send + Sync>) -> Buffer {
    match NonNull::new(std::ptr::with_exposed_provenance_mut::<u8>(address)) {
        // SAFETY: `Array` promises that these bytes are valid while the owner lives.
        Some(start) if bytes > 0 => unsafe { Buffer::from_custom_allocation(start, bytes, Arc::new(Owner(owner))) },
        _ => Buffer::default(),
    }
}

/// Returns the null mask of 32-bit integers in which every -1 is a null.
pub fn negative_ones(elements: &Buffer) -> NullBuffer {
    let rows = elements.typed_data::<i32>();
    NullBuffer::new(BooleanBuffer::collect_bool(rows.len(), |at| rows[at] != -1))
}

/// Returns the capsule of a type.
pub fn schema<'py>(py: Python<'py>, data_type: &DataType) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(data_type).map_err(|error| PyBufferError::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// Returns the capsules of a type and of an array of that type. A consumer that takes the array
/// releases it. Otherwise the capsule releases it.
pub fn export<'py>(
    py: Python<'py>,
    data_type: DataType,
    elements: Buffer,
    length: usize,
    nulls: Option<NullBuffer>,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let schema = schema(py, &data_type)?;
    let data = match data_type.primitive_width() {
        Some(4) => Int32Array::new(elements.into(), nulls).into_data(),
        Some(_) => Int64Array::new(elements.into(), nulls).into_data(),
        None => BooleanArray::new(BooleanBuffer::new(elements, 0, length), nulls).into_data(),
    };
    let data = data.into_builder().data_type(data_type).build();
    let data = data.map_err(|error| PyBufferError::new_err(error.to_string()))?;
    Ok((schema, PyCapsule::new_with_value(py, FFI_ArrowArray::new(&data), ARRAY)?))
}
