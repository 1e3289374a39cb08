"""Tests that no conversion changes an element. Otherwise it is refused with a message that says what to do."""

from collections import deque
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import warpnest as wn

REFUSED = (OverflowError, TypeError, ValueError)
UTC = timezone.utc
DAYS = np.array(["2020-01-01", "2020-01-02"], "M8[D]")
SECONDS = np.array([0, 60], "m8[s]")
INTS = np.array([1, 5, 2**53])
UNSIGNED = np.array([1, 2**63 + 1], "u8")
FLOATS = np.array([0.5, 1.0, 2.0**53, float("nan")])
SHORT = np.array([0.1, 0.5], "f4")


@pytest.mark.parametrize(
    "keys, value",
    [
        # These times lie between the units of the keys, and have every class of times.
        (DAYS, "2020-01-01T12:00"),
        (DAYS, np.str_("2020-01-01T00:00:00.000000001")),
        (DAYS, "now"),
        (DAYS, np.datetime64("2020-01-01T12:00")),
        (DAYS, datetime(2020, 1, 1, 12)),
        (DAYS, pd.Timestamp("2020-01-01T00:00:00.000000001")),
        (DAYS.astype("M8[s]"), datetime(2020, 1, 1, 0, 0, 0, 1)),
        (DAYS.astype("M8[us]"), pd.Timestamp("2020-01-01T00:00:00.000000001")),
        (DAYS.astype("M8[M]"), date(2020, 1, 2)),
        (DAYS.astype("M8[Y]"), "2020-02"),
        (SECONDS, timedelta(microseconds=1)),
        (SECONDS, timedelta(seconds=60, microseconds=1)),
        (SECONDS, pd.Timedelta(1, "ns")),
        (SECONDS, np.timedelta64(60001, "ms")),
        (SECONDS.astype("m8[D]"), timedelta(hours=1)),
        # These times are beyond the unit's range, which NumPy would wrap, or in units that are not
        # multiples.
        (DAYS.astype("M8[ns]"), "1000-01-01"),
        (np.datetime64(10**6, "Y").astype("M8[ns]").reshape(1), np.datetime64(10**6, "Y")),
        (np.array([timedelta.max], "m8[us]"), timedelta.max),
        (np.array([365], "m8[D]"), np.timedelta64(1, "Y")),
        (np.array([146097], "m8[D]"), np.timedelta64(400, "Y")),
        (SECONDS, np.timedelta64(60)),
        # These times have a time zone.
        (DAYS, datetime(2020, 1, 1, tzinfo=UTC)),
        (DAYS.astype("M8[s]"), "2020-01-01T00:00Z"),
        (DAYS.astype("M8[s]"), "2020-01-01T01:00+01:00"),
        (DAYS.astype("M8[ns]"), pd.Timestamp("2020-01-01", tz="UTC")),
        # These values are not times.
        (DAYS, 18262),
        (DAYS, 18262.0),
        (DAYS, None),
        (DAYS, ""),
        (DAYS, "abc"),
        (DAYS, "20200101"),
        (DAYS, "1"),
        (DAYS, "today"),
        (DAYS, time(1)),
        (SECONDS, 60),
        (SECONDS, pd.NaT),
        # These values are not integers of the keys' type.
        (INTS, 2**64 + 1),
        (INTS, 1.5),
        (INTS, 1.0 + 2**-52),
        (INTS, True),
        (INTS, np.True_),
        (INTS, "1"),
        (INTS, b"1"),
        (INTS, None),
        (INTS, pd.NA),
        (INTS, pd.NaT),
        (INTS, Decimal("1.5")),
        (INTS, Fraction(3, 2)),
        (INTS, 1j),
        (INTS, np.datetime64(5, "ns")),
        (INTS, np.timedelta64(5, "ns")),
        (INTS, np.array(np.datetime64(5, "ns"))),
        (INTS, timedelta(microseconds=5)),
        (INTS, date(2020, 1, 1)),
        (INTS, np.ma.masked),
        (np.array([0]), np.ma.masked),
        (UNSIGNED, -1),
        (UNSIGNED, np.int64(-(2**63) + 1)),
        (INTS.astype("i4")[:2], 2**32 + 1),
        # These values are not exact floating-point numbers of the keys' type.
        (FLOATS, 2**53 + 1),
        (FLOATS, np.uint64(2**53 + 1)),
        (FLOATS, np.longdouble(1) + np.finfo(np.longdouble).eps),
        (FLOATS, True),
        (FLOATS, None),
        (FLOATS, pd.NA),
        (FLOATS, "nan"),
        (FLOATS, Decimal("0.5")),
        (FLOATS, np.ma.masked),
        (SHORT, 0.1),
        (SHORT, 2**24 + 1),
        (SHORT, 1e300),
        # These values are not texts of the keys' type.
        (np.array(["ab"]), "abc"),
        (np.array(["ab"]), "ab\0"),
        (np.array([b"abcd"]), b"abcd\0"),
        (np.array([b"abcd"]), "abcd"),
        (np.array(["1"]), 1),
    ],
    ids=repr,
)
def test_what_is_no_key_is_refused(keys, value):
    """Passes the value in a list, as a single value, and beside another value in a list."""
    other = keys[0]
    for given in ([value], [other, value], [value, other], deque([other, value])):
        for call in (
            lambda given=given: wn.isin(keys, given),
            lambda given=given: wn.Set(keys).contains(given),
            lambda given=given: wn.Set(keys).remove(given),
            lambda given=given: wn.Map(keys, keys).insert(given, given),
            lambda given=given: wn.Map(keys, keys).insert(keys[: len(given)], given),
            lambda given=given: wn.join(keys, given),
            lambda given=given: wn.MultiMap(keys, keys).count(given),
        ):
            with pytest.raises(REFUSED) as error:
                call()
            assert len(str(error.value)) > 20
    m = wn.Map(keys, keys)
    with pytest.raises(REFUSED):
        m[value]
    with pytest.raises(REFUSED):
        m[value] = keys[0]
    with pytest.raises(REFUSED):
        m[other] = value
    with pytest.raises(REFUSED):
        wn.isin(keys, value)
    if value is not None:
        with pytest.raises(REFUSED):
            m.get(keys, default=value)
    assert len(m) == len(wn.unique(keys))


@pytest.mark.parametrize("keys, value", [(INTS, True), (INTS, Fraction(5)), (FLOATS, Decimal("0.5")), (FLOATS, 1)])
def test_equal_numbers_of_other_types_are_in_a_table_as_they_are_in_a_dict(keys, value):
    assert value in wn.Set(keys) and value in set(keys.tolist()) and wn.Map(keys, keys).get(value) == value


@pytest.mark.parametrize(
    "keys, given, expected",
    [
        (UNSIGNED, [2**63 + 1, 1], [True, True]),
        (UNSIGNED, [1, np.uint64(2**63 + 1)], [True, True]),
        (UNSIGNED, [np.int32(1), 7, 2**64 - 1], [True, False]),
        (UNSIGNED, np.uint64(2**63 + 1), [False, True]),
        (UNSIGNED, range(2**63, 2**63 + 2), [False, True]),
        (INTS.astype("i4")[:2], range(5, -9, -2), [True, True]),
        (INTS, range(0), [False, False, False]),
        (INTS, [np.uint8(1), np.int64(5), 7], [True, True, False]),
        (INTS, range(1, 6), [True, True, False]),
        (INTS, [np.array(1), 2**53], [True, False, True]),
        (FLOATS, [2**53, 0.5, np.float32(1), float("nan")], [True] * 4),
        (FLOATS, [-1, 2**63, 1], [False, True, False, False]),
        (SHORT, [np.float32(0.1), 1], [True, False]),
        (DAYS, ["2020-01-01T00:00", "2020-01"], [True, False]),
        (DAYS, [datetime(2020, 1, 1), date(2020, 1, 2)], [True, True]),
        (DAYS, [np.datetime64("2020-01-02T00", "ns"), pd.NaT], [False, True]),
        (DAYS.astype("M8[ns]"), [pd.Timestamp("2020-01-01"), "2020-01-02", datetime(2020, 1, 1)], [True, True]),
        (DAYS, datetime(2020, 1, 1), [True, False]),
        (SECONDS, [timedelta(minutes=1), pd.Timedelta(0), np.timedelta64(1, "D")], [True, True]),
        (SECONDS, [np.timedelta64("NaT")], [False, False]),
        (np.array(["a", "bc"]), ["a", np.str_("bc")], [True, True]),
        (np.array([b"a", b"bcde"]), [b"bcde"], [False, True]),
    ],
    ids=repr,
)
def test_what_is_the_same_is_taken(keys, given, expected):
    assert wn.isin(keys, given).tolist() == expected
    expected = wn.isin(keys, given).tolist()
    s = wn.Set(keys)
    if isinstance(given, list):
        assert [value in s for value in given] == s.contains(given).tolist()
        assert wn.isin(given, keys).tolist() == s.contains(given).tolist()


@pytest.mark.parametrize(
    "values",
    [
        [2**53 + 1, 0.5],
        [2**63, -1],
        [2**64],
        [-(2**63) - 1, 1],
        range(-(2**63) + 1, -(2**63) - 2, -1),
        [np.uint64(2**63 + 1), np.int64(-1)],
        [1, None],
        [1.5, None],
        [1, True],
        [1, "1"],
        ["a", b"a"],
        ["a", "a\0"],
        [b"abc\0", b"abc"],
        [date(2020, 1, 1)],
        [datetime(2020, 1, 1), np.datetime64("2020-01-01")],
        [pd.Timestamp(5)],
        [timedelta(1)],
        [Decimal("0.5")],
        [1, np.ma.masked],
        [1, pd.NA],
        [np.datetime64(10**6, "Y"), np.datetime64(1, "ns")],
        [np.timedelta64(1, "Y"), np.timedelta64(1, "D")],
        [np.datetime64(5, "s"), 5],
        [1j],
        np.array([1, 2], object),
        pd.Series([1, None], dtype=object),
        {1, 2},
        {1: 2},
    ],
    ids=repr,
)
def test_lists_without_a_type_are_not_converted_to_other_elements(values):
    for call in (wn.unique, wn.Set, wn.factorize, wn.value_counts, lambda x: wn.group_by(x, {"n": "count"})):
        with pytest.raises(REFUSED) as error:
            call(values)
        assert len(str(error.value)) > 20
    for call in (lambda x: wn.Map(x, x), lambda x: wn.group_by(np.zeros(len(x), int), {"first": (x, "first")})):
        with pytest.raises(REFUSED):
            call(values)


def test_lists_have_the_type_that_has_all_their_elements():
    for values, dtype in (
        ([2**63 + 1, 1], "u8"),
        ([np.uint64(2**63 + 1), 1], "u8"),
        ([np.uint32(1), -1], "i8"),
        ([np.int32(1), np.int32(2)], "i4"),
        ([1, 0.5], "f8"),
        ([np.float32(0.5), np.float32(2)], "f4"),
        ([np.float32(0.5), 3], "f8"),
        (["a", "bc"], "U2"),
        ([np.datetime64("2020"), np.datetime64("2020-01-01T12")], "M8[h]"),
        ([], "f8"),
        (range(3), "i8"),
        (range(0), "i8"),
        (range(2**63, 2**63 + 2), "u8"),
        (deque([2**53 + 1, 1]), "i8"),
    ):
        found = wn.unique(values)
        assert found.dtype == dtype and set(found.tolist()) == set(np.array(list(values), dtype).tolist())
    # Two lists are converted to one type, regardless of their order.
    assert wn.isin([1], [2**63 + 1, 1]).tolist() == [True] and wn.isin([2**63 + 1], [1]).tolist() == [False]
    assert wn.isin([1, 2], [1.0, 2.5]).tolist() == [True, False]
    assert wn.join(["abc"[:2]], ["a", "ab"])[1].tolist() == [1]
    with pytest.raises(REFUSED):
        wn.isin([2**53, 2**53 + 1], [0.5])


def test_lists_beside_columns_of_arrow():
    pa = pytest.importorskip("pyarrow")
    tokyo = pa.array([datetime(2020, 1, 1, tzinfo=UTC)], pa.timestamp("us", "Asia/Tokyo"))
    assert datetime(2020, 1, 1, tzinfo=UTC) in wn.Set(tokyo) and np.datetime64("2020-01-01") in wn.Set(tokyo)
    assert datetime(2020, 1, 1, 9, tzinfo=timezone(timedelta(hours=9))) in wn.Set(tokyo)
    assert pd.Timestamp("2020-01-01T09:00", tz="Asia/Tokyo") in wn.Set(tokyo)
    days = pa.array([date(1970, 1, 6), date(1970, 1, 2)])
    times = pa.array([time(0, 0, 5)], pa.time32("s"))
    for x, given in (
        (tokyo, datetime(2020, 1, 1)),
        (tokyo, "2020-01-01"),
        (tokyo, date(2020, 1, 1)),
        (tokyo, pd.Timestamp("2020-01-01")),
        (tokyo, pd.Timestamp("2020-01-01T00:00:00.000000001", tz="UTC")),
        (days, np.datetime64(5, "ns")),
        (days, np.timedelta64(5, "ns")),
        (days, "1970-01-06T12"),
        (days, True),
        (days, 5.0),
        (days, Decimal("5.5")),
        (times, "5"),
        (times, True),
        (times, Decimal("5.5")),
        (times, np.datetime64(5, "ns")),
        (times, np.timedelta64(5, "s")),
        (times, time(0, 0, 5, 1)),
    ):
        with pytest.raises(REFUSED):
            wn.isin(x, [given])
        assert given not in wn.Set(x)
    assert 5 in wn.Set(days) and 5 in wn.Set(times) and np.datetime64("1970-01-06", "ns") in wn.Set(days)


def test_tensors():
    torch = pytest.importorskip("torch")
    x = torch.tensor([1, 2**53 + 1])
    assert wn.isin(x, [torch.tensor(2**53 + 1), np.int32(1)]).tolist() == [True, True]
    with pytest.raises(REFUSED):
        wn.isin(x, [torch.tensor(1.5)])
    with pytest.raises(REFUSED, match="tuple"):
        wn.unique([x, x])
    with pytest.raises(REFUSED, match="mask"):
        wn.unique(torch.masked.masked_tensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False])))
