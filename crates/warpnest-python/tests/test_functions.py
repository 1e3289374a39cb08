"""Tests of the functions on columns against NumPy and pandas."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import warpnest as wn

DTYPES = ["int32", "uint32", "int64", "uint64"]
LENGTHS = [0, 1, 3, 31, 32, 33, 1000, 5000]


def columns(dtype):
    """Draws columns with few and with many distinct keys, including the extreme values of the type."""
    limits = np.iinfo(dtype)
    few = st.sampled_from([limits.min, limits.max, 0, 1, 7, limits.max - 1])
    return arrays(
        dtype, st.integers(0, 200), elements=st.one_of(few, st.integers(limits.min, limits.max)), fill=st.nothing()
    )


def sample(seed, length, dtype, different=100):
    return np.random.default_rng(seed).integers(0, different, length).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS)
def test_unique_gives_what_numpy_gives(xp, dtype, length):
    x = sample(length, length, dtype)
    result = wn.unique(xp(x), return_index=True, return_inverse=True, return_counts=True, sorted=True)
    for ours, theirs in zip(map(xp.back, result), np.unique(x, True, True, True)):
        np.testing.assert_array_equal(ours, theirs)
    keys, inverse, counts = map(xp.back, wn.unique(xp(x), return_inverse=True, return_counts=True))
    np.testing.assert_array_equal(keys[inverse], x)
    np.testing.assert_array_equal(np.sort(keys), np.unique(x))
    np.testing.assert_array_equal(counts, [np.count_nonzero(x == key) for key in keys])
    assert xp.back(wn.unique(xp(x))).dtype == dtype


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_unique_of_any_keys(dtype, data):
    x = data.draw(columns(dtype))
    result = wn.unique(x, return_index=True, return_inverse=True, return_counts=True, sorted=True)
    for ours, theirs in zip(result, np.unique(x, True, True, True)):
        np.testing.assert_array_equal(ours, theirs)


def test_unique_keeps_the_shape_of_the_inverse(xp):
    if not xp.has_shapes:
        pytest.skip("one dimension only")
    x = sample(1, 600, "int64").reshape(20, 30)
    keys, inverse = map(xp.back, wn.unique(xp(x), return_inverse=True))
    assert inverse.shape == (20, 30)
    np.testing.assert_array_equal(keys[inverse], x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floating_point_keys_are_equal_as_numbers_are(xp, dtype):
    if not xp.has_columns:
        pytest.skip("no floating-point keys")
    negative_nan = -np.array(np.nan, dtype)
    x = np.array([0.0, -0.0, 1.5, -1.5, np.nan, negative_nan, np.inf, -np.inf, 1.5, np.finfo(dtype).tiny], dtype)
    keys, inverse, counts = map(xp.back, wn.unique(xp(x), return_inverse=True, return_counts=True, sorted=True))
    expected = np.unique(x, return_inverse=True, return_counts=True)
    for ours, theirs in zip((keys, inverse, counts), expected):
        np.testing.assert_array_equal(ours, theirs)
    assert keys.dtype == dtype and not np.signbit(keys[keys == 0]).any()
    # Like pandas' `isin`, ours treats NaNs as equal.
    among = np.array([-0.0, np.nan, 2.0], dtype)
    np.testing.assert_array_equal(xp.back(wn.isin(xp(x), xp(among))), pd.Series(x).isin(among))


@pytest.mark.parametrize(
    "first, second", [("int32", "int32"), ("uint32", "uint32"), ("int32", "uint32"), ("float32", "int32")]
)
def test_keys_of_two_columns(xp, first, second):
    if not xp.has_columns:
        pytest.skip("one column only")
    rng = np.random.default_rng(5)
    a = rng.integers(0 if first == "uint32" else -9, 9, 700).astype(first)
    b = rng.integers(0 if second == "uint32" else -9, 9, 700).astype(second)
    keys, inverse, counts = wn.unique((xp(a), xp(b)), return_inverse=True, return_counts=True, sorted=True)
    (u, v), inverse, counts = xp.back(keys), xp.back(inverse), xp.back(counts)
    expected = pd.DataFrame({"a": a, "b": b}).value_counts().sort_index().reset_index()
    np.testing.assert_array_equal(u, expected["a"])
    np.testing.assert_array_equal(v, expected["b"])
    np.testing.assert_array_equal(counts, expected["count"])
    np.testing.assert_array_equal(u[inverse], a)
    np.testing.assert_array_equal(v[inverse], b)
    assert (u.dtype, v.dtype) == (first, second)


@pytest.mark.parametrize("dtype", DTYPES + ["float32", "float64"])
@pytest.mark.parametrize("length", LENGTHS)
def test_isin_gives_what_numpy_gives(xp, dtype, length):
    if dtype.startswith("float") and not xp.has_columns:
        pytest.skip("no floating-point keys")
    x, among = sample(length, length, dtype), sample(length + 1, length // 3, dtype)
    found = wn.isin(xp(x), xp(among))
    np.testing.assert_array_equal(xp.back(found), np.isin(x, among))
    assert xp.back(found).dtype == bool
    np.testing.assert_array_equal(xp.back(wn.isin(xp(x), xp(among), invert=True)), ~np.isin(x, among))


@given(x=columns("int64"), among=columns("int64"))
@settings(max_examples=60, deadline=None)
def test_isin_of_any_keys(x, among):
    np.testing.assert_array_equal(wn.isin(x, among), np.isin(x, among))


def test_isin_takes_lists_and_shapes(xp):
    x = sample(3, 60, "int32")
    if not xp.has_columns:
        with pytest.raises(ValueError, match="among is on the host: make it an array of jax"):
            wn.isin(xp(x), [1, 2, 3])
        return
    np.testing.assert_array_equal(xp.back(wn.isin(xp(x), [1, 2, 3])), np.isin(x, [1, 2, 3]))
    if xp.has_shapes:
        x = x.reshape(6, 10)
        np.testing.assert_array_equal(xp.back(wn.isin(xp(x), xp([5], "int32"))), x == 5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS)
def test_factorize_gives_what_pandas_gives(xp, dtype, length):
    x = sample(length, length, dtype, 50)
    codes, keys = map(xp.back, wn.factorize(xp(x)))
    expected_codes, expected_keys = pd.factorize(x)
    np.testing.assert_array_equal(codes, expected_codes)
    np.testing.assert_array_equal(keys, expected_keys)


@given(x=columns("int32"))
@settings(max_examples=60, deadline=None)
def test_value_counts_of_any_keys(x):
    keys, counts = wn.value_counts(x)
    expected_keys, expected = np.unique(x, return_counts=True)
    order = np.lexsort((expected_keys, -expected))
    np.testing.assert_array_equal(keys, expected_keys[order])
    np.testing.assert_array_equal(counts, expected[order])


@pytest.mark.parametrize("values", DTYPES + ["float32", "float64"])
def test_group_by_gives_what_pandas_gives(xp, values):
    rng = np.random.default_rng(7)
    keys, x = rng.integers(-20, 20, 3000), rng.integers(0, 1000, 3000).astype(values)
    if values.startswith("float"):
        x /= 8
    functions = ["sum", "min", "max", "mean", "first", "last"]
    held = xp(x)
    wanted = {"rows": "count", **{function: (held, function) for function in functions}}
    groups = wn.group_by(xp(keys), wanted, order="sorted")
    expected = pd.DataFrame({"k": keys, "x": x}).groupby("k")["x"].agg(["count", *functions])
    np.testing.assert_array_equal(xp.back(groups.keys), expected.index)
    np.testing.assert_array_equal(xp.back(groups.columns["rows"]), expected["count"])
    for function in functions:
        np.testing.assert_allclose(
            xp.back(groups.columns[function]), expected[function], rtol=1e-6 if values == "float32" else 1e-12
        )
    assert xp.back(groups.columns["sum"]).dtype == np.dtype(f"{x.dtype.kind}8")
    assert xp.back(groups.columns["first"]).dtype == values


@pytest.mark.parametrize("values", DTYPES + ["float32", "float64"])
@pytest.mark.parametrize("ddof", [0, 1])
def test_spreads_and_quantiles_are_those_of_pandas(xp, values, ddof):
    rng = np.random.default_rng(8)
    keys, x = rng.integers(-20, 20, 3000), rng.integers(0, 1000, 3000).astype(values)
    held = xp(x)
    wanted = {name: (held, name) for name in ("nunique", "var", "std", "median")}
    wanted["high"] = (held, "quantile", 0.9)
    groups = wn.group_by(xp(keys), wanted, order="sorted", ddof=ddof, reproducible=True)
    grouped = pd.DataFrame({"k": keys, "x": x}).groupby("k")["x"]
    expected = {"nunique": grouped.nunique(), "median": grouped.median(), "high": grouped.quantile(0.9)}
    expected.update(var=grouped.var(ddof=ddof), std=grouped.std(ddof=ddof))
    for name, column in groups.columns.items():
        rtol = 1e-5 if values == "float32" else 1e-12
        np.testing.assert_allclose(xp.back(column), expected[name], rtol=rtol)
    assert xp.back(groups.columns["var"]).dtype == "float64"
    top = wn.group_by(xp(keys), wanted, order="sorted", top=(3, "nunique"))
    assert (xp.back(top.columns["nunique"]) == np.sort(expected["nunique"])[::-1][:3]).all()
    assert len(xp.back(top.keys)) == 3


@pytest.mark.parametrize("order", ["sorted", "first"])
@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32"])
@pytest.mark.parametrize("rows", [5, 1000, 200_000])
def test_means_of_integers_are_rounded_once(dtype, rows, order):
    rng, limits = np.random.default_rng(rows), np.iinfo(dtype)
    keys = np.sort(rng.integers(0, 7, rows))
    columns = {
        "wide": rng.integers(limits.min, limits.max, rows, dtype, endpoint=True),
        "equal": np.full(rows, limits.max // 2 + 1, dtype),
        "small": rng.integers(0, 1000, rows).astype(dtype),
    }
    for x in columns.values():
        means = wn.group_by(keys, {"mean": (x, "mean")}, order=order).columns["mean"]
        for key, mean in zip(np.unique(keys), means, strict=True):
            of = x[keys == key].tolist()
            assert mean == float(Fraction(sum(of), len(of)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows", [60, 200_000])
@pytest.mark.parametrize("others", [[], ["mean"]])
def test_nans_are_no_extremes(xp, dtype, rows, others):
    rng = np.random.default_rng(rows)
    keys = rng.integers(0, 20, rows)
    x = rng.choice(np.array([-np.inf, -2, 0, 3, np.inf, np.nan, -np.nan], dtype), rows)
    x[keys % 4 == 1] = np.nan
    x[keys % 4 == 2] = -np.array(np.nan, dtype)
    held, wanted = xp(x), {}
    for function in ["min", "max", *others]:
        wanted[function] = (held, function)
    columns = wn.group_by(xp(keys), wanted, order="sorted").columns
    expected = pd.DataFrame({"k": keys, "x": x}).groupby("k")["x"].agg(["min", "max"])
    kept = wn.group_by(xp(keys), wanted, order="sorted", skipna=False).columns
    for function in ("min", "max"):
        np.testing.assert_array_equal(xp.back(columns[function]), expected[function])
        whole = [getattr(x[keys == key], function)() for key in expected.index]
        np.testing.assert_array_equal(xp.back(kept[function]), whole)
    with pytest.raises(TypeError, match="skipna is True or False"):
        wn.group_by(xp(keys), {}, skipna="no")


def test_group_by_orders_and_two_columns(xp):
    if not xp.has_columns:
        pytest.skip("one column only")
    a, b = np.array([2, 1, 2, 2], "int32"), np.array([5, -1, 5, 4], "int32")
    groups = wn.group_by((xp(a), xp(b)), {"rows": "count"}, order="first")
    np.testing.assert_array_equal(xp.back(groups.keys), [[2, 1, 2], [5, -1, 4]])
    np.testing.assert_array_equal(xp.back(groups.columns["rows"]), [2, 1, 1])
    groups = wn.group_by((xp(a), xp(b)), {}, order="sorted")
    np.testing.assert_array_equal(xp.back(groups.keys), [[1, 2, 2], [-1, 4, 5]])


@pytest.mark.parametrize("how", ["inner", "left", "right", "outer", "semi", "anti"])
@pytest.mark.parametrize("dtype", ["int32", "uint64"])
def test_joins_give_what_pandas_gives(xp, how, dtype):
    left, right = sample(1, 400, dtype, 300), sample(2, 300, dtype, 300)
    rows = wn.join(xp(left), xp(right), how)
    if how in ("semi", "anti"):
        np.testing.assert_array_equal(np.sort(xp.back(rows)), np.flatnonzero(np.isin(left, right) == (how == "semi")))
        return
    # Missing rows are nulls if the library has nulls.
    sides = [side.fill_null(-1) if hasattr(side, "fill_null") else side for side in rows]
    ours = sorted(zip(*(xp.back(side).tolist() for side in sides)))
    frames = [pd.DataFrame({"k": side, name: np.arange(len(side))}) for side, name in ((left, "i"), (right, "j"))]
    merged = frames[0].merge(frames[1], on="k", how=how)[["i", "j"]].fillna(-1).astype(int)
    assert ours == sorted(map(tuple, merged.to_numpy().tolist()))


def test_masks_of_joins(xp):
    left, right = xp([10, 20, 30], "int32"), xp([30, 10, 10, 40], "int32")
    expected = {
        "inner": [(0, 1), (0, 2), (2, 0)],
        "left": [(0, 1), (0, 2), (1, None), (2, 0)],
        "right": [(0, 1), (0, 2), (2, 0), (None, 3)],
        "outer": [(0, 1), (0, 2), (1, None), (2, 0), (None, 3)],
    }
    for how, pairs in expected.items():
        rows = wn.join(left, right, how)
        i, j = rows
        assert i is rows.left and j is rows.right and len(rows) == 2
        sides = []
        for side, has in ((rows.left, rows.has_left), (rows.right, rows.has_right)):
            values = side.to_pylist() if xp.name == "pyarrow" else xp.back(side).tolist()
            has = has.to_pylist() if xp.name == "pyarrow" else xp.back(has).tolist()
            if xp.name.startswith(("polars", "pyarrow")):
                assert (
                    side.null_count == has.count(False)
                    if xp.name == "pyarrow"
                    else side.null_count() == has.count(False)
                )
            else:
                assert [value == -1 for value in values] == [not one for one in has]
            sides.append([int(value) if one else None for value, one in zip(values, has)])
        key = lambda pair: tuple((value is None, value) for value in pair)
        assert sorted(zip(*sides), key=key) == sorted(pairs, key=key), how


def test_nulls_of_joins_gather_nulls():
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    ages = [41, 37]
    for make in (pa.array, pl.Series):
        rows = wn.join(make([1, 7]), make([1, 2]), "left")
        column = make(ages)
        taken = column.take(rows.right).to_pylist() if make is pa.array else column.gather(rows.right).to_list()
        assert sorted(taken, key=str) == [41, None]
    empty = wn.join(pa.array([1, 7]), pa.array([], pa.int64()), "left")
    assert empty.right.null_count == 2 and not any(empty.has_right.to_pylist())


def test_times_and_texts():
    days = np.array(["2026-01-02", "2026-01-01", "2026-01-02"], "datetime64[ns]")
    np.testing.assert_array_equal(wn.unique(days, sorted=True), np.unique(days))
    texts = np.array([b"ab", b"cd", b"ab"], "S8")
    codes, keys = wn.factorize(texts)
    np.testing.assert_array_equal(keys[codes], texts)
    with pytest.raises(TypeError, match="order is not known"):
        wn.unique(texts, sorted=True)


def test_lists_and_pandas_columns():
    np.testing.assert_array_equal(wn.unique([3, 1, 3], sorted=True), [1, 3])
    series = pd.Series([3, 1, 3], index=[7, 8, 9])
    np.testing.assert_array_equal(wn.isin(series, [3]), [True, False, True])
