//! Arrays of libraries that support only DLPack.

use dlpark::ffi::DLDeviceType;
use dlpark::python::consumer::{DlpackStream, StreamArg};
use dlpark::python::{ImportRequest, ImportedDlpack};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

/// An array of another library, which lives as long as this object.
#[pyclass(frozen, module = "warpnest._native")]
pub struct Imported {
    /// The ordinal of the GPU, or -1 for host memory.
    #[pyo3(get)]
    device: i32,
    #[pyo3(get)]
    address: usize,
    #[pyo3(get)]
    shape: Vec<i64>,
    /// Whether the rows are contiguous in memory.
    #[pyo3(get)]
    is_contiguous: bool,
    /// The element type as NumPy writes it.
    #[pyo3(get)]
    typestr: String,
    _tensor: Kept,
}

/// The other library's tensor, which is freed when this value is dropped.
struct Kept(#[allow(dead_code)] ImportedDlpack);

// SAFETY: only the tensor's deleter is called, which DLPack allows on any thread.
unsafe impl Send for Kept {}
// SAFETY: as above. There are no other accesses.
unsafe impl Sync for Kept {}

/// The stream on which the tensor must be ready.
struct Ready(usize);

// SAFETY: the handle is a stream that this library keeps alive, or the default stream in the
// protocol's notation.
unsafe impl DlpackStream for Ready {
    fn as_python_arg(&self, _py: Python<'_>, device: dlpark::ffi::DLDevice) -> PyResult<StreamArg> {
        let is_cuda = device.device_type == DLDeviceType::CUDA;
        let handle = std::ptr::without_provenance_mut(self.0);
        Ok(if is_cuda {
            dlpark::python::consumer::stream::cuda(handle)
        } else {
            dlpark::python::consumer::stream::none()
        })
    }
}

/// Imports an array by `__dlpack__`. Its contents are ready on the default stream of its device.
#[pyfunction]
pub fn import_dlpack(object: &Bound<'_, PyAny>) -> PyResult<Imported> {
    let tensor = ImportRequest::new(object.as_borrowed())?.import(Some(&Ready(0)), None)?;
    let invalid = |error: dlpark::tensor::Error| PyBufferError::new_err(error.to_string());
    let view = tensor.validate().map_err(invalid)?;
    let (device, dtype) = (view.device(), view.dtype());
    let device = match device.device_type {
        DLDeviceType::CPU | DLDeviceType::CUDAHOST => -1,
        DLDeviceType::CUDA | DLDeviceType::CUDAMANAGED => device.device_id,
        other => {
            return Err(PyBufferError::new_err(format!("arrays of DLPack's device type {} are not taken", other.0)));
        }
    };
    let letter = match dtype.code {
        dlpark::ffi::DLDataTypeCode::INT => 'i',
        dlpark::ffi::DLDataTypeCode::UINT => 'u',
        dlpark::ffi::DLDataTypeCode::FLOAT => 'f',
        dlpark::ffi::DLDataTypeCode::BOOL => 'b',
        _ => 'V',
    };
    let typestr = format!("{letter}{}", dtype.bits / 8);
    let address = (view.data_ptr().addr() as u64 + view.byte_offset()) as usize;
    let (shape, is_contiguous) = (view.shape().to_vec(), view.is_compact().map_err(invalid)?);
    Ok(Imported { device, address, shape, is_contiguous, typestr, _tensor: Kept(tensor) })
}
