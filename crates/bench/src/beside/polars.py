"""Joins two tables with polars, or aggregates the rows of one table by their keys, on each request.

The first argument is a folder with the columns as files of 32-bit words. If it has one table, its
rows are summed. If more arguments name aggregates, these are computed of the values as sixteenths,
in 64-bit floating-point numbers. For each line of the standard input, the program computes the
result once. It prints the seconds that this took, the number of rows of the result, and two
checksums.
"""

import pathlib
import sys
import time

import numpy
import polars

folder = pathlib.Path(sys.argv[1])
aggregates = sys.argv[2:]


def table(name):
    columns = {"key": f"{name}_keys", name: f"{name}_values"}
    return polars.DataFrame({key: numpy.fromfile(folder / file, dtype=numpy.uint32) for key, file in columns.items()})


def total(column):
    return column.cast(polars.UInt64).sum()


def checksums(found):
    """Returns the checksums of aggregates that are floating-point numbers, from their bits."""
    mixed = numpy.zeros(found.height, dtype=numpy.uint64)
    for number, name in enumerate(aggregates):
        bits = found[name].to_numpy().view(numpy.uint64)
        mixed += (bits ^ bits >> numpy.uint64(32)) * numpy.uint64(2 * number + 1)
    return mixed.sum(), (mixed * found["key"].to_numpy().astype(numpy.uint64)).sum()


left = table("left")
right = table("right") if (folder / "right_keys").exists() else None
if aggregates:
    left = left.with_columns(polars.col("left").cast(polars.Float64) / 16)
    wanted = [getattr(polars.col("left"), name)().alias(name) for name in aggregates]
else:
    wanted = [polars.col("left").cast(polars.UInt64).sum()]
groups = left.lazy().group_by("key").agg(wanted)
print(polars.__version__, polars.thread_pool_size(), flush=True)
for line in sys.stdin:
    begin = time.perf_counter()
    found = groups.collect() if right is None else left.join(right, on="key", how="inner")
    seconds = time.perf_counter() - begin
    if aggregates:
        print(seconds, found.height, *checksums(found), flush=True)
        continue
    check = found["key"].cast(polars.UInt64) * found["left"] if right is None else found["right"]
    print(seconds, found.height, total(found["left"]), total(check), flush=True)
