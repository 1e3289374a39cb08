"""The common part of maps, sets and multimaps."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _devices
from ._arrow import objects
from ._columns import Flags, Keys, KeyType, check_type, keys
from ._exact import equal_value, is_value, one_value
from ._libraries import NUMPY, Library, common_library, is_array, library_of_array

#: The exceptions by which a key is refused.
_REFUSED = (OverflowError, TypeError, ValueError)


class Table:
    """A table with keys on a device."""

    _native: Any
    _device: int
    _keys: KeyType
    #: The library of the arrays that `keys`, `to_arrays` and similar methods return.
    _library: Library

    @property
    def device(self) -> str:
        """The device of the table, such as "cpu" or "cuda:0"."""
        return _devices.name(self._device)

    @property
    def key_dtype(self) -> np.dtype | tuple[np.dtype, ...]:
        """The type of the keys as a NumPy type, or two types for keys of two columns."""
        return self._keys.dtypes[0] if len(self._keys.dtypes) == 1 else self._keys.dtypes

    @property
    def nbytes(self) -> int:
        """The bytes of the table on its device, without the scratch memory for changes."""
        return self._native.bytes()

    def __len__(self) -> int:
        return len(self._native)

    def __bool__(self) -> bool:
        return len(self) != 0

    #: Otherwise Python would reverse the table by looking up the keys 0, 1, 2 and so on.
    __reversed__ = None

    def __array__(self, *args: Any, **keywords: Any) -> Any:
        # Otherwise NumPy would convert the table by looking up the keys 0, 1, 2 and so on.
        raise TypeError(f"a {type(self).__name__} is no array: ask it for its arrays first")

    def contains(self, q: Any) -> Any:
        """Returns whether the table contains each query, as booleans in the shape of the queries.

        `q` is an array of the keys' type, or a tuple of two arrays for keys of two columns. For one
        key, the result is one boolean. With an array on a GPU, this does not wait for the lookup.

        >>> import numpy as np, warpnest as wn
        >>> wn.Set(np.array([3, 5, 8])).contains(np.array([5, 6]))
        array([ True, False])
        """
        library, queries, is_one = self._queries(q)
        found = self._contains(library, queries)
        return bool(found[0]) if is_one else found

    def _contains(self, library: Library, queries: Keys) -> Any:
        flags = Flags(library, queries.length)
        self._native.contains(self._target(library), queries, flags.column)
        return flags.finished(queries.shape)

    def __contains__(self, key: Any) -> bool:
        query = self._one(key)
        return query is not None and bool(self._contains(NUMPY, query)[0])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the table to a file. An existing file is replaced only when the new file is complete.

        The file contains the sizes of the elements but not their types, so `load` needs the types.
        """
        self._native.save(os.fspath(path))

    # The following methods are used only by the classes themselves.

    def _key_objects(self, native: Any) -> Iterator[Any]:
        """Returns an iterator over keys from the native part, as Python objects."""
        keys = self._keys.decoded(NUMPY, native)
        columns = [objects(*part) for part in zip(keys if isinstance(keys, tuple) else (keys,), self._keys.dtypes)]
        return iter(columns[0] if len(columns) == 1 else list(zip(*columns)))

    def _target(self, library: Library) -> tuple[int, int | None, bool]:
        if library.gpu is None:
            return (self._device, None, False)
        if library.gpu != self._device:
            raise ValueError(
                f"the arrays are on {_devices.name(library.gpu)} and the table is on {self.device}: move the arrays "
                "there, or build a table where they are"
            )
        return (self._device, library.stream(), library.must_wait)

    def _one(self, key: Any) -> Keys | None:
        """Returns one key as a query, or None if it cannot equal a key of the table's type, as in a dict."""
        if is_many(key):
            if _is_hashable(key):
                return None
            raise TypeError("one key is asked for: take `contains` for an array of keys, or `get`")
        try:
            return self._queries(key)[1]
        except _REFUSED:
            pass
        # A number of another type may be equal, as 1.0 equals 1.
        parts = key if isinstance(key, tuple) else (key,)
        if len(parts) != len(self._keys.dtypes):
            return None
        try:
            return self._queries(tuple(map(equal_value, parts, self._keys.dtypes)))[1]
        except _REFUSED:
            return None

    def _queries(self, q: Any) -> tuple[Library, Keys, bool]:
        """Returns the library, the queries, and whether it is one key alone."""
        if not is_many(q):
            parts = q if isinstance(q, tuple) else (q,)
            if len(parts) != len(self._keys.dtypes):
                raise TypeError(
                    f"the key has {len(parts)} columns, and the keys have {len(self._keys.dtypes)}: {self._keys}"
                )
            if len(parts) == 1:
                value: Any = one_value(parts[0], "the key", self._keys.dtypes[0])
            else:
                value = tuple([one_value(part, "the key", dtype) for part, dtype in zip(parts, self._keys.dtypes)])
            return NUMPY, keys(NUMPY, value, "the key", self._keys), True
        return *self._many(q), False

    def _many(self, q: Any) -> tuple[Library, Keys]:
        """Returns the library and the queries of an array of keys."""
        library = column_library(q, "the queries")
        return library, keys(library, q, "the queries", self._keys)


def is_many(key: Any) -> bool:
    """Returns whether a value is an array of keys, and not one key."""
    if getattr(key, "shape", ()):
        return True
    if is_value(key):
        return False
    return any(map(is_array, key)) if isinstance(key, tuple) else is_array(key)


def _is_hashable(key: Any) -> bool:
    """Returns whether a dict could have the value as a key. Arrays cannot be keys of a dict."""
    try:
        hash(key)
    except TypeError:
        return False
    return not any(hasattr(part, "shape") for part in (key if isinstance(key, tuple) else (key,)))


def key_lists(keys: list[Any], type: KeyType) -> Any:
    """Returns keys that are Python objects as one list, or as a tuple of two lists."""
    if len(type.dtypes) == 1:
        return keys
    if not all(isinstance(key, tuple) and len(key) == 2 for key in keys):
        raise TypeError(f"the keys are of {type}: pass tuples of two")
    return [key[0] for key in keys], [key[1] for key in keys]


def column_library(x: Any, what: str) -> Library:
    """Returns the library of an array, or of a tuple of columns."""
    return library_of_array(x) or columns_library({what: x})


def columns_library(values: dict[str, Any]) -> Library:
    """Returns the library of arguments, some of which may be tuples of columns."""
    parts = {}
    for what, value in values.items():
        if isinstance(value, tuple):
            parts.update({f"column {at} of {what}": part for at, part in enumerate(value)})
        elif value is not None:
            parts[what] = value
    return common_library(parts)


def key_type(dtype: Any) -> KeyType:
    """Returns the key type for one NumPy type, or for a tuple of two."""
    dtypes = tuple(map(np.dtype, dtype if isinstance(dtype, tuple) else (dtype,)))
    for one in dtypes:
        check_type(one, "the keys")
    found = KeyType(dtypes)
    if len(dtypes) not in (1, 2) or len(dtypes) == 2 and found.bytes != 8:
        raise TypeError(f"keys have one column, or two of 4 bytes each, and not {found}")
    return found


def describe(table: Table, counts: str, types: str) -> str:
    """Returns a description of a table for people."""
    size, unit = float(table.nbytes), "bytes"
    for larger in ("kB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    amount = f"{size:.0f}" if unit == "bytes" else f"{size:.1f}"
    return f"<warpnest.{type(table).__name__} of {counts}, {types}, {amount} {unit} on {table.device}>"
