"""The hash set of keys."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from collections.abc import Set as AnySet
from typing import Any

import numpy as np

from . import _native
from ._columns import KeyType
from ._columns import keys as keys_of
from ._libraries import NUMPY, Library
from ._table import Table, column_library, describe, is_many, key_lists, key_type


class Set(Table):
    """A set of keys, on a GPU or on all cores of the CPU.

    `keys` is an array of any type of 4 or 8 bytes, or a tuple of two arrays of 4 bytes. Keys may be
    repeated. The rules for devices and threads are the same as for `Map`.

    >>> import numpy as np
    >>> import warpnest as wn
    >>> odd, prime = wn.Set(np.array([1, 3, 5, 7, 9])), wn.Set(np.array([2, 3, 5, 7]))
    >>> sorted(odd & prime), sorted(prime - odd), len(odd | prime), 3 in odd
    ([3, 5, 7], [2], 6, True)
    """

    def __init__(self, keys: Any, *, assume_unique: bool = False, device: Any = None):
        library = column_library(keys, "keys")
        array = keys_of(library, keys, "keys")
        self._keys, self._library = array.type, library
        target = library.target(device)
        self._device = target[0]
        self._native = _native.build_set(target, array, self._keys.bytes, assume_unique)

    @classmethod
    def empty(cls, key_dtype: Any, *, capacity: int = 0, device: Any = None) -> Set:
        """Returns an empty set with capacity for `capacity` keys. It grows automatically beyond that."""
        set, target = cls._of_type(key_dtype, device)
        set._native = _native.create_set(target, set._keys.bytes)
        if capacity:
            set.reserve(capacity)
        return set

    @classmethod
    def load(cls, path: str | os.PathLike[str], key_dtype: Any, *, device: Any = None) -> Set:
        """Loads a set that `save` wrote, on any device. The type must be the type of the saved set."""
        set, target = cls._of_type(key_dtype, device)
        set._native = _native.load_set(target, os.fspath(path), set._keys.bytes)
        return set

    @classmethod
    def _of_type(cls, key_dtype: Any, device: Any) -> tuple[Set, tuple[int, int | None, bool]]:
        set = cls.__new__(cls)
        set._keys, set._library = key_type(key_dtype), NUMPY
        target = NUMPY.target(device)
        set._device = target[0]
        return set, target

    #: This makes NumPy leave `set | array` to this class, which refuses it.
    __array_ufunc__ = None

    def insert(self, keys: Any) -> int:
        """Adds keys, and returns the count of new keys. Waits until the change is complete."""
        library, queries, _ = self._queries(keys)
        return self._native.insert(self._target(library), queries)

    def remove(self, keys: Any) -> int:
        """Removes the keys that are in the set, and returns how many were removed.

        If a single key is given, it must be in the set. Otherwise this raises `KeyError`, like a
        Python set.
        """
        library, queries, is_one = self._queries(keys)
        removed = self._native.remove(self._target(library), queries)
        if is_one and not removed:
            raise KeyError(keys)
        return removed

    def add(self, key: Any) -> None:
        """Adds one key. `insert` adds many keys in the same time."""
        if is_many(key):
            raise TypeError("`add` takes one key: take `insert` for an array of keys")
        self.insert(key)

    def discard(self, key: Any) -> None:
        """Removes one key if it is in the set."""
        query = self._one(key)
        if query is not None:
            self._native.remove(self._target(NUMPY), query)

    def pop(self) -> Any:
        """Removes an arbitrary key and returns it. Raises `KeyError` if the set is empty. Takes as long as `keys`."""
        for key in self:
            self.discard(key)
            return key
        raise KeyError("the set is empty")

    def update(self, *others: Any) -> None:
        """Adds the keys of other sets, of arrays, or of any other iterables of keys."""
        for other in others:
            if isinstance(other, Set):
                self.insert(other._array(other._library if other._device == self._device else NUMPY))
            elif is_many(other) and not isinstance(other, (AnySet, Mapping, list)):
                self.insert(other)
            else:
                keys = list(other)
                if keys:
                    self.insert(key_lists(keys, self._keys))

    def keys(self) -> Any:
        """Returns all keys in no particular order, as an array of the library with which the set was built."""
        return self._array(self._library)

    def _array(self, library: Library) -> Any:
        return self._keys.decoded(library, self._native.keys(self._target(library)))

    def __iter__(self) -> Iterator[Any]:
        return self._key_objects(self._native.keys(self._target(NUMPY)))

    def union(self, other: Set) -> Set:
        """Returns the set of keys that are in either set, like `one | other`."""
        return self._combined(other, self._native.union)

    def intersection(self, other: Set) -> Set:
        """Returns the set of keys that are in both sets, like `one & other`."""
        return self._combined(other, self._native.intersection)

    def difference(self, other: Set) -> Set:
        """Returns the set of keys that are in this set and not in the other set, like `one - other`."""
        return self._combined(other, self._native.difference)

    def symmetric_difference(self, other: Set) -> Set:
        """Returns the set of keys that are in exactly one of the two sets, like `one ^ other`."""
        return (self - other) | (other - self) if isinstance(other, Set) else self._combined(other, None)

    def isdisjoint(self, other: Any) -> bool:
        """Returns whether the sets have no key in common."""
        if isinstance(other, Set) and self._keys.is_same(other._keys):
            return not np.any(other.contains(self._array(NUMPY)))
        return set(self).isdisjoint(other)

    def issubset(self, other: Any) -> bool:
        """Returns whether the other set contains all keys of this set, like `one <= other` for sets."""
        return _is_subset(self, other)

    def issuperset(self, other: Any) -> bool:
        """Returns whether this set contains all keys of the other set, like `one >= other` for sets."""
        return _is_subset(other, self)

    def __eq__(self, other: Any) -> Any:
        """Returns whether another set, of warpnest or of Python, has the same keys."""
        if not _is_set(other):
            return NotImplemented
        return self is other or len(self) == len(other) and _is_subset(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __le__(self, other: Any) -> Any:
        return _is_subset(self, other) if _is_set(other) else NotImplemented

    def __lt__(self, other: Any) -> Any:
        return len(self) < len(other) and _is_subset(self, other) if _is_set(other) else NotImplemented

    def __ge__(self, other: Any) -> Any:
        return _is_subset(other, self) if _is_set(other) else NotImplemented

    def __gt__(self, other: Any) -> Any:
        return len(self) > len(other) and _is_subset(other, self) if _is_set(other) else NotImplemented

    def _combined(self, other: Set, operation: Any) -> Set:
        if not isinstance(other, Set):
            raise TypeError(f"a Set is wanted, and not {type(other).__name__}: make one of it first")
        if not self._keys.is_same(other._keys):
            raise TypeError(f"the keys of the sets are of types {self._keys} and {other._keys}: convert one of them")
        if other._device != self._device:
            raise ValueError(f"the sets are on {self.device} and {other.device}: build one of them again from its keys")
        return self._like(operation(self._target(self._library), other._native))

    def _like(self, native: Any) -> Set:
        set = type(self).__new__(type(self))
        set._keys, set._library, set._device, set._native = self._keys, self._library, self._device, native
        return set

    def __or__(self, other: Any) -> Any:
        return self.union(other) if isinstance(other, Set) else NotImplemented

    def __and__(self, other: Any) -> Any:
        return self.intersection(other) if isinstance(other, Set) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return self.difference(other) if isinstance(other, Set) else NotImplemented

    def __xor__(self, other: Any) -> Any:
        return self.symmetric_difference(other) if isinstance(other, Set) else NotImplemented

    def __ior__(self, other: Any) -> Any:
        if not _is_set(other):
            return NotImplemented
        self.update(other)
        return self

    def clear(self) -> None:
        """Removes all keys, and keeps the memory."""
        self._native.clear(self._target(self._library))

    def reserve(self, additional: int) -> None:
        """Makes capacity for `additional` new keys, so that adding them does not rebuild the set."""
        self._native.reserve(self._target(self._library), additional)

    def shrink_to_fit(self) -> None:
        """Releases memory that the keys do not need, and the scratch memory for changes."""
        self._native.shrink()

    def copy(self) -> Set:
        """Returns a copy of the set on the same device."""
        return self._like(self._native.copy(self._target(self._library)))

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Set:
        return self.copy()

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self), self._keys, self._array(NUMPY))

    def __repr__(self) -> str:
        return describe(self, f"{len(self):,} keys", str(self._keys))


def _is_set(x: Any) -> bool:
    return isinstance(x, (Set, AnySet))


def _is_subset(one: Any, other: Any) -> bool:
    """Returns whether the other set contains all keys of the first one. Either may be a Python set."""
    if isinstance(one, Set) and isinstance(other, Set) and one._keys.is_same(other._keys):
        return len(one) <= len(other) and bool(np.all(other.contains(one._array(NUMPY))))
    return set(one) <= set(other)


def _rebuilt(cls: type[Set], type: KeyType, keys: Any) -> Set:
    set = cls(keys, assume_unique=True)
    set._keys = type
    return set
