"""A study's folder, as `emulator.sweep.studies` left it: what was compared, and the runs."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import RunError
from ..runs import Run, read

NOTE = "study.json"
LAST = 4
"""Evaluations whose mean is the accuracy that a run ended with: a single one is noisy."""


@dataclass(frozen=True)
class Row:
    """One entry at one learning rate."""

    world: str
    entry: str
    rate: str
    own: bool
    """Whether the rate is the entry's own best; otherwise it is another's."""
    runs: tuple[Path, ...]
    """A run folder for each seed."""

    def read(self) -> Iterator[Run]:
        """Its runs, one at a time: each may hold a hundred thousand records."""
        return map(read, self.runs)


@dataclass(frozen=True)
class Study:
    """Rows in the order in which they are to be told."""

    name: str
    rows: tuple[Row, ...]
    tried: tuple[Row, ...]
    """Every learning rate that was tried, with one seed."""


def open_study(folder: Path) -> Study:
    """Raises a RunError where no finished study is."""
    try:
        note = json.loads((folder / NOTE).read_bytes())
    except OSError as error:
        raise RunError(f"{folder}: no finished study: it has no {NOTE}") from error
    except ValueError as error:
        raise RunError(f"{folder / NOTE}: not JSON: {error}") from error
    rows = [_row(folder, one) for one in note["rows"]]
    return Study(note["study"], tuple(rows), tuple(_row(folder, one) for one in note["tried"]))


def _row(folder: Path, plain: dict[str, Any]) -> Row:
    runs = tuple(folder / one for one in plain["runs"])
    own = plain.get("how", "own") == "own"
    return Row(plain["world"], plain["entry"], plain["rate"], own, runs)


def curve(run: Run) -> pd.DataFrame:
    """The run's evaluations: `updates`, `accuracy` (a fraction; 0 where not finite), `at` (s)."""
    evaluations = run.records("evaluation")[["updates", "accuracy", "at"]]
    return evaluations.astype(float).fillna({"accuracy": 0.0}).drop_duplicates("updates")


def reached(run: Run, target: float) -> float | None:
    """Updates until the first evaluation that has the accuracy; None if none has."""
    found = curve(run)
    enough = found.loc[found["accuracy"] >= target - 1e-9, "updates"]
    return None if enough.empty else float(enough.iloc[0])


def ended(run: Run) -> float:
    """The accuracy that the run ended with."""
    return float(curve(run)["accuracy"].tail(LAST).mean())
