"""Tests of random types, lists and values against exact arithmetic: a call is either exact or refused.

`WARPNEST_CASES=20000 python -m pytest tests/test_drawn.py` draws 20,000 cases instead of 1,000.
"""

from __future__ import annotations

import calendar
import os
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import warpnest as wn

CASES = int(os.environ.get("WARPNEST_CASES", "1000"))
REFUSED = (OverflowError, TypeError, ValueError)
#: The nanoseconds of each unit of time, except for years and months, which depend on the calendar.
NANOSECONDS = {"W": 7 * 86400 * 10**9, "D": 86400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9}
NANOSECONDS |= {"ms": 10**6, "us": 10**3, "ns": 1}
CALENDAR = ("Y", "M")
EDGES = [0, 1, 2, 5, 2**24, 2**31, 2**32, 2**53, 2**63, 2**64]
UTC = timezone.utc


@dataclass(frozen=True, eq=False)
class Drawn:
    """A value as a caller passes it, with its meaning in exact arithmetic."""

    given: Any
    exact: Any
    #: The time that a text means in a table of times.
    time: Any = None

    def of(self, kind: str) -> Any:
        return self.time if kind == "M" and self.time is not None else self.exact


def exact_number(x: Any) -> Any:
    """Returns a number as a fraction. NaNs are equal to each other, as in tables."""
    if isinstance(x, (float, np.floating)) and not np.isfinite(x):
        return ("number", str(float(x)))
    if isinstance(x, (float, np.floating)):
        return ("number", Fraction(*x.as_integer_ratio()))
    return ("number", Fraction(int(x) if isinstance(x, (int, np.integer, np.bool_)) else x))


def exact_time(count: int, unit: str) -> Any:
    """Returns a NumPy time, which counts units since 1970, in nanoseconds."""
    if unit in CALENDAR:
        year, month = divmod(count, 12) if unit == "M" else (count, 0)
        year += 1970
        leap_days = sum(sign * (y // 4 - y // 100 + y // 400) for y, sign in ((year - 1, 1), (1969, -1)))
        months = sum(calendar.mdays[m] + (m == 2 and calendar.isleap(year)) for m in range(1, month + 1))
        return ("time", (365 * (year - 1970) + leap_days + months) * NANOSECONDS["D"])
    return ("time", count * NANOSECONDS[unit])


def exact_element(x: np.generic) -> Any:
    """Returns the exact meaning of an element of an array."""
    if x.dtype.kind in "mM":
        if np.isnat(x):
            return (x.dtype.kind, "NaT")
        unit, count = np.datetime_data(x.dtype)
        count *= int(x.view("i8"))
        if unit == "generic":
            return ("without a unit", count)
        if x.dtype.kind == "M":
            return exact_time(count, unit)
        return (
            ("months", count * (12 if unit == "Y" else 1))
            if unit in CALENDAR
            else ("duration", count * NANOSECONDS[unit])
        )
    return exact_number(x) if x.dtype.kind in "iufb" else ("text", x.item())


def is_taken(dtype: np.dtype, x: Drawn) -> bool:
    """Returns whether a value can be represented exactly in a table's type, so that it must not be refused."""
    kind, exact = x.of(dtype.kind)
    if kind == "number" and not isinstance(x.given, (bool, np.bool_, Decimal, Fraction)):
        is_integer = not isinstance(x.given, float) and np.asarray(x.given).dtype.kind != "f"
        if dtype.kind in "iu":
            return is_integer and np.iinfo(dtype).min <= exact <= np.iinfo(dtype).max
        if dtype.kind != "f" or not isinstance(exact, Fraction):
            return dtype.kind == "f"
        # Integers must fit in 64 bits, even if a floating-point type could represent more.
        limit = Fraction(2) ** (63 if is_integer else int(np.finfo(dtype).maxexp))
        return abs(exact) < limit and exact_number(dtype.type(float(exact))) == (kind, exact)
    if (kind, dtype.kind) in (("time", "M"), ("duration", "m")) and isinstance(exact, int):
        size = NANOSECONDS.get(np.datetime_data(dtype)[0])
        return size is not None and exact % size == 0 and abs(exact // size) < 2**63
    return False


numbers = st.one_of(
    st.builds(
        lambda edge, sign, off: sign * edge + off, st.sampled_from(EDGES), st.sampled_from([1, -1]), st.integers(-2, 2)
    ),
    st.integers(-9, 9),
)
INTEGER_TYPES = [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64]
FLOAT_TYPES = [np.float16, np.float32, np.float64, np.longdouble]


@st.composite
def integers(draw: Any) -> Drawn:
    value = draw(numbers)
    fits = [of for of in INTEGER_TYPES if np.iinfo(of).min <= value <= np.iinfo(of).max]
    of = draw(st.sampled_from([int, int, *fits]))
    given = of(value)
    return Drawn(draw(st.sampled_from([given, np.array(given)])) if of is not int else given, exact_number(value))


@st.composite
def floats(draw: Any) -> Drawn:
    value = draw(
        st.one_of(numbers.map(float), numbers.map(lambda x: x / 2), st.sampled_from([0.1, np.nan, np.inf, -0.0, 1e300]))
    )
    with np.errstate(over="ignore"):
        given = draw(st.sampled_from([float, float, *FLOAT_TYPES]))(value)
    if isinstance(given, np.longdouble) and draw(st.booleans()):
        given = np.nextafter(given, np.longdouble(7))
    return Drawn(given, exact_number(given))


@st.composite
def other_numbers(draw: Any) -> Drawn:
    value = draw(numbers)
    return draw(
        st.sampled_from(
            [
                Drawn(Decimal(value), exact_number(value)),
                Drawn(Fraction(value, 2), exact_number(Fraction(value, 2))),
                Drawn(bool(value), exact_number(bool(value))),
                Drawn(np.bool_(value), exact_number(bool(value))),
            ]
        )
    )


OFFSETS = [
    0,
    1,
    10**3,
    10**6,
    10**9,
    12 * 3600 * 10**9,
    NANOSECONDS["D"],
    31 * NANOSECONDS["D"],
    366 * NANOSECONDS["D"],
]


@st.composite
def times(draw: Any) -> Drawn:
    start = draw(st.sampled_from([date(2020, 1, 1), date(1970, 1, 1), date(1600, 3, 1), date(9990, 1, 1)]))
    nanoseconds = (start - date(1970, 1, 1)).days * NANOSECONDS["D"] + draw(st.sampled_from(OFFSETS))
    if abs(nanoseconds) >= 2**63:
        # Only microseconds and coarser units can represent these times.
        nanoseconds -= nanoseconds % 1000
    exact = ("time", nanoseconds)
    choices = []
    for unit, size in NANOSECONDS.items():
        if nanoseconds % size == 0 and abs(nanoseconds // size) < 2**63:
            given = np.datetime64(nanoseconds // size, unit)
            choices += (
                [Drawn(given, exact), Drawn(str(given), ("text", str(given)), exact)]
                if unit != "W"
                else [Drawn(given, exact)]
            )
    if nanoseconds % NANOSECONDS["D"] == 0:
        choices.append(Drawn(date(1970, 1, 1) + timedelta(days=nanoseconds // NANOSECONDS["D"]), exact))
    if nanoseconds % 1000 == 0:
        moment = datetime(1970, 1, 1) + timedelta(microseconds=nanoseconds // 1000)
        choices += [Drawn(moment, exact), Drawn(moment.replace(tzinfo=UTC), ("instant", nanoseconds))]
    if abs(nanoseconds) < 2**63:
        choices += [
            Drawn(pd.Timestamp(nanoseconds), exact),
            Drawn(pd.Timestamp(nanoseconds, tz="Asia/Tokyo"), ("instant", nanoseconds)),
        ]
    return draw(st.sampled_from(choices))


@st.composite
def durations(draw: Any) -> Drawn:
    nanoseconds = draw(st.sampled_from([0, 1, -1])) * 10**18 + draw(st.sampled_from(OFFSETS)) * draw(st.integers(-2, 2))
    exact = ("duration", nanoseconds)
    choices = [
        Drawn(np.timedelta64(nanoseconds // size, unit), exact)
        for unit, size in NANOSECONDS.items()
        if nanoseconds % size == 0
    ]
    if nanoseconds % 1000 == 0:
        choices.append(Drawn(timedelta(microseconds=nanoseconds // 1000), exact))
    choices += [Drawn(pd.Timedelta(nanoseconds, "ns"), exact), Drawn(timedelta.max, ("duration", "most"))]
    months = draw(st.integers(-1, 2))
    choices += [Drawn(np.timedelta64(months, unit), exact_element(np.timedelta64(months, unit))) for unit in CALENDAR]
    choices.append(Drawn(np.timedelta64(nanoseconds), ("without a unit", nanoseconds)))
    return draw(st.sampled_from(choices))


texts = st.sampled_from(["", "a", "ab", "abc", "a\0", "1", "2", "ä"]).flatmap(
    lambda text: st.sampled_from(
        [
            Drawn(text, ("text", text)),
            Drawn(np.str_(text), ("text", text)),
            Drawn(text.encode(), ("text", text.encode())),
        ]
    )
)
missing = st.sampled_from(
    [Drawn(x, ("missing", None)) for x in (None, pd.NA, np.ma.masked)] + [Drawn(object(), ("object", None))]
)
anything = st.one_of(integers(), floats(), other_numbers(), times(), durations(), texts, missing)
POOLS = {
    "i": st.one_of(integers(), integers(), floats()),
    "f": st.one_of(integers(), floats()),
    "M": times(),
    "m": durations(),
}
POOLS |= {"u": POOLS["i"], "U": texts, "S": texts}
UNITS = ["Y", "M", *NANOSECONDS]
DTYPES = [
    "i4",
    "u4",
    "i8",
    "u8",
    "f4",
    "f8",
    *(f"{kind}8[{unit}]" for kind in "mM" for unit in UNITS),
    "U1",
    "U2",
    "S4",
    "S8",
]
NUMBERS = DTYPES[:6]


def column_of(draw: Any, dtype: np.dtype) -> np.ndarray:
    """Draws a column of a type. Its elements are near the limits of the type and near the elements of lists."""
    if dtype.kind in "US":
        return np.array(draw(st.lists(st.sampled_from(["a", "ab", "1", "", "abc"]), max_size=4)), dtype)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array(
                draw(st.lists(floats(), max_size=4).map(lambda xs: [float(x.given) for x in xs])), "f8"
            ).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.array(draw(st.lists(numbers.filter(lambda x: limits.min <= x <= limits.max), max_size=4)), dtype)
    unit = np.datetime_data(dtype)[0]
    size = NANOSECONDS.get(unit, (365 if unit == "Y" else 30) * NANOSECONDS["D"])
    drawn = draw(st.lists(POOLS[dtype.kind], max_size=4))
    exact = [x.of(dtype.kind)[1] for x in drawn if isinstance(x.of(dtype.kind)[1], int)]
    counts = [count for count in (x // size for x in exact) if abs(count) < 2**63] + draw(
        st.lists(st.integers(-60, 60), max_size=2)
    )
    return np.array(counts, "i8").view(dtype)


@st.composite
def others(draw: Any, dtype: np.dtype) -> tuple[Any, list[Drawn]]:
    """Draws the other argument of a call: a list, a single value, or a column of any type and library."""
    of = draw(
        st.sampled_from(
            [
                "list",
                "list",
                "list",
                "range",
                "value",
                "array",
                "masked",
                "nullable",
                "pandas",
                "polars",
                "arrow",
                "categorical",
            ]
        )
    )
    if of in ("list", "value"):
        pool = st.one_of(POOLS[dtype.kind], POOLS[dtype.kind], anything)
        drawn = draw(st.lists(pool, min_size=1, max_size=1 if of == "value" else 4))
        return ([x.given for x in drawn] if of == "list" else drawn[0].given), drawn
    if of == "range":
        start = draw(numbers)
        given = range(start, start + draw(st.integers(-6, 6)), draw(st.sampled_from([1, 2, -1, -3])))
        return given, [Drawn(x, exact_number(x)) for x in given]
    like = np.dtype(draw(st.sampled_from([dtype.str, *(NUMBERS if of not in ("array", "masked") else DTYPES)])))
    column = column_of(draw, like)
    elements = [Drawn(x, exact_element(x)) for x in column]
    gone = draw(st.lists(st.booleans(), min_size=len(column), max_size=len(column)))
    if of == "masked":
        elements = [Drawn(None, ("missing", None)) if one else x for x, one in zip(elements, gone)]
        return np.ma.array(column, mask=gone), elements
    if of in ("array", "pandas") or like.kind not in "iuf":
        return (pd.Series(column) if of == "pandas" and like.kind in "iuf" else column), elements
    has_gone = any(gone) and draw(st.booleans())
    if has_gone:
        elements = [Drawn(None, ("missing", None)) if one else x for x, one in zip(elements, gone)]
    values = [None if has_gone and one else x for x, one in zip(column.tolist(), gone)]
    if of == "nullable":
        name = like.name.capitalize().replace("Ui", "UI")
        array = pd.arrays.FloatingArray if like.kind == "f" else pd.arrays.IntegerArray
        return pd.Series(array(column, np.array(gone, bool) & has_gone), dtype=name), elements
    if of == "categorical":
        return pd.Categorical.from_codes(
            [-1 if x is None else at for at, x in enumerate(values)], pd.Index(np.arange(len(values)) + 2**53)
        ), [
            Drawn(None, ("missing", None)) if x is None else Drawn(at, exact_number(2**53 + at))
            for at, x in enumerate(values)
        ]
    library = pytest.importorskip("polars" if of == "polars" else "pyarrow")
    return (
        library.Series(values, dtype=getattr(library, like.name.capitalize().replace("Ui", "UI")))
        if of == "polars"
        else library.array(values, like.name)
    ), elements


def answer(call: Any) -> Any:
    """Returns the result of a call, or None if the call was refused with a helpful message."""
    try:
        return call()
    except REFUSED as error:
        assert len(str(error)) > 20 and ":" in str(error), error
        return None


@given(data=st.data())
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_call_is_exact_or_refused(data):
    draw = data.draw
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    column = column_of(draw, dtype)
    exact = [exact_element(x) for x in column]
    given, drawn = draw(others(dtype))
    wanted = [x.of(dtype.kind) for x in drawn]
    is_of_lists = isinstance(given, (list, range))

    found = answer(lambda: wn.isin(column, given))
    assert found is None or np.ravel(found).tolist() == [x in wanted for x in exact]
    if is_of_lists and all(is_taken(dtype, x) for x in drawn):
        assert found is not None
    table = wn.Set(column)
    if isinstance(given, (list, range, np.ndarray, pd.Series)) or hasattr(given, "to_numpy"):
        found = answer(lambda: table.contains(given))
        assert found is None or np.ravel(found).tolist() == [x in exact for x in wanted]
        rows = answer(lambda: wn.join(column, given, "outer"))
        if rows is not None:
            pairs = {(i, j) for i, one in enumerate(exact) for j, other in enumerate(wanted) if one == other}
            pairs |= {(i, -1) for i, one in enumerate(exact) if one not in wanted}
            pairs |= {(-1, j) for j, other in enumerate(wanted) if other not in exact}
            assert set(zip(rows.left.tolist(), rows.right.tolist())) == pairs
        found = answer(lambda: wn.isin(given, column))
        assert found is None or np.ravel(found).tolist() == [x in exact for x in wanted]

    # The distinct keys of a column are its own elements, whichever type was chosen.
    keys = answer(lambda: wn.unique(given))
    if keys is not None:
        assert {exact_element(x) for x in np.atleast_1d(np.asarray(keys))} == {x.exact for x in drawn}

    # For single values, `in` never raises an error, and a stored value equals the given value.
    if is_of_lists:
        for x, one in zip(drawn, wanted):
            assert (x.given in table) == (one in exact)
            m = wn.Map(np.arange(1), np.zeros(1, dtype))
            if answer(lambda m=m, x=x: m.insert([0], [x.given])) is not None:
                assert exact_element(m.to_arrays()[1][0]) == one
            else:
                assert not is_taken(dtype, x)
            stored = answer(lambda m=m, x=x: m.get(np.array([7]), default=x.given)) if x.given is not None else None
            assert stored is None or exact_element(stored[0]) == one
