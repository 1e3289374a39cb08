"""Hash maps, sets and relational operations on arrays, on NVIDIA GPUs and on all cores of a CPU.

    >>> import numpy as np
    >>> import warpnest as wn
    >>> m = wn.Map(np.array([10, 20, 30]), np.array([1.5, 2.5, 3.5]))
    >>> m[np.array([30, 10])]
    array([3.5, 1.5])

Classes: `Map`, `Set`, `MultiMap`. Functions: `unique`, `isin`, `factorize`, `value_counts`, `group_by`, `join`.

**Arrays** of NumPy, torch, CuPy and JAX (on a GPU) are used without a copy, and results are arrays
of the same library. For lists and pandas columns, results are NumPy arrays. Elements are of any
type of 4 or 8 bytes: `int32`, `int64`, `uint32`, `uint64`, `float32`, `float64`, `datetime64`,
`timedelta64`, texts of a fixed size. A key may have two columns of 4 bytes, given as a tuple.

**Nothing is converted** if an element would change. A list, a single value or a column is refused
if it has an element that would change, or a missing element. Two columns of different types are
refused, too.

**Arrow columns** are also taken and returned without a copy. They come from polars, pyarrow and any
object that has `__arrow_c_array__` or `__arrow_c_stream__`. If the first column of a call is of
polars, so are the results. For columns of pyarrow, and of pandas in Arrow's memory, results are of
pyarrow. Otherwise they are objects with `__arrow_c_array__`. Elements are of the numeric types
above, dates, times, timestamps or durations, and results have the same type, unit and time zone.
Columns with nulls are refused.

**Devices.** A call on GPU tensors runs on their GPU, on the stream that is current there. A call on
host arrays runs on the first GPU, or on the CPU if there is none. To choose another device, use
`set_default_device`, the parameter `device` or the environment variable `WARPNEST_DEVICE`.

**Copies** are made of host arrays in calls on a GPU, of floating-point keys (whose zeros become
equal, and whose NaNs do), of keys of two columns, of Arrow columns with several chunks, and of
arrays that do not begin at a multiple of 16 bytes. Strided arrays are refused.
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
