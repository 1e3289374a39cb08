"""The conversion of lists, single values and pandas columns to NumPy arrays with the same elements.

If a conversion would change an element, it is refused with an error that says what to do.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from numbers import Number
from typing import Any

import numpy as np

from ._arrow import DATES, arrow_type, has_zone, is_number, package_of, to_numpy, type_name

#: The kinds of single values. Special kinds come first, because a bool is also an int in Python.
_KINDS: dict[str, tuple[type, ...]] = {
    "boolean": (bool, np.bool_),
    "duration": (timedelta, np.timedelta64),
    "integer": (int, np.integer),
    "number": (float, np.floating),
    "time": (date, np.datetime64),
    "text": (str,),
    "bytes": (bytes,),
}
#: A cache of the kinds of classes.
_KIND_OF: dict[type, str | None] = {}
#: The kinds of values that can be elements of a NumPy type, by the kind of the type.
_TAKEN: dict[str, tuple[str, ...]] = {
    "i": ("integer",),
    "u": ("integer",),
    "f": ("integer", "number"),
    "M": ("time", "text"),
    "m": ("duration",),
    "U": ("text",),
    "S": ("bytes",),
    "b": ("boolean",),
}
#: The bits of the integers that types have without a gap, by their kinds and bytes.
_BITS = {("i", 4): 31, ("i", 8): 63, ("u", 4): 32, ("u", 8): 64, ("f", 4): 24, ("f", 8): 53}
#: What an object has that is an array, and no list.
_PROTOCOLS = ("__array__", "__array_interface__", "__dlpack__", "__arrow_c_array__", "__arrow_c_stream__")
#: A date as text. NumPy would take a date without hyphens as a year, and would accept words such as "today".
_DATE = re.compile(r"-?\d{4}(-|$)|NaT$")
#: A sign or a Z after the date, which begins a time zone.
_ZONE = re.compile(r"[T ].*[Zz+-]")


def is_list(x: Any) -> bool:
    """Returns whether a value is a Python sequence that NumPy would convert to an array."""
    if isinstance(x, (list, range)):
        return True
    if is_value(x) or hasattr(x, "shape") or isinstance(x, tuple) or not hasattr(x, "__getitem__"):
        return False
    # An object with keys is a dict, a map or the like.
    return hasattr(x, "__len__") and not hasattr(x, "keys") and not _is_array(x)


def array_of(x: Any, what: str) -> np.ndarray:
    """Returns a value as a NumPy array. The value must be neither a NumPy array nor an Arrow column."""
    if is_list(x) or is_value(x):
        return converted(x, what)
    if isinstance(x, np.ma.MaskedArray):
        _check_missing(int(np.ma.count_masked(x)), what, "`compressed`")
    check_no_mask(x, what)
    if package_of(x) == "pandas" and hasattr(x, "isna"):
        return _of_pandas(x, what)
    if not _is_array(x):
        raise TypeError(f"{what} is of type {type(x).__name__}: pass an array, or a list of what is in it")
    return np.asarray(x.detach() if hasattr(x, "detach") else x)


def check_no_mask(x: Any, what: str) -> None:
    """Fails for a torch tensor that has a mask."""
    if type(x).__name__ == "MaskedTensor":
        raise TypeError(f"{what} is a tensor with a mask: pass its elements that are there")


def converted(x: Any, what: str, dtype: np.dtype | None = None) -> np.ndarray:
    """Returns a list or one value as an array of the given type, or of a type that has all the elements."""
    is_one = not is_list(x)
    values = [x] if is_one else x if isinstance(x, (list, range)) else list(x)
    if not values and dtype is not None:
        return np.empty(0, dtype)
    parts = _parts(values, what)
    wanted = dtype if dtype is not None else _common(parts, what)
    if len(parts) == 1:
        array = _cast(parts[0], wanted, what)
    else:
        array = np.empty(len(values), wanted)
        for part in parts:
            array[part.at] = _cast(part, wanted, what)
    return array.reshape(()) if is_one else array


def one_value(x: Any, what: str, dtype: np.dtype) -> np.ndarray:
    """Returns one value, which may be a number of a library, as an array of one element."""
    array = _of_number(x, dtype)
    if array is not None:
        return array
    if getattr(x, "ndim", 0) or is_list(x) or isinstance(x, tuple):
        raise TypeError(f"{what} is an array, and one value is wanted")
    x = _without_dimension(x)
    return converted([x], f"{what} {x!r}", dtype)


def _of_number(x: Any, dtype: np.dtype) -> np.ndarray | None:
    """Returns an integer or a float of Python as an array, if the type plainly has it: most keys are such."""
    if type(x) is int:
        if x.bit_length() > _BITS.get((dtype.kind, dtype.itemsize), -1) or x < 0 and dtype.kind == "u":
            return None
    elif type(x) is not float or dtype.kind != "f" or dtype.itemsize != 8:
        return None
    if dtype.metadata is not None:
        return None
    array = np.empty(1, dtype)
    array[0] = x
    return array


def equal_value(x: Any, dtype: np.dtype) -> Any:
    """Returns a number as the kind of a type if both are equal, such as 1.0 and 1. Else returns it unchanged."""
    if not isinstance(x, (Number, np.bool_)) or _kind(type(x)) == "duration" or not is_number(dtype):
        return x
    # NumPy would compare integers with floating-point numbers after a rounding conversion. Python
    # compares exactly.
    x = x.item() if isinstance(x, np.generic) else x
    try:
        number: Any = int(x) if dtype.kind in "iu" else float(x)
    except (OverflowError, TypeError, ValueError):
        # NaN, infinities and complex numbers cannot be converted.
        return x
    return number if number == x else x


@dataclass(slots=True)
class _Part:
    """The elements of one kind in a list, as an array with unchanged elements."""

    #: The indices of the elements in the list.
    at: Any
    kind: str
    array: np.ndarray
    #: The class of the elements.
    of: type
    #: Whether times have a time zone. None for times that count from 1970 in UTC, like NumPy's times.
    has_zone: bool | None = None


def _kind(of: type) -> str | None:
    """Returns the kind of values of a class, or None if such values are not supported."""
    if of not in _KIND_OF:
        _KIND_OF[of] = next((kind for kind, classes in _KINDS.items() if issubclass(of, classes)), None)
    return _KIND_OF[of]


def is_value(x: Any) -> bool:
    """Returns whether a value is one number, time or text, and no array of them."""
    try:
        return _KIND_OF[type(x)] is not None
    except KeyError:
        return _kind(type(x)) is not None


def _parts(values: list[Any] | range, what: str) -> list[_Part]:
    """Returns the elements of a list, grouped by their class."""
    if isinstance(values, range):
        # For a range that leaves the 64-bit integers, NumPy wraps around or raises an
        # OverflowError.
        if not values:
            values = range(0)
        if all(abs(end) < 2**62 for end in (values.start, values.stop, values.step)):
            array = np.arange(values.start, values.stop, values.step, dtype=np.int64)
            return [_Part(slice(None), "integer", array, int)]
        values = list(values)
    classes = set(map(type, values))
    if not all(map(_kind, classes)):
        values = list(map(_without_dimension, values))
        classes = set(map(type, values))
        for value in values:
            if _kind(type(value)) is None:
                raise _not_taken(value, what)
    if len(classes) == 1:
        return _parts_of_class(classes.pop(), slice(None), values, what)
    indices: dict[type, list[int]] = {}
    for at, value in enumerate(values):
        indices.setdefault(type(value), []).append(at)
    return [
        part
        for of, places in indices.items()
        for part in _parts_of_class(of, np.array(places), [values[at] for at in places], what)
    ]


def _parts_of_class(of: type, at: Any, values: list[Any], what: str) -> list[_Part]:
    kind = _kind(of) or ""
    if kind in ("time", "duration"):
        return _times(kind, of, at, values, what)
    if kind == "integer" and not issubclass(of, np.integer):
        try:
            return [_Part(at, kind, np.fromiter(values, "i8", len(values)), of)]
        except OverflowError:
            return _large_integers(of, at, values, what)
    if kind in ("text", "bytes") and any(value.endswith("\0" if kind == "text" else b"\0") for value in values):
        raise ValueError(f"{what} has texts that end in NUL, and texts of a fixed size cannot: take off the end first")
    array = np.fromiter(values, "f8", len(values)) if of is float else np.array(values)
    return [_Part(at, kind, array, of)]


def _large_integers(of: type, at: Any, values: list[int], what: str) -> list[_Part]:
    """Returns integers too large for `int64` separately from the others, which may be negative."""
    if min(values) < -(2**63) or max(values) >= 2**64:
        raise OverflowError(f"{what} cannot be converted to int64 or uint64: there are integers beyond them")
    objects = np.array(values, object)
    is_large = objects >= 2**63
    indices = _indices(at, len(values))
    parts = [("i8", ~is_large), ("u8", is_large)]
    return [_Part(indices[those], "integer", objects[those].astype(dtype), of) for dtype, those in parts if those.any()]


def _times(kind: str, of: type, at: Any, values: list[Any], what: str) -> list[_Part]:
    """Returns times or durations of one class, grouped by their unit."""
    groups: dict[tuple[np.dtype, bool | None], tuple[list[int], list[Any]]] = {}
    for index, value in zip(_indices(at, len(values)).tolist(), values):
        time = _numpy_time(value, what)
        is_object = isinstance(value, date) and not np.isnat(time)
        places, times = groups.setdefault(
            (time.dtype, getattr(value, "tzinfo", None) is not None if is_object else None), ([], [])
        )
        places.append(index)
        times.append(time)
    if len(groups) == 1 and isinstance(at, slice):
        (((dtype, has_zone), (_, times)),) = groups.items()
        return [_Part(at, kind, np.array(times, dtype), of, has_zone)]
    return [
        _Part(np.array(places), kind, np.array(times, dtype), of, has_zone)
        for (dtype, has_zone), (places, times) in groups.items()
    ]


def _indices(at: Any, count: int) -> np.ndarray:
    return np.arange(count) if isinstance(at, slice) else at


def _numpy_time(value: Any, what: str) -> Any:
    """Returns a time or a duration as a NumPy value. A time with a time zone is converted to UTC."""
    for name in ("to_datetime64", "to_timedelta64"):
        # Times of pandas have nanoseconds, which Python's classes would lose.
        if hasattr(value, name):
            return getattr(value, name)()
    if isinstance(value, np.generic):
        return value
    if isinstance(value, timedelta):
        duration = np.timedelta64(value)
        if duration.item() != value:
            raise OverflowError(f"{what} has a duration of more microseconds than 64 bits count: pass days of NumPy")
        return duration
    if getattr(value, "tzinfo", None) is not None:
        value = value.astimezone(timezone.utc).replace(tzinfo=None)
    return np.datetime64(value)


def _common(parts: list[_Part], what: str) -> np.dtype:
    """Returns the NumPy type that has all elements of a list. Fails if the kinds of the elements differ."""
    dtypes = {part.array.dtype for part in parts}
    kinds = {part.kind for part in parts}
    are_objects = kinds & {"time", "duration"} and any(not issubclass(part.of, np.generic) for part in parts)
    if not parts:
        return np.dtype("f8")
    if are_objects or len(kinds) > 1 and kinds != {"integer", "number"}:
        names = ", ".join(sorted({part.of.__name__ for part in parts}))
        raise TypeError(
            f"{what} has elements of type object, {names}: make an array of one type of NumPy of them first"
        )
    if len(dtypes) == 1:
        return dtypes.pop()
    if kinds == {"integer"}:
        is_large = any(int(part.array.max()) >= 2**63 for part in parts)
        if is_large and any(int(part.array.min()) < 0 for part in parts):
            raise OverflowError(f"{what} has negative integers and integers above 2^63: no type of 64 bits has both")
        return np.dtype("u8" if is_large else "i8")
    try:
        return np.result_type(
            *(dtype for dtype in dtypes if dtype.kind not in "iu"), *(["f8"] if len(kinds) > 1 else [])
        )
    except TypeError:
        raise TypeError(
            f"{what} has durations of years or months beside days: convert them to one unit first"
        ) from None


def _cast(part: _Part, dtype: np.dtype, what: str) -> np.ndarray:
    """Returns elements of one kind, converted to a type. Fails if an element would change."""
    array, taken = part.array, ("integer", "time", "text") if arrow_type(dtype) == DATES else _TAKEN.get(dtype.kind, ())
    if array.dtype == dtype and part.kind in taken and part.kind not in ("time", "duration"):
        return array
    wanted = type_name(dtype)
    if part.kind == "number" and dtype.kind in "iu":
        raise TypeError(f"{what} has fractions, or may have, and {wanted} is wanted: convert it to that first")
    if part.kind not in taken:
        raise TypeError(f"{what} is of type {part.of.__name__}, and {wanted} is wanted: convert it to that first")
    if part.kind == "text" and dtype.kind != "U":
        if has_zone(dtype):
            raise TypeError(f"{what} has texts, and {wanted} is wanted: pass datetimes with a time zone")
        return converted([_parsed(text, what, wanted) for text in array.tolist()], what, dtype)
    if part.kind == "time":
        return _time_cast(part, dtype, what)
    if part.kind == "duration":
        return _in_unit(array, dtype, what)
    if part.kind == "integer" and dtype.kind in "iu":
        return _integers(array, dtype, what)
    with np.errstate(over="ignore"):
        result = array.astype(dtype)
    if part.kind == "integer":
        is_same = result.astype("f8").tolist() == array.tolist()
    else:
        is_same = bool(np.all((result == array) | ((result != result) & (array != array))))
    if not is_same and part.kind == "number" and np.any(np.isinf(result) & np.isfinite(array)):
        raise OverflowError(f"{what} cannot be converted to {wanted}: there are numbers beyond it")
    if not is_same:
        raise ValueError(f"{what} cannot be converted to {wanted} without a loss: round it to that type first")
    return result


def _integers(array: np.ndarray, dtype: np.dtype, what: str) -> np.ndarray:
    limits = np.iinfo(dtype)
    if int(array.min()) < limits.min or int(array.max()) > limits.max:
        raise OverflowError(f"{what} cannot be converted to {type_name(dtype)}: there are integers beyond it")
    return array.astype(dtype)


def _time_cast(part: _Part, dtype: np.dtype, what: str) -> np.ndarray:
    wanted = type_name(dtype)
    if part.has_zone is not None and part.has_zone != has_zone(dtype):
        has = "a time zone" if part.has_zone else "no time zone"
        raise TypeError(
            f"{what} has times with {has}, and {wanted} is wanted: convert them, or pass numpy.datetime64 in UTC"
        )
    if arrow_type(dtype) != DATES:
        return _in_unit(part.array, dtype, what)
    if issubclass(part.of, datetime):
        raise TypeError(f"{what} has times of a day, of which {wanted} is not safe to be made: pass dates")
    return _integers(_in_unit(part.array, np.dtype("M8[D]"), what).view("i8"), dtype, what)


def _in_unit(array: np.ndarray, dtype: np.dtype, what: str) -> np.ndarray:
    """Returns times or durations in another unit. Fails unless they are whole multiples of the unit."""
    wanted = type_name(dtype)
    if np.datetime_data(array.dtype)[0] == "generic" and not np.isnat(array).all():
        raise TypeError(f"{what} has no unit, and {wanted} is wanted: name the unit")
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise TypeError(f"{what} is of type {array.dtype}, and {wanted} is wanted: convert it to that first")
    result = array.astype(dtype)
    if np.any(result.astype(array.dtype).view("i8") != array.view("i8")):
        raise ValueError(
            f"{what} cannot be converted to {wanted} without a loss: there are times between its units, or beyond them"
        )
    return result


def _parsed(text: str, what: str, wanted: str) -> np.datetime64:
    if _ZONE.search(text):
        raise TypeError(f"{what} has a text with a time zone, and {wanted} is wanted: write it in UTC, without a zone")
    try:
        if _DATE.match(text):
            return np.datetime64(text)
    except ValueError:
        pass
    raise TypeError(f"{what} cannot be converted to {wanted}, text {text!r}: write times as 2020-01-31T12:00:00")


def _without_dimension(x: Any) -> Any:
    """Returns the element of an array without dimensions, and other values unchanged."""
    if getattr(x, "shape", None) != () or isinstance(x, (np.generic, np.ma.core.MaskedConstant)):
        return x
    return x[()] if isinstance(x, np.ndarray) else x.item()


def _not_taken(value: Any, what: str) -> Exception:
    """Returns the error for an element of an unsupported class."""
    name = type(value).__name__
    if value is None or name in ("NAType", "MaskedConstant"):
        return TypeError(f"{what} has a missing value, {value!r}: fill or drop it first")
    if hasattr(value, "__len__"):
        return ValueError(
            f"{what} is a list of lists or arrays: pass the columns of a key as a tuple, and all else as one array"
        )
    return TypeError(f"{what} has an element of type {name}: convert it to a number, a time or a text of NumPy first")


def _of_pandas(x: Any, what: str) -> np.ndarray:
    """Returns a pandas column as a NumPy array."""
    if x.ndim != 1:
        raise TypeError(f"{what} is a {type(x).__name__}: pass its columns one by one, two of them as a tuple")
    if isinstance(x.dtype, np.dtype):
        return np.asarray(x)
    if type(x.dtype).__name__ == "ArrowDtype":
        # Only a `Series` can be exported to Arrow.
        return to_numpy(sys.modules["pandas"].Series(x), what)
    if getattr(x.dtype, "tz", None) is not None:
        raise TypeError(f"{what} has times with a time zone: pass `tz_convert(None)` of it, which is in UTC")
    _check_missing(int(x.isna().sum()), what, "`fillna` or `dropna`")
    # A column with a mask names its NumPy type. Without that type, old versions would return
    # objects.
    return np.asarray(x, getattr(x.dtype, "numpy_dtype", None))


def _check_missing(count: int, what: str, how: str) -> None:
    if count:
        values, them = ("value", "it") if count == 1 else ("values", "them")
        raise ValueError(f"{what} has {count} missing {values}: fill or drop {them} first, for example by {how}")


def _is_array(x: Any) -> bool:
    """Returns whether NumPy can make an array that shares a value's memory. Does not read the elements."""
    if any(hasattr(x, name) for name in _PROTOCOLS):
        return True
    try:
        memoryview(x)
    except TypeError:
        return False
    return True
