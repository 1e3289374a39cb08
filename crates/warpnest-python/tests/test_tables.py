"""Tests of maps, sets and multimaps against Python's dicts and sets."""

import copy
import pickle
import threading
import time

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import warpnest as wn


@pytest.mark.parametrize("key", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("value", ["int32", "float32", "int64", "float64"])
def test_a_map_answers_as_a_dict_does(xp, key, value):
    rng = np.random.default_rng(3)
    keys, values = rng.integers(0, 4000, 3000).astype(key), rng.integers(0, 99, 3000).astype(value)
    m, d = wn.Map(xp(keys), xp(values)), dict(zip(keys.tolist(), values.tolist()))
    queries = np.arange(5000).astype(key)
    assert len(m) == len(d) and m.device == xp.device and m.key_dtype == key and m.value_dtype == value
    np.testing.assert_array_equal(xp.back(m.get(xp(queries), default=-7)), [d.get(q, -7) for q in queries.tolist()])
    found_values, found = map(xp.back, m.find(xp(queries)))
    np.testing.assert_array_equal(found, [q in d for q in queries.tolist()])
    np.testing.assert_array_equal(found_values, [d.get(q, 0) for q in queries.tolist()])
    np.testing.assert_array_equal(xp.back(m.contains(xp(queries))), found)
    np.testing.assert_array_equal(xp.back(m[xp(keys)]), [d[k] for k in keys.tolist()])
    assert dict(zip(*(side.tolist() for side in map(xp.back, m.to_arrays())))) == d
    one = int(keys[0])
    assert m[one] == d[one] and one in m and m.get(4001) is None and m.get(4001, 5) == 5 and 4001 not in m


@pytest.mark.parametrize("key, value", [("uint32", "int32"), ("int64", "float64")])
def test_many_queries_are_answered_as_few_are(xp, key, value):
    keys = np.arange(0, 3000, 3).astype(key)
    m, s = wn.Map(xp(keys), xp(keys.astype(value) / 2 if value == "float64" else keys.astype(value))), wn.Set(xp(keys))
    # The last word of bits is only partly used.
    queries = (np.arange((1 << 20) + 45) * 77 % 4000).astype(key)
    values = queries / 2 if value == "float64" else queries
    there = (queries % 3 == 0) & (queries < 3000)
    np.testing.assert_array_equal(xp.back(m.get(xp(queries), default=77)), np.where(there, values, 77).astype(value))
    found_values, found = map(xp.back, m.find(xp(queries)))
    np.testing.assert_array_equal(found, there)
    np.testing.assert_array_equal(found_values, np.where(there, values, 0).astype(value))
    np.testing.assert_array_equal(xp.back(m[xp(queries[there])]), values[there].astype(value))
    with pytest.raises(KeyError, match=f"{(~there).sum():,} of {len(queries):,} keys are not in the map"):
        m[xp(queries)]
    for answers in (m.contains(xp(queries)), s.contains(xp(queries)), wn.isin(xp(queries), xp(keys))):
        np.testing.assert_array_equal(xp.back(answers), there)
    np.testing.assert_array_equal(xp.back(wn.isin(xp(queries), xp(keys), invert=True)), ~there)


def test_changes(xp):
    m = wn.Map.empty("int64", "float32", capacity=10)
    assert len(m) == 0 and not m
    assert m.insert(xp([1, 2, 3]), xp([1, 2, 3], "float32")) == 3
    assert m.insert(xp([3, 4, 4]), xp([30, 4, 40], "float32")) == 1
    m[5] = 0.5
    m[xp([6])] = xp([0.25], "float32")
    assert m.remove(xp([1, 9])) == 1
    del m[2]
    assert dict(m.items()) == {3: 30, 4: 40, 5: 0.5, 6: 0.25}
    assert sorted(m) == [3, 4, 5, 6]
    other = m.copy()
    m.clear()
    assert len(m) == 0 and len(other) == 4 and 3 in other
    m.reserve(1000)
    m.shrink_to_fit()


def test_absent_keys_are_named(xp):
    m = wn.Map(xp([10, 20]), xp([1, 2]))
    with pytest.raises(KeyError, match="2 of 3 keys are not in the map, the first of them 11, at 1"):
        m[xp([10, 11, 12])]
    with pytest.raises(KeyError, match="^7$"):
        m[7]
    with pytest.raises(KeyError, match="1 of 2 keys"):
        del m[xp([10, 11])]
    assert len(m) == 2


def test_keys_of_two_columns(xp):
    if not xp.has_columns:
        pytest.skip("one column only")
    m = wn.Map((xp([1, 1, 2], "int32"), xp([5, 6, 5], "uint32")), xp([15, 16, 25]))
    np.testing.assert_array_equal(xp.back(m.get((xp([2, 2], "int32"), xp([5, 6], "uint32")), default=0)), [25, 0])
    assert m[1, 6] == 16 and (2, 5) in m and (2, 6) not in m
    (a, b), values = m.to_arrays()
    assert sorted(zip(*(xp.back(x).tolist() for x in (a, b, values)))) == [(1, 5, 15), (1, 6, 16), (2, 5, 25)]
    s = wn.Set((xp([1, 1], "int32"), xp([5, 5], "uint32")))
    assert len(s) == 1 and list(s) == [(1, 5)]
    with pytest.raises(TypeError, match="2 columns, and the keys have 1"):
        wn.Set(xp([1])).contains((xp([1], "int32"), xp([1], "int32")))


def test_queries_of_any_shape(xp):
    if not xp.has_shapes:
        pytest.skip("one dimension only")
    m = wn.Map(xp(np.arange(10)), xp(np.arange(10) * 1.5))
    ids = np.array([[1, 2], [3, 4]])
    np.testing.assert_array_equal(xp.back(m[xp(ids)]), ids * 1.5)
    assert xp.back(m.contains(xp(ids.reshape(2, 1, 2)))).shape == (2, 1, 2)
    assert xp.back(m[xp(np.zeros((0, 3), int))]).shape == (0, 3)


def test_sets(xp):
    one, other = wn.Set(xp([1, 2, 3, 3], "uint64")), wn.Set(xp([3, 4], "uint64"))
    assert sorted(one | other) == [1, 2, 3, 4] and sorted(one & other) == [3] and sorted(one - other) == [1, 2]
    assert sorted(one | one) == [1, 2, 3] and len(one - one) == 0
    assert isinstance(one.keys(), xp.type)
    assert one.insert(xp([9, 1], "uint64")) == 1 and one.remove(xp([9, 10], "uint64")) == 1
    with pytest.raises(TypeError, match="uint64 and int32"):
        one | wn.Set(xp([1], "int32"))
    assert one.__or__({1}) is NotImplemented
    empty = wn.Set.empty("int32", capacity=5)
    assert len(empty) == 0 and empty.insert(xp([7], "int32")) == 1 and 7 in empty


def test_multimaps(xp):
    rng = np.random.default_rng(4)
    keys, values = rng.integers(0, 100, 1000), rng.integers(0, 99, 1000).astype("float32")
    m = wn.MultiMap(xp(keys), xp(values))
    queries = np.arange(-5, 120)
    np.testing.assert_array_equal(xp.back(m.count(xp(queries))), [np.count_nonzero(keys == q) for q in queries])
    offsets, found = map(xp.back, m.find(xp(queries)))
    for at, query in enumerate(queries):
        np.testing.assert_array_equal(found[offsets[at] : offsets[at + 1]], values[keys == query])
    assert len(m) == 1000 and m.key_count == len(np.unique(keys)) and 5 in m and 1000 not in m
    np.testing.assert_array_equal(xp.back(m.contains(xp(queries))), np.isin(queries, keys))
    np.testing.assert_array_equal(m[5], values[keys == 5])
    with pytest.raises(KeyError):
        m[1000]


def test_files(tmp_path, xp):
    keys, values = np.arange(1000, dtype="int64") * 3, np.arange(1000, dtype="float32")
    path = tmp_path / "map"
    wn.Map(xp(keys), xp(values)).save(path)
    for device in {"cpu", xp.device}:
        loaded = wn.Map.load(path, "int64", "float32", device=device)
        np.testing.assert_array_equal(loaded[keys], values)
    wn.Set(xp(keys)).save(str(path))
    assert 999 in wn.Set.load(path, "int64")
    wn.MultiMap(xp(keys), xp(values)).save(path)
    assert wn.MultiMap.load(path, "int64", "float32").count(999) == 1
    with pytest.raises(ValueError, match="map"):
        wn.Map.load(path, "int32", "float32")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        wn.Set.load(tmp_path / "nowhere", "int64")
    with pytest.raises(OSError):
        wn.Set(xp(keys)).save(tmp_path / "no folder" / "file")


def test_copies_and_pickles(xp):
    m = wn.Map(xp([1, 2]), xp([0.5, 1.5]))
    for other in (copy.copy(m), copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        other[3] = 9.0
        assert len(m) == 2 and other[1] == 0.5 and len(other) == 3
    s = pickle.loads(pickle.dumps(wn.Set(xp([1, 2]))))
    assert sorted(s) == [1, 2]


def test_what_people_see(xp):
    assert repr(wn.Map(xp(np.arange(1000)), xp(np.arange(1000, dtype="float32")))).startswith(
        "<warpnest.Map of 1,000 keys, int64 to float32, "
    )
    assert "1 keys, uint64" in repr(wn.Set(xp([5], "uint64"))) and repr(wn.Set(xp([5]))).endswith(f"on {xp.device}>")
    assert "2 values of 1 keys" in repr(wn.MultiMap(xp([5, 5]), xp([1, 2])))


class MapBesideDict(RuleBasedStateMachine):
    """Applies any sequence of changes to a map and a dict, which must stay equal."""

    keys = st.lists(st.one_of(st.integers(-5, 5), st.sampled_from([-(2**63), 2**63 - 1])), max_size=40)

    @initialize()
    def begin(self):
        self.map, self.dict = wn.Map.empty("int64", "int32", device="cpu"), {}

    @rule(keys=keys, data=st.data())
    def insert(self, keys, data):
        values = data.draw(st.lists(st.integers(-9, 9), min_size=len(keys), max_size=len(keys)))
        new = len(set(keys) - set(self.dict))
        assert self.map.insert(np.array(keys, "int64"), np.array(values, "int32")) == new
        self.dict.update(zip(keys, values))

    @rule(keys=keys)
    def remove(self, keys):
        there = len(set(keys) & set(self.dict))
        assert self.map.remove(np.array(keys, "int64")) == there
        for key in keys:
            self.dict.pop(key, None)

    @rule()
    def clear(self):
        self.map.clear()
        self.dict.clear()

    @invariant()
    def same(self):
        keys, values = self.map.to_arrays()
        assert len(self.map) == len(self.dict) and dict(zip(keys.tolist(), values.tolist())) == self.dict


MapBesideDict.TestCase.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
TestMapBesideDict = MapBesideDict.TestCase


def test_set_operations_in_either_order_do_not_wait_for_each_other():
    one, other = wn.Set(np.arange(2000), device="cpu"), wn.Set(np.arange(1000, 3000), device="cpu")
    new = np.arange(2000)
    work = [lambda: one | other, lambda: other | one, lambda: one.insert(new), lambda: other.insert(new)]
    end = time.monotonic() + 1.0

    def repeat(call):
        while time.monotonic() < end:
            call()

    threads = [threading.Thread(target=repeat, args=(call,), daemon=True) for call in 4 * work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads), "threads wait for each other"


def test_single_times_keep_their_unit():
    times = np.array(["2026-01-02T03:04:05.123456789"], "M8[ns]")
    m = wn.Map(times, times)
    assert times[0] in m and m[times[0]] == times[0] and list(m) == [times[0]]


def test_floating_point_scalars():
    assert wn.isin(np.array([5.0, 6.0]), 5.0).tolist() == [True, False]
    assert wn.unique(5.0) == 5.0


def test_multimaps_are_not_sequences():
    with pytest.raises(TypeError, match="not iterable"):
        iter(wn.MultiMap(np.arange(3), np.arange(3)))


def test_threads_look_up_while_one_changes():
    keys = np.arange(10_000)
    m = wn.Map(keys, keys * 2)
    failures = []

    def look_up():
        for _ in range(30):
            if not np.array_equal(m.get(keys, default=-1), keys * 2):
                failures.append("a value was lost")

    readers = [threading.Thread(target=look_up) for _ in range(3)]
    for reader in readers:
        reader.start()
    for at in range(30):
        new = np.arange(10_000) + 10_000 * (at + 1)
        m.insert(new, new)
        assert m.remove(new) == len(new)
    for reader in readers:
        reader.join()
    assert not failures and len(m) == 10_000
