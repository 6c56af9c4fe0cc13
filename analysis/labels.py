"""What each run is called where several are shown side by side: what sets it apart."""

from collections.abc import Callable, Sequence

import pandas as pd

from .protocol import algorithm
from .runs import Run


def labels(runs: Sequence[Run]) -> list[str]:
    """One name a run, all different: the facts in which the runs differ, and no others."""
    facts = [(run.name, algorithm(run), _seed(run), run.runtime) for run in runs]
    differing = [column for column in zip(*facts, strict=True) if len(set(column)) > 1]
    names = [" · ".join(filter(None, row)) for row in zip(*differing, strict=True)]
    if not names:
        names = [run.name for run in runs]
    if len(set(names)) < len(names):
        ids = [run.folder.name.rpartition("-")[2] for run in runs]
        names = [f"{name} · {one}" for name, one in zip(names, ids, strict=True)]
    if len(set(names)) < len(names):
        names = [f"{name} #{number}" for number, name in enumerate(names, start=1)]
    return names


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
