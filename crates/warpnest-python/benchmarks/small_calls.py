"""What a call takes with few rows and with many: where its own cost ends and the work begins.

    python small_calls.py                        NumPy arrays on the CPU engine, beside NumPy
    python small_calls.py --device cuda          torch tensors on a GPU, beside torch
    python small_calls.py --rows 1 100 4096      other counts of rows
    python small_calls.py --json results.jsonl   also adds a line for each row to a file

Keys are 64-bit integers, of which each comes eight times where rows are grouped. `small_empty` are
calls without rows: what the binding itself takes. A figure is the median of the calls, each on its
own, in microseconds; on a GPU a call ends when its work is done, and the wait for an idle device
(`small_wait`) is a part of each. Ours and the other library's take turns. Values of `Map` are
64-bit floating-point numbers; those that are summed are integers of 32 bits.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from datetime import date
from statistics import median
from typing import Any

import numpy as np

import warpnest as wn
from ten_tasks import data, machine

#: The counts of rows that are measured unless others are asked for.
ROWS = [1 << 12, 1 << 16, 1 << 20, 1 << 22]
#: How long the calls of a case are repeated, in seconds, and the fewest and the most of them.
SECONDS, FEWEST, MOST = 1.0, 9, 5000

#: Calls by the names of their rows.
Calls = dict[str, Callable[[], Any]]


def calls_of_numpy(columns: dict[str, Any]) -> Calls:
    """Returns how NumPy says what it has."""
    x, y, among, few, values = (columns[name] for name in ("x", "y", "among", "few", "values"))

    def get() -> Any:
        order = np.argsort(few)
        at = np.searchsorted(few, x, sorter=order).clip(max=len(few) - 1)
        return np.where(few[order[at]] == x, values[order[at]], 0)

    def group_by() -> Any:
        keys, inverse = np.unique(x, return_inverse=True)
        sums = np.zeros(len(keys), "i8")
        np.add.at(sums, inverse, y)
        return keys, sums

    return {
        "small_get": get,
        "small_unique": lambda: np.unique(x, return_inverse=True, return_counts=True),
        "small_isin": lambda: np.isin(x, among),
        "small_group_by": group_by,
    }


def calls_of_torch(columns: dict[str, Any]) -> Calls:
    """Returns how torch says what it has."""
    import torch

    x, y, among, few, values = (columns[name] for name in ("x", "y", "among", "few", "values"))

    def get() -> Any:
        ordered, order = few.sort()
        at = torch.searchsorted(ordered, x).clamp_(max=len(few) - 1)
        return torch.where(ordered[at] == x, values[order[at]], 0)

    def group_by() -> Any:
        keys, inverse = torch.unique(x, return_inverse=True)
        return keys, torch.zeros(len(keys), dtype=torch.int64, device=x.device).index_add_(0, inverse, y.long())

    return {
        "small_get": get,
        "small_unique": lambda: torch.unique(x, return_inverse=True, return_counts=True),
        "small_isin": lambda: torch.isin(x, among),
        "small_group_by": group_by,
    }


def our_calls(columns: dict[str, Any]) -> Calls:
    x, y, among, few, values = (columns[name] for name in ("x", "y", "among", "few", "values"))
    table = wn.Map(few, values)
    return {
        "small_get": lambda: table.get(x, default=0),
        "small_build": lambda: wn.Map(few, values),
        "small_unique": lambda: wn.unique(x, return_inverse=True, return_counts=True),
        "small_isin": lambda: wn.isin(x, among),
        "small_group_by": lambda: wn.group_by(x, {"sum": (y, "sum")}),
    }


def empty_calls(columns: dict[str, Any]) -> Calls:
    """Returns calls without rows, beside one for a single key and the wait that is a part of each."""
    none, key = columns["x"][:0], int(columns["few"][0])
    table = wn.Map(columns["few"], columns["values"])
    return {
        "small_wait": lambda: None,
        "small_empty": lambda: table.contains(none),
        "small_empty_get": lambda: table.get(none, default=0),
        "small_empty_unique": lambda: wn.unique(none, return_inverse=True, return_counts=True),
        "small_one_key": lambda: table[key],
    }


def columns_of(rows: int, device: str) -> dict[str, Any]:
    """Returns columns as in `ten_tasks`, with integers of 32 bits to be summed."""
    columns: dict[str, Any] = data(rows)
    columns["y"] = np.arange(rows, dtype=np.int32)
    if device == "cpu":
        return columns
    import torch

    return {name: torch.from_numpy(column).to(device) for name, column in columns.items()}


def medians(work: list[Callable[[], Any]], finish: Callable[[], Any]) -> list[float]:
    """Returns the median of each one's calls in microseconds; they take turns."""
    times: list[list[float]] = [[] for _ in work]
    for one in work:
        one()
    finish()
    begin = time.perf_counter()
    while len(times[0]) < FEWEST or len(times[0]) < MOST and time.perf_counter() - begin < SECONDS:
        for one, taken in zip(work, times):
            start = time.perf_counter()
            result = one()
            finish()
            taken.append(time.perf_counter() - start)
            # What the last call gave is freed between the measurements.
            del result
    return [round(1e6 * median(taken), 2) for taken in times]


def measure(device: str, counts: list[int], commit: str) -> list[dict[str, Any]]:
    if device == "cpu":
        wn.set_default_device("cpu")
        library, finish, calls_of = "NumPy", (lambda: None), calls_of_numpy
    else:
        import torch

        library, finish, calls_of = "torch", torch.cuda.synchronize, calls_of_torch
    lines = []
    run = {"date": str(date.today()), "commit": commit, "machine": machine(device), "beside": library}

    def report(rows: int, calls: Calls, others: Calls) -> None:
        for op, call in calls.items():
            ours, *theirs = medians([call, others[op]] if op in others else [call], finish)
            line = {**run, "op": op, "rows": rows, "bits": 64, "us": ours}
            if theirs:
                line |= {"their_us": theirs[0], "ratio": round(theirs[0] / ours, 2)}
            lines.append(line)
            print(json.dumps(line), flush=True)

    report(0, empty_calls(columns_of(min(counts), device)), {})
    for rows in counts:
        columns = columns_of(rows, device)
        report(rows, our_calls(columns), calls_of(columns))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help='"cpu", or "cuda" for torch tensors on a GPU')
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="the counts of rows")
    parser.add_argument("--json", help="a file to which a line for each row is added")
    parser.add_argument("--commit", default="", help="the commit of warpnest, which is written to the results")
    args = parser.parse_args()
    lines = measure(args.device, args.rows, args.commit)
    if args.json:
        with open(args.json, "a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)


if __name__ == "__main__":
    main()
