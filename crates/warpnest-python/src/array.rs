//! Results of calls: arrays in this library's memory, which other libraries use without a copy.

use crate::arrow;
use crate::call::{self, Call, Target};
use crate::error::to_python;
use crate::numpy;
use crate::streams::{CPU, LEGACY_STREAM};
use ::numpy::PyArrayDescr;
use arrow_schema::DataType;
use dlpark::allocation::dynamic::Allocation;
use dlpark::ffi::{DLDataType, DLDataTypeCode, DLDevice, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::python::{CudaStreamRequest, DlpackExporter, ExportRequest, export_dlpack};
use dlpark::{DlpackFlags, Managed, ManagedTensorBase};
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;
use warpnest::low_level::advise_huge_pages;
use warpnest::types::Plain;
use warpnest::{Buffer, Device, Stream};

/// CUDA's handle of each thread's own default stream.
const STREAM_OF_THREAD: usize = 2;

/// A result of a call, in memory of warpnest. NumPy takes it by `__array_interface__`, CuPy by
/// `__cuda_array_interface__`, torch and JAX by `__dlpack__`, and polars and pyarrow by
/// `__arrow_c_array__`. None of them copies the array, and each keeps its memory alive for as long
/// as needed.
#[pyclass(frozen, module = "warpnest._native")]
#[derive(Clone)]
pub struct Array {
    memory: Memory,
    /// The element type as NumPy writes it, such as `<i4`. Its size is the size of a memory element
    /// divided by the count of columns.
    typestr: String,
    /// The count of elements in a row, if a row has several.
    columns: Option<usize>,
    /// The Arrow type of the elements, if it differs from the default for NumPy's type.
    data_type: Option<DataType>,
    /// Whether elements that are -1 are nulls in Arrow, as for missing rows of a join.
    has_nulls: bool,
}

#[derive(Clone)]
struct Memory {
    ordinal: i32,
    device: Device,
    /// The stream on which the contents were computed.
    stream: Arc<Stream>,
    address: usize,
    length: usize,
    /// The size of an element in bytes.
    bytes: usize,
    /// The owner, which frees the memory when it is dropped.
    owner: Arc<dyn Any + Send + Sync>,
}

impl Array {
    /// Returns a buffer of a call as an array of unsigned integers.
    pub fn of<T: Plain>(call: &Call, buffer: Buffer<T>) -> Self {
        let (address, length) = (buffer.address(), buffer.len());
        Self::within::<T>(call, address, length, Arc::new(buffer))
    }

    /// Returns the elements at an address as an array. They must be valid while `owner` lives.
    pub fn within<T>(call: &Call, address: usize, length: usize, owner: Arc<dyn Any + Send + Sync>) -> Self {
        let bytes = size_of::<T>();
        let (ordinal, device, stream) = (call.ordinal, call.device.clone(), call.stream.clone());
        let memory = Memory { ordinal, device, stream, address, length, bytes, owner };
        Self { memory, typestr: format!("<u{bytes}"), columns: None, data_type: None, has_nulls: false }
    }

    /// Returns the memory as a buffer of Arrow, which keeps the memory alive.
    pub fn buffer(&self) -> PyResult<arrow_buffer::Buffer> {
        if self.memory.ordinal != CPU {
            return Err(PyBufferError::new_err("the array is on a GPU, and Arrow takes arrays of the host here"));
        }
        let Memory { address, length, bytes, ref owner, .. } = self.memory;
        Ok(arrow::buffer(address, length * bytes, owner.clone()))
    }

    fn data_type(&self) -> PyResult<DataType> {
        let found = self.data_type.clone().or_else(|| arrow::data_type(&self.typestr));
        found.filter(|_| self.columns.is_none()).ok_or_else(|| {
            let typestr = &self.typestr;
            PyTypeError::new_err(format!("Arrow has no elements of NumPy's type {typestr}: ask with NumPy's arrays"))
        })
    }

    fn shape(&self) -> Vec<usize> {
        [Some(self.memory.length), self.columns].into_iter().flatten().collect()
    }

    fn interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", &self.typestr)?;
        interface.set_item("shape", pyo3::types::PyTuple::new(py, self.shape())?)?;
        interface.set_item("data", (self.memory.address, false))?;
        interface.set_item("strides", py.None())?;
        Ok(interface)
    }

    fn managed<M: ManagedTensorBase>(&self) -> PyResult<Managed<M>> {
        let shape = self.shape();
        let failed = |error: dlpark::allocation::Error| PyBufferError::new_err(error.to_string());
        let mut tensor = Allocation::<M>::allocate(2 * shape.len())
            .and_then(|tensor| tensor.initialize(Arc::new(self.memory.clone()), shape.len()))
            .map_err(failed)?;
        let (sizes, strides) = tensor.extra_mut().split_at_mut(shape.len());
        for (at, size) in shape.iter().enumerate() {
            sizes[at] = *size as i64;
            strides[at] = shape[at + 1..].iter().product::<usize>() as i64;
        }
        let (sizes, strides) = (sizes.as_mut_ptr(), strides.as_mut_ptr());
        tensor.tensor_mut().shape = sizes;
        tensor.tensor_mut().strides = strides;
        let address = std::ptr::with_exposed_provenance_mut::<c_void>(self.memory.address);
        tensor.set_data(address).set_device(self.device()).set_dtype(self.dtype()?);
        // SAFETY: the tensor owns the owner of the memory, so the memory lives long enough. The
        // shape and strides are in the tensor's own memory and describe contiguous rows. The memory
        // may be written.
        Ok(unsafe { tensor.finish() })
    }

    fn dtype(&self) -> PyResult<DLDataType> {
        let bits = 8 * (self.memory.bytes / self.columns.unwrap_or(1)) as u8;
        let code = match self.typestr.as_bytes().get(1) {
            Some(b'i') => DLDataTypeCode::INT,
            Some(b'u') => DLDataTypeCode::UINT,
            Some(b'f') => DLDataTypeCode::FLOAT,
            Some(b'b') => DLDataTypeCode::BOOL,
            _ => return Err(PyBufferError::new_err(format!("DLPack has no elements of type {}", self.typestr))),
        };
        Ok(DLDataType::scalar(code, bits))
    }
}

#[pymethods]
impl Array {
    /// Returns the same memory as elements of another type of the same size, in rows of `columns`
    /// columns. `arrow` names the Arrow type, if it differs from the default for NumPy's type.
    /// `has_nulls` says that 32-bit integers that are -1 are nulls in Arrow.
    #[pyo3(signature = (typestr, columns=None, arrow=None, has_nulls=false))]
    fn typed(&self, typestr: String, columns: Option<usize>, arrow: Option<&str>, has_nulls: bool) -> PyResult<Self> {
        let parsed = arrow.map(str::parse::<DataType>).transpose();
        let data_type = parsed.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { memory: self.memory.clone(), typestr, columns, data_type, has_nulls })
    }

    fn __len__(&self) -> usize {
        self.memory.length
    }

    #[getter]
    fn address(&self) -> usize {
        self.memory.address
    }

    #[getter]
    fn on_host(&self) -> bool {
        self.memory.ordinal == CPU
    }

    /// Returns the same memory as an array of NumPy, of elements of a type, in rows of so many
    /// columns.
    #[pyo3(signature = (dtype, columns=None))]
    fn to_numpy<'py>(
        this: &Bound<'py, Self>,
        dtype: Bound<'py, PyArrayDescr>,
        columns: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Memory { ordinal, address, length, bytes, .. } = this.get().memory;
        if ordinal != CPU {
            return Err(PyBufferError::new_err("the array is on a GPU, and NumPy takes arrays of the host"));
        }
        // SAFETY: the memory lives as long as its owner, which this object has, and is the host's.
        unsafe { numpy::view(this.clone().into_any(), dtype, (address, length, bytes), columns) }
    }

    /// Copies the elements to an address of the host.
    fn copy_to(&self, py: Python<'_>, address: usize) -> PyResult<()> {
        let Memory { device, stream, length, bytes, .. } = &self.memory;
        let bytes = length * bytes;
        if bytes == 0 {
            return Ok(());
        }
        py.detach(|| {
            // SAFETY: the memory has `bytes` bytes, and lives as long as its owner.
            let buffer = unsafe { Buffer::<u8>::from_foreign(device, self.memory.address, bytes)? };
            // SAFETY: the Python part allocated an array of `bytes` bytes at this address.
            let target =
                unsafe { std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(address), bytes) };
            buffer.download_into(stream, target)
        })
        .map_err(to_python)
    }

    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if self.memory.ordinal != CPU {
            return Err(PyAttributeError::new_err("the array is on a GPU"));
        }
        self.interface(py)
    }

    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if self.memory.ordinal == CPU {
            return Err(PyAttributeError::new_err("the array is on the host"));
        }
        // Only the stream of the call already waits for the contents, so the host waits here for
        // other streams.
        py.detach(|| self.memory.stream.synchronize()).map_err(to_python)?;
        let interface = self.interface(py)?;
        interface.set_item("stream", py.None())?;
        Ok(interface)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema(py, &self.data_type()?)
    }

    /// Exports the array to a library of Arrow, in its own type. The requested type is ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let elements = self.buffer()?;
        let nulls = self.has_nulls.then(|| arrow::negative_ones(&elements));
        arrow::export(py, self.data_type()?, elements, self.memory.length, nulls)
    }

    fn __dlpack_device__(&self) -> (u32, i32) {
        self.device().into()
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(u32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        export_dlpack(self, py, ExportRequest::parse(stream.as_ref(), max_version, dl_device, copy)?)
    }
}

impl DlpackExporter for Array {
    fn device(&self) -> DLDevice {
        if self.memory.ordinal == CPU { DLDevice::CPU } else { DLDevice::cuda(self.memory.ordinal) }
    }

    fn flags(&self) -> DlpackFlags {
        DlpackFlags::empty()
    }

    fn prepare_export(&self, _py: Python<'_>, request: &ExportRequest<'_>) -> PyResult<()> {
        if self.memory.ordinal == CPU {
            return Ok(());
        }
        let handle = match request.cuda_stream()? {
            CudaStreamRequest::NoSync => return Ok(()),
            CudaStreamRequest::Omitted | CudaStreamRequest::LegacyDefault => LEGACY_STREAM,
            CudaStreamRequest::PerThreadDefault => STREAM_OF_THREAD,
            CudaStreamRequest::Pointer(handle) => handle,
        };
        // SAFETY: the consumer promises that the handle is a stream of the device.
        unsafe { self.memory.stream.release_to_foreign(handle as *mut c_void) }.map_err(to_python)
    }

    fn export_legacy(&self, _py: Python<'_>) -> PyResult<Managed<DLManagedTensor>> {
        self.managed()
    }

    fn export_versioned(&self, _py: Python<'_>) -> PyResult<Managed<DLManagedTensorVersioned>> {
        self.managed()
    }
}

/// Returns an array of zeros, whose elements have `bytes` bytes.
#[pyfunction]
pub fn empty(py: Python<'_>, target: Target, length: usize, bytes: usize) -> PyResult<Array> {
    call::run(py, target, |call| {
        if call.ordinal == CPU {
            // Unlike a buffer, this memory is first touched when its elements are written.
            let mut memory = vec![0_u128; (length * bytes).div_ceil(size_of::<u128>())];
            advise_huge_pages(&raw mut *memory);
            let address = memory.as_mut_ptr().expose_provenance();
            return Ok(match bytes {
                1 => Array::within::<u8>(call, address, length, Arc::new(memory)),
                4 => Array::within::<u32>(call, address, length, Arc::new(memory)),
                _ => Array::within::<u64>(call, address, length, Arc::new(memory)),
            });
        }
        Ok(match bytes {
            1 => Array::of(call, Buffer::<u8>::zeroed(&call.device, length)?),
            4 => Array::of(call, Buffer::<u32>::zeroed(&call.device, length)?),
            _ => Array::of(call, Buffer::<u64>::zeroed(&call.device, length)?),
        })
    })
}
