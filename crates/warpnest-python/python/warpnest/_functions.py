"""The functions on whole columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _native
from ._arrow import is_number, type_name
from ._columns import Column, Flags, Keys, KeyType, column, keys
from ._exact import converted, is_list
from ._libraries import Library
from ._table import column_library, columns_library

_INT32 = np.dtype("i4")
_UINT32 = np.dtype("u4")


def unique(
    x: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    sorted: bool = False,
    device: Any = None,
) -> Any:
    """Returns the distinct keys of a column, unsorted, and the other requested outputs.

    `x` is an array of any type of 4 or 8 bytes, or a tuple of two arrays of 4 bytes, for distinct
    pairs. The requested outputs follow the keys in this order:

    * the index: the first row of each key,
    * the inverse: for each row of `x`, in its shape, the index of its key among the keys,
    * the counts: the count of rows of each key.

    Index, inverse and counts are 32-bit integers, which are unsigned if `x` has 2^31 or more rows.
    All zeros are one key, and all NaNs are one key. Keys are in no particular order, unless
    `sorted` is set, which adds a sort of the keys. Then NaN is last, as in NumPy. NaT is first,
    unlike in NumPy, where it is last.

    >>> import numpy as np, warpnest as wn
    >>> wn.unique(np.array([30, 10, 30, 20]), return_counts=True, sorted=True)
    (array([10, 20, 30]), array([1, 1, 2], dtype=int32))
    """
    library, column = _one_column(x)
    if sorted:
        column.type.check_order("x")
    target = library.target(device)
    wanted = (return_inverse, return_counts, return_index)
    found, (ids, counts, first_rows) = _native.unique(target, column, column.type.kind, sorted, wanted)
    result = [column.type.decoded(library, found)]
    if return_index:
        result.append(_numbers(library, first_rows, column.length))
    if return_inverse:
        result.append(_numbers(library, ids, column.length, column.shape))
    if return_counts:
        result.append(_numbers(library, counts, column.length))
    return result[0] if len(result) == 1 else tuple(result)


def isin(x: Any, among: Any, *, invert: bool = False, device: Any = None) -> Any:
    """Returns whether another column contains each key of `x`, as booleans in the shape of `x`.

    Both columns are arrays of one type of 4 or 8 bytes, or tuples of two arrays of 4 bytes. NaNs
    are equal to each other. To test against the same column several times, build a `Set` of it.

    >>> import numpy as np, warpnest as wn
    >>> wn.isin(np.array([5, 6, 3]), np.array([3, 5, 3]))
    array([ True, False,  True])
    """
    library = columns_library({"x": x, "among": among})
    asked, others = _two(library, x, among, ("x", "among"))
    flags = Flags(library, asked.length)
    _native.isin(library.target(device), asked, others, asked.type.bytes, flags.column)
    return flags.finished(asked.shape, invert)


def factorize(x: Any, *, device: Any = None) -> tuple[Any, Any]:
    """Returns the code of each row's key, and the keys in the order of their first rows.

    `keys[codes]` equals `x`. Codes are 32-bit integers, counted as by `pandas.factorize`, except
    that a NaN is a key like others. If the order does not matter, `unique(x, return_inverse=True)`
    is faster. To keep the codes for later rows, see the recipe of dense ids in docs/python.md.

    >>> import numpy as np, warpnest as wn
    >>> wn.factorize(np.array([20, 10, 20, 30]))
    (array([0, 1, 0, 2], dtype=int32), array([20, 10, 30]))
    """
    library, column = _one_column(x)
    codes, found = _native.factorize(library.target(device), column, column.type.bytes)
    return _numbers(library, codes, column.length, column.shape), column.type.decoded(library, found)


def value_counts(x: Any, *, device: Any = None) -> tuple[Any, Any]:
    """Returns the distinct keys and the count of each key's rows, with the largest count first.

    Keys with equal counts are in ascending order. Texts are compared starting at their last byte.

    >>> import numpy as np, warpnest as wn
    >>> wn.value_counts(np.array([7, 5, 7, 9]))
    (array([7, 5, 9]), array([2, 1, 1], dtype=int32))
    """
    library, column = _one_column(x)
    found, counts = _native.value_counts(library.target(device), column, column.type.kind)
    return column.type.decoded(library, found), _numbers(library, counts, column.length)


class Groups(NamedTuple):
    """The result of `group_by`."""

    #: The distinct keys, as one array or two arrays.
    keys: Any
    #: The aggregates by name, in the order of the keys.
    columns: dict[str, Any]


def group_by(
    keys: Any,
    aggregates: dict[str, Any],
    *,
    order: str = "any",
    skipna: bool = True,
    ddof: int = 1,
    reproducible: bool = False,
    top: tuple[int, str] | None = None,
    device: Any = None,
) -> Groups:
    """Groups rows by their keys, and returns the distinct keys and the aggregates of each group.

    `keys` is an array, or a tuple of two arrays. `aggregates` maps the name of each result to
    `"count"`, or to a pair of a column and one of "sum", "min", "max", "mean", "first", "last",
    "nunique", "var", "std", "median", or to `(column, "quantile", q)` with a `q` from 0 to 1.
    Columns have 32-bit or 64-bit integers or floating-point numbers. Sums of integers have 64 bits.
    Sums of floating-point numbers, means, variances and quantiles are `float64`, and counts are
    32-bit integers. Numbers are added in any order, so that the last bits of a sum of floats may
    differ from run to run, unless `reproducible` is true.

    "nunique" counts the distinct values; they are equal if their bits are, so that 0.0 and -0.0
    differ. Variances divide by the count of rows less `ddof`, and are NaN for groups without more
    rows. Quantiles are interpolated as `numpy.quantile` does by default, and NaN if a value is.

    Sums of integers wrap around at 64 bits. Means of integers are rounded once, from the exact
    mean. By default, the minimum and maximum ignore NaNs if a group has a number; with
    `skipna=False` a NaN makes both NaN. Sums and means with a NaN are NaN.

    `order` is "any", "first" (the order of the groups' first rows) or "sorted". `top=(n, name)`
    keeps the `n` groups with the greatest values of the aggregate `name`, in descending order.

    >>> import numpy as np, warpnest as wn
    >>> zone, fare = np.array([7, 3, 7, 7]), np.array([2.5, 4.0, 1.0, 1.5])
    >>> groups = wn.group_by(zone, {"trips": "count", "total": (fare, "sum")}, order="sorted")
    >>> groups.keys, groups.columns["trips"], groups.columns["total"]
    (array([3, 7]), array([1, 3], dtype=int32), array([4., 5.]))
    >>> wn.group_by(zone, {"median": (fare, "median")}, top=(1, "median")).keys
    array([3])
    """
    if order not in ("any", "first", "sorted"):
        raise ValueError(f'there is no order {order!r}: take "any", "first" or "sorted"')
    if not isinstance(skipna, bool):
        raise TypeError(f"skipna is True or False, and not {skipna!r}")
    if not isinstance(aggregates, dict):
        raise TypeError(f"aggregates are a dict of names, and not {type(aggregates).__name__}")
    given = {name: what[0] for name, what in aggregates.items() if isinstance(what, tuple) and what}
    library = columns_library({"keys": keys, **given})
    key_column = _keys(library, keys, "keys")
    _check_one_dimension(key_column.shape, "keys")
    if order == "sorted":
        key_column.type.check_order("keys")
    settings = (order, skipna), *_settings(list(aggregates), ddof, reproducible, top)
    held: list[Column] = []
    numbers: dict[int, int] = {}
    wanted: list[tuple[str, int, float]] = []
    for name, what in aggregates.items():
        if isinstance(what, str) and what == "count":
            wanted.append(("count", 0, 0.0))
            continue
        values, function, quantile = _aggregate(name, what)
        if id(values) not in numbers:
            numbers[id(values)] = len(held)
            held.append(column(library, values, f"the column of {name!r}"))
            if not is_number(held[-1].dtype):
                raise TypeError(
                    f"the column of {name!r} has elements of type {type_name(held[-1].dtype)}: only numbers are taken"
                )
            _check_one_dimension(held[-1].shape, f"the column of {name!r}")
            if held[-1].length != key_column.length:
                raise ValueError(
                    f"the column of {name!r} has {held[-1].length} rows and the keys have {key_column.length}"
                )
        wanted.append((function, numbers[id(values)], quantile))
    columns = [(one, f"{one.dtype.kind}{one.dtype.itemsize}") for one in held]
    found, arrays = _native.group_by(
        library.target(device), key_column, key_column.type.kind, columns, wanted, settings
    )
    results = {}
    for name, (function, number, _), array in zip(aggregates, wanted, arrays):
        if function in ("count", "nunique"):
            results[name] = _numbers(library, array, key_column.length)
        else:
            results[name] = library.result(array, _result_type(function, held[number].dtype))
    return Groups(key_column.type.decoded(library, found), results)


class Joined(tuple[Any, Any]):
    """The result of `join`: a tuple of an array of left rows and an array of right rows.

    The masks `has_left` and `has_right` say which pairs have a left row and a right row.
    """

    _library: Library

    @classmethod
    def _of(cls, library: Library, left: Any, right: Any) -> Joined:
        joined = cls((left, right))
        joined._library = library
        return joined

    @property
    def left(self) -> Any:
        """The left rows."""
        return self[0]

    @property
    def right(self) -> Any:
        """The right rows."""
        return self[1]

    @property
    def has_left(self) -> Any:
        """Whether each pair has a left row, as booleans. It is false where `left` is null or -1."""
        return self._library.is_row(self[0])

    @property
    def has_right(self) -> Any:
        """Whether each pair has a right row, as booleans. It is false where `right` is null or -1."""
        return self._library.is_row(self[1])


def join(left: Any, right: Any, how: str = "inner", *, device: Any = None) -> Any:
    """Returns the rows of two key columns whose keys are equal, as an array of left rows and an array of right rows.

    `how` is "inner", "left", "right", "outer", "semi" or "anti", as in SQL. Semi and anti joins
    return only left rows. Pairs are in no particular order. Rows are 32-bit integers, so both sides
    must have fewer than 2^31 rows.

    If a row has no match, the row of the other side is null in Arrow columns, such as columns of
    polars. In other libraries it is -1, which NumPy and torch would use as the index of the last
    row. The masks `has_left` and `has_right` of the result say which pairs have a row of that side.

    >>> import numpy as np, warpnest as wn
    >>> left, right = np.array([10, 20, 30]), np.array([30, 10, 10])
    >>> i, j = wn.join(left, right)
    >>> sorted(zip(i.tolist(), j.tolist()))
    [(0, 1), (0, 2), (2, 0)]
    >>> rows = wn.join(left, right, "left")
    >>> rows.left[~rows.has_right]
    array([1], dtype=int32)
    """
    library = columns_library({"left": left, "right": right})
    one, other = _two(library, left, right, ("left", "right"))
    for side, name in ((one, "left"), (other, "right")):
        _check_one_dimension(side.shape, name)
    if max(one.length, other.length) >= 1 << 31:
        raise ValueError(
            f"a side has {max(one.length, other.length):,} rows, and rows are numbered by 32-bit integers: join parts of it"
        )
    of_left, of_right = _native.join(library.target(device), one, other, one.type.bytes, how)
    if of_right is None:
        return library.result(of_left, _INT32)
    return Joined._of(
        library,
        library.rows(of_left) if how in ("right", "outer") else library.result(of_left, _INT32),
        library.rows(of_right) if how in ("left", "outer") else library.result(of_right, _INT32),
    )


def _check_one_dimension(shape: tuple[int, ...], what: str) -> None:
    """Fails for an array of several dimensions, because its elements are not rows."""
    if len(shape) > 1:
        raise ValueError(
            f"{what} has {len(shape)} dimensions, and rows have one: pass two columns as a tuple of arrays, or flatten it"
        )


def _one_column(x: Any) -> tuple[Library, Keys]:
    library = column_library(x, "x")
    return library, keys(library, x, "x")


# `group_by` has a parameter named `keys`, which hides the function.
_keys = keys


def _two(library: Library, one: Any, other: Any, names: tuple[str, str]) -> tuple[Keys, Keys]:
    """Returns two columns of keys, which must have the same type.

    A list is converted to the type of the other column, and two lists to a type that has all their
    elements.
    """
    if is_list(one) and is_list(other):
        both = KeyType((converted([*one, *other], " and ".join(names)).dtype,))
        return keys(library, one, names[0], both), keys(library, other, names[1], both)
    if is_list(one):
        second = keys(library, other, names[1])
        return keys(library, one, names[0], second.type), second
    first = keys(library, one, names[0])
    return first, keys(library, other, names[1], first.type)


def _numbers(library: Library, native: Any, rows: int, shape: tuple[int, ...] | None = None) -> Any:
    """Returns counts or numbers of rows: signed, as torch wants them, if all of them can be."""
    return library.result(native, _INT32 if rows < 1 << 31 else _UINT32, shape)


def _aggregate(name: str, what: Any) -> tuple[Any, str, float]:
    """Returns the column and the function of an aggregate, and the number of a quantile."""
    functions = ("sum", "min", "max", "mean", "first", "last", "nunique", "var", "std", "median")
    if isinstance(what, tuple) and len(what) == 2 and isinstance(what[1], str) and what[1] in functions:
        return what[0], what[1], 0.0
    if isinstance(what, tuple) and len(what) == 3 and isinstance(what[1], str) and what[1] == "quantile":
        if isinstance(what[2], (int, float)) and 0 <= what[2] <= 1:
            return what[0], "quantile", float(what[2])
        raise ValueError(f"the quantile {what[2]!r} of {name!r} is none: take a number from 0 to 1")
    allowed = ", ".join(f'"{function}"' for function in functions)
    raise ValueError(
        f'the aggregate {name!r} is none: take "count", a pair of a column and one of {allowed}, '
        'or a column, "quantile" and a number'
    )


def _settings(names: list[str], ddof: Any, reproducible: Any, top: Any) -> tuple[int, bool, tuple[int, int] | None]:
    """Returns checked settings of a group-by. An aggregate is replaced by its index."""
    if isinstance(ddof, bool) or not isinstance(ddof, int) or not 0 <= ddof < 1 << 32:
        raise ValueError(f"ddof is an integer from 0 on, and not {ddof!r}")
    if not isinstance(reproducible, bool):
        raise TypeError(f"reproducible is True or False, and not {reproducible!r}")
    if top is None:
        return ddof, reproducible, None
    if not isinstance(top, tuple) or len(top) != 2 or isinstance(top[0], bool) or not isinstance(top[0], int):
        raise TypeError(f"top is a pair of a count and the name of an aggregate, and not {top!r}")
    count, name = top
    if name not in names or not 0 <= count < 1 << 63:
        raise ValueError(f"there is no top {top!r}: give a count from 0 on, and the name of an aggregate")
    return ddof, reproducible, (count, names.index(name))


def _result_type(function: str, values: np.dtype) -> np.dtype:
    if function in ("mean", "var", "std", "median", "quantile"):
        return np.dtype("f8")
    return np.dtype(f"{values.kind}8") if function == "sum" else values
