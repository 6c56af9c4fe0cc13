"""What each run is called where several are shown side by side: what sets it apart."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from .protocol import algorithm
from .runs import Run

_LONGEST = 44
"""Characters of a name: more leave no room for a figure."""


def labels(runs: Sequence[Run]) -> list[str]:
    """One name a run, all different: the facts in which the runs differ, and no others.

    Points of a sweep are named by the values that set them apart.
    """
    names = list(map(_shortened, _points(runs) or _runs(runs)))
    if len(set(names)) < len(names):
        names = [f"{name} #{number}" for number, name in enumerate(names, start=1)]
    return names


def _runs(runs: Sequence[Run]) -> list[str]:
    facts = [(run.name, algorithm(run), _seed(run), run.runtime) for run in runs]
    differing = [column for column in zip(*facts, strict=True) if len(set(column)) > 1]
    names = [" · ".join(filter(None, row)) for row in zip(*differing, strict=True)]
    if not names:
        names = [run.name for run in runs]
    if len(set(names)) < len(names):
        ids = [run.folder.name.rpartition("-")[2] for run in runs]
        names = [f"{name} · {one}" for name, one in zip(names, ids, strict=True)]
    return names


def _points(runs: Sequence[Run]) -> list[str]:
    """Return the values in which a sweep's points differ; empty if these runs are none."""
    told = [_items(run.point) for run in runs]
    shared = set.intersection(*map(set, told)) if told else set()
    apart = [[item for item in items if item not in shared] for items in told]
    paths = {item.partition("=")[0] for items in apart for item in items}
    last = {path: path.rpartition(".")[2] for path in paths}
    if len(set(last.values())) < len(last):  # such as the rates of two links
        last = {path: path for path in paths}
    names = [", ".join(_worded(item, last) for item in items) for items in apart]
    return names if all(names) and len(set(names)) == len(names) else []


def _worded(item: str, paths: Mapping[str, str]) -> str:
    path, equals, value = item.partition("=")
    return f"{paths[path]}{equals}{value}"


def _items(label: str) -> list[str]:
    """Split `PATH=VALUE,PATH=VALUE` at the commas outside of brackets."""
    items, depth = [""], 0
    for letter in label:
        depth += (letter in "{[(") - (letter in ")]}")
        if letter == "," and depth == 0:
            items.append("")
        else:
            items[-1] += letter
    return [item for item in items if item]


def _shortened(name: str) -> str:
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 16]}…{name[-15:]}"


def stack(
    runs: Sequence[Run], rows: Callable[[Run], pd.DataFrame], columns: Sequence[str]
) -> pd.DataFrame:
    """The rows of every run under one another, named in a first column `run`."""
    frames = [
        frame.assign(run=name)
        for name, frame in zip(labels(runs), map(rows, runs), strict=True)
        if not frame.empty
    ]
    wanted = ["run", *columns]
    if not frames:
        return pd.DataFrame(columns=wanted)
    return pd.concat(frames, ignore_index=True)[wanted]


def _seed(run: Run) -> str:
    seed = run.summary.get("seed", run.scenario.get("seed"))
    return "" if seed is None else f"seed {seed}"
