"""Devices: which one a call runs on if its arrays are on the host."""

from __future__ import annotations

import os
from typing import Any

from . import _native

CPU = -1
_default: int | None = None


def number(device: Any) -> int:
    """Returns the number of a device: -1 for the CPU, and a GPU's ordinal.

    A device is "cpu", "cuda", "cuda:1", or an object that is written so, as torch's are.
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
    """Returns the device that calls with arrays of the host run on.

    It is the first GPU, or the CPU where no GPU can be used, unless `set_default_device` or the
    environment variable `WARPNEST_DEVICE` says otherwise. Arrays on a GPU are worked on where they
    are.

    >>> import warpnest as wn
    >>> wn.set_default_device("cpu")
    >>> wn.default_device()
    'cpu'
    """
    return name(default_number())


def set_default_device(device: Any) -> None:
    """Sets the device that calls with arrays of the host run on: "cpu", "cuda" or "cuda:N"."""
    global _default
    wanted = number(device)
    _native.device_name(wanted)
    _default = wanted


def release_memory() -> None:
    """Gives back the scratch memory that calls keep for the next ones.

    On each stream that is at most a sixteenth of a GPU's memory, and 256 MiB on the CPU.
    """
    _native.release_memory()


def gpu_error() -> str | None:
    """Returns why no GPU can be used, or None if one can."""
    return _native.gpu_error()
