"""Tests of memory and streams: what is shared, how long memory lives, and what waits for what."""

import gc
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import warpnest as wn
from conftest import LIBRARIES
from warpnest._columns import keys
from warpnest._libraries import NUMPY

N = 1 << 20
torch_cuda = pytest.mark.skipif(
    not any(library.name == "torch cuda" for library in LIBRARIES), reason="no torch with a GPU"
)


def test_results_are_in_native_memory_and_outlive_their_tables():
    keys = np.arange(N)
    m = wn.Map(keys, keys * 2)
    k, v = m.to_arrays()
    unique = wn.unique(keys)
    assert not k.flags.owndata and not unique.flags.owndata and unique.flags.writeable
    del m
    gc.collect()
    np.testing.assert_array_equal(np.sort(k), keys)
    np.testing.assert_array_equal(v, k * 2)


def test_a_table_outlives_its_arrays(xp):
    keys = xp(np.arange(N))
    m = wn.Map(keys, xp(np.arange(N) * 2))
    del keys
    gc.collect()
    rest = xp(np.full(N, 7))
    np.testing.assert_array_equal(xp.back(m[xp(np.arange(N))]), np.arange(N) * 2)
    del rest


def test_arrays_that_begin_anywhere(xp):
    """Tests parts of arrays whose first element is not at a multiple of 16 bytes."""
    if not xp.has_columns:
        pytest.skip("the library copies parts itself")
    x = np.arange(1000, dtype="int32") % 10
    for start in range(1, 5):
        np.testing.assert_array_equal(xp.back(wn.unique(xp(x)[start:], sorted=True)), np.arange(10))
        m = wn.Map(xp(x)[start:], xp(np.arange(1000, dtype="int32"))[start:])
        np.testing.assert_array_equal(xp.back(m[xp(x)[start:20]]), np.arange(990, 1000)[x[start:20]])


def test_arrays_in_files_begin_at_any_byte():
    x = np.frombuffer(b"header." + np.arange(100).tobytes(), np.int64, offset=7)
    assert not x.flags.aligned
    # The native part reads whole elements, whose addresses must be multiples of their size.
    assert NUMPY.array(x, "x").flags.aligned
    np.testing.assert_array_equal(wn.unique(x, sorted=True), np.arange(100))


def test_native_memory_is_an_array_of_elements_that_fit_alone():
    native = wn._native.empty((-1, None, False), 6, 8)
    pairs, words = native.to_numpy(np.dtype("i4"), 2), native.to_numpy(np.dtype("u8"))
    assert pairs.shape == (6, 2) and words.flags.writeable and words.flags.aligned and words.flags.c_contiguous
    pairs[:, 1] = 7
    for dtype, columns in (("i4", None), ("u8", 2), ("O", None)):
        with pytest.raises(TypeError, match="rows of 8 bytes have no elements of type"):
            native.to_numpy(np.dtype(dtype), columns)
    del native, pairs
    assert words.tolist() == [7 << 32] * 6


def test_read_only_arrays():
    x = np.arange(10)
    x.flags.writeable = False
    np.testing.assert_array_equal(wn.unique(x, sorted=True), x)


def test_results_know_dlpack():
    def unique(x):
        column = keys(NUMPY, x, "x")
        return wn._native.unique((-1, None, False), column, column.type.kind, True, (False, False, False))[0]

    assert np.from_dlpack(unique(np.zeros(0, int))).shape == (0,)
    x = np.arange(5, dtype="u4")
    array = unique(x)
    np.testing.assert_array_equal(np.from_dlpack(array), x)
    assert array.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        array.typed("<M8[ns]").__dlpack__()


def test_the_interpreter_goes_on_during_a_call():
    x = np.random.default_rng(1).integers(0, 1 << 40, 1 << 22)
    done, ticks = threading.Event(), 0

    def work():
        wn.unique(x, return_inverse=True)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    thread.join()
    assert ticks > 3


def test_an_import_is_quick_and_brings_no_other_library():
    code = (
        "import sys, time, numpy; t = time.perf_counter(); import warpnest; print(time.perf_counter() - t); "
        "assert not {'torch', 'cupy', 'jax', 'pandas', 'polars', 'pyarrow'} & set(sys.modules)"
    )
    seconds = min(
        float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout) for _ in range(3)
    )
    assert seconds < 0.2


@torch_cuda
def test_a_call_waits_for_work_of_the_current_stream():
    import torch

    for _ in range(3):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            x = torch.zeros(N, dtype=torch.int64, device="cuda")
            torch.cuda._sleep(50_000_000)
            x.copy_(torch.arange(N, device="cuda"))
            assert len(wn.unique(x)) == N
            torch.cuda._sleep(50_000_000)
            x.add_(5)
            m = wn.Map(x, x * 2)
            torch.cuda._sleep(50_000_000)
            queries = x + 1
            found = m.get(queries, default=-1)
            # Later work waits for the lookup: this write, and the next use of the memory.
            queries.fill_(0)
            other = torch.full_like(queries, 3)
            del queries
            expected = torch.where(
                torch.arange(N, device="cuda") == N - 1, -1, 2 * (torch.arange(N, device="cuda") + 6)
            )
            assert torch.equal(found, expected)
            del other


@torch_cuda
def test_lookups_do_not_wait_on_the_host():
    import torch

    x = torch.arange(N, device="cuda")
    m = wn.Map(x, x)
    for ask in (lambda: m.get(x, default=0), lambda: m.contains(x), lambda: m.find(x)):
        ask()
        torch.cuda.synchronize()
        end = torch.cuda.Event()
        torch.cuda._sleep(2_000_000_000)
        ask()
        end.record()
        assert not end.query(), "the call waited for the stream"
        torch.cuda.synchronize()


@torch_cuda
def test_two_streams_with_delayed_work_do_not_race():
    import torch

    one, two = torch.cuda.Stream(), torch.cuda.Stream()
    x = torch.arange(N, device="cuda")
    torch.cuda.synchronize()
    for at in range(4):
        with torch.cuda.stream(one):
            torch.cuda._sleep(30_000_000)
            m = wn.Map(x, x + at)
        with torch.cuda.stream(two):
            asked = m.get(x, default=-1)
        with torch.cuda.stream(one):
            torch.cuda._sleep(30_000_000)
            m.insert(x, x + at + 100)
        with torch.cuda.stream(two):
            again = m.get(x, default=-1)
            assert torch.equal(asked, x + at) and torch.equal(again, x + at + 100)


@torch_cuda
def test_a_result_that_is_dropped_is_not_used_again_too_early():
    import torch

    x = torch.arange(N, device="cuda")
    later = torch.cuda.Stream()
    for _ in range(4):
        result = wn.unique(x, sorted=True)
        later.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(later):
            torch.cuda._sleep(100_000_000)
            copy = result + 1
        del result
        for _ in range(3):
            wn.unique(x + 12345)
        torch.cuda.synchronize()
        assert torch.equal(copy, x + 1)


@torch_cuda
def test_arrays_on_different_devices_are_refused():
    import torch

    x, y = torch.arange(5, device="cuda"), np.arange(5)
    with pytest.raises(ValueError, match="x is on cuda:0 and among is on the host: move one of them"):
        wn.isin(x, y)
    with pytest.raises(ValueError, match="on cuda:0 and the table is on cpu"):
        wn.Set(y, device="cpu").contains(x)
    with pytest.raises(ValueError, match="the call is to run on cpu"):
        wn.unique(x, device="cpu")
    with pytest.raises(ValueError, match="strided"):
        wn.unique(x[::2])
    with pytest.raises(TypeError, match="torch.int16"):
        wn.unique(x.to(torch.int16))
    np.testing.assert_array_equal(wn.Set(x).contains(y), np.ones(5, bool))


@torch_cuda
def test_no_copies_of_results_on_the_gpu():
    import torch

    x = torch.arange(1 << 26, device="cuda")
    wn.unique(x[:1024])
    wn.release_memory()
    torch.cuda.synchronize()
    before = torch.cuda.mem_get_info()[0]
    result = wn.unique(x)
    torch.cuda.synchronize()
    # The scratch memory that the call keeps for the next call is not part of the result.
    wn.release_memory()
    taken = before - torch.cuda.mem_get_info()[0]
    assert taken < 1.1 * result.nbytes + (64 << 20), f"{taken} bytes for a result of {result.nbytes}"


def test_a_forked_process_is_told_so():
    """Threads and GPUs do not survive a fork, so the child process gets an error instead of waiting forever."""
    code = """
import os, numpy as np, warpnest as wn
if {used_before}:
    wn.unique(np.arange(9))
child = os.fork()
if child == 0:
    try:
        os._exit(len(wn.unique(np.arange(1 << 20))) != 1 << 20)
    except RuntimeError as error:
        os._exit(77 if "forked" in str(error) else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    for used_before, expected in ((True, 77), (False, 0)):
        program = [sys.executable, "-c", code.format(used_before=used_before)]
        environment = {**os.environ, "WARPNEST_DEVICE": "cpu"}
        assert subprocess.run(program, timeout=60, env=environment).returncode == expected


@torch_cuda
@pytest.mark.parametrize("is_default", [True, False])
def test_lookups_are_captured_in_a_graph(is_default):
    import torch

    keys = torch.arange(1000, device="cuda") * 3
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.default_stream() if is_default else torch.cuda.Stream()):
        table, held = wn.Map(keys, keys + 1), wn.Set(keys)
    empty = wn.Map.empty(np.int64, np.int64, device="cuda")
    queries = torch.zeros(N, dtype=torch.int64, device="cuda")

    def answers():
        got = table.get(queries, default=-1) * 2
        return got, *table.find(queries), held.contains(queries), empty.get(queries, 5)

    torch.cuda.synchronize()
    answers()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = answers()
    for first in (0, 500, 5000):
        queries.copy_(torch.arange(first, first + N, device="cuda"))
        graph.replay()
        for replayed, called in zip(captured, answers()):
            assert replayed.equal(called)
    # The graph keeps the tables' memory; these get other memory.
    expected = [answer.clone() for answer in answers()]
    table = held = None
    others = [wn.Map(keys + 1, keys) for _ in range(3)]
    graph.replay()
    assert all(replayed.equal(called) for replayed, called in zip(captured, expected))
    del graph, others
    torch.cuda.synchronize()


@torch_cuda
def test_what_waits_is_refused_in_a_graph_and_leaves_the_capture_alone():
    import torch

    keys = torch.arange(1000, device="cuda")
    table = wn.Map(keys, keys)
    table.get(keys, default=0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for refused in (
            lambda: wn.unique(keys),
            lambda: wn.Map(keys, keys),
            lambda: table[keys],
            lambda: table.insert(keys, keys),
        ):
            with pytest.raises(ValueError, match="captured"):
                refused()
        found = table.get(keys, default=0)
    keys.add_(1)
    graph.replay()
    assert found.equal(table.get(keys, default=0)) and len(table) == 1000
