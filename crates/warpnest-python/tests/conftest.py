"""The fixtures of the tests: every installed library of arrays, on every device that exists."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import warpnest as wn


@dataclass(frozen=True)
class Library:
    """A library of arrays on a device, with conversions from and to NumPy arrays."""

    name: str
    device: str
    make: Callable[[np.ndarray], Any]
    type: type

    def __call__(self, values, dtype=None):
        return self.make(np.asarray(values, dtype))

    def back(self, array):
        """Checks the type of an array, and copies it to NumPy."""
        if isinstance(array, tuple):
            return tuple(map(self.back, array))
        assert isinstance(array, self.type), f"{type(array)} from {self.name}"
        if self.name.startswith("torch"):
            assert array.device.type == ("cuda" if "cuda" in self.name else "cpu")
            return array.cpu().numpy()
        if self.name == "pyarrow":
            return array.to_numpy(zero_copy_only=False)
        return array.get() if self.name == "cupy" else np.asarray(array)

    @property
    def has_columns(self) -> bool:
        """Whether the library supports keys of two columns and floating-point keys."""
        return self.name != "jax"

    @property
    def has_shapes(self) -> bool:
        """Whether the library supports arrays of several dimensions."""
        return self.name.startswith(("numpy", "torch", "cupy"))


def has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def libraries() -> list[Library]:
    gpu = wn.gpu_error() is None
    found = [Library("numpy", "cpu", lambda x: x, np.ndarray)]
    if has("polars"):
        import polars

        found.append(Library("polars", "cpu", polars.Series, polars.Series))
        if gpu:
            found.append(Library("polars to a GPU", "cuda:0", polars.Series, polars.Series))
    if has("pyarrow"):
        import pyarrow

        found.append(Library("pyarrow", "cpu", pyarrow.array, pyarrow.Array))
    if gpu:
        found.append(Library("numpy to a GPU", "cuda:0", lambda x: x, np.ndarray))
    if has("torch"):
        import torch

        found.append(Library("torch", "cpu", lambda x: torch.from_numpy(x.copy()), torch.Tensor))
        if gpu:
            found.append(Library("torch cuda", "cuda:0", lambda x: torch.from_numpy(x.copy()).cuda(), torch.Tensor))
    if gpu and has("cupy"):
        import cupy

        found.append(Library("cupy", "cuda:0", cupy.asarray, cupy.ndarray))
    if gpu and has("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        found.append(Library("jax", "cuda:0", jax.numpy.asarray, jax.Array))
    return found


LIBRARIES = libraries()


@pytest.fixture(params=LIBRARIES, ids=lambda library: library.name)
def xp(request):
    """A library, whose device is the default device during the test."""
    before = wn.default_device()
    wn.set_default_device(request.param.device)
    yield request.param
    wn.set_default_device(before)


@pytest.fixture(autouse=True)
def on_the_cpu():
    """Makes the CPU the default device for host arrays, unless a test chooses another one."""
    before = wn.default_device()
    wn.set_default_device("cpu")
    yield
    wn.set_default_device(before)
