"""Reading of a study's folder, which `emulator.sweeps.studies` writes: rows and runs."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ..errors import RunError
from ..facts import both_directions
from ..facts.pushes import KINDS
from ..reading.runs import Run, read

NOTE = "study.json"
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


def curve(run: Run) -> pd.DataFrame:
    """Return the evaluations of `run`: `updates`, `accuracy` (a fraction; 0 for NaN), `at` (s)."""
    evaluations = run.records("evaluation")[["updates", "accuracy", "at"]]
    return evaluations.astype(float).fillna({"accuracy": 0.0}).drop_duplicates("updates")


def reached(run: Run, target: float) -> float | None:
    """Return the updates until the first evaluation with the accuracy `target`, or None."""
    evaluations = curve(run)
    enough = evaluations.loc[evaluations["accuracy"] >= target - 1e-9, "updates"]
    return None if enough.empty else float(enough.iloc[0])


class Spent(NamedTuple):
    """The costs of a run until a target accuracy; infinite if it was never reached."""

    at: float
    """Emulated seconds."""
    updates: float
    pushed: float
    """Bytes pushed, as sent."""
    pulled: float
    """Bytes of models sent to devices before the update that reached the target."""

    @property
    def both(self) -> float:
        """Bytes of both directions. The models of studies with tables of bytes are not cut."""
        return self.pushed + self.pulled


def spent(run: Run, target: float) -> Spent:
    """Return the costs of `run` until its first evaluation with the accuracy `target`."""
    evaluations = both_directions.measured(run).drop_duplicates("updates")
    enough = evaluations[evaluations["accuracy"].astype(float) >= target - 1e-9]
    if enough.empty:
        return Spent(*[math.inf] * len(Spent._fields))
    first = enough.iloc[0]
    updates = int(first["updates"])
    pushed = run.records("update")[list(KINDS)].iloc[:updates].to_numpy().sum()
    return Spent(float(first["at"]), float(updates), float(pushed), float(first["pull_bytes"]))


def ended(run: Run) -> float:
    """Return the final accuracy of `run`, the mean of its last `LAST` evaluations."""
    return float(curve(run)["accuracy"].tail(LAST).mean())
