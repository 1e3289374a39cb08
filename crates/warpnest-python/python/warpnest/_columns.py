"""Columns: the arguments of callers, checked and converted for the native part."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._arrow import is_same, type_name
from ._exact import converted, is_list, is_value
from ._libraries import _ALIGNMENT, Library

#: The kinds of supported NumPy types: integers, floating-point numbers, times, and texts of a fixed size.
_KINDS = "iufmMSU"
_INT32 = np.dtype("i4")
_BOOL = np.dtype("?")


class Column:
    """A contiguous array of elements of 4 or 8 bytes."""

    __slots__ = ("array", "dtype", "length", "library", "raw", "shape")

    def __init__(
        self,
        library: Library,
        array: Any,
        dtype: np.dtype,
        shape: tuple[int, ...],
        raw: tuple[int, int, bool] | None = None,
    ):
        self.library, self.array, self.dtype, self.shape = library, array, dtype, shape
        #: The column as the native part reads it, which holds this object meanwhile.
        self.raw = library.raw(array, math.prod(shape)) if raw is None else raw
        self.length = self.raw[1]


def column(library: Library, x: Any, what: str, dtype: np.dtype | None = None) -> Column:
    """Returns an argument as a column, whatever its shape. Fails unless its elements are of `dtype`.

    Lists and single values are converted to `dtype`. An array on a GPU is copied if it does not
    begin at a multiple of 16 bytes.
    """
    plain = library.plain(x)
    if plain is not None and (dtype is None or dtype is plain[0] or is_same(plain[0], dtype)):
        return Column(library, x, *plain)
    if dtype is not None and (is_value(x) or is_list(x)):
        x = converted(x, what, dtype)
    array = library.array(x, what)
    found = library.dtype(array, what)
    check_type(found, what)
    if dtype is not None and not is_same(found, dtype):
        raise TypeError(
            f"{what} has elements of type {type_name(found)}, and {type_name(dtype)} is wanted: "
            "convert one of them to a type that has all elements of both"
        )
    if not library.is_contiguous(array):
        raise ValueError(f"{what} is strided, its elements do not lie one after another: pass a contiguous copy of it")
    shape = tuple(array.shape)
    raw = library.raw(array, math.prod(shape))
    if library.gpu is not None and raw[0] % _ALIGNMENT:
        array = library.copy(array)
        raw = library.raw(array, raw[1])
    return Column(library, array, found, shape, raw)


def check_type(dtype: np.dtype, what: str) -> None:
    """Fails unless elements of this type are supported."""
    if dtype.kind not in _KINDS or dtype.itemsize not in (4, 8):
        raise TypeError(
            f"{what} has elements of type {dtype}, and those that are taken have 4 or 8 bytes: convert it, for example to {_better(dtype)}"
        )
    if not dtype.isnative:
        raise TypeError(
            f"{what} has the bytes of its elements in another order than this machine: convert it to {dtype.newbyteorder('=')}"
        )


def _better(dtype: np.dtype) -> str:
    """Returns the name of a supported type that can represent all elements of an unsupported one."""
    if dtype.kind in "SU":
        return "S4, S8, U1 or U2, if no text is longer"
    if dtype.kind == "c":
        return "two columns of float32, `real` and `imag`"
    if dtype.kind == "f":
        return "float32" if dtype.itemsize < 4 else "float64, if all elements stay the same"
    return "uint32" if dtype.kind in "ub" else "int64"


class Output:
    """A new array that the native part writes."""

    __slots__ = ("array", "dtype", "library", "raw")

    def __init__(self, library: Library, length: int, dtype: np.dtype):
        self.library, self.dtype = library, dtype
        self.array = library.empty(length, dtype)
        self.raw = library.raw(self.array, length)

    def finished(self, shape: tuple[int, ...]) -> Any:
        """Returns the array in the given shape, after the native part has written it."""
        return self.library.finished(self.array, self.dtype, shape)


class Flags:
    """New booleans that the native part writes, one for each query: bytes, or bits if the library has these."""

    __slots__ = ("length", "library", "output")

    def __init__(self, library: Library, length: int):
        self.library, self.length = library, length
        self.output = Output(library, -(-length // 32), _INT32) if library.has_bits else Output(library, length, _BOOL)

    @property
    def column(self) -> tuple[Output, bool]:
        """The array as the native part takes it, and whether it has bits."""
        return self.output, self.library.has_bits

    def finished(self, shape: tuple[int, ...], invert: bool = False) -> Any:
        """Returns the booleans after they were written, in a shape."""
        if not self.library.has_bits:
            found = self.output.finished(shape)
            return ~found if invert else found
        if invert:
            words = np.asarray(self.output.array)
            np.invert(words, out=words)
        return self.library.of_bits(self.output.array, self.length)


@dataclass(frozen=True)
class KeyType:
    """The types of a key's one or two columns."""

    dtypes: tuple[np.dtype, ...]

    @functools.cached_property
    def bytes(self) -> int:
        return sum(dtype.itemsize for dtype in self.dtypes)

    @functools.cached_property
    def kind(self) -> str:
        """The name of the type that has the order of the keys."""
        return "".join(map(_kind, self.dtypes))

    @functools.cached_property
    def is_plain(self) -> bool:
        """Whether keys are one column that is taken as it is."""
        return len(self.dtypes) == 1 and self.dtypes[0].kind != "f"

    def __str__(self) -> str:
        names = [type_name(dtype) for dtype in self.dtypes]
        return names[0] if len(names) == 1 else f"({', '.join(names)})"

    def is_same(self, other: KeyType) -> bool:
        """Returns whether keys of two types can be compared."""
        return len(self.dtypes) == len(other.dtypes) and all(map(is_same, self.dtypes, other.dtypes))

    def check_order(self, what: str) -> None:
        """Fails if the order of the keys differs from the order of integers."""
        if any(dtype.kind in "SU" for dtype in self.dtypes):
            raise TypeError(f"{what} has texts, whose order is not known here: take `sorted=False`")

    def decoded(self, library: Library, native: Any) -> Any:
        """Returns keys from the native part as one array or two arrays.

        Two columns are copied from rows of two elements, and floating-point numbers are copied from
        integers.
        """
        if len(self.dtypes) == 1:
            (dtype,) = self.dtypes
            if dtype.kind != "f":
                return library.result(native, dtype)
            return library.given(_decoded(library, library.loaded(native, _integers(dtype)), dtype), dtype)
        rows = library.loaded(native, _INT32, 2)
        return tuple(
            library.given(_decoded(library, library.copy(rows[:, at]), dtype, _INT32), dtype)
            for at, dtype in enumerate(self.dtypes)
        )


class Keys:
    """Keys of one or two columns, as the native part takes them."""

    __slots__ = ("column", "length", "raw", "type")

    def __init__(self, type: KeyType, column: Column):
        self.type, self.column = type, column
        address, count, on_host = column.raw
        self.length = count // len(type.dtypes)
        self.raw = (address, self.length, on_host)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the answers for these keys."""
        return self.column.shape if len(self.type.dtypes) == 1 else (self.length,)


def keys(library: Library, x: Any, what: str, wanted: KeyType | None = None) -> Keys:
    """Returns keys: an array, or a tuple of two arrays of 4-byte elements.

    Two columns are copied to rows of two elements, and floating-point numbers are copied to
    integers.
    """
    if wanted is not None and wanted.is_plain:
        plain = library.plain(x)
        if plain is not None and plain[0] is wanted.dtypes[0]:
            return Keys(wanted, Column(library, x, *plain))
    columns = x if isinstance(x, tuple) else (x,)
    if len(columns) == 1 and (wanted is None or len(wanted.dtypes) == 1):
        part = column(library, columns[0], what, None if wanted is None else wanted.dtypes[0])
        return Keys(_type_of(part.dtype), _encoded(part) if part.dtype.kind == "f" else part)
    if not 1 <= len(columns) <= 2:
        raise ValueError(f"{what} has {len(columns)} columns, and keys have one or two")
    if wanted is not None and len(columns) != len(wanted.dtypes):
        raise TypeError(f"{what} has {len(columns)} columns, and the keys have {len(wanted.dtypes)}: {wanted}")
    dtypes = (None, None) if wanted is None else wanted.dtypes
    parts = [column(library, columns[at], f"column {at} of {what}", dtypes[at]) for at in (0, 1)]
    type = KeyType((parts[0].dtype, parts[1].dtype))
    if type.bytes != 8:
        raise TypeError(
            f"keys of two columns have 4 bytes each, and {what} is of {type}: convert the columns, for example to int32"
        )
    if parts[0].shape != parts[1].shape or len(parts[0].shape) != 1:
        raise ValueError(
            f"the two columns of {what} have the shapes {parts[0].shape} and {parts[1].shape}: they must be equally long"
        )
    rows = library.stack(*(library.view(_encoded(part).array, _INT32) for part in parts))
    return Keys(type, Column(library, rows, _INT32, tuple(rows.shape)))


def _type_of(dtype: np.dtype) -> KeyType:
    """Returns the type of keys of one column."""
    # Types that differ in what they say of Arrow are equal.
    return _plain_type(dtype) if dtype.metadata is None else KeyType((dtype,))


@functools.cache
def _plain_type(dtype: np.dtype) -> KeyType:
    return KeyType((dtype,))


def _kind(dtype: np.dtype) -> str:
    return f"{'u' if dtype.kind in 'uSU' else 'i'}{dtype.itemsize}"


def _integers(dtype: np.dtype) -> np.dtype:
    """Returns the type of the integers that represent keys of this type in the native part."""
    return np.dtype(f"i{dtype.itemsize}") if dtype.kind == "f" else dtype


def _encoded(part: Column) -> Column:
    """Returns a column as integers that have the same order as the elements, and are equal for equal elements."""
    if part.dtype.kind != "f":
        return part
    library, integers = part.library, _integers(part.dtype)
    array = _flipped(library.view(library.without_signed_zeros(part.array), integers), integers)
    # NumPy operations on an array without dimensions return a scalar.
    array = library.array(array, "the keys") if part.shape == () else array
    return Column(library, array, integers, part.shape)


def _decoded(library: Library, array: Any, dtype: np.dtype, held: np.dtype | None = None) -> Any:
    if dtype.kind == "f":
        return library.view(_flipped(array, _integers(dtype)), dtype)
    return array if held is None or held == dtype else library.view(array, dtype)


def _flipped(array: Any, dtype: np.dtype) -> Any:
    """Flips the lower bits of negative integers, so that they order floating-point numbers. Is its own inverse."""
    bits = 8 * dtype.itemsize
    return array ^ ((array >> (bits - 1)) & ((1 << (bits - 1)) - 1))
