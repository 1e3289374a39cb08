"""The examples in the documentation."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import warpnest

MODULES = ["warpnest", *(f"warpnest.{module.name}" for module in pkgutil.iter_modules(warpnest.__path__) if module.name != "_native")]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_everything_public_is_documented():
    for name in warpnest.__all__:
        thing = getattr(warpnest, name)
        assert thing.__doc__, name
        if isinstance(thing, type):
            for member, value in vars(thing).items():
                if not member.startswith("_") and callable(value) and not issubclass(thing, tuple):
                    assert value.__doc__, f"{name}.{member}"
