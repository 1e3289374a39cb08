"""The array libraries of arguments and results.

A result is an array of the same library as the arguments. Nothing in this file copies an array,
unless a comment says so.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from . import _devices, _native
from ._arrow import arrow_type, from_native, is_arrow, package_of, to_numpy
from ._exact import array_of, check_no_mask, is_value
from ._library import Library, plain

#: The names of the element types that torch supports, too.
_SHARED_TYPES = ("int32", "int64", "uint32", "uint64", "float32", "float64", "bool")
#: The stream that a consumer of DLPack names if it needs no order.
_READY = -1
#: What the address of an array on a GPU must be a multiple of, in bytes.
_ALIGNMENT = 16


class NumPy(Library):
    name = "NumPy"

    def plain(self, x):
        raw = _native.plain(x) if type(x) is np.ndarray else None
        return None if raw is None else (x.dtype, x.shape, raw)

    def array(self, x, what):
        if type(x) is np.ndarray:
            array = x
        else:
            array = to_numpy(x, what) if is_arrow(x) else array_of(x, what)
        if not array.flags.aligned:
            # An array in a file can be misaligned if the header has an odd length.
            array = array.copy()
        if array.dtype.hasobject:
            raise TypeError(
                f"{what} has elements of type object, such as strings or integers of any size: "
                "convert it to a type of 4 or 8 bytes that has the same elements, such as int64 for integers"
            )
        return array

    def dtype(self, array, what):
        return array.dtype

    def address(self, array):
        return _native.address(array)

    def is_contiguous(self, array):
        return array.flags.c_contiguous

    def copy(self, array):
        return array.copy()

    def empty(self, length, dtype):
        return np.empty(length, plain(dtype))

    def view(self, array, dtype):
        return array.view(plain(dtype))

    def stack(self, first, second):
        return np.stack((first, second), axis=1)

    def without_signed_zeros(self, array):
        copy = np.asarray(array + array.dtype.type(0))
        copy[np.isnan(copy)] = np.nan
        return copy

    def of_numpy(self, array):
        return array


class Arrow(NumPy):
    """A library of Arrow columns, such as polars or pyarrow.

    Here its columns are NumPy arrays of the same memory. Results are in native memory, which the
    library takes without a copy.
    """

    has_bits = True

    def __init__(self, package: str):
        self.name = package

    def plain(self, x):
        return None

    def array(self, x, what):
        array = super().array(x, what)
        if array.ndim > 1:
            raise ValueError(
                f"{what} has {array.ndim} dimensions, and columns of Arrow have one: pass only arrays of NumPy"
            )
        return array

    def address(self, array):
        return array.address if isinstance(array, _native.Array) else super().address(array)

    def empty(self, length, dtype):
        return _native.empty((_devices.CPU, None, False), length, dtype.itemsize)

    def finished(self, array, dtype, shape):
        return from_native(array.typed(dtype.str, None, arrow_type(dtype)), self.name)

    def of_bits(self, words, length):
        return from_native(_native.Flags(words, length), self.name)

    def given(self, array, dtype):
        # This copies the elements, because NumPy has computed them in its own memory.
        native = self.empty(len(array), dtype)
        np.asarray(native.typed(dtype.str))[:] = array
        return self.finished(native, dtype, array.shape)

    def result(self, native, dtype, shape=None):
        return self.finished(self._on_host(native, dtype), dtype, shape)

    def rows(self, native):
        dtype = np.dtype("i4")
        return from_native(self._on_host(native, dtype).typed(dtype.str, has_nulls=True), self.name)

    def is_row(self, rows):
        for name in ("is_not_null", "is_valid"):
            # The method has different names in polars and pyarrow.
            if hasattr(rows, name):
                return getattr(rows, name)()
        return np.asarray(rows) >= 0

    def _on_host(self, native, dtype):
        if native.on_host:
            return native
        copy = self.empty(len(native), dtype)
        native.copy_to(copy.address)
        return copy


class Torch(Library):
    name = "torch"

    def __init__(self, device: Any):
        import torch

        self.torch, self.device = torch, device
        self.gpu = (device.index or 0) if device.type == "cuda" else None
        self.types = {np.dtype(name): getattr(torch, name) for name in _SHARED_TYPES if hasattr(torch, name)}
        self.dtypes = {of_torch: of_numpy for of_numpy, of_torch in self.types.items()}
        #: The types of columns, of 4 or 8 bytes.
        self.of_columns = {of_torch: dtype for of_torch, dtype in self.dtypes.items() if dtype.itemsize in (4, 8)}
        # The handle alone, as torch's own compiler asks for it, where this torch has that.
        self.handle = getattr(torch._C, "_cuda_getCurrentRawStream", None)

    def array(self, x, what):
        if isinstance(x, self.torch.Tensor):
            check_no_mask(x, what)
            return x.detach() if x.requires_grad else x
        array = NUMPY.array(x, what)
        return self.torch.from_numpy(array if array.flags.writeable else array.copy()).to(self.device)

    def plain(self, x):
        if type(x) is not self.torch.Tensor:
            return None
        dtype, address = self.of_columns.get(x.dtype), x.data_ptr()
        if dtype is None or x.requires_grad or address % _ALIGNMENT or not self.is_contiguous(x):
            return None
        return dtype, x.shape, (address, x.numel(), self.gpu is None)

    def dtype(self, array, what):
        if array.dtype not in self.dtypes:
            better = "torch.float32" if array.dtype.is_floating_point else "torch.int64"
            raise TypeError(
                f"{what} has elements of type {array.dtype}: convert it to a type of 4 or 8 bytes, such as {better}"
            )
        return self.dtypes[array.dtype]

    def address(self, array):
        return array.data_ptr()

    def is_contiguous(self, array):
        return array.is_contiguous() and not array.is_neg() and not array.is_conj()

    def copy(self, array):
        return array.clone()

    def empty(self, length, dtype):
        return self.torch.empty(length, dtype=self.types[dtype], device=self.device)

    def view(self, array, dtype):
        return array.view(self.types[dtype])

    def stack(self, first, second):
        return self.torch.stack((first, second), dim=1)

    def without_signed_zeros(self, array):
        return self.torch.where(array != array, float("nan"), array + 0.0)

    def stream(self):
        if self.handle is not None:
            return self.handle(self.gpu)
        return self.torch.cuda.current_stream(self.device).cuda_stream

    def of_gpu(self, native):
        # The call's stream, which is current, waits for the contents already.
        return self.torch.from_dlpack(native.__dlpack__(stream=_READY))

    def of_numpy(self, array):
        return self.torch.from_numpy(array)


class CuPy(Library):
    name = "CuPy"

    def __init__(self, gpu: int):
        import cupy

        self.cupy, self.gpu = cupy, gpu

    def array(self, x, what):
        if isinstance(x, self.cupy.ndarray):
            return x
        with self.cupy.cuda.Device(self.gpu):
            return self.cupy.asarray(NUMPY.array(x, what))

    def dtype(self, array, what):
        return array.dtype

    def address(self, array):
        return array.data.ptr

    def is_contiguous(self, array):
        return array.flags.c_contiguous

    def copy(self, array):
        with self.cupy.cuda.Device(self.gpu):
            return array.copy()

    def empty(self, length, dtype):
        with self.cupy.cuda.Device(self.gpu):
            return self.cupy.empty(length, dtype)

    def view(self, array, dtype):
        return array.view(dtype)

    def stack(self, first, second):
        with self.cupy.cuda.Device(self.gpu):
            return self.cupy.stack((first, second), axis=1)

    def without_signed_zeros(self, array):
        with self.cupy.cuda.Device(self.gpu):
            return self.cupy.where(self.cupy.isnan(array), array.dtype.type("nan"), array + array.dtype.type(0))

    def stream(self):
        with self.cupy.cuda.Device(self.gpu):
            return self.cupy.cuda.get_current_stream().ptr

    def of_gpu(self, native):
        with self.cupy.cuda.Device(self.gpu):
            return self.cupy.asarray(native)


class DLPack(Library):
    """JAX on a GPU, whose arrays are exchanged by DLPack."""

    must_wait = True
    gpu: int

    def __init__(self, module: str, gpu: int):
        self.name, self.gpu = module, gpu

    def array(self, x, what):
        if not hasattr(x, "__dlpack__") or library_of(x).gpu != self.gpu:
            raise ValueError(f"{what} is on the host: make it an array of {self.name}, as the other ones are")
        return _native.import_dlpack(x)

    def dtype(self, array, what):
        return np.dtype(array.typestr)

    def address(self, array):
        return array.address

    def is_contiguous(self, array):
        return array.is_contiguous

    def copy(self, array):
        raise ValueError(f"an array of {self.name} does not begin at a multiple of {_ALIGNMENT} bytes: copy it first")

    def empty(self, length, dtype):
        return _native.empty((self.gpu, None, False), length, dtype.itemsize)

    def finished(self, array, dtype, shape):
        return self.of_gpu(array.typed(dtype.str)).reshape(shape)

    def view(self, array, dtype):
        return array

    def stack(self, first, second):
        raise TypeError(f"keys of two columns are not taken of {self.name}: take torch, CuPy or NumPy")

    def without_signed_zeros(self, array):
        raise TypeError(f"keys that are floating-point numbers are not taken of {self.name}: take torch, CuPy or NumPy")

    def stream(self):
        # The contents of imported arrays are ready on the default stream.
        return 0

    def of_gpu(self, native):
        import jax

        return jax.dlpack.from_dlpack(native)


NUMPY = NumPy()
# A library and a device have one object.
_torch_on: dict[Any, Torch] = {}
_cupy = functools.cache(CuPy)
_dlpack = functools.cache(DLPack)
_arrow = functools.cache(Arrow)


def is_array(x: Any) -> bool:
    """Returns whether a value is an array, a list or a column, and not one number."""
    return not is_value(x) and (
        bool(getattr(x, "shape", ()))
        or isinstance(x, (list, range))
        or is_arrow(x)
        or (not hasattr(x, "shape") and hasattr(x, "__len__") and not isinstance(x, (str, bytes)))
    )


def _is_of_library(x: Any) -> bool:
    """Returns whether a value is an array or a column, and no list, number or text."""
    if is_value(x) or isinstance(x, np.generic):
        return False
    return hasattr(x, "shape") or hasattr(x, "__dlpack__") or hasattr(x, "__array__") or is_arrow(x)


def _torch_of(x: Any) -> Library | None:
    """Returns the library of a tensor of torch, or None if the value is no such tensor."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(x, torch.Tensor):
        return None
    library = _torch_on.get(device := x.device)
    if library is None:
        if device.type not in ("cpu", "cuda"):
            raise ValueError(f"a tensor on {device} is not taken: move it to the CPU or a CUDA device first")
        library = _torch_on[device] = Torch(device)
    return library


def library_of_array(x: Any) -> Library | None:
    """Returns the library of an array if it is one of NumPy or torch, of which calls have most."""
    return NUMPY if type(x) is np.ndarray else _torch_of(x)


def library_of(x: Any) -> Library:
    """Returns the library of a value. It is NumPy for host values of no other library."""
    if isinstance(x, np.ndarray):
        return NUMPY
    if (of_torch := _torch_of(x)) is not None:
        return of_torch
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(x, cupy.ndarray):
        return _cupy(x.device.id)
    if hasattr(x, "__dlpack_device__"):
        kind, ordinal = x.__dlpack_device__()
        if kind in (2, 13):
            module = type(x).__module__.partition(".")[0]
            if module not in ("jax", "jaxlib"):
                raise TypeError(
                    f"arrays of {module} on a GPU are not taken: make one of torch or CuPy of it, by `from_dlpack`"
                )
            return _dlpack("jax", ordinal)
    return _arrow(package_of(x)) if is_arrow(x) else NUMPY


def common_library(values: dict[str, Any]) -> Library:
    """Returns the library of the values of a call, given by name. All values must be on one device.

    Lists and numbers are moved to the device of the arrays.
    """
    found: Library | None = None
    first = ""
    for what, value in values.items():
        library = library_of_array(value)
        if library is None:
            if not _is_of_library(value):
                continue
            library = library_of(value)
        if found is None:
            found, first = library, what
        elif library.gpu != found.gpu:
            where = {
                what: "on the host" if other.gpu is None else f"on {_devices.name(other.gpu)}"
                for what, other in ((first, found), (what, library))
            }
            raise ValueError(f"{first} is {where[first]} and {what} is {where[what]}: move one of them")
        elif found.gpu is not None and library.name != found.name:
            raise TypeError(
                f"{first} is an array of {found.name} and {what} one of {library.name}: convert one by `from_dlpack`"
            )
    return found or NUMPY
