//! Arrays of NumPy: where one is, and results as such arrays, both by NumPy's own structure. To ask
//! for `__array_interface__` takes microseconds, since it makes a dict.

use numpy::npyffi::{self, NpyTypes, PY_ARRAY_API, npy_intp};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::ptr::null_mut;

/// Returns the address of an array's first element.
#[pyfunction]
pub fn address(array: &Bound<'_, PyUntypedArray>) -> usize {
    // SAFETY: the object is an array, as its type says, and lives.
    unsafe { (*array.as_array_ptr()).fields.data }.expose_provenance()
}

/// Returns an array as [`Column`](crate::call::Column) takes it, if it can be taken as it is: of
/// numbers, times or texts of 4 or 8 bytes, one after another. For other ones the Python part says
/// what is wrong with them, or makes a copy.
#[pyfunction]
pub fn plain(array: &Bound<'_, PyUntypedArray>) -> Option<(usize, usize, bool)> {
    let dtype = array.dtype();
    let has_elements = matches!(dtype.kind(), b'i' | b'u' | b'f' | b'm' | b'M' | b'S' | b'U')
        && matches!(dtype.itemsize(), 4 | 8)
        && dtype.is_native_byteorder() != Some(false);
    // SAFETY: the object is an array, as its type says, and lives.
    let flags = unsafe { (*array.as_array_ptr()).fields.flags };
    let wanted = npyffi::NPY_ARRAY_C_CONTIGUOUS | npyffi::NPY_ARRAY_ALIGNED;
    (has_elements && flags & wanted == wanted).then(|| (address(array), array.len(), true))
}

/// Returns memory as an array of elements of a type, in rows of so many columns if there are some.
///
/// # Safety
/// As long as the owner lives, the memory has `length` rows of `bytes` bytes, which may be read and
/// written.
pub unsafe fn view<'py>(
    owner: Bound<'py, PyAny>,
    dtype: Bound<'py, PyArrayDescr>,
    (address, length, bytes): (usize, usize, usize),
    columns: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = owner.py();
    if dtype.has_object() || dtype.itemsize() * columns.unwrap_or(1) != bytes {
        return Err(PyTypeError::new_err(format!("rows of {bytes} bytes have no elements of type {dtype}")));
    }
    let mut sizes = [length as npy_intp, columns.unwrap_or(1) as npy_intp];
    let dimensions = if columns.is_some() { 2 } else { 1 };
    let data = std::ptr::with_exposed_provenance_mut(address);
    // SAFETY: there are as many sizes as dimensions. NumPy takes over the type, which has no
    // objects, and rows lie one after another in the memory, which the caller vouches for.
    let array = unsafe {
        let class = npyffi::get_type_object(py, NpyTypes::PyArray_Type);
        let (dtype, sizes) = (dtype.into_dtype_ptr(), sizes.as_mut_ptr());
        let flags = npyffi::NPY_ARRAY_WRITEABLE;
        let new =
            PY_ARRAY_API.PyArray_NewFromDescr(py, class, dtype, dimensions, sizes, null_mut(), data, flags, null_mut());
        Bound::from_owned_ptr_or_err(py, new)?
    };
    // SAFETY: the object is the array that was made, and NumPy takes over the owner.
    let kept = unsafe { PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), owner.into_ptr()) };
    if kept == 0 { Ok(array) } else { Err(PyErr::fetch(py)) }
}
