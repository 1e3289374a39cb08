"""Columns: the arguments of callers, checked and converted for the native part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._arrow import is_same, type_name
from ._exact import converted, is_list, is_value
from ._libraries import _ALIGNMENT, Library

#: The kinds of supported NumPy types: integers, floating-point numbers, times, and texts of a fixed size.
_KINDS = "iufmMSU"


@dataclass(frozen=True)
class Column:
    """A contiguous array of elements of 4 or 8 bytes."""

    library: Library
    array: Any
    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def length(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def raw(self) -> tuple[int, int, bool]:
        """The column as the native part reads it. This object keeps the memory alive during the call."""
        return self.library.raw(self.array, self.length)


def column(library: Library, x: Any, what: str, dtype: np.dtype | None = None) -> Column:
    """Returns an argument as a column, whatever its shape. Fails unless its elements are of `dtype`.

    Lists and single values are converted to `dtype`. An array on a GPU is copied if it does not
    begin at a multiple of 16 bytes.
    """
    if dtype is not None and type(x) is not np.ndarray and (is_value(x) or is_list(x)):
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
    if library.gpu is not None and library.address(array) % _ALIGNMENT:
        array = library.copy(array)
    return Column(library, array, found, tuple(array.shape))


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


@dataclass(frozen=True)
class Output:
    """A new array that the native part writes."""

    library: Library
    array: Any
    dtype: np.dtype
    length: int

    @classmethod
    def new(cls, library: Library, length: int, dtype: Any) -> Output:
        dtype = np.dtype(dtype)
        return cls(library, library.empty(length, dtype), dtype, length)

    @property
    def raw(self) -> tuple[int, int, bool]:
        return self.library.raw(self.array, self.length)

    def finished(self, shape: tuple[int, ...]) -> Any:
        """Returns the array in the given shape, after the native part has written it."""
        return self.library.finished(self.array, self.dtype, shape)


@dataclass(frozen=True)
class Flags:
    """New booleans that the native part writes, one for each query.

    They are first written as bits in 32-bit words, and then as bytes, unless the library itself
    uses bits.
    """

    library: Library
    bytes: Output | None
    bits: Output
    length: int

    @classmethod
    def new(cls, library: Library, length: int) -> Flags:
        bytes = None if library.has_bits else Output.new(library, length, bool)
        return replace(cls.bits_only(library, length), bytes=bytes)

    @classmethod
    def bits_only(cls, library: Library, length: int) -> Flags:
        """Returns memory for flags that were not requested."""
        return cls(library, None, Output.new(library, -(-length // 32), "i4"), length)

    @property
    def columns(self) -> tuple[Output | None, Output]:
        """The arrays as the native part takes them."""
        return self.bytes, self.bits

    def finished(self, shape: tuple[int, ...], invert: bool = False) -> Any:
        """Returns the booleans in the given shape, after the native part has written them."""
        if self.bytes is not None:
            found = self.bytes.finished(shape)
            return ~found if invert else found
        if invert:
            words = np.asarray(self.bits.array)
            np.invert(words, out=words)
        return self.library.of_bits(self.bits.array, self.length)


@dataclass(frozen=True)
class KeyType:
    """The types of a key's one or two columns."""

    dtypes: tuple[np.dtype, ...]

    @property
    def bytes(self) -> int:
        return sum(dtype.itemsize for dtype in self.dtypes)

    @property
    def kind(self) -> str:
        """The name of the native type whose order is the order of the keys."""
        return "".join(_kind(dtype) for dtype in self.dtypes)

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
        integers = np.dtype("i4")
        rows = library.loaded(native, integers, 2)
        return tuple(
            library.given(_decoded(library, library.copy(rows[:, at]), dtype, integers), dtype)
            for at, dtype in enumerate(self.dtypes)
        )


@dataclass(frozen=True)
class Keys:
    """Keys of one or two columns, as the native part takes them."""

    type: KeyType
    column: Column

    @property
    def length(self) -> int:
        return self.column.length // len(self.type.dtypes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the answers for these keys."""
        return self.column.shape if len(self.type.dtypes) == 1 else (self.length,)

    @property
    def raw(self) -> tuple[int, int, bool]:
        return self.column.library.raw(self.column.array, self.length)


def keys(library: Library, x: Any, what: str, wanted: KeyType | None = None) -> Keys:
    """Returns keys: an array, or a tuple of two arrays of 4-byte elements.

    Two columns are copied to rows of two elements, and floating-point numbers are copied to
    integers.
    """
    columns = x if isinstance(x, tuple) else (x,)
    if len(columns) not in (1, 2):
        raise ValueError(f"{what} has {len(columns)} columns, and keys have one or two")
    if wanted is not None and len(columns) != len(wanted.dtypes):
        raise TypeError(f"{what} has {len(columns)} columns, and the keys have {len(wanted.dtypes)}: {wanted}")
    names = [what] if len(columns) == 1 else [f"column {at} of {what}" for at in (0, 1)]
    dtypes = wanted.dtypes if wanted is not None else (None, None)
    parts = [column(library, part, name, dtype) for part, name, dtype in zip(columns, names, dtypes)]
    type = KeyType(tuple(part.dtype for part in parts))
    encoded = [_encoded(part) for part in parts]
    if len(parts) == 1:
        return Keys(type, encoded[0])
    if type.bytes != 8:
        raise TypeError(
            f"keys of two columns have 4 bytes each, and {what} is of {type}: convert the columns, for example to int32"
        )
    if parts[0].shape != parts[1].shape or len(parts[0].shape) != 1:
        raise ValueError(
            f"the two columns of {what} have the shapes {parts[0].shape} and {parts[1].shape}: they must be equally long"
        )
    integers = np.dtype("i4")
    rows = library.stack(*(library.view(part.array, integers) for part in encoded))
    return Keys(type, Column(library, rows, integers, tuple(rows.shape)))


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
