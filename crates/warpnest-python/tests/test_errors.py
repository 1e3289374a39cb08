"""Tests that every wrong input causes an error that says what to do, and changes nothing."""

import numpy as np
import pytest

import warpnest as wn

ONE = np.array([1])


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: wn.unique(np.arange(9)[::2]), ValueError, "x is strided, .* pass a contiguous copy"),
        (lambda: wn.unique(np.zeros(3, "int16")), TypeError, "type int16, .* convert it, for example to int64"),
        (lambda: wn.unique(np.zeros(3, "float16")), TypeError, "for example to float32"),
        (lambda: wn.unique(np.zeros(3, bool)), TypeError, "for example to uint32"),
        (lambda: wn.unique(np.zeros(3, "complex64")), TypeError, "complex64"),
        (lambda: wn.unique(np.zeros(3, ">i4")), TypeError, "in another order .* convert it to int32"),
        (lambda: wn.unique(np.array(["a", None], object)), TypeError, "x has elements of type object"),
        (lambda: wn.unique((ONE, ONE, ONE)), ValueError, "x has 3 columns, and keys have one or two"),
        (lambda: wn.unique((ONE, ONE)), TypeError, r"keys of two columns have 4 bytes each, .*\(int64, int64\)"),
        (lambda: wn.unique((np.zeros(2, "i4"), np.zeros(3, "i4"))), ValueError, "must be equally long"),
        (lambda: wn.isin(ONE, ONE.astype("int32")), TypeError, "among has elements of type int32, and int64 is wanted"),
        (lambda: wn.isin(ONE, [1.5]), TypeError, "among has fractions, or may have, and int64 is wanted"),
        (lambda: wn.isin(ONE, [2**70]), OverflowError, "among cannot be converted to int64"),
        (lambda: wn.join(ONE, ONE, "cross"), ValueError, 'there is no join "cross"'),
        (lambda: wn.group_by(ONE, {"x": "sum"}), ValueError, "the aggregate 'x' is none"),
        (lambda: wn.group_by(ONE, {"x": (ONE, "mode")}), ValueError, "the aggregate 'x' is none"),
        (lambda: wn.group_by(ONE, {"x": (ONE, "quantile")}), ValueError, "the aggregate 'x' is none"),
        (lambda: wn.group_by(ONE, {"x": (ONE, "quantile", 90)}), ValueError, "the quantile 90 of 'x' is none"),
        (lambda: wn.group_by(ONE, {}, ddof=-1), ValueError, "ddof is an integer"),
        (lambda: wn.group_by(ONE, {}, reproducible=1), TypeError, "reproducible is True or False"),
        (lambda: wn.group_by(ONE, {"n": "count"}, top=3), TypeError, "top is a pair"),
        (lambda: wn.group_by(ONE, {"n": "count"}, top=(3, "x")), ValueError, "there is no top"),
        (lambda: wn.group_by(ONE, {"x": (np.zeros(2), "sum")}), ValueError, "'x' has 2 rows and the keys have 1"),
        (lambda: wn.group_by(ONE, {}, order="up"), ValueError, "there is no order 'up'"),
        (lambda: wn.Map(ONE, np.zeros(2)), ValueError, r"keys have the shape \(1,\) and values the shape \(2,\)"),
        (lambda: wn.Map(np.zeros((2, 2), int), np.zeros((2, 2))), ValueError, "of one dimension"),
        (lambda: wn.Map(ONE, ONE)["a"], TypeError, "the key 'a' .*int64"),
        (lambda: wn.Map(ONE, ONE)[1.0], TypeError, "the key 1.0 has fractions, or may have, and int64 is wanted"),
        (lambda: wn.Map(ONE.astype("uint32"), ONE)[-1], OverflowError, "the key -1 cannot be converted to uint32"),
        (
            lambda: wn.Map(ONE, ONE)[np.array([1], "int32")],
            TypeError,
            "the queries has elements of type int32, and int64 is wanted",
        ),
        (lambda: wn.Map(ONE, ONE).get(ONE), TypeError, "say which value"),
        (lambda: wn.Map(ONE, ONE).get(ONE, 2**70), OverflowError, "the default .* cannot be converted to int64"),
        (
            lambda: wn.Map(ONE, ONE).insert(ONE, ONE.astype(float)),
            TypeError,
            "values has elements of type float64, and int64 is wanted",
        ),
        (lambda: ONE in wn.Map(ONE, ONE), TypeError, "take `contains` for an array"),
        (lambda: wn.MultiMap(ONE, ONE)[ONE], TypeError, "take `find` for an array"),
        (lambda: wn.Map.empty("int16", "int64"), TypeError, "the keys has elements of type int16"),
        (lambda: wn.Map.empty(("int64", "int64"), "int64"), TypeError, "two of 4 bytes each"),
        (lambda: wn.set_default_device("tpu"), ValueError, "there is no device 'tpu'"),
        (lambda: wn.Map(ONE, ONE, device="cuda:x"), ValueError, "there is no device 'cuda:x'"),
        (lambda: wn.Set(ONE, device="cuda:77"), RuntimeError, "CUDA device 77 cannot be used"),
    ],
)
def test_wrong_inputs(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_refused_insert_changes_nothing():
    m = wn.Map(ONE, ONE)
    with pytest.raises(ValueError):
        m.insert(np.arange(5), np.arange(4))
    assert list(m) == [1]


def test_a_request_beyond_what_a_table_has_is_refused():
    m = wn.Map.empty("int64", "int64")
    with pytest.raises(ValueError, match="at most"):
        m.reserve(2**40)
    assert m.insert(ONE, ONE) == 1


@pytest.mark.parametrize(
    "keys, given, error",
    [
        (np.array(["ab", "cd"]), ["abX"], ValueError),
        (np.array(["2026-01-01"], "M8[D]"), [np.datetime64("2026-01-01T23:00")], ValueError),
        (np.array([5], "int32"), [2**32 + 5], OverflowError),
        (np.array([5], "int32"), np.int64(2**32 + 5), OverflowError),
        (np.array([2**32 - 1], "uint32"), np.int64(-1), OverflowError),
        (np.array([-1]), np.uint64(2**64 - 1), OverflowError),
        (np.array([1]), ["1"], TypeError),
        (np.array([1.0]), ["1.0"], TypeError),
        (np.array([1.0], "float32"), [1e300], OverflowError),
        (np.array(["5"]), [5], TypeError),
        (np.array([1]), [True], TypeError),
    ],
)
def test_a_list_is_not_cut_to_other_keys(keys, given, error):
    with pytest.raises(error, match="among"):
        wn.isin(keys, given)
    one = given[0] if isinstance(given, list) else given
    m = wn.Map(keys, np.arange(len(keys)))
    with pytest.raises(error, match="the key"):
        m[one] = 7
    assert sorted(m.values().tolist()) == list(range(len(keys)))
    if error is not TypeError:
        assert one not in m


def test_defaults_are_of_the_type_of_the_values():
    m = wn.Map(ONE, ONE)
    for default, error in ((1.7, TypeError), ("7", TypeError), (ONE, TypeError), (2**63, OverflowError)):
        with pytest.raises(error, match="the default"):
            m.get(np.array([5]), default)
