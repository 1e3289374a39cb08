"""Joins two tables with polars, or sums the rows of one table by their keys, on each request.

The argument is a folder with the columns as files of 32-bit words. If it has one table, its rows
are summed. For each line of the standard input, the program computes the result once. It prints the
seconds that this took, the number of rows of the result, and two checksums.
"""

import pathlib
import sys
import time

import numpy
import polars

folder = pathlib.Path(sys.argv[1])


def table(name):
    columns = {"key": f"{name}_keys", name: f"{name}_values"}
    return polars.DataFrame({key: numpy.fromfile(folder / file, dtype=numpy.uint32) for key, file in columns.items()})


def total(column):
    return column.cast(polars.UInt64).sum()


left = table("left")
right = table("right") if (folder / "right_keys").exists() else None
sums = left.lazy().group_by("key").agg(polars.col("left").cast(polars.UInt64).sum())
print(polars.__version__, polars.thread_pool_size(), flush=True)
for line in sys.stdin:
    begin = time.perf_counter()
    found = sums.collect() if right is None else left.join(right, on="key", how="inner")
    seconds = time.perf_counter() - begin
    check = found["key"].cast(polars.UInt64) * found["left"] if right is None else found["right"]
    print(seconds, found.height, total(found["left"]), total(check), flush=True)
