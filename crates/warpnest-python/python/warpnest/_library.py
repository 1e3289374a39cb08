"""The interface of a library of arrays to calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _devices, _native

_INT32 = np.dtype("i4")


def plain(dtype: np.dtype) -> np.dtype:
    """Returns a type without what it says of Arrow."""
    return dtype if dtype.metadata is None else np.dtype(dtype.str)


class Library:
    """A library of arrays, together with the device of the arrays."""

    name: str
    #: The ordinal of the GPU, or None if the arrays are on the host.
    gpu: int | None = None
    #: Whether a call must wait for its work, because the library does not reveal its stream.
    must_wait = False
    #: Whether booleans are bits instead of bytes.
    has_bits = False

    def plain(self, x: Any) -> tuple[np.dtype, tuple[int, ...], tuple[int, int, bool]] | None:
        """Returns an array's type, its shape and what the native part takes, if it can be taken as it is."""
        return None

    def array(self, x: Any, what: str) -> Any:
        """Returns an argument as an array of this library."""
        raise NotImplementedError

    def dtype(self, array: Any, what: str) -> np.dtype:
        """Returns the type of the elements as a NumPy type."""
        raise NotImplementedError

    def address(self, array: Any) -> int:
        raise NotImplementedError

    def is_contiguous(self, array: Any) -> bool:
        raise NotImplementedError

    def copy(self, array: Any) -> Any:
        raise NotImplementedError

    def empty(self, length: int, dtype: np.dtype) -> Any:
        """Returns a new array for the native part to write."""
        raise NotImplementedError

    def view(self, array: Any, dtype: np.dtype) -> Any:
        """Returns the same memory as elements of another type of the same size."""
        raise NotImplementedError

    def stack(self, first: Any, second: Any) -> Any:
        """Copies two columns to an array of rows with two elements."""
        raise NotImplementedError

    def without_signed_zeros(self, array: Any) -> Any:
        """Returns a copy in which all zeros have the same sign and all NaNs have the same bits."""
        raise NotImplementedError

    def finished(self, array: Any, dtype: np.dtype, shape: tuple[int, ...]) -> Any:
        """Returns an array that `empty` made, after it was written, in its shape."""
        return array if array.shape == shape else array.reshape(shape)

    def of_bits(self, words: Any, length: int) -> Any:
        """Returns booleans from words that the native part wrote, if the library uses bits."""
        raise NotImplementedError

    def given(self, array: Any, dtype: np.dtype) -> Any:
        """Returns an array of this library in the form that the caller gets."""
        return array

    def stream(self) -> int | None:
        """Returns the handle of the stream that is current in the library."""
        return None

    def of_gpu(self, native: _native.Array) -> Any:
        """Returns a result in GPU memory as an array of this library."""
        raise NotImplementedError

    def of_numpy(self, array: np.ndarray) -> Any:
        """Returns a result in host memory as an array of this library."""
        raise NotImplementedError

    # The following methods are the same for all libraries.

    def target(self, device: Any = None) -> tuple[int, int | None, bool]:
        """Returns the device and the stream of a call with arrays of this library, and whether the call waits."""
        if self.gpu is None:
            return (_devices.default_number() if device is None else _devices.number(device), None, False)
        if device is not None and _devices.number(device) != self.gpu:
            raise ValueError(
                f"the arrays are on {_devices.name(self.gpu)} and the call is to run on {_devices.name(_devices.number(device))}: "
                "leave out `device`, or move the arrays there first"
            )
        return (self.gpu, self.stream(), self.must_wait)

    def raw(self, array: Any, count: int) -> tuple[int, int, bool]:
        """Returns an array with `count` elements in the form that the native part takes."""
        return (self.address(array), count, self.gpu is None)

    def result(self, native: _native.Array, dtype: np.dtype, shape: tuple[int, ...] | None = None) -> Any:
        """Returns a result of the native part in the form that the caller gets."""
        array = self.loaded(native, dtype)
        return array if shape is None or array.shape == shape else array.reshape(shape)

    def rows(self, native: _native.Array) -> Any:
        """Returns rows of a join, of which those that are not there are nulls, or -1 where there are no nulls."""
        return self.result(native, _INT32)

    def is_row(self, rows: Any) -> Any:
        """Returns which rows of a join are not missing."""
        return rows >= 0

    def loaded(self, native: _native.Array, dtype: np.dtype, columns: int | None = None) -> Any:
        """Returns a result of the native part as an array of this library."""
        if self.gpu is not None:
            return self.of_gpu(native.typed(dtype.str, columns))
        dtype = plain(dtype)
        if native.on_host:
            return self.of_numpy(native.to_numpy(dtype, columns))
        array = np.empty((len(native),) if columns is None else (len(native), columns), dtype)
        native.copy_to(_native.address(array))
        return self.of_numpy(array)
