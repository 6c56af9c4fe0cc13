"""The labels of runs in a comparison: the facts in which the runs differ."""

import json
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence

import pandas as pd

from .protocol import algorithm
from .runs import Run, fact

_LONGEST = 44
"""Largest number of characters of a label that leaves room for a figure."""


def labels(runs: Sequence[Run], *, seeds: bool = True) -> list[str]:
    """Return a unique label for every run of `runs`, made of the facts that differ between runs.

    Points of a sweep are named by their values, those aside that all points share. Without `seeds`
    no seed is among the facts.
    """
    names = list(map(_shortened, _points(runs, seeds) or _runs(runs, seeds)))
    if len(set(names)) < len(names):
        names = [f"{name} #{number}" for number, name in enumerate(names, start=1)]
    return names


def settings(runs: Sequence[Run]) -> list[str]:
    """Return a name for each of `runs`, the same for runs that differ in the seed only.

    A setting is labelled as its first run among the first runs of all, without the seed. The only
    setting is named by its algorithm, and so are two that differ in the runtime only.
    """
    keys: list[Hashable] = [(identity(run), run.runtime) for run in runs]
    seeds = Counter(zip(keys, map(_seed, runs), strict=True))
    first: dict[Hashable, Run] = {}
    for place, run in enumerate(runs):
        # nothing tells repeated runs of one seed apart, and nothing is known without a scenario
        if not run.scenario or seeds[keys[place], _seed(run)] > 1:
            keys[place] = place
        first.setdefault(keys[place], run)
    named = dict(zip(first, _settings(list(first.values())), strict=True))
    return [named[key] for key in keys]


def _settings(runs: Sequence[Run]) -> list[str]:
    """Return the names of the settings that `runs` are the first runs of."""
    if len(runs) == 1:
        return [algorithm(runs[0])]
    names = labels(runs, seeds=False)
    if names == [run.runtime for run in runs]:
        return [f"{algorithm(run)} · {run.runtime}" for run in runs]
    return names


@fact
def identity(run: Run) -> str:
    """Return the scenario of `run` without its seed, as text."""
    return json.dumps({**run.scenario, "seed": None}, sort_keys=True, default=str)


def _runs(runs: Sequence[Run], seeds: bool) -> list[str]:
    facts = [(run.name, algorithm(run), _seed(run) if seeds else "", run.runtime) for run in runs]
    differing = [column for column in zip(*facts, strict=True) if len(set(column)) > 1]
    names = [" · ".join(filter(None, row)) for row in zip(*differing, strict=True)]
    if not names:
        names = [run.name for run in runs]
    if len(set(names)) < len(names):
        ids = [run.folder.name.rpartition("-")[2] for run in runs]
        names = [f"{name} · {id}" for name, id in zip(names, ids, strict=True)]
    return names


def _points(runs: Sequence[Run], seeds: bool) -> list[str]:
    """Return labels from the values in which a sweep's points differ.

    The list is empty if `runs` are no points of a sweep, or if the values make no unique labels.
    """
    values = [
        [item for item in _items(run.point) if seeds or not item.startswith("seed=")]
        for run in runs
    ]
    shared = set.intersection(*map(set, values)) if values else set()
    different = [[item for item in items if item not in shared] for items in values]
    paths = {item.partition("=")[0] for items in different for item in items}
    # the last key is name enough, unless two paths share it, like the rates of two links
    short = {path: path.rpartition(".")[2] for path in paths}
    if len(set(short.values())) < len(short):
        short = {path: path for path in paths}
    names = [", ".join(_worded(item, short) for item in items) for items in different]
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
    """Return the frames of `rows` for all runs in one, with the run's label in the column `run`.

    Among `columns` may be `setting`, a name that runs share if they differ in the seed only.
    """
    frames = [
        frame.assign(run=name, setting=setting)
        for name, setting, frame in zip(labels(runs), settings(runs), map(rows, runs), strict=True)
        if not frame.empty
    ]
    wanted = ["run", *columns]
    if not frames:
        return pd.DataFrame(columns=wanted)
    return pd.concat(frames, ignore_index=True)[wanted]


def joined(*tables: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `tables` below each other, with the columns of all.

    The types of columns are those of the tables with rows: pandas 2 warns of any others.
    """
    columns = dict.fromkeys(column for table in tables for column in table.columns)
    full = [table for table in tables if not table.empty] or [*tables[:1]]
    return pd.concat(full, ignore_index=True).reindex(columns=list(columns))


def _seed(run: Run) -> str:
    seed = run.summary.get("seed", run.scenario.get("seed"))
    return "" if seed is None else f"seed {seed}"
