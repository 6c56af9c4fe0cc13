"""Reading of a played study's folder: its rows with their runs, and its plans."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import RunError
from ..reading.runs import Run, read

NOTE, PLANS = "study.json", "plans.json"


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
    over: tuple[tuple[str, str], ...] = ()
    """Name and value of each grid that the row is a point of."""
    on: str = "virtual"
    """Runtime that played the row: `virtual` or `docker`."""

    @property
    def in_containers(self) -> bool:
        return self.on == "docker"

    @property
    def algorithm(self) -> str:
        """Name of the entry without its place on the grids."""
        return self.entry.removesuffix(self._place)

    @property
    def name(self) -> str:
        """Name of the entry with its place on the grids: `AdaComp, c = 1%`."""
        return self.algorithm + self._place

    @property
    def title(self) -> str:
        """The name, with the runtime unless that is virtual time: `AdaComp, c = 1%, in
        containers`."""
        return self.name + self.runtime

    @property
    def runtime(self) -> str:
        """End of a title that tells the runtime."""
        return ", in containers" if self.in_containers else ""

    @property
    def _place(self) -> str:
        return "".join(f", {grid} = {value}" for grid, value in self.over)

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
    quick: bool = False
    """Whether the smaller study was played, whose verdicts say little."""
    played: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Machine, cores, version and commit that played it; empty if unknown."""


def open_study(folder: Path) -> Study:
    """Return the finished study in `folder`; raise RunError without one."""
    try:
        note = json.loads((folder / NOTE).read_bytes())
    except OSError as error:
        raise RunError(f"{folder}: no finished study: it has no {NOTE}") from error
    except ValueError as error:
        raise RunError(f"{folder / NOTE}: not JSON: {error}") from error
    rows, tried = (tuple(_row(folder, row) for row in note[key]) for key in ("rows", "tried"))
    quick, played = note.get("quick", False), note.get("played", {})
    return Study(note["study"], rows, tried, folder, quick, played)


def _row(folder: Path, plain: dict[str, Any]) -> Row:
    runs = tuple(folder / path for path in plain["runs"])
    own, over = plain.get("how", "own") == "own", tuple(plain.get("over", {}).items())
    on = plain.get("on", "virtual")
    return Row(plain["world"], plain["entry"], plain["rate"], own, runs, over, on)


Plan = Mapping[str, Any]


def read_plans(study: Study) -> Mapping[str, Sequence[Plan]]:
    """Return what the study computed without a run. Raises RunError without it."""
    path = study.folder / PLANS
    try:
        plans: Mapping[str, Sequence[Plan]] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: cannot be read: {error}") from error
    return plans


def worlds(rows: Iterable[Row]) -> list[str]:
    """Return the worlds of `rows`, each once."""
    return list(dict.fromkeys(row.world for row in rows))


def curve(run: Run) -> pd.DataFrame:
    """Return the evaluations of `run`: `updates`, `accuracy` (a fraction; 0 for NaN), `at` (s)."""
    evaluations = run.records("evaluation")[["updates", "accuracy", "at"]]
    return evaluations.astype(float).fillna({"accuracy": 0.0}).drop_duplicates("updates")
