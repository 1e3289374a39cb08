"""Ten tasks that people do with arrays, compared with NumPy, pandas and torch.

    python ten_tasks.py                        NumPy arrays on the CPU, beside NumPy and pandas
    python ten_tasks.py --device cuda          torch tensors on a GPU, beside torch
    python ten_tasks.py --json results.jsonl   also adds a line for each task to a file
    python ten_tasks.py --draw results.jsonl --plot ten_tasks.svg --page ten_tasks.md
                                               draws such a file (needs matplotlib), and writes it as a page

All results are compared before anything is timed. The time is the shortest of all runs. On a GPU it
is the time between two events on the current stream.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

import warpnest as wn


@dataclass(frozen=True)
class Task:
    """A task, with its code for each library. The text is the code that is timed."""

    name: str
    #: The lines for pandas or NumPy.
    host: str
    #: The lines for torch.
    torch: str
    ours: str
    #: The function that returns whether two results are the same.
    same: Callable[[Any, Any], bool]


@dataclass(frozen=True)
class Program:
    """The code of a task, the names that the code can use, and the names of its results."""

    code: Any
    space: dict[str, Any]
    results: tuple[str, ...]

    def __call__(self) -> Any:
        space = dict(self.space)
        exec(self.code, space)
        return space[self.results[0]] if len(self.results) == 1 else tuple(space[name] for name in self.results)


def equal(one: Any, other: Any) -> bool:
    """Returns whether results are equal, regardless of their library and integer type."""
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(np.array_equal(host(one), host(other)))


def host(array: Any) -> np.ndarray:
    return array.cpu().numpy() if hasattr(array, "cpu") else np.asarray(array)


def by_key(keys: Any, *columns: Any) -> tuple[np.ndarray, ...]:
    """Returns columns sorted by their keys, because the order of results may differ."""
    keys = [host(part) for part in (keys if isinstance(keys, tuple) else (keys,))]
    order = np.lexsort(keys[::-1])
    return (*(part[order] for part in keys), *(host(column)[order] for column in columns))


def same_groups(one: Any, other: Any) -> bool:
    ours, theirs = by_key(*one), by_key(*other)
    return all(np.allclose(mine, yours) for mine, yours in zip(ours, theirs))


def same_pairs(one: Any, other: Any) -> bool:
    return equal(by_key(tuple(one)), by_key(tuple(other)))


def same_ids(one: Any, other: Any) -> bool:
    """Returns whether two results assign the same ids, except for the order of the keys."""
    (keys, ids), (other_keys, other_ids) = one, other
    return equal(host(keys)[host(ids)], host(other_keys)[host(other_ids)]) and len(keys) == len(other_keys)


TASKS = [
    Task(
        "different values, with counts",
        "keys, counts = np.unique(x, return_counts=True)",
        "keys, counts = torch.unique(x, return_counts=True)",
        "keys, counts = wn.unique(x, return_counts=True)",
        same_groups,
    ),
    Task(
        "a number for each value, and back",
        "keys, ids = np.unique(x, return_inverse=True)",
        "keys, ids = torch.unique(x, return_inverse=True)",
        "keys, ids = wn.unique(x, return_inverse=True)",
        same_ids,
    ),
    Task(
        "which rows are among others",
        "found = np.isin(x, among)",
        "found = torch.isin(x, among)",
        "found = wn.isin(x, among)",
        equal,
    ),
    Task(
        "codes in order of appearance",
        "ids, keys = pd.factorize(x)",
        # torch has no such function, so the first row of each key determines its rank.
        "keys, inverse = torch.unique(x, return_inverse=True)\n"
        "first = torch.full_like(keys, len(x)).scatter_reduce_(0, inverse, torch.arange(len(x), device=x.device), 'amin')\n"
        "order = first.argsort()\n"
        "ids, keys = order.argsort()[inverse], keys[order]",
        "ids, keys = wn.factorize(x)",
        equal,
    ),
    Task(
        "the most frequent values",
        "counted = pd.Series(x).value_counts()\nkeys, counts = counted.index, counted.to_numpy()",
        "keys, counts = torch.unique(x, return_counts=True)\ncounts, order = counts.sort(descending=True)\nkeys = keys[order]",
        "keys, counts = wn.value_counts(x)",
        same_groups,
    ),
    Task(
        "sum and mean by group",
        "groups = pd.Series(y).groupby(x).agg(['sum', 'mean'])\nkeys, sums, means = groups.index, groups['sum'], groups['mean']",
        "keys, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)\n"
        "sums = torch.zeros(len(keys), dtype=y.dtype, device=y.device).index_add_(0, inverse, y)\n"
        "means = sums / counts",
        "groups = wn.group_by(x, {'sum': (y, 'sum'), 'mean': (y, 'mean')})\n"
        "keys, sums, means = groups.keys, groups.columns['sum'], groups.columns['mean']",
        same_groups,
    ),
    Task(
        "rows of two tables with equal keys",
        "rows = pd.merge(pd.DataFrame({'k': x, 'i': np.arange(len(x))}), pd.DataFrame({'k': few, 'j': np.arange(len(few))}))\n"
        "i, j = rows['i'], rows['j']",
        "few_sorted, order = few.sort()\n"
        "at = torch.searchsorted(few_sorted, x).clamp_(max=len(few) - 1)\n"
        "i = (few_sorted[at] == x).nonzero().squeeze(1)\n"
        "j = order[at[i]]",
        "i, j = wn.join(x, few)",
        same_pairs,
    ),
    Task(
        "look up values by their keys, again and again",
        "found = pd.Series(values, index=few).reindex(x, fill_value=0).to_numpy()",
        "few_sorted, order = few.sort()\n"
        "at = torch.searchsorted(few_sorted, x).clamp_(max=len(few) - 1)\n"
        "found = torch.where(few_sorted[at] == x, values[order[at]], 0)",
        "found = wn.Map(few, values).get(x, default=0)",
        equal,
    ),
    Task(
        "different pairs of two columns",
        "pairs = pd.DataFrame({'a': a, 'b': b}).drop_duplicates()\npairs = (pairs['a'], pairs['b'])",
        "pairs = torch.unique(torch.stack((a, b)), dim=1)\npairs = (pairs[0], pairs[1])",
        "pairs = wn.unique((a, b))",
        same_pairs,
    ),
    Task(
        "the keys of one column and not of another",
        "rest = np.setdiff1d(x, among)",
        "rest = x[~torch.isin(x, among)].unique()",
        "rest = (wn.Set(x) - wn.Set(among)).keys()",
        lambda one, other: equal(np.sort(host(one)), np.sort(host(other))),
    ),
]
#: The names of each task's results.
RESULTS = [
    ("keys", "counts"),
    ("keys", "ids"),
    ("found",),
    ("ids", "keys"),
    ("keys", "counts"),
    ("keys", "sums", "means"),
    ("i", "j"),
    ("found",),
    ("pairs",),
    ("rest",),
]


def data(rows: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Returns columns of 64-bit keys that are spread over all integers. Each key occurs about eight times."""
    rng = np.random.default_rng(seed)
    keys = np.unique(rng.integers(-(1 << 62), 1 << 62, max(rows // 8, 1)))
    x = rng.choice(keys, rows)
    few = rng.permutation(keys)[: max(len(keys) // 2, 1)]
    return {
        "x": x,
        "y": rng.random(rows),
        "among": rng.choice(keys, max(rows // 16, 1)),
        "few": few,
        "values": rng.random(len(few)),
        "a": (x % 1000).astype("int32"),
        "b": (x // 1000 % max(rows // 4000, 1)).astype("int32"),
    }


def timer(device: str) -> Callable[[Callable[[], Any]], float]:
    """Returns a function that returns the seconds of one run."""

    def on_host(work: Callable[[], Any]) -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def on_gpu(work: Callable[[], Any]) -> float:
        import torch

        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        begin.record()
        work()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / 1000

    return on_host if device == "cpu" else on_gpu


def machine(device: str) -> str:
    """Returns a description of the machine, for readers."""
    if device == "cpu":
        return f"{len(os.sched_getaffinity(0))} cores of a CPU"
    import torch

    return torch.cuda.get_device_name()


def measure(device: str, rows: int, runs: int, commit: str) -> list[dict[str, Any]]:
    columns: dict[str, Any] = data(rows)
    names: dict[str, Any] = {"np": np, "wn": wn}
    if device == "cpu":
        import pandas

        names["pd"] = pandas
        library = "NumPy and pandas"
        wn.set_default_device("cpu")
    else:
        import torch

        names["torch"], library = torch, "torch"
        columns = {name: torch.from_numpy(column).to(device) for name, column in columns.items()}
    seconds, results = timer(device), []
    for number, (task, wanted) in enumerate(zip(TASKS, RESULTS), 1):
        theirs, ours = (
            compile(text, task.name, "exec") for text in (task.host if device == "cpu" else task.torch, task.ours)
        )

        run_ours, run_theirs = (Program(code, {**names, **columns}, wanted) for code in (ours, theirs))
        if not task.same(run_ours(), run_theirs()):
            raise SystemExit(f"{task.name}: the results differ")
        # The two sides take turns, so that other work on the machine affects both.
        times = [(seconds(run_theirs), seconds(run_ours)) for _ in range(runs)]
        their_seconds, our_seconds = (min(side) for side in zip(*times))
        results.append(
            {
                "date": str(date.today()),
                "commit": commit,
                "machine": machine(device),
                "beside": library,
                "task": number,
                "name": task.name,
                "rows": rows,
                "their_ms": round(1000 * their_seconds, 3),
                "our_ms": round(1000 * our_seconds, 3),
                "ratio": round(their_seconds / our_seconds, 2),
            }
        )
        print(
            f"{number:2} {task.name:<46} {library:>16} {1000 * their_seconds:10.3f} ms   warpnest {1000 * our_seconds:9.3f} ms"
            f"   {their_seconds / our_seconds:6.1f} times",
            flush=True,
        )
    return results


def runs_of(results: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Returns the lines of each run, grouped by the library, the count of rows and the machine."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        runs.setdefault(f"{result['beside']}, {result['rows']:,} rows, {result['machine']}", []).append(result)
    return runs


def plot(results: list[dict[str, Any]], path: str) -> None:
    """Draws how many times as fast each task is, with one panel for each run."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    runs = runs_of(results)
    figure, panels = pyplot.subplots(
        1, len(runs), figsize=(4 + 3 * len(runs), 4), sharey=True, layout="constrained", squeeze=False
    )
    for axes, (title, lines) in zip(panels[0], runs.items()):
        ratios = [line["ratio"] for line in lines]
        bars = axes.barh([line["name"] for line in lines], ratios, color="#3b6fb6")
        axes.bar_label(bars, [f"{ratio:.1f}" for ratio in ratios], padding=3)
        axes.axvline(1, color="#888888", linewidth=1)
        axes.set_xlim(0, 1.15 * max(ratios))
        axes.set_title("times as fast as " + title.replace(", ", "\n", 2), fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0][0].invert_yaxis()
    figure.savefig(path)


def page(results: list[dict[str, Any]]) -> str:
    """Returns our code of the tasks, and a table of how many times as fast they are, as Markdown."""
    runs, text = runs_of(results), "```python\n"
    for number, task in enumerate(TASKS, 1):
        text += f"# {number}. {task.name}\n{task.ours}\n"
    text += f"```\n\n| task | {' | '.join(runs)} |\n|---|{'---|' * len(runs)}\n"
    for number in range(1, len(TASKS) + 1):
        cells = [f"{line['ratio']:.1f}" for lines in runs.values() for line in lines if line["task"] == number]
        text += f"| {number} | {' | '.join(cells)} |\n"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help='"cpu", or "cuda" for torch tensors on a GPU')
    parser.add_argument("--rows", type=int, default=1 << 22, help="the number of rows")
    parser.add_argument("--runs", type=int, default=5, help="runs of each task; the fastest one counts")
    parser.add_argument("--json", help="a file to which a line for each task is added")
    parser.add_argument("--plot", help="a file, SVG or PNG, for a picture of the ratios")
    parser.add_argument("--page", help="a Markdown file for our code of the tasks and a table of the ratios")
    parser.add_argument("--draw", help="a file of earlier results, to be drawn instead of measuring")
    parser.add_argument("--commit", default="", help="the commit of warpnest, which is written to the results")
    args = parser.parse_args()
    if args.draw:
        results = [json.loads(line) for line in open(args.draw)]
    else:
        results = measure(args.device, args.rows, args.runs, args.commit)
    if args.json:
        with open(args.json, "a") as file:
            file.writelines(json.dumps(result) + "\n" for result in results)
    if args.plot:
        plot(results, args.plot)
    if args.page:
        with open(args.page, "w") as file:
            file.write(page(results))


if __name__ == "__main__":
    sys.exit(main())
