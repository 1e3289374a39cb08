"""The multimap, which has several values per key."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import _native
from ._arrow import type_name
from ._columns import Output, check_type
from ._libraries import NUMPY
from ._map import _pairs
from ._table import Table, describe, key_type


class MultiMap(Table):
    """A map from keys to all of their values, in the order in which the values were given.

    It cannot be changed. Otherwise the description of `Map` applies to it.

    >>> import numpy as np
    >>> import warpnest as wn
    >>> m = wn.MultiMap(np.array([7, 8, 7]), np.array([1, 2, 3]))
    >>> m.count(np.array([7, 9]))
    array([2, 0], dtype=int32)
    >>> m[7]
    array([1, 3])
    >>> offsets, values = m.find(np.array([8, 7]))
    >>> offsets, values
    (array([0, 1, 3]), array([2, 1, 3]))
    """

    def __init__(self, keys: Any, values: Any, *, device: Any = None):
        library, (self._keys, key_array), value_array = _pairs(keys, values)
        self._values, self._library = value_array.dtype, library
        target = library.target(device)
        self._device = target[0]
        sizes = (self._keys.bytes, self._values.itemsize)
        self._native = _native.build_multi_map(target, key_array, value_array, sizes)

    @classmethod
    def load(cls, path: str | os.PathLike[str], key_dtype: Any, value_dtype: Any, *, device: Any = None) -> MultiMap:
        """Loads a multimap that `save` wrote, on any device. The types must equal the saved multimap's types."""
        map = cls.__new__(cls)
        map._keys, map._values, map._library = key_type(key_dtype), np.dtype(value_dtype), NUMPY
        check_type(map._values, "the values")
        target = NUMPY.target(device)
        map._device = target[0]
        map._native = _native.load_multi_map(target, os.fspath(path), (map._keys.bytes, map._values.itemsize))
        return map

    @property
    def value_dtype(self) -> np.dtype:
        """The type of the values, as a NumPy type."""
        return self._values

    @property
    def key_count(self) -> int:
        """The count of distinct keys. `len` returns the count of all values."""
        return self._native.key_count()

    def count(self, q: Any) -> Any:
        """Returns the count of each key's values, as 32-bit integers in the shape of the queries."""
        library, queries, is_one = self._queries(q)
        output = Output(library, queries.length, np.dtype("i4"))
        self._native.count(self._target(library), queries, output)
        counts = output.finished(queries.shape)
        return int(counts[0]) if is_one else counts

    def find(self, q: Any) -> tuple[Any, Any]:
        """Returns all values of keys. The values of query `i` are `values[offsets[i]:offsets[i + 1]]`.

        There is one more offset than queries. A missing key has no values.
        """
        library, queries, _ = self._queries(q)
        offsets, values = self._native.retrieve(self._target(library), queries)
        return library.result(offsets, np.dtype("i8")), library.result(values, self._values)

    def __getitem__(self, key: Any) -> Any:
        """Returns the values of one key as an array. Raises `KeyError` if there are none."""
        library, _, is_one = self._queries(key)
        if not is_one:
            raise TypeError("`m[key]` asks for one key: take `find` for an array of keys")
        values = self.find(key)[1]
        if len(values) == 0:
            raise KeyError(key)
        return values

    #: Otherwise Python would iterate by looking up the keys 0, 1, 2 and so on.
    __iter__ = None

    def __repr__(self) -> str:
        return describe(
            self, f"{len(self):,} values of {self.key_count:,} keys", f"{self._keys} to {type_name(self._values)}"
        )
