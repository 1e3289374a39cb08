"""Hash maps, sets and relational operations on arrays, on NVIDIA GPUs and on all cores of a CPU.

    >>> import numpy as np
    >>> import warpnest as wn
    >>> m = wn.Map(np.array([10, 20, 30]), np.array([1.5, 2.5, 3.5]))
    >>> m[np.array([30, 10])]
    array([3.5, 1.5])

Classes: `Map`, `Set`, `MultiMap`. Functions: `unique`, `isin`, `factorize`, `value_counts`, `group_by`, `join`.

**Arrays** of NumPy, torch, CuPy and JAX (on a GPU) go in without a copy, and results are arrays of
the same library; for lists and columns of pandas they are NumPy's. Elements are of any type of 4 or
8 bytes: `int32`, `int64`, `uint32`, `uint64`, `float32`, `float64`, `datetime64`, `timedelta64`,
texts of a fixed size. Keys may have two columns of 4 bytes, as a tuple.

**Nothing is converted** if an element would be another one afterwards: a list, a single value or a
column that has such an element, or a missing one, is refused. Two columns of different types are, too.

**Columns of Arrow** go in and come out without a copy, too: those of polars, pyarrow and whatever
has `__arrow_c_array__` or `__arrow_c_stream__`. Results are polars' if the first column of the call
is, and pyarrow's for columns of pyarrow and of pandas in Arrow's memory. Otherwise they are objects
with `__arrow_c_array__`. Elements are numbers of those types, dates, times, timestamps and durations,
and results have the same type, unit and time zone. Columns with nulls are refused.

**Devices.** Tensors on a GPU are worked on where they are, on the stream that is current there.
Arrays on the host are worked on by the first GPU, or the CPU if there is none: `set_default_device`,
the parameter `device`, and the environment variable `WARPNEST_DEVICE` say otherwise.

**Copies** are made of arrays of the host that a GPU works on, of keys that are floating-point
numbers (their zeros become equal, and their NaNs), of keys of two columns, of columns of Arrow with
several chunks, and of arrays that do not begin at a multiple of 16 bytes. Strided arrays are refused.
"""

from ._devices import default_device, gpu_error, release_memory, set_default_device
from ._functions import Groups, Joined, factorize, group_by, isin, join, unique, value_counts
from ._map import Map
from ._multi_map import MultiMap
from ._set import Set

__all__ = [
    "Groups",
    "Joined",
    "Map",
    "MultiMap",
    "Set",
    "default_device",
    "factorize",
    "group_by",
    "gpu_error",
    "isin",
    "join",
    "release_memory",
    "set_default_device",
    "unique",
    "value_counts",
]
