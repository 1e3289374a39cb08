"""Tests that maps and sets behave like Python's dicts and sets, one key at a time."""

from decimal import Decimal

import numpy as np
import pytest

import warpnest as wn

#: Maps with equal dicts. They have few or many keys, of one or two columns.
MAPS = [
    (lambda xp: wn.Map(xp([1, 2]), xp([10, 20])), {1: 10, 2: 20}),
    (lambda xp: wn.Map(xp([1, 2], "float64"), xp([0.5, 1.5])), {1.0: 0.5, 2.0: 1.5}),
    (lambda xp: wn.Map(xp(np.arange(100)), xp(np.arange(100) * 0.5)), {key: key * 0.5 for key in range(100)}),
    (
        lambda xp: wn.Map((xp([1, 1], "int32"), xp([5, 6], "int32")), xp([15, 16])),
        {(1, 5): 15, (1, 6): 16},
    ),
    (lambda xp: wn.Map(xp([], "int64"), xp([], "int64")), {}),
]
FOREIGN = [
    "a",
    b"a",
    None,
    1.5,
    Decimal("1.5"),
    object(),
    float("nan"),
    frozenset(),
    (),
    (1, 2, 3),
    ((1,), 2),
    2**70,
    -(2**70),
]
FOREIGN += [np.datetime64(1, "ns"), np.timedelta64(1, "s"), 1 + 1j, range(2), Ellipsis, int]


@pytest.fixture(params=MAPS, ids=range(len(MAPS)))
def pair(request, xp):
    if not xp.has_columns:
        pytest.skip("keys of every kind")
    make, expected = request.param
    return make(xp), expected


def test_pairs(pair):
    m, d = pair
    assert dict(m.items()) == d and sorted(m.items()) == sorted(d.items()) and len(m.items()) == len(d)
    assert list(m.items()) == list(zip(m, [m[key] for key in m]))
    for item in d.items():
        assert item in m.items() and (item[0], -1) not in m.items() and item[0] not in m.items()
    assert m.items() == d.items() and m.items() & d.items() == set(d.items())
    assert {k: v for k, v in m.items()} == d and set(m) == set(d) and "x" not in m.items()


def test_comparisons_of_maps(pair):
    m, d = pair
    assert m == d and d == m and m == m.copy() and not m != d and m == type(m)(*m.to_arrays())
    other = m.copy()
    if d:
        key = next(iter(d))
        other[key] = -7
        assert m != other and m != {**d, key: -7}
        del other[key]
        assert m != other and other != d
    assert m != 5 and m != list(d.items()) and m != np.arange(3) and (m == "a") is False
    with pytest.raises(TypeError, match="unhashable"):
        hash(m)


def test_maps_of_other_types_are_compared_by_their_elements():
    m = wn.Map(np.array([1, 2], "int32"), np.array([1, 2]))
    assert m == wn.Map(np.array([1, 2]), np.array([1.0, 2.0])) and m != wn.Map(np.array([1, 2]), np.array([1.0, 2.5]))
    assert m != wn.Map(np.array(["1", "2"]), np.array([1, 2]))
    nan = wn.Map(np.array([np.nan, 1.0]), np.array([1, 2]))
    assert nan == nan.copy() and float("nan") in nan


def test_changes_of_one_key(pair):
    m, d = pair
    d = dict(d)
    with pytest.raises(KeyError):
        m.pop("absent")
    assert m.pop("absent", 5) == 5 and m.pop("absent", None) is None and m == d
    for key in list(d):
        if len(d) == 1:
            break
        assert m.pop(key) == d.pop(key) and key not in m
        assert m.pop(key, None) is None
        with pytest.raises(KeyError):
            m.pop(key)
    while d:
        key, value = m.popitem()
        assert d.pop(key) == value
    with pytest.raises(KeyError):
        m.popitem()
    assert len(m) == 0


def test_updates(pair):
    m, d = pair
    empty = m.copy()
    empty.clear()
    for source in (m, d, d.items(), m.items(), list(d.items()), iter(list(d.items()))):
        other = empty.copy()
        other.update(source)
        assert other == d
    m.update({})
    m.update()
    assert m == d and empty | m == d and empty | d == d and len(empty) == 0
    empty |= d
    assert empty == d
    if d:
        key, value = next(iter(d.items()))
        assert m.setdefault(key, 7) == value
        del m[key]
        assert m.setdefault(key, 7) == 7 and m[key] == 7
    with pytest.raises(TypeError):
        m | 5
    with pytest.raises((TypeError, ValueError)):
        m.update([1, 2])


def test_foreign_keys_are_not_there(pair):
    m, d = pair
    for table in (m, wn.Set(m.keys()) if d else wn.Set.empty("int64"), wn.MultiMap(*m.to_arrays())):
        for key in FOREIGN:
            assert key not in table, key
    for key in FOREIGN:
        if not isinstance(key, (range, tuple, frozenset)):
            assert m.get(key) is None and m.get(key, 5) == 5 and m.pop(key, 5) == 5
    for key in d:
        assert key in m and m.get(key) == d[key]
    for many in ([1], np.array([1]), [[1], [2]], {1: 2}, {1}):
        with pytest.raises(TypeError):
            many in m  # noqa: B015


def test_tables_are_no_sequences():
    x = np.arange(3)
    for table in (wn.Map(x, x * 2), wn.Set(x), wn.MultiMap(x, x)):
        for call in (reversed, np.asarray, wn.unique, lambda table: wn.isin(x, table)):
            with pytest.raises(TypeError):
                call(table)


def test_equal_numbers_are_the_same_key():
    for table in (
        wn.Map(np.array([0, 1]), np.array([5, 6])),
        wn.Set(np.array([0.0, 1.0])),
        wn.Set(np.array([0, 1], "u4")),
    ):
        for key in (1, 1.0, True, np.float32(1), np.uint8(1), np.True_, Decimal(1), 0.0, -0.0, False):
            assert key in table
        for key in (1.5, -1, 2, 2.0, float("inf"), float("nan")):
            assert key not in table
    assert 0.1 not in wn.Set(np.array([0.1], "f4")) and np.float32(0.1) in wn.Set(np.array([0.1], "f4"))
    for of in (int, np.int64, np.uint64, np.longdouble):
        assert of(2**53 + 1) not in wn.Set(np.array([2.0**53])) and of(2**53) in wn.Set(np.array([2.0**53], "f4"))


def test_comparisons_of_sets(xp):
    for dtype in ("int32", "uint64", "float64"):
        if not xp.has_columns and dtype == "float64":
            continue
        x = xp([1, 2, 3, 3], dtype)
        s, part, other = wn.Set(x), wn.Set(xp([1, 2], dtype)), wn.Set(xp([3, 4], dtype))
        assert s == wn.Set(x) and not s != wn.Set(x) and s == {1, 2, 3} and {1, 2, 3} == s and s == frozenset((1, 2, 3))
        assert s != part and s != other and s != {1, 2} and s != {1, 2, 4} and s != [1, 2, 3] and s != 5
        assert part <= s and part < s and s >= part and s > part and not s <= part and not s < s and s <= s and s >= s
        assert not part <= other and not other >= part and not s > other
        assert part <= {1, 2, 3} and {1, 2, 3} > part and {1} < part and part >= {1} and not part < {1, 2}
        assert s.issuperset(part) and part.issubset(s) and part.issubset([1, 2, 9]) and s.issuperset([1])
        assert part.isdisjoint(other) and not s.isdisjoint(other) and part.isdisjoint([7]) and not part.isdisjoint([1])
        assert s ^ other == {1, 2, 4} == s.symmetric_difference(other)
        assert (s == np.array([1, 2, 3])) is False
    with pytest.raises(TypeError, match="unhashable"):
        hash(s)
    with pytest.raises(TypeError):
        s < [1]  # noqa: B015


def test_sets_of_other_types_are_compared_by_their_keys():
    s = wn.Set(np.array([1, 2], "int32"))
    assert s == wn.Set(np.array([1, 2])) == wn.Set(np.array([1.0, 2.0])) and s != wn.Set(np.array([1.0, 2.5]))
    assert s <= wn.Set(np.array([1, 2, 3], "uint64")) and s != wn.Set(np.array(["1", "2"]))
    nan = wn.Set(np.array([np.nan, 1.0]))
    assert nan == nan.copy()
    pairs = wn.Set((np.array([1, 1], "int32"), np.array([5, 6], "int32")))
    assert pairs == {(1, 5), (1, 6)} and pairs == pairs.copy() and pairs > {(1, 5)}
    assert wn.Set.empty("int64") == set() == wn.Set.empty("float32")


def test_changes_of_sets():
    s = wn.Set(np.array([1, 2, 3]))
    s.add(4)
    s.add(4)
    s.discard(1)
    s.discard(77)
    s.discard("a")
    assert s == {2, 3, 4} and s.remove(2) == 1
    for absent in (2, 77):
        with pytest.raises(KeyError):
            s.remove(absent)
    for wrong in ("a", None, 1.5):
        with pytest.raises(TypeError):
            s.add(wrong)
    with pytest.raises(TypeError):
        s.add([1])
    assert s.remove([3, 99]) == 1 and s.pop() == 4
    with pytest.raises(KeyError):
        s.pop()
    s.update([1], np.array([2]), {3}, range(4, 6), (key for key in (6,)), wn.Set(np.array([7])), {8: 0}, ())
    s |= {9}
    s |= wn.Set(np.array([10]))
    assert s == set(range(1, 11))
    with pytest.raises((TypeError, ValueError)):
        s.update("a")
    pairs = wn.Set.empty(("int32", "int32"))
    pairs.add((1, 2))
    pairs.update([(3, 4)], {(5, 6)}, (np.array([7], "int32"), np.array([8], "int32")), pairs.copy())
    assert pairs == {(1, 2), (3, 4), (5, 6), (7, 8)}
    assert pairs.remove((1, 2)) == 1 and len(pairs) == 3
