"""The view of a map's pairs as Python objects."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator
from typing import Any

#: A marker for a missing value, because None may be a default.
MISSING: Any = object()


class Items(ItemsView):
    """The pairs of a map as Python objects, like the result of `dict.items`.

    The pairs are in no particular order, because a map has none. `Map.to_arrays` returns the pairs
    as two arrays, which is much faster for many pairs.
    """

    def __init__(self, map: Any):
        self._mapping = map

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return self._mapping._pair_objects()

    def __contains__(self, item: Any) -> bool:
        if not isinstance(item, tuple) or len(item) != 2:
            return False
        key, value = item
        found = self._mapping.get(key, MISSING)
        return found is not MISSING and bool(found == value)

    def __repr__(self) -> str:
        return f"<the pairs of {self._mapping!r}>"
