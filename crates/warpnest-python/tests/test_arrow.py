"""Tests of Arrow columns: which types are supported, which types results have, and what is copied."""

import gc
import pickle
import resource
import threading
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

import warpnest as wn
from warpnest._columns import column
from warpnest._libraries import NUMPY, library_of

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

#: Every supported type, as a pyarrow type.
TYPES = [
    pa.int32(),
    pa.int64(),
    pa.uint32(),
    pa.uint64(),
    pa.float32(),
    pa.float64(),
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time32("ms"),
    pa.time64("us"),
    pa.time64("ns"),
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    pa.timestamp("us", "UTC"),
    pa.timestamp("ns", "Europe/Berlin"),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
]
#: Values that every type can represent. For dates in milliseconds, `array` converts them from days.
VALUES = [0, 5, 3, 5, 0, 9]


def array(type, values=VALUES):
    """Returns integers as an array of a type. For types without numbers, the integers are the elements' bits."""
    if pa.types.is_floating(type):
        return pa.array(values, type)
    if pa.types.is_date64(type):
        values = [86_400_000 * value for value in values]
    return pa.array(values, pa.int32() if type.bit_width == 32 else pa.int64()).view(type)


def address(x):
    """Returns the address at which a call reads a column."""
    library = library_of(x)
    held = column(library, x, "x")
    return library.raw(held.array, held.length)[0]


class Unknown:
    """A column of an unknown library."""

    def __init__(self, array):
        self.array = array

    def __len__(self):
        return len(self.array)

    def __arrow_c_array__(self, requested_schema=None):
        return self.array.__arrow_c_array__(requested_schema)


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_every_type_comes_back(type):
    x = array(type)
    keys, inverse, counts = wn.unique(x, return_inverse=True, return_counts=True, sorted=True)
    assert keys.type == type and keys.equals(array(type, [0, 3, 5, 9]))
    assert keys.take(inverse).equals(x) and counts.to_pylist() == [2, 1, 2, 1]
    assert wn.isin(x, array(type, [9, 3])).to_pylist() == [False, False, True, False, False, True]
    codes, keys = wn.factorize(x)
    assert keys.equals(array(type, [0, 5, 3, 9])) and codes.to_pylist() == [0, 1, 2, 1, 0, 3]
    keys, counts = wn.value_counts(x)
    assert keys.equals(array(type, [0, 5, 3, 9])) and counts.to_pylist() == [2, 2, 1, 1]
    groups = wn.group_by(x, {"sum": (pa.array([1.5] * 6), "sum")}, order="first")
    assert groups.keys.equals(array(type, [0, 5, 3, 9])) and groups.columns["sum"].to_pylist() == [3, 3, 1.5, 1.5]
    left, right = wn.join(x, array(type, [9, 7]))
    assert left.to_pylist() == [5] and right.to_pylist() == [0] and left.type == pa.int32()
    m = wn.Map(array(type, range(10)), array(type, range(10, 20)))
    assert m[x].equals(array(type, [10 + value for value in VALUES]))
    values, found = m.find(array(type, [9, 11]))
    assert values.equals(array(type, [19, 0])) and found.to_pylist() == [True, False]
    keys, values = m.to_arrays()
    assert keys.type == values.type == type and len(keys) == 10
    s = wn.Set(x)
    assert s.keys().type == type and s.contains(array(type, [9, 1])).to_pylist() == [True, False]
    m = wn.MultiMap(x, array(type, range(6)))
    offsets, values = m.find(array(type, [5, 7, 0]))
    assert offsets.to_pylist() == [0, 2, 2, 4] and values.equals(array(type, [1, 3, 0, 4]))
    assert m.count(array(type, [5, 7])).to_pylist() == [2, 0]


@pytest.mark.parametrize(
    "type",
    [type for type in TYPES if not (pa.types.is_time32(type) or type == pa.timestamp("s") or type == pa.duration("s"))],
    ids=str,
)
def test_every_type_of_polars_comes_back(type):
    x = pl.Series("x", array(type))
    keys, inverse = wn.unique(x, return_inverse=True, sorted=True)
    assert isinstance(keys, pl.Series) and keys.dtype == x.dtype
    assert keys.gather(inverse).to_list() == x.to_list()
    m = wn.Map(x, x)
    assert m[x].to_list() == x.to_list() and m[x].dtype == x.dtype
    assert m.contains(x).to_list() == [True] * 6 and m.contains(x).dtype == pl.Boolean


def test_one_chunk_is_not_copied():
    whole = pa.array(np.arange(1000))
    there = whole.buffers()[1].address
    for x in (
        whole,
        pl.Series(whole),
        pa.chunked_array([whole]),
        pa.chunked_array([whole[:0], whole, whole[:0]]),
        Unknown(whole),
    ):
        assert address(x) == there
    for start in (1, 2, 3):
        assert address(whole[start:]) == address(whole) + 8 * start
        series = pl.Series(whole)
        assert address(series[start:]) == address(series) + 8 * start


def test_results_are_not_copied():
    native = wn._native.empty((-1, None, False), 1000, 8).typed("<i8")
    assert pa.array(native).buffers()[1].address == native.address == address(native)
    assert pl.Series(native).to_arrow().buffers()[1].address == native.address
    flags = wn._native.Flags(native, 64)
    assert pa.array(flags).buffers()[1].address == native.address


def test_parts_and_chunks():
    """Tests parts at any offset, and columns of several chunks, some of which are empty."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 50, 1000), rng.integers(0, 1000, 1000).astype("int32")
    for start, stop in ((1, 1000), (3, 998), (7, 7), (999, 1000), (8, 500)):
        for make in (pa.array, pl.Series):
            keys, counts = wn.unique(make(x)[start:stop], return_counts=True, sorted=True)
            expected = np.unique(x[start:stop], return_counts=True)
            np.testing.assert_array_equal(keys, expected[0])
            np.testing.assert_array_equal(counts, expected[1])
            found = wn.isin(make(y)[start:stop], make(y)[stop:])
            np.testing.assert_array_equal(found, np.isin(y[start:stop], y[stop:]))
    cuts = [0, 0, 5, 6, 300, 300, 999, 1000, 1000]
    chunks = [pa.array(x)[a:b] for a, b in zip(cuts, cuts[1:])]
    chunked = pa.chunked_array(chunks)
    np.testing.assert_array_equal(wn.unique(chunked, sorted=True), np.unique(x))
    series = pl.concat([pl.Series(chunk) for chunk in chunks], rechunk=False)
    assert series.n_chunks() > 1
    m = wn.Map(pa.array(np.arange(50)), pa.array(np.arange(50) * 0.5))
    np.testing.assert_array_equal(m[series], x * 0.5)
    assert isinstance(m[series], pl.Series) and isinstance(m[chunked], pa.Array)


@pytest.mark.parametrize(
    "empty",
    [pa.array([], pa.int64()), pl.Series([], dtype=pl.Int64), pa.chunked_array([], pa.int64()), pa.array([1, 2])[2:]],
)
def test_empty_columns(empty):
    assert len(wn.unique(empty)) == 0 and len(wn.isin(empty, empty)) == 0 and len(wn.factorize(empty)[0]) == 0
    m = wn.Map(empty, empty)
    assert len(m) == 0 and len(m[empty]) == 0 and len(m.keys()) == 0
    assert m.get(pa.array([5]), default=7).to_pylist() == [7] and not m.contains(pa.array([5]))[0].as_py()
    assert isinstance(wn.isin(empty, empty), (pa.BooleanArray, pl.Series)) and isinstance(
        m.keys(), (pa.Int64Array, pl.Series)
    )


@pytest.mark.parametrize("make", [lambda x: pa.array(x, pa.int64()), lambda x: pl.Series(x, dtype=pl.Int64)])
def test_nulls_are_refused(make):
    with pytest.raises(ValueError, match="^x has 2 nulls: fill or drop them first$"):
        wn.unique(make([1, None, None]))
    with pytest.raises(ValueError, match="^values has 1 null: fill or drop it first$"):
        wn.Map(make([1, 2]), make([1, None]))
    # A part without nulls and a column whose nulls were filled are both accepted.
    assert wn.unique(make([None, 1, 2])[1:], sorted=True).to_numpy().tolist() == [1, 2]
    filled = make([None, 1, 2]).fill_null(7)
    assert wn.unique(filled, sorted=True).to_numpy().tolist() == [1, 2, 7]
    with pytest.raises(ValueError, match="x has 3 nulls"):
        wn.unique(pa.chunked_array([[None], [1, None], [None, 2]], pa.int64()))


@pytest.mark.parametrize(
    "x, text",
    [
        (pa.array(["a"]), "x has elements of Arrow's type Utf8, .* one dictionary"),
        (pl.Series(["a"]), "Utf8View, .* one dictionary"),
        (pa.array([True]), "Boolean, .* cast it to uint32"),
        (pl.Series([1], dtype=pl.Int16), "Int16, .* cast it to int32"),
        (pa.array([1], pa.uint8()), "UInt8, .* cast it to uint32"),
        (pa.array([1], pa.float16()), "Float16, .* cast it to float32"),
        (pl.Series(["1.5"]).cast(pl.Decimal(10, 2)), r"Decimal128\(10, 2\), .* cast it to int64 or float64"),
        (pa.array(["a"]).dictionary_encode(), r"Dictionary\(Int32, Utf8\), .* cast it to the type of its values"),
        (pl.Series(["a"], dtype=pl.Categorical), "Dictionary.* cast it to the type of its values"),
        (pa.array([[1]]), "List.* flatten it first"),
        (pl.DataFrame({"a": [1]}), "Struct, .* pass its columns one by one"),
        (pa.table({"a": [1], "b": [2]}), "Struct, .* pass its columns one by one"),
        (pa.nulls(3), "Null, .* cast it to the type"),
        (pa.array([b"abcd"], pa.binary(4)), "FixedSizeBinary"),
        (pl.Series([1], dtype=pl.Int128), "x "),
    ],
    ids=lambda x: x if isinstance(x, str) else type(x).__name__,
)
def test_other_types_are_refused(x, text):
    with pytest.raises(TypeError, match=text):
        wn.unique(x)


def test_types_that_cannot_be_compared():
    us, ns = array(pa.time64("us")), array(pa.time64("ns"))
    with pytest.raises(TypeError, match=r"among has elements of type Time64\(ns\), and Time64\(µs\) is wanted"):
        wn.isin(us, ns)
    with pytest.raises(TypeError, match="types"):
        wn.Set(us) | wn.Set(ns)
    with pytest.raises(
        TypeError, match=r'the queries has elements of type Timestamp\(µs\), and Timestamp\(µs, "UTC"\) is wanted'
    ):
        wn.Set(array(pa.timestamp("us", "UTC"))).contains(array(pa.timestamp("us")))
    with pytest.raises(TypeError, match="datetime64.ns. is wanted|Timestamp.ns. is wanted"):
        wn.isin(array(pa.timestamp("ns")), array(pa.timestamp("us")))
    with pytest.raises(TypeError, match="int32 is wanted"):
        wn.isin(pl.Series([1], dtype=pl.Int32), pl.Series([1]))
    # An instant is the same in all time zones.
    berlin = array(pa.timestamp("us", "Europe/Berlin"))
    assert all(wn.Set(array(pa.timestamp("us", "UTC"))).contains(berlin).to_pylist())
    with pytest.raises(TypeError, match="type Date32: only numbers are taken"):
        wn.group_by(pa.array([1] * 6), {"x": (array(pa.date32()), "sum")})


def test_dates_and_times_are_objects_of_python():
    days = [date(2026, 1, 2), date(1960, 5, 6), date(2026, 1, 2)]
    for make in (pa.array, pl.Series):
        m = wn.Map(make(days), make(days))
        assert m[date(1960, 5, 6)] == date(1960, 5, 6) and date(2026, 1, 2) in m and date(2026, 1, 3) not in m
        assert sorted(m) == sorted(set(days)) and m.find(date(1960, 5, 6)) == (date(1960, 5, 6), True)
        default = m.get(make([date(2000, 1, 1)]), default=date(1999, 9, 9))
        assert np.asarray(default).tolist() == [date(1999, 9, 9)]
        assert wn.isin(make(days), [date(1960, 5, 6)]).to_numpy(
            **({"zero_copy_only": False} if make is pa.array else {})
        ).tolist() == [False, True, False]
        assert "Date32 to Date32" in repr(m) and m.key_dtype == "int32"
        assert m["2026-01-02"] == date(2026, 1, 2)
        with pytest.raises(TypeError, match="safe"):
            m[datetime(2026, 1, 2)]
        with pytest.raises(TypeError, match="safe"):
            wn.isin(make(days), [datetime(2026, 1, 2, 3)])
        with pytest.raises(OverflowError):
            wn.isin(make(days), [2**40])
        assert not np.asarray(wn.isin(make(days), [])).any() and not np.asarray(wn.isin(make(days), [5])).any()
        with pytest.raises(KeyError, match="1 of 1 keys .* 2000-01-01"):
            m[make([date(2000, 1, 1)])]
    zone = timezone(timedelta(hours=0))
    times = pl.Series([datetime(2026, 1, 2, 3, tzinfo=zone)]).dt.convert_time_zone("Asia/Tokyo")
    keys = wn.Set(times).keys()
    assert keys.dtype == times.dtype and keys.to_list() == times.to_list()
    # A NumPy array has the same elements without a time zone.
    assert wn.Set(times).contains(np.array(["2026-01-02T03"], "M8[us]")).tolist() == [True]


def test_pickles_and_files_keep_the_types(tmp_path):
    m = wn.Map(pl.Series([date(2026, 1, 2)]), pl.Series([timedelta(1)]))
    other = pickle.loads(pickle.dumps(m))
    assert list(other) == [date(2026, 1, 2)] and other[pl.Series([date(2026, 1, 2)])].to_list() == [timedelta(1)]
    assert other[date(2026, 1, 2)] == timedelta(1)
    s = pickle.loads(pickle.dumps(wn.Set(array(pa.time64("ns")))))
    with pytest.raises(TypeError, match="Time64"):
        s.contains(array(pa.time64("us")))
    assert all(s.contains(array(pa.time64("ns"))).to_pylist())
    m.save(tmp_path / "map")
    loaded = wn.Map.load(tmp_path / "map", m.key_dtype, m.value_dtype)
    assert date(2026, 1, 2) in loaded


def test_numpy_and_arrow_together():
    x, y = np.array([5, 6, 7]), pl.Series([6])
    found = wn.isin(x, y)
    assert isinstance(found, np.ndarray) and found.tolist() == [False, True, False]
    found = wn.isin(y, x)
    assert isinstance(found, pl.Series) and found.to_list() == [True]
    assert isinstance(wn.isin([5, 6], y), pl.Series)
    m = wn.Map(y, np.array([1.5]))
    assert m[x[1:2]].tolist() == [1.5] and m[6] == 1.5 and isinstance(m.keys(), pl.Series)
    assert m.insert(pa.array([5]), [2.5]) == 1 and m.remove(y) == 1
    assert wn.Map(x, x)[pa.array([5])].equals(pa.array([5]))
    days = wn.Set(array(pa.date32()))
    answer = days.contains(np.array(VALUES, "int32"))
    assert answer.all() and answer.dtype.metadata is None
    with pytest.raises(ValueError, match="among has 2 dimensions, and columns of Arrow have one"):
        wn.isin(y, np.array([[1], [2]]))
    with pytest.raises(TypeError, match="Arrow has no elements of NumPy's type [|]S8"):
        wn.Map(np.array([1]), np.array(["ab"], "S8"))[pa.array([1])]


def test_pandas_columns():
    pd = pytest.importorskip("pandas")
    plain = pd.Series([3, 1, 3])
    assert library_of(plain) is NUMPY and isinstance(wn.unique(plain), np.ndarray)
    of_arrow = pd.Series([3, 1, 3], dtype=pd.ArrowDtype(pa.int64()))
    assert wn.unique(of_arrow, sorted=True).equals(pa.array([1, 3]))
    assert library_of(pd.DataFrame({"a": [1]})) is NUMPY


def test_libraries_that_are_unknown():
    """Tests that results for unknown libraries are objects that any library can import."""
    m = wn.Map(Unknown(pa.array([1, 2, 3])), Unknown(array(pa.timestamp("us", "UTC"), range(3))))
    values, found = m.find(Unknown(pa.array([3, 4])))
    assert type(values) is wn._native.Array and type(found) is wn._native.Flags and len(found) == len(values) == 2
    assert pa.array(values).equals(array(pa.timestamp("us", "UTC"), [2, 0])) and pl.Series(found).to_list() == [
        True,
        False,
    ]
    assert pa.DataType._import_from_c_capsule(values.__arrow_c_schema__()) == pa.timestamp("us", "UTC")
    assert pa.DataType._import_from_c_capsule(found.__arrow_c_schema__()) == pa.bool_()
    assert np.asarray(values).tolist() == np.array([2, 0], "M8[us]").tolist() and np.asarray(found).tolist() == [
        True,
        False,
    ]
    assert np.asarray(found, int).tolist() == [1, 0] and np.asarray(
        wn.isin(Unknown(pa.array([], pa.int64())), [1])
    ).shape == (0,)
    with pytest.raises(ValueError, match="must copy"):
        np.asarray(found, copy=False)
    # These results are accepted as arguments.
    assert pa.array(wn.unique(values, sorted=True)).equals(array(pa.timestamp("us", "UTC"), [0, 2]))
    x = pa.array([1, 2])
    assert wn.isin(x, Unknown(x), invert=True).to_pylist() == [False, False]


@pytest.mark.parametrize("length", [0, 1, 7, 31, 32, 33, 1000])
def test_flags_of_any_length(length):
    x = np.arange(length)
    for make in (pa.array, pl.Series):
        for invert in (False, True):
            found = wn.isin(make(x), make(x[::3].copy()), invert=invert)
            np.testing.assert_array_equal(np.asarray(found), (x % 3 == 0) != invert)
            assert len(found) == length and found.null_count == 0 if make is pa.array else found.null_count() == 0


def test_floats_and_two_columns():
    x = pl.Series([0.0, -0.0, float("nan"), -float("nan"), 1.5])
    keys, counts = wn.unique(x, return_counts=True, sorted=True)
    assert keys.dtype == pl.Float64 and counts.to_list() == [2, 1, 2] and keys[:2].to_list() == [0, 1.5]
    days, numbers = array(pa.date32()), pa.array(VALUES, pa.float32())
    (a, b), counts = wn.unique((days, numbers), return_counts=True, sorted=True)
    assert a.equals(array(pa.date32(), [0, 3, 5, 9])) and b.equals(pa.array([0, 3, 5, 9], pa.float32()))
    m = wn.Map((days, numbers), numbers)
    assert m[days, numbers].equals(numbers) and m[date(1970, 1, 6), 5] == 5 and (date(1970, 1, 6), 5.0) in set(m)


def test_results_outlive_everything():
    x = pl.Series(np.arange(1 << 20))
    m = wn.Map(x, x * 2)
    values, (keys, items), found = m[x], m.to_arrays(), m.contains(x)
    unique = wn.unique(pa.array(np.arange(1 << 20)), sorted=True)
    part = unique[1000:]
    del m, x, unique
    gc.collect()
    rest = [np.full(1 << 20, 7) for _ in range(5)]
    np.testing.assert_array_equal(values, np.arange(1 << 20) * 2)
    np.testing.assert_array_equal(items, keys * 2)
    np.testing.assert_array_equal(part, np.arange(1000, 1 << 20))
    assert found.all() and rest


def test_inputs_are_released_once_they_are_not_needed():
    """Tests that a buffer of another library is freed after the call, on any thread."""
    before = pa.total_allocated_bytes()
    for _ in range(3):
        x = pa.compute.add(pa.array(np.arange(1 << 16)), 1)
        wn.unique(x)
        m = wn.Map(x, x)
        del x
        gc.collect()
        assert pa.total_allocated_bytes() == before
        assert len(m) == 1 << 16
    with pytest.raises(ValueError):
        wn.unique(pa.array([1, None] * 1000))
    with pytest.raises(TypeError):
        wn.unique(pa.array(["a"] * 1000))
    gc.collect()
    assert pa.total_allocated_bytes() == before


def memory():
    """Returns the bytes of physical memory that the process uses."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize(
    "take", [lambda native: native.__arrow_c_array__(), pa.array, pl.Series, lambda native: pl.Series(native)[5:]]
)
def test_outputs_are_freed(take):
    """Tests that memory is freed whether or not a capsule is consumed, and on any thread."""
    before = memory()
    for _ in range(20):
        native = wn._native.empty((-1, None, False), 1 << 22, 8).typed("<i8")
        np.asarray(native)[:] = 1
        taken = [take(native), take(native)]
        del native
        thread = threading.Thread(target=taken.clear)
        thread.start()
        thread.join()
    # Without the release, the process would use 670 MB more.
    assert memory() < before + (200 << 20)


@pytest.mark.parametrize("module", ["nanoarrow", "arro3.core"])
def test_small_libraries_of_arrow(module):
    library = pytest.importorskip(module)
    x = library.Array(array(pa.timestamp("us", "UTC")))
    keys, counts = wn.unique(x, return_counts=True, sorted=True)
    assert pa.array(library.Array(keys)).equals(array(pa.timestamp("us", "UTC"), [0, 3, 5, 9]))
    assert pa.array(library.Array(counts)).to_pylist() == [2, 1, 2, 1]
    assert pa.array(library.Array(wn.isin(x, keys))).to_pylist() == [True] * 6
    assert address(x) == pa.array(x).buffers()[1].address


def test_wrong_capsules():
    class Wrong:
        def __arrow_c_array__(self, requested_schema=None):
            return tuple(reversed(pa.array([1]).__arrow_c_array__()))

    class Nothing:
        def __arrow_c_stream__(self, requested_schema=None):
            return None

    for wrong in (Wrong(), Nothing()):
        with pytest.raises((TypeError, ValueError)):
            wn.unique(wrong)
