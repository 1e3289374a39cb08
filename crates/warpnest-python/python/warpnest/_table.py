"""What maps, sets and multimaps have in common."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _devices
from ._arrow import objects
from ._columns import Flags, Keys, KeyType, check_type, keys
from ._exact import equal_value, is_value, one_value
from ._libraries import NUMPY, Library, common_library, is_array

#: What a key is refused by.
_REFUSED = (OverflowError, TypeError, ValueError)


class Table:
    """A table with keys on a device."""

    _native: Any
    _device: int
    _keys: KeyType
    #: The library that `keys`, `items` and the like give arrays of.
    _library: Library

    @property
    def device(self) -> str:
        """The device that the table is on: "cpu", "cuda:0" and so on."""
        return _devices.name(self._device)

    @property
    def key_dtype(self) -> np.dtype | tuple[np.dtype, ...]:
        """The type of the keys as one of NumPy; of keys of two columns, the types of both."""
        return self._keys.dtypes[0] if len(self._keys.dtypes) == 1 else self._keys.dtypes

    @property
    def nbytes(self) -> int:
        """The bytes that the table takes on its device, without the scratch of changes."""
        return self._native.bytes()

    def __len__(self) -> int:
        return len(self._native)

    def __bool__(self) -> bool:
        return len(self) != 0

    #: Otherwise Python would ask for the keys 0, 1, 2 and so on.
    __reversed__ = None

    def __array__(self, *args: Any, **keywords: Any) -> Any:
        # NumPy would ask for these keys, too.
        raise TypeError(f"a {type(self).__name__} is no array: ask it for its arrays first")

    def contains(self, q: Any) -> Any:
        """Returns whether each of the queries is there: booleans of their shape.

        `q` is an array of the type of the keys, or a tuple of two arrays for keys of two columns.
        For one key it is one boolean. On a GPU nothing is waited for.

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
        """Saves the table to a file, which replaces one that is there once it is whole.

        The file has the elements' sizes and not their types, so `load` must be told these.
        """
        self._native.save(os.fspath(path))

    # What follows is for the classes themselves.

    def _key_objects(self, native: Any) -> Iterator[Any]:
        """Returns an iterator over keys that the native part gave, as objects of Python."""
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
        """Returns a key alone, or None if no key of the table's type is equal to it, as a dict has it."""
        if is_many(key):
            if _is_hashable(key):
                return None
            raise TypeError("one key is asked for: take `contains` for an array of keys, or `get`")
        try:
            return self._queries(key)[1]
        except _REFUSED:
            pass
        # A number of another type may be equal, as 1.0 is to 1.
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
        library = column_library(q, "the queries")
        return library, keys(library, q, "the queries", self._keys), False


def is_many(key: Any) -> bool:
    """Returns whether a value is an array of keys, and not one key."""
    if is_value(key):
        return False
    return any(map(is_array, key)) if isinstance(key, tuple) else is_array(key)


def _is_hashable(key: Any) -> bool:
    """Returns whether a dict could have a value as a key, which it has no array as."""
    try:
        hash(key)
    except TypeError:
        return False
    return not any(hasattr(part, "shape") for part in (key if isinstance(key, tuple) else (key,)))


def key_lists(keys: list[Any], type: KeyType) -> Any:
    """Returns keys that are objects of Python as one list, or a tuple of two."""
    if len(type.dtypes) == 1:
        return keys
    if not all(isinstance(key, tuple) and len(key) == 2 for key in keys):
        raise TypeError(f"the keys are of {type}: pass tuples of two")
    return [key[0] for key in keys], [key[1] for key in keys]


def column_library(x: Any, what: str) -> Library:
    """Returns the library of an array, or of a tuple of columns."""
    return NUMPY if type(x) is np.ndarray else columns_library({what: x})


def columns_library(values: dict[str, Any]) -> Library:
    """Returns the library of arrays, of which some may be tuples of columns."""
    parts = {}
    for what, value in values.items():
        if isinstance(value, tuple):
            parts.update({f"column {at} of {what}": part for at, part in enumerate(value)})
        elif value is not None:
            parts[what] = value
    return common_library(parts)


def key_type(dtype: Any) -> KeyType:
    """Returns the type of keys by its name, or by two of them."""
    dtypes = tuple(map(np.dtype, dtype if isinstance(dtype, tuple) else (dtype,)))
    for one in dtypes:
        check_type(one, "the keys")
    found = KeyType(dtypes)
    if len(dtypes) not in (1, 2) or len(dtypes) == 2 and found.bytes != 8:
        raise TypeError(f"keys have one column, or two of 4 bytes each, and not {found}")
    return found


def describe(table: Table, counts: str, types: str) -> str:
    """Returns what a table is, for people."""
    size, unit = float(table.nbytes), "bytes"
    for larger in ("kB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    amount = f"{size:.0f}" if unit == "bytes" else f"{size:.1f}"
    return f"<warpnest.{type(table).__name__} of {counts}, {types}, {amount} {unit} on {table.device}>"
