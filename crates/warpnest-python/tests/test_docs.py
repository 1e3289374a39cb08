"""Tests of the examples in the documentation."""

import doctest
import importlib
import importlib.util
import json
import pkgutil
import re
import sys
from pathlib import Path

import pytest

import warpnest

MODULES = [
    "warpnest",
    *(f"warpnest.{module.name}" for module in pkgutil.iter_modules(warpnest.__path__) if module.name != "_native"),
]
PAGE = Path(__file__).parents[3] / "docs" / "python.md"
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def test_the_page_runs():
    """Runs the page's programs in order. Programs that begin with `# torch` need torch."""
    space: dict = {}
    for block in BLOCKS:
        if block.startswith("# torch\n"):
            if importlib.util.find_spec("torch") is None:
                continue
        if block.startswith("# 1. "):
            from ten_tasks import data

            space.update(data(1 << 12))
        exec(compile(block, str(PAGE), "exec"), space)


def test_the_page_has_the_tasks_as_they_were_measured():
    from ten_tasks import TASKS, page

    assert len(TASKS) == 10
    results = [json.loads(line) for line in (BENCHMARKS / "results.jsonl").read_text().splitlines()]
    assert page(results) in PAGE.read_text()


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_everything_public_is_documented():
    for name in warpnest.__all__:
        thing = getattr(warpnest, name)
        assert thing.__doc__, name
        if isinstance(thing, type):
            for member in dir(thing):
                if not member.startswith("_") and not issubclass(thing, tuple):
                    assert getattr(thing, member).__doc__, f"{name}.{member}"
