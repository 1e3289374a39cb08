//! Boolean results for libraries of Arrow.

use crate::array::Array;
use crate::arrow;
use arrow_schema::DataType;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

/// Booleans as a result of a call, with one bit each, as in Arrow. NumPy gets a copy with one byte
/// each.
#[pyclass(frozen, module = "warpnest._native")]
pub struct Flags {
    words: Array,
    length: usize,
}

#[pymethods]
impl Flags {
    #[new]
    fn new(words: &Bound<'_, Array>, length: usize) -> Self {
        Self { words: words.get().clone(), length }
    }

    fn __len__(&self) -> usize {
        self.length
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema(py, &DataType::Boolean)
    }

    /// Exports the booleans to a library of Arrow. The requested type is ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        arrow::export(py, DataType::Boolean, self.words.buffer()?, self.length, None)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err("booleans are bits here, and NumPy must copy them to bytes"));
        }
        let numpy = py.import("numpy")?;
        let bits = numpy.call_method1("asarray", (self.words.clone(),))?.call_method1("view", ("u1",))?;
        let options = PyDict::new(py);
        options.set_item("count", self.length)?;
        options.set_item("bitorder", "little")?;
        let bytes = numpy.call_method("unpackbits", PyTuple::new(py, [bits])?, Some(&options))?;
        let flags = bytes.call_method1("view", ("?",))?;
        match dtype {
            Some(dtype) => flags.call_method1("astype", (dtype,)),
            None => Ok(flags),
        }
    }
}
