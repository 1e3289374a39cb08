"""Tests that columns which are not plain arrays (masked arrays, lists, dictionaries) lose no information."""

import numpy as np
import pandas as pd
import pytest

import warpnest as wn

REFUSED = (OverflowError, TypeError, ValueError)


@pytest.mark.parametrize("dtype", ["Int64", "UInt64", "Int32", "UInt32", "Float64", "Float32"])
def test_columns_of_pandas_with_a_mask(dtype):
    whole = pd.Series([3, 1, 3], dtype=dtype)
    for x in (whole, whole.array, pd.Index(whole)):
        found = wn.unique(x, sorted=True)
        assert found.dtype == dtype.lower() and found.tolist() == [1, 3]
    missing = pd.Series([1, 2, None, None], dtype=dtype)
    for x in (missing, missing.array, pd.Index(missing)):
        for call in (
            wn.unique,
            wn.Set,
            lambda x: wn.Map(x, np.arange(4)),
            lambda x: wn.Map(np.arange(4), x),
            lambda x: wn.isin(x, [1]),
            lambda x: wn.isin(np.array([1], dtype.lower()), x),
            lambda x: wn.Set(np.array([1], dtype.lower())).contains(x),
            lambda x: wn.join(x, x),
            lambda x: wn.group_by(x, {}),
            lambda x: wn.group_by(np.arange(4), {"sum": (x, "sum")}),
        ):
            with pytest.raises(ValueError, match=" has 2 missing values: fill or drop them first"):
                call(x)


def test_other_columns_of_pandas():
    exact = pd.Series([2**53, 2**53 + 1, 2**53], dtype="Int64")
    assert wn.unique(exact, sorted=True).tolist() == [2**53, 2**53 + 1]
    numbers = pd.Categorical([2**53, 2**53 + 1, 2**53])
    assert wn.unique(numbers, sorted=True).tolist() == [2**53, 2**53 + 1]
    pa = pytest.importorskip("pyarrow")
    of_arrow = pd.ArrowDtype(pa.int64())
    assert wn.unique(pd.Index([2**53, 2**53 + 1], dtype=of_arrow), sorted=True).tolist() == [2**53, 2**53 + 1]
    for x, text in (
        (pd.Categorical([2**53, 2**53 + 1, None]), "1 missing value: fill or drop it first"),
        (pd.Index([1, None], dtype=of_arrow), "1 null"),
        (pd.array([1, None], dtype=of_arrow), "1 null"),
        (pd.Index(["a"], dtype=pd.ArrowDtype(pa.string())), "Utf8"),
        (pd.Series([True, None], dtype="boolean"), "1 missing value"),
        (pd.Series([True, False], dtype="boolean"), "type bool, .* convert it"),
        (pd.Series(["a", "b"], dtype="category"), "type object|type str|missing|texts"),
        (pd.Series(["a", "b"], dtype="string"), "type object"),
        (pd.Series(pd.date_range("2020", periods=2, tz="UTC")), "time zone: pass `tz_convert"),
        (pd.date_range("2020", periods=2, tz="Asia/Tokyo"), "time zone: pass `tz_convert"),
        (pd.period_range("2020", periods=2), "type object"),
        (pd.DataFrame({"a": [2**53 + 1], "b": [0.5]}), "a DataFrame: pass its columns one by one"),
        (pd.DataFrame({"a": [1, 2], "b": [1, 3]}), "a DataFrame: pass its columns one by one"),
        (pd.MultiIndex.from_tuples([(1, 2)]), "type object"),
    ):
        with pytest.raises(REFUSED, match=text):
            wn.unique(x)
    # NaN and NaT are keys in pandas columns, as in other columns.
    assert len(wn.unique(pd.Series([1.0, None, float("nan")]))) == 2
    assert len(wn.unique(pd.Series(pd.to_datetime(["2020-01-01", None])))) == 2


def test_arrays_with_a_mask():
    x = np.ma.array([1, 2, 3], mask=[False, True, False])
    for call in (
        wn.unique,
        wn.Set,
        lambda x: wn.isin(x, [1]),
        lambda x: wn.isin(np.array([1]), x),
        lambda x: wn.Map(np.arange(3), x),
        lambda x: wn.Set(np.arange(3)).contains(x),
        lambda x: wn.group_by(np.arange(3), {"sum": (x, "sum")}),
        lambda x: wn.isin(np.array([1]), [1, x[1]]),
    ):
        with pytest.raises(REFUSED, match="missing value.*: fill or drop it first"):
            call(x)
    assert wn.unique(np.ma.array([3, 1, 3]), sorted=True).tolist() == [1, 3]
    assert wn.unique(x.compressed(), sorted=True).tolist() == [1, 3]


def test_columns_in_a_list_are_not_one_column(xp):
    if not xp.has_columns:
        pytest.skip("lists are refused")
    a, b = xp([1, 1, 2], "int32"), xp([5, 6, 5], "int32")
    for two in ([a, b], [[1, 1, 2], [5, 6, 5]], [(1, 5), (1, 6)], [a.tolist() if hasattr(a, "tolist") else [1], b]):
        for call in (
            lambda x: wn.join(x, x),
            lambda x: wn.join(x, (a, b)),
            lambda x: wn.join((a, b), x),
            lambda x: wn.join(a, x),
            lambda x: wn.isin(x, x),
            lambda x: wn.isin(a, x),
            wn.unique,
            wn.factorize,
            wn.value_counts,
            wn.Set,
            lambda x: wn.group_by(x, {"n": "count"}),
            lambda x: wn.Map(x, a),
            lambda x: wn.Map(a, x),
            lambda x: wn.MultiMap(x, a),
            lambda x: wn.Set((a, b)).contains(x),
            lambda x: wn.Set(a).contains(x),
            lambda x: wn.Set(a).insert(x),
            lambda x: wn.Map(a, a)[x],
        ):
            with pytest.raises(REFUSED) as error:
                call(two)
            assert "tuple" in str(error.value) or "columns" in str(error.value)


def test_rows_have_one_dimension():
    x = np.arange(6).reshape(2, 3)
    for call in (
        lambda: wn.join(x, x),
        lambda: wn.join(np.arange(6), x),
        lambda: wn.group_by(x, {}),
        lambda: wn.group_by(np.arange(6), {"sum": (x, "sum")}),
    ):
        with pytest.raises(ValueError, match="has 2 dimensions, and rows have one"):
            call()


def test_dictionaries_are_not_compared_by_their_codes():
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    words = pa.array(["b", "a"]).dictionary_encode()
    for x in (
        words,
        pa.array([7, 8]).dictionary_encode(),
        pl.Series(["b", "a"], dtype=pl.Categorical),
        pl.Series(["b", "a"], dtype=pl.Enum(["a", "b"])),
        pd.Series(["b", "a"], dtype=pd.ArrowDtype(words.type)),
        pa.array(["a"]),
        pl.Series(["a"]),
    ):
        with pytest.raises(TypeError) as error:
            wn.join(x, x)
        text = str(error.value)
        assert "dictionary" in text and not any(word in text for word in ("indices", "to_physical", "pass its codes"))
