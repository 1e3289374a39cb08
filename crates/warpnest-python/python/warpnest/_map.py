"""The hash map from keys to values."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from . import _native
from ._arrow import element, is_same, objects, type_name
from ._columns import Column, Flags, Keys, KeyType, Output, check_type, column, keys
from ._exact import one_value
from ._libraries import NUMPY, Library
from ._table import Table, columns_library, describe, is_many, key_lists, key_type
from ._views import MISSING, Items


class Map(Table):
    """A hash map from keys to values, on a GPU or on all cores of the CPU.

    `keys` is an array of any type of 4 or 8 bytes, or a tuple of two arrays of 4 bytes. `values`
    has the same length, and any such type. If a key is repeated, its last value counts. The map is
    on the device of the arrays. For host arrays, it is on `device` or the default device.

    >>> import numpy as np
    >>> import warpnest as wn
    >>> m = wn.Map(np.array([10, 20, 30]), np.array([1.5, 2.5, 3.5]))
    >>> m[np.array([30, 10])]
    array([3.5, 1.5])
    >>> m.get(np.array([20, 21]), default=-1)
    array([ 2.5, -1. ])
    >>> m[20], 21 in m, len(m)
    (2.5, False, 3)

    torch tensors work in the same way, and the results are tensors. On a GPU no lookup waits,
    except `m[q]`, which must know whether all keys were found.

    Looking up one key takes as long as looking up thousands, so look up many keys at a time.
    Several threads may do lookups at the same time, and a change waits for them. Arrays must not be
    written during a call that uses them.

    `assume_unique` promises that no key is repeated, which makes the build faster. If a key is
    repeated nevertheless, a lookup finds any of its values, and `len` counts the key several times.
    """

    #: The last default of `get`, and its bits.
    _last_default: tuple[Any, int] = (None, 0)

    def __init__(self, keys: Any, values: Any, *, assume_unique: bool = False, device: Any = None):
        library, (self._keys, key_array), value_array = _pairs(keys, values)
        self._values, self._library = value_array.dtype, library
        target = library.target(device)
        self._device = target[0]
        sizes = (self._keys.bytes, self._values.itemsize)
        self._native = _native.build_map(target, key_array, value_array, sizes, assume_unique)

    @classmethod
    def empty(cls, key_dtype: Any, value_dtype: Any, *, capacity: int = 0, device: Any = None) -> Map:
        """Returns an empty map with capacity for `capacity` keys. It grows automatically beyond that.

        >>> import numpy as np, warpnest as wn
        >>> m = wn.Map.empty(np.int64, np.float32)
        >>> m.insert(np.array([7, 8]), np.array([0.5, 0.25], np.float32))
        2
        """
        map, target, sizes = cls._of_types(key_dtype, value_dtype, device)
        map._native = _native.create_map(target, sizes)
        if capacity:
            map.reserve(capacity)
        return map

    @classmethod
    def load(cls, path: str | os.PathLike[str], key_dtype: Any, value_dtype: Any, *, device: Any = None) -> Map:
        """Loads a map that `save` wrote, on any device. The types must equal the saved map's types."""
        map, target, sizes = cls._of_types(key_dtype, value_dtype, device)
        map._native = _native.load_map(target, os.fspath(path), sizes)
        return map

    @classmethod
    def _of_types(
        cls, key_dtype: Any, value_dtype: Any, device: Any
    ) -> tuple[Map, tuple[int, int | None, bool], tuple[int, int]]:
        map = cls.__new__(cls)
        map._keys, map._values, map._library = key_type(key_dtype), np.dtype(value_dtype), NUMPY
        check_type(map._values, "the values")
        target = NUMPY.target(device)
        map._device = target[0]
        return map, target, (map._keys.bytes, map._values.itemsize)

    @property
    def value_dtype(self) -> np.dtype:
        """The type of the values, as a NumPy type."""
        return self._values

    def __getitem__(self, q: Any) -> Any:
        """Returns the values of keys, or the value of one key. All keys must be in the map.

        Raises `KeyError` if a key is missing. On a GPU this waits for the lookup; `get` and `find`
        do not.
        """
        library, queries, is_one = self._queries(q)
        values, count = self._get(library, queries, count=True)
        if count != queries.length:
            raise KeyError(self._absent(q, queries.length - count, queries.length, is_one))
        return element(values, self._values) if is_one else values

    def get(self, q: Any, default: Any = None) -> Any:
        """Returns the values of keys, and `default` for keys that are not in the map.

        For one key, the default is None, as in a dict. For an array, `default` is required, and
        must be a number of the values' type. With an array on a GPU, this does not wait for the
        lookup.
        """
        if not is_many(q):
            query = self._one(q)
            if query is None:
                return default
            values, count = self._get(NUMPY, query, count=True)
            return element(values, self._values) if count else default
        if default is None:
            raise TypeError("say which value keys that are not there get, `get(q, default)`, or take `find(q)`")
        return self._get(*self._many(q), default=default)[0]

    def find(self, q: Any) -> tuple[Any, Any]:
        """Returns the values of keys, and whether each key was found. Values of missing keys are 0.

        >>> import numpy as np, warpnest as wn
        >>> wn.Map(np.array([1, 2]), np.array([10, 20])).find(np.array([2, 3]))
        (array([20,  0]), array([ True, False]))
        """
        library, queries, is_one = self._queries(q)
        flags = Flags(library, queries.length)
        values = self._get(library, queries, flags=flags)[0]
        found = flags.finished(queries.shape)
        return (element(values, self._values), bool(found[0])) if is_one else (values, found)

    def _get(
        self, library: Library, queries: Keys, default: Any = None, flags: Flags | None = None, count: bool = False
    ) -> tuple[Any, int]:
        """Returns the values and, if asked for, how many keys were found; says which ones in `flags`."""
        values = Output(library, queries.length, self._values)
        wanted = (None if default is None else self._word(default), count)
        outputs = (values, None if flags is None else flags.column)
        number = self._native.get(self._target(library), queries, outputs, wanted)
        return values.finished(queries.shape), number

    def _word(self, default: Any) -> int:
        """Returns the bits of a default as an integer. Programs mostly have one default."""
        held, word = self._last_default
        if held is not default or type(default) not in (int, float):
            word = int(one_value(default, "the default", self._values).view(f"u{self._values.itemsize}")[0])
            self._last_default = (default, word)
        return word

    def _absent(self, q: Any, missing: int, asked: int, is_one: bool) -> Any:
        if is_one:
            return q
        first = int(np.argmin(np.asarray(_to_host(self.contains(q))).reshape(-1)))
        parts = [np.asarray(_to_host(part)).reshape(-1)[first].item() for part in (q if isinstance(q, tuple) else (q,))]
        key = parts[0] if len(parts) == 1 else tuple(parts)
        return f"{missing:,} of {asked:,} keys are not in the map, the first of them {key}, at {first}; take `get` or `find` if that may be"

    def insert(self, keys: Any, values: Any) -> int:
        """Sets the values of keys, including keys that are in the map already. Returns the count of new keys.

        If a key is repeated, its last value counts. The map grows as needed. Waits until the change
        is complete.
        """
        library, (_, key_array), value_array = _pairs(keys, values, self._keys, self._values)
        return self._native.insert(self._target(library), key_array, value_array)

    def remove(self, keys: Any) -> int:
        """Removes the keys that are in the map, and returns how many were removed."""
        library, queries, _ = self._queries(keys)
        return self._native.remove(self._target(library), queries)

    def __setitem__(self, keys: Any, values: Any) -> None:
        if is_many(keys):
            self.insert(keys, values)
        else:
            _, key, _ = self._queries(keys)
            value = column(NUMPY, one_value(values, "the value", self._values), "the value")
            self._native.insert(self._target(NUMPY), key, value)

    def __delitem__(self, keys: Any) -> None:
        library, queries, is_one = self._queries(keys)
        missing = int((~np.asarray(_to_host(self.contains(keys)), bool)).sum())
        if missing:
            raise KeyError(self._absent(keys, missing, queries.length, is_one))
        self._native.remove(self._target(library), queries)

    def items(self) -> Items:
        """Returns the pairs as Python objects, one by one. `dict(m.items())` is the map as a dict.

        >>> import numpy as np, warpnest as wn
        >>> sorted(wn.Map(np.array([1, 2]), np.array([0.5, 1.5])).items())
        [(1, 0.5), (2, 1.5)]
        """
        return Items(self)

    def to_arrays(self) -> tuple[Any, Any]:
        """Returns all keys and their values as two arrays with the same, arbitrary order.

        They are arrays of the library with which the map was built, and have their own memory.
        """
        return self._arrays(self._library)

    def _arrays(self, library: Library) -> tuple[Any, Any]:
        keys, values = self._native.pairs(self._target(library))
        return self._keys.decoded(library, keys), library.result(values, self._values)

    def keys(self) -> Any:
        """Returns all keys as an array, in no particular order. For keys of two columns, returns two arrays."""
        return self.to_arrays()[0]

    def values(self) -> Any:
        """Returns all values as an array, in the order of `keys` if the map has not changed in between."""
        return self.to_arrays()[1]

    def __iter__(self) -> Iterator[Any]:
        return self._key_objects(self._native.pairs(self._target(NUMPY))[0])

    def _pair_objects(self) -> Iterator[tuple[Any, Any]]:
        keys, values = self._native.pairs(self._target(NUMPY))
        return zip(self._key_objects(keys), objects(NUMPY.result(values, self._values), self._values))

    #: This makes NumPy leave `map == array` to this class.
    __array_ufunc__ = None

    def __eq__(self, other: Any) -> Any:
        """Returns whether another map or dict has the same keys with equal values."""
        if self is other:
            return True
        if isinstance(other, Map) and self._keys.is_same(other._keys) and is_same(self._values, other._values):
            keys, values = self._arrays(NUMPY)
            found_values, found = other.find(keys)
            return len(self) == len(other) and bool(np.all(found)) and bool(np.all(found_values == values))
        if not isinstance(other, (Map, Mapping)):
            return NotImplemented
        return len(self) == len(other) and dict(self.items()) == dict(other.items())

    __hash__ = None  # type: ignore[assignment]

    def pop(self, key: Any, default: Any = MISSING) -> Any:
        """Removes one key and returns its value. For a missing key, returns the default or raises `KeyError`."""
        query = self._one(key)
        if query is not None:
            values, count = self._get(NUMPY, query, count=True)
            if count:
                self._native.remove(self._target(NUMPY), query)
                return element(values, self._values)
        if default is MISSING:
            raise KeyError(key)
        return default

    def popitem(self) -> tuple[Any, Any]:
        """Removes and returns an arbitrary pair. Raises `KeyError` if there is none. Takes as long as `items`."""
        for key, value in self.items():
            self.remove(key)
            return key, value
        raise KeyError("the map is empty")

    def setdefault(self, key: Any, default: Any) -> Any:
        """Returns the value of one key. If the key was missing, inserts it with the default first."""
        if key not in self:
            self[key] = default
        return self.get(key)

    def update(self, other: Any = (), /) -> None:
        """Sets the keys and values of another map, a dict or an iterable of pairs. For arrays, use `insert`."""
        if isinstance(other, Map):
            self.insert(*other._arrays(other._library if other._device == self._device else NUMPY))
            return
        pairs = [(key, other[key]) for key in other.keys()] if hasattr(other, "keys") else [(k, v) for k, v in other]
        if pairs:
            self.insert(key_lists([key for key, _ in pairs], self._keys), [value for _, value in pairs])

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, (Map, Mapping)):
            return NotImplemented
        map = self.copy()
        map.update(other)
        return map

    def __ior__(self, other: Any) -> Map:
        self.update(other)
        return self

    def clear(self) -> None:
        """Removes all keys, and keeps the memory."""
        self._native.clear(self._target(self._library))

    def reserve(self, additional: int) -> None:
        """Makes capacity for `additional` new keys, so that inserting them does not rebuild the map."""
        self._native.reserve(self._target(self._library), additional)

    def shrink_to_fit(self) -> None:
        """Releases memory that the keys do not need, and the scratch memory for changes."""
        self._native.shrink()

    def copy(self) -> Map:
        """Returns a copy of the map on the same device."""
        map = type(self).__new__(type(self))
        map._keys, map._values, map._library, map._device = self._keys, self._values, self._library, self._device
        map._native = self._native.copy(self._target(self._library))
        return map

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Map:
        return self.copy()

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self), self._keys, self._values, *self._arrays(NUMPY))

    def __repr__(self) -> str:
        return describe(self, f"{len(self):,} keys", f"{self._keys} to {type_name(self._values)}")


def _pairs(
    given_keys: Any, given_values: Any, key: KeyType | None = None, value: np.dtype | None = None
) -> tuple[Library, tuple[KeyType, Any], Column]:
    """Returns keys and values as columns of one library. Fails unless their lengths are equal."""
    library = columns_library({"keys": given_keys, "values": given_values})
    key_array = keys(library, given_keys, "keys", key)
    value_array = column(library, given_values, "values", value)
    if len(value_array.shape) != 1 or len(key_array.shape) != 1 or key_array.length != value_array.length:
        raise ValueError(
            f"keys have the shape {key_array.shape} and values the shape {value_array.shape}: they must be of one dimension and equally long"
        )
    return library, (key_array.type, key_array), value_array


def _to_host(array: Any) -> Any:
    """Copies one array, or a tuple of two, to NumPy."""
    if isinstance(array, tuple):
        return tuple(map(_to_host, array))
    if hasattr(array, "detach"):
        return array.detach().cpu().numpy()
    if hasattr(array, "get") and hasattr(array, "device"):
        return array.get()
    return np.asarray(array)


def _rebuilt(cls: type[Map], key: KeyType, value: np.dtype, keys: Any, values: Any) -> Map:
    map = cls(keys, values, assume_unique=True)
    map._keys, map._values = key, value
    return map
