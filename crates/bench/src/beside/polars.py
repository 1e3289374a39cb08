"""Joins two tables with polars whenever it is told to.

Arguments: a folder with the columns as files of 32-bit words. For each line of the standard input it
joins once, and prints the seconds that this took, the rows, and the sums of both columns of values.
"""

import sys
import time

import numpy
import polars

folder = sys.argv[1]


def column(name):
    return numpy.fromfile(f"{folder}/{name}", dtype=numpy.uint32)


left = polars.DataFrame({"key": column("left_keys"), "left": column("left_values")})
right = polars.DataFrame({"key": column("right_keys"), "right": column("right_values")})
print(polars.__version__, polars.thread_pool_size(), flush=True)
for line in sys.stdin:
    begin = time.perf_counter()
    joined = left.join(right, on="key", how="inner")
    seconds = time.perf_counter() - begin
    sums = [joined[name].cast(polars.UInt64).sum() for name in ("left", "right")]
    print(seconds, joined.height, *sums, flush=True)
