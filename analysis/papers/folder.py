"""Reading of a study: its file among the scenarios, and its folder with rows, runs and plans."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from ..errors import RunError
from ..facts.message_bytes import KINDS, evaluations_with_bytes
from ..reading.runs import Run, read

_PAPERS = Path(__file__).parents[2] / "scenarios" / "papers"
"""Folder of the studies, in a checkout and in an installed package alike."""
NOTE, PLANS = "study.json", "plans.json"
LAST = 4
"""Number of evaluations in the mean that is the final accuracy: a single evaluation is noisy."""


@dataclass(frozen=True)
class Row:
    """A row of a study: an entry in a world, at one learning rate."""

    world: str
    entry: str
    rate: str
    own: bool
    """Whether `rate` is the best rate of this entry, and not of another entry."""
    runs: tuple[Path, ...]
    """Run folders, one for each seed."""

    def read(self) -> Iterator[Run]:
        """Yield the runs one at a time: a run may have a hundred thousand records."""
        return map(read, self.runs)


@dataclass(frozen=True)
class Study:
    """A finished study, with its rows in the order of the tables."""

    name: str
    rows: tuple[Row, ...]
    tried: tuple[Row, ...]
    """Rows of all learning rates that were tried, with one seed."""
    folder: Path = Path()
    """Folder of the study."""


def open_study(folder: Path) -> Study:
    """Return the finished study in `folder`; raise RunError without one."""
    try:
        note = json.loads((folder / NOTE).read_bytes())
    except OSError as error:
        raise RunError(f"{folder}: no finished study: it has no {NOTE}") from error
    except ValueError as error:
        raise RunError(f"{folder / NOTE}: not JSON: {error}") from error
    rows, tried = (tuple(_row(folder, row) for row in note[key]) for key in ("rows", "tried"))
    return Study(note["study"], rows, tried, folder)


def _row(folder: Path, plain: dict[str, Any]) -> Row:
    runs = tuple(folder / path for path in plain["runs"])
    own = plain.get("how", "own") == "own"
    return Row(plain["world"], plain["entry"], plain["rate"], own, runs)


Plan = Mapping[str, Any]


def read_plans(study: Study) -> Mapping[str, Sequence[Plan]]:
    """Return what the study computed without a run. Raises RunError without it."""
    path = study.folder / PLANS
    try:
        plans: Mapping[str, Sequence[Plan]] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: cannot be read: {error}") from error
    return plans


@cache
def declared(name: str) -> Mapping[str, Any]:
    """Return the keys of the file of the study `name`."""
    (file,) = _PAPERS.glob(f"*/{name}.yaml")
    keys: Mapping[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return keys


def worlds(rows: Iterable[Row]) -> list[str]:
    """Return the worlds of `rows`, each once."""
    return list(dict.fromkeys(row.world for row in rows))


def curve(run: Run) -> pd.DataFrame:
    """Return the evaluations of `run`: `updates`, `accuracy` (a fraction; 0 for NaN), `at` (s)."""
    evaluations = run.records("evaluation")[["updates", "accuracy", "at"]]
    return evaluations.astype(float).fillna({"accuracy": 0.0}).drop_duplicates("updates")


def reached(run: Run, target: float) -> float | None:
    """Return the updates until the first evaluation with the accuracy `target`, or None."""
    evaluations = curve(run)
    enough = evaluations.loc[evaluations["accuracy"] >= target - 1e-9, "updates"]
    return None if enough.empty else float(enough.iloc[0])


def spent(run: Run, target: float) -> dict[str, float]:
    """Return the costs of `run` until its first evaluation with the accuracy `target`.

    `at` is in emulated seconds, `pushed`, `pulled` and `both` are bytes as sent, before the update
    that reached the target; all are infinite if it was never reached. The models of studies with
    tables of bytes are not cut.
    """
    evaluations = evaluations_with_bytes(run).drop_duplicates("updates")
    enough = evaluations[evaluations["accuracy"].astype(float) >= target - 1e-9]
    if enough.empty:
        return dict.fromkeys(("at", "updates", "pushed", "pulled", "both"), math.inf)
    first = enough.iloc[0]
    updates, pulled = int(first["updates"]), float(first["pull_bytes"])
    pushed = float(run.records("update")[list(KINDS)].iloc[:updates].to_numpy().sum())
    costs = {"at": float(first["at"]), "updates": float(updates)}
    return {**costs, "pushed": pushed, "pulled": pulled, "both": pushed + pulled}


def ended(run: Run) -> float:
    """Return the final accuracy of `run`, the mean of its last `LAST` evaluations."""
    return float(curve(run)["accuracy"].tail(LAST).mean())
