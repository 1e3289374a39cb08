"""The pairs of a map as Python has them."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator
from typing import Any

#: What stands for a value that is not there, since None may be a default.
MISSING: Any = object()


class Items(ItemsView):
    """The pairs of a map as objects of Python, as `dict.items` has those of a dict.

    A map has no order, so pairs are in no particular one. `Map.to_arrays` gives them as two arrays,
    which is much faster for many.
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
