"""Arrow columns: which objects are Arrow columns, and which NumPy type represents each Arrow type.

An Arrow type is represented by the NumPy type whose elements have the same bits. If the Arrow type
says more, as for dates, its name is in the metadata of the NumPy type, which comparisons ignore.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _native

#: The Arrow type of dates, whose elements are represented as integers.
DATES = "Date32"


def is_arrow(x: Any) -> bool:
    """Returns whether a value is a column that should be imported by Arrow's C data interface.

    A pandas column is such a column if pandas keeps it in Arrow's memory.
    """
    if not hasattr(x, "__arrow_c_stream__") and not hasattr(x, "__arrow_c_array__"):
        return False
    return package_of(x) != "pandas" or type(getattr(x, "dtype", None)).__name__ == "ArrowDtype"


def package_of(x: Any) -> str:
    """Returns the name of the package that a column belongs to."""
    packages = [of.__module__.partition(".")[0] for of in type(x).__mro__]
    return next((package for package in packages if package in ("pandas", "polars", "pyarrow")), packages[0])


def to_numpy(x: Any, what: str) -> np.ndarray:
    """Returns a column as an array of the same memory. Copies a column that has several chunks."""
    column = _native.import_arrow(x, what)
    array = np.asarray(column)
    return array if column.arrow is None else array.view(np.dtype(array.dtype, metadata={"arrow": column.arrow}))


def from_native(native: Any, package: str) -> Any:
    """Returns a result of the native part as a column of a package, or unchanged for unknown packages."""
    if package == "polars":
        return sys.modules[package].Series(native)
    if package in ("pyarrow", "pandas"):
        # Pandas columns in Arrow's memory become pyarrow arrays.
        return sys.modules["pyarrow"].array(native)
    return native


def arrow_type(dtype: np.dtype) -> str | None:
    """Returns the name of the Arrow type, if it says more than the NumPy type."""
    return dtype.metadata.get("arrow") if dtype.metadata else None


def has_zone(dtype: np.dtype) -> bool:
    """Returns whether elements are times with a time zone."""
    return (arrow_type(dtype) or "").endswith('")')


def is_number(dtype: np.dtype) -> bool:
    """Returns whether elements are numbers, and not times that are represented as integers."""
    return dtype.kind in "iuf" and arrow_type(dtype) is None


def type_name(dtype: np.dtype) -> str:
    """Returns the name of a type for messages."""
    return arrow_type(dtype) or str(dtype)


def is_same(one: np.dtype, other: np.dtype) -> bool:
    """Returns whether elements of two types can be compared.

    Times with any two time zones can be compared, and so can elements of equal NumPy types if one
    of them has no Arrow type.
    """
    if one is other:
        return True
    names = arrow_type(one), arrow_type(other)
    return one == other and (None in names or names[0] == names[1] or has_zone(one) and has_zone(other))


def element(array: np.ndarray, dtype: np.dtype) -> Any:
    """Returns the first element of an array as an object of Python."""
    if dtype.metadata is None and dtype.kind not in "mM":
        return array.item(0)
    return objects(array[:1], dtype)[0]


def objects(array: np.ndarray, dtype: np.dtype) -> list[Any]:
    """Returns the elements of an array as Python objects. Arrow's dates become dates."""
    if dtype.kind in "mM":
        # Python's own time classes resolve at most microseconds.
        return list(array)
    return (array.astype("M8[D]") if arrow_type(dtype) == DATES else array).tolist()
