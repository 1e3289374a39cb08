"""Measures the rates of single calls on a GPU, for which the project has targets, and compares them with torch.

    python rates.py --rows 134217728 --bits 32

Tensors are on the GPU. Only in the rows named "host" are they NumPy arrays, which cross the bus in
both directions. A rate is in 10^9 rows of the first input per second. The time is the shortest of
all runs, between two events on the current stream. For host arrays it is the time of the whole
call.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import warpnest as wn
from ten_tasks import timer


def distinct(rows: int, dtype: str, device: str = "cuda") -> torch.Tensor:
    """Returns distinct keys in pseudo-random order. Multiplying by an odd constant permutes all integers."""
    integers = torch.arange(rows, dtype=getattr(torch, dtype), device=device)
    return integers * (-1640531535 if dtype == "int32" else -7046029254386353131)


def gpu_cases(rows: int, dtype: str) -> dict[str, dict[str, Callable[[], Any]]]:
    """Returns the calls that are measured on tensors: for each name, the call of torch and the call of warpnest."""
    keys = distinct(rows, dtype)
    generator = torch.Generator("cuda").manual_seed(1)
    pick = lambda of, count: of[torch.randint(len(of), (count,), device="cuda", generator=generator)]
    repeated = pick(keys[: rows // 8], rows)
    among = keys[: rows // 2]
    queries, values = keys[torch.randperm(rows, device="cuda")], torch.arange(rows, dtype=keys.dtype, device="cuda")
    table = wn.Map(keys, values, assume_unique=True)
    both = dict(return_inverse=True, return_counts=True)
    return {
        "unique with inverse and counts, 8 rows a key": {
            "torch": lambda: torch.unique(repeated, **both),
            "warpnest": lambda: wn.unique(repeated, **both),
        },
        "unique with inverse and counts, all different": {
            "torch": lambda: torch.unique(keys, **both),
            "warpnest": lambda: wn.unique(keys, **both),
        },
        "unique": {"torch": lambda: torch.unique(repeated), "warpnest": lambda: wn.unique(repeated)},
        "isin, half of the keys": {
            "torch": lambda: torch.isin(queries, among),
            "warpnest": lambda: wn.isin(queries, among),
        },
        "Map build": {"warpnest": lambda: wn.Map(keys, values)},
        "Map build, assume_unique": {"warpnest": lambda: wn.Map(keys, values, assume_unique=True)},
        "Map.get": {"warpnest": lambda: table.get(queries, default=0)},
        "Map.get, another default": {"warpnest": lambda: table.get(queries, default=-1)},
        "Map.contains": {"warpnest": lambda: table.contains(queries)},
    }


def host_cases(rows: int, dtype: str) -> dict[str, tuple[Callable[[], Any], int]]:
    """Returns the calls that are measured on NumPy arrays, each with the bytes that cross the bus."""
    keys = distinct(rows, dtype, "cpu").numpy()
    values = np.arange(rows, dtype=dtype)
    table = wn.Map(keys, values, device="cuda")
    few = keys[: rows // 1024]
    return {
        "host: Map.get": (lambda: table.get(keys, default=0), 2 * keys.nbytes),
        "host: isin, few keys": (lambda: wn.isin(keys, few, device="cuda"), keys.nbytes + rows),
        "host: Set build": (lambda: wn.Set(keys, device="cuda"), keys.nbytes),
    }


def copies(rows: int, dtype: str) -> dict[str, tuple[Callable[[], Any], int]]:
    """Returns plain copies by torch, for comparison."""
    pageable = torch.zeros(rows, dtype=getattr(torch, dtype))
    pinned, there = pageable.pin_memory(), torch.zeros(rows, dtype=pageable.dtype, device="cuda")
    return {
        "bus: upload of pageable memory by torch": (lambda: there.copy_(pageable), pageable.nbytes),
        "bus: upload of pinned memory by torch": (lambda: there.copy_(pinned), pinned.nbytes),
        "bus: download to pageable memory by torch": (lambda: pageable.copy_(there), pageable.nbytes),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1 << 27)
    parser.add_argument("--bits", type=int, default=32, choices=[32, 64], help="of a key, and of a value")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    dtype, device = f"int{args.bits}", torch.cuda.get_device_name()
    print(device, args.rows, dtype)

    def report(name: str, seconds: dict[str, float], **more: Any) -> None:
        line = {
            "op": name,
            "rows": args.rows,
            "bits": args.bits,
            **{f"{of}_ms": round(1000 * s, 3) for of, s in seconds.items()},
            **{f"{of}_gops": round(args.rows / s / 1e9, 3) for of, s in seconds.items()},
            **more,
        }
        if "torch" in seconds:
            line["ratio"] = round(seconds["torch"] / seconds["warpnest"], 2)
        print(json.dumps(line), flush=True)

    def least(work: Callable[[], Any], timed: Callable[[Callable[[], Any]], float]) -> float:
        work()
        return min(timed(work) for _ in range(args.runs))

    on_gpu, on_host = timer("cuda"), timer("cpu")
    cases = gpu_cases(args.rows, dtype)
    for name, sides in cases.items():
        report(name, {of: least(work, on_gpu) for of, work in sides.items()})
    del cases, sides
    torch.cuda.empty_cache()

    def whole(work: Callable[[], Any]) -> float:
        return on_host(lambda: (work(), torch.cuda.synchronize()))

    for name, (work, moved) in {**host_cases(args.rows, dtype), **copies(args.rows, dtype)}.items():
        seconds = least(work, whole)
        report(
            name,
            {"warpnest" if name.startswith("host") else "torch_copy": seconds},
            moved_gb_per_s=round(moved / seconds / 1e9, 2),
        )


if __name__ == "__main__":
    main()
