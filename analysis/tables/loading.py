"""Several runs at once: one tidy table of all their records of a kind, also as a file."""

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from glob import glob
from importlib.util import find_spec
from pathlib import Path
from typing import overload

import pandas as pd

from ..errors import RunError
from ..pictures.picture_file import whole_file
from ..reading.runs import Run, read
from .tidy import TABLES, table

Place = str | os.PathLike[str]


def load(*places: Place) -> "Runs":
    """Return the runs in `places`: run folders, folders of sweeps, and globs of run folders.

        load("runs/quickstart/latest")
        load("runs/quickstart/*")
        load("runs/sweeps/quickstart-1a2b3c4d")

    A run that several places name is read once. Raises RunError for a place without a run, and for
    a run with a damaged file.
    """
    if not places:
        raise TypeError("load() needs the folder of a run, or a glob")
    folders = [folder.resolve() for place in places for folder in _folders(place)]
    return Runs([read(folder) for folder in dict.fromkeys(folders)])


class Runs(Sequence[Run]):
    """Runs, in the order of their places, and their tidy tables.

    The column `run` of a table is the name of the run's folder; the last two parts of the path, or
    the whole path, if names repeat. Tables are made when they are asked for, and kept.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = tuple(runs)

    @overload
    def __getitem__(self, index: int) -> Run: ...

    @overload
    def __getitem__(self, index: slice) -> "Runs": ...

    def __getitem__(self, index: int | slice) -> "Run | Runs":
        return Runs(self._runs[index]) if isinstance(index, slice) else self._runs[index]

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __repr__(self) -> str:
        return f"Runs({', '.join(self.labels)})"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The value of each run in the column `run`."""
        folders = [run.folder for run in self]
        for depth in (1, 2):
            names = tuple("/".join(folder.parts[-depth:]) for folder in folders)
            if len(set(names)) == len(names):
                return names
        return tuple(map(str, folders))

    @cached_property
    def updates(self) -> pd.DataFrame:
        """A row for each push applied to the model."""
        return self.table("updates")

    @cached_property
    def pulls(self) -> pd.DataFrame:
        """A row for each model sent to a node."""
        return self.table("pulls")

    @cached_property
    def evaluations(self) -> pd.DataFrame:
        """A row for each measurement of the model on the test set."""
        return self.table("evaluations")

    @cached_property
    def traffic(self) -> pd.DataFrame:
        """A row for each sample of the byte counters of a node's network interface."""
        return self.table("traffic")

    @cached_property
    def faults(self) -> pd.DataFrame:
        """A row for the begin and a row for the end of each fault, in the order of time."""
        return self.table("faults")

    @cached_property
    def devices(self) -> pd.DataFrame:
        """A row for each device of each run: settings, and sums over the device's records."""
        return self.table("devices")

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row for each run: the scenario's main settings, and the results."""
        return self.table("runs")

    def table(self, name: str) -> pd.DataFrame:
        """Return the table `name`, a key of `tidy.TABLES`, of all runs."""
        pairs = zip(self, self.labels, strict=True)
        return pd.concat([table(name, run, label) for run, label in pairs], ignore_index=True)


def _folders(place: Place) -> list[Path]:
    """Return the folders of the runs that `place` names, in the order of their names."""
    folder = Path(place)
    if _is_run(folder):
        return [folder]
    if (folder / "sweep.json").is_file():
        found = sorted(path for path in (folder / "points").glob("*") if _is_run(path))
    else:
        found = sorted(path for path in map(Path, glob(os.fspath(place))) if _is_run(path))
    if not found:
        raise RunError(
            f"{place}: no run here: name the folder of a run, such as runs/quickstart/latest, the "
            "folder of a sweep, or a glob of run folders, such as runs/quickstart/*"
        )
    return found


def _is_run(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("run.jsonl", "summary.json"))


# -- files -----------------------------------------------------------------------------------------


def write(runs: Runs, form: str, out: Path) -> list[Path]:
    """Write each table of `runs` in the format `form`, `csv` or `parquet`; return the paths.

    The files are NAME.csv or NAME.parquet in the folder `out`. A file appears when it is complete.
    Raises RunError without the package that writes Parquet, and OSError.
    """
    if form == "parquet" and find_spec("pyarrow") is None:
        raise RunError(
            "Parquet needs the package pyarrow: pip install 'edge-emulate[parquet]'; or choose csv"
        )
    tables = {name: runs.table(name) for name in TABLES}
    out.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, rows in tables.items():
        path = out / f"{name}.{form}"
        with whole_file(path) as sink:
            if form == "csv":
                rows.to_csv(sink, index=False)
            else:
                rows.to_parquet(sink, engine="pyarrow", index=False)
        paths.append(path)
    return paths
