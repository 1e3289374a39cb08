"""Measures single calls on the CPU, and compares them with NumPy and pandas in the same run.

    python cpu.py --sizes 16,18,20,22

There are 64 keys ("few"), an eighth as many keys as rows ("some"), or only distinct keys
("different"). A time is the shortest of all runs that fit in `--seconds`. `isin` looks among half
as many distinct keys as rows, and `isin few` among 64 keys.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import warpnest as wn

Sides = dict[str, Callable[[], Any]]


def distinct(rows: int, bits: int) -> np.ndarray:
    """Returns distinct keys in pseudo-random order. Multiplying by an odd constant permutes all integers."""
    integers = np.arange(rows, dtype=f"u{bits // 8}")
    return (integers * integers.dtype.type(0x9E3779B1 if bits == 32 else 0x9E3779B97F4A7C15)).view(f"i{bits // 8}")


def columns(rows: int, bits: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
    keys = distinct(rows, bits)
    return {
        "few": generator.choice(keys[:64], rows),
        "some": generator.choice(keys[: rows // 8], rows),
        "different": generator.permutation(keys),
    }


def cases(x: np.ndarray, half: np.ndarray, few: np.ndarray) -> dict[str, Sides]:
    both = dict(return_counts=True, return_inverse=True)
    return {
        "unique": {
            "numpy": lambda: np.unique(x),
            "pandas": lambda: pd.unique(x),
            "warpnest": lambda: wn.unique(x),
        },
        "unique, counts": {
            "numpy": lambda: np.unique(x, return_counts=True),
            "warpnest": lambda: wn.unique(x, return_counts=True),
        },
        "unique, counts and inverse": {
            "numpy": lambda: np.unique(x, **both),
            "warpnest": lambda: wn.unique(x, **both),
        },
        "factorize": {"pandas": lambda: pd.factorize(x), "warpnest": lambda: wn.factorize(x)},
        "isin": {
            "numpy": lambda: np.isin(x, half),
            "pandas": lambda: pd.Series(x).isin(half),
            "warpnest": lambda: wn.isin(x, half),
        },
        "isin few": {
            "numpy": lambda: np.isin(x, few),
            "pandas": lambda: pd.Series(x).isin(few),
            "warpnest": lambda: wn.isin(x, few),
        },
    }


def least(sides: Sides, seconds: float) -> dict[str, float]:
    for work in sides.values():
        work()
    times = {name: float("inf") for name in sides}
    end = time.perf_counter() + seconds
    runs = 0
    while runs < 3 or time.perf_counter() < end:
        for name, work in sides.items():
            begin = time.perf_counter()
            result = work()
            times[name] = min(times[name], time.perf_counter() - begin)
            del result
        runs += 1
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="16,18,20,22", help="numbers of rows, as powers of two")
    parser.add_argument("--bits", default="32,64", help="of a key")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each case")
    args = parser.parse_args()
    generator = np.random.default_rng(1)
    for size in map(int, args.sizes.split(",")):
        for bits in map(int, args.bits.split(",")):
            keys = distinct(1 << size, bits)
            half, few = generator.permutation(keys[: len(keys) // 2]), keys[:64].copy()
            for name, x in columns(1 << size, bits, generator).items():
                for op, sides in cases(x, half, few).items():
                    times = least(sides, args.seconds)
                    line = {"op": op, "keys": name, "rows": 1 << size, "bits": bits}
                    line |= {f"{side}_ms": round(1e3 * seconds, 3) for side, seconds in times.items()}
                    ratios = {side: round(times[side] / times["warpnest"], 2) for side in times if side != "warpnest"}
                    print(json.dumps(line | {"ratio": ratios}), flush=True)


if __name__ == "__main__":
    main()
