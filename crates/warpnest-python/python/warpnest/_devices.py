"""The choice of the device on which a call runs if its arrays are on the host."""

from __future__ import annotations

import os
from typing import Any

from . import _native

CPU = -1
_default: int | None = None


def number(device: Any) -> int:
    """Returns the id of a device: -1 for the CPU, or the ordinal of a GPU.

    `device` is "cpu", "cuda", "cuda:1", or an object whose text is such a name, like a device of
    torch.
    """
    name = str(device)
    kind, _, ordinal = name.partition(":")
    if kind == "cpu" and not ordinal:
        return CPU
    if kind == "cuda" and (not ordinal or ordinal.isdecimal() and len(ordinal) < 5):
        return int(ordinal or 0)
    raise ValueError(f'there is no device {name!r}: take "cpu", "cuda", or "cuda:N" for the GPU with ordinal N')


def name(number: int) -> str:
    return "cpu" if number == CPU else f"cuda:{number}"


def default_number() -> int:
    global _default
    if _default is None:
        wanted = os.environ.get("WARPNEST_DEVICE")
        if wanted is not None:
            _default = number(wanted)
        else:
            _default = CPU if _native.gpu_error() else 0
    return _default


def default_device() -> str:
    """Returns the device on which calls with host arrays run.

    It is the first GPU, or the CPU if no GPU can be used. `set_default_device` and the environment
    variable `WARPNEST_DEVICE` change it. Calls with arrays on a GPU always run on that GPU.

    >>> import warpnest as wn
    >>> wn.set_default_device("cpu")
    >>> wn.default_device()
    'cpu'
    """
    return name(default_number())


def set_default_device(device: Any) -> None:
    """Sets the device on which calls with host arrays run: "cpu", "cuda" or "cuda:N"."""
    global _default
    wanted = number(device)
    _native.device_name(wanted)
    _default = wanted


def release_memory() -> None:
    """Releases the memory that is kept for later calls: scratch memory, and memory of dropped results.

    Each stream keeps at most a sixteenth of a GPU's memory, or 256 MiB on the CPU.
    """
    _native.release_memory()


def gpu_error() -> str | None:
    """Returns the reason why no GPU can be used, or None if a GPU can be used."""
    return _native.gpu_error()
