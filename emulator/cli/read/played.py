"""Runs and sweeps as `emulator.run` and `emulator.sweep` return them: folders with tidy tables.

The tables are made by the analysis, which this module imports when a table is asked for.
docs/from-python.md documents their columns.
"""

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .analysis_package import analysis
from .pages import draw, runs_readable

if TYPE_CHECKING:
    import pandas as pd


class Played(os.PathLike[str]):
    """A folder of runs, with a table for each kind of records.

    The object stands for the folder's path wherever a path is expected: `open`, `Path`, `read_run`.
    The first table reads the records. A table raises EmulatorError if a file is damaged.
    """

    folder: Path
    """Absolute path of the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def __fspath__(self) -> str:
        return str(self.folder)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r})"

    @cached_property
    def _loaded(self) -> Any:
        with runs_readable():
            return analysis().load(self.folder)

    @property
    def updates(self) -> "pd.DataFrame":
        """A row for each push applied to the model."""
        return self._table("updates")

    @property
    def pulls(self) -> "pd.DataFrame":
        """A row for each model sent to a node."""
        return self._table("pulls")

    @property
    def evaluations(self) -> "pd.DataFrame":
        """A row for each measurement of the model on the test set."""
        return self._table("evaluations")

    @property
    def traffic(self) -> "pd.DataFrame":
        """A row for each sample of the byte counters of a node's network interface."""
        return self._table("traffic")

    @property
    def faults(self) -> "pd.DataFrame":
        """A row for the begin and a row for the end of each fault, in the order of time."""
        return self._table("faults")

    @property
    def devices(self) -> "pd.DataFrame":
        """A row for each device: settings, and sums over the device's records."""
        return self._table("devices")

    def _table(self, name: str) -> "pd.DataFrame":
        frame: pd.DataFrame = getattr(self._loaded, name)
        return frame


class Run(Played):
    """An ended run."""

    summary: dict[str, Any]
    """Content of `summary.json`."""

    warnings: tuple[str, ...]
    """Warnings for the scenario before the run, as `emulate check` prints them."""

    def __init__(
        self, folder: Path, summary: Mapping[str, Any], warnings: Iterable[str] = ()
    ) -> None:
        super().__init__(folder)
        self.summary, self.warnings = dict(summary), tuple(warnings)

    @property
    def outcome(self) -> str:
        """`success`, `stopped`, `canceled` or `failed`."""
        return str(self.summary["outcome"])

    def report(self) -> Path:
        """Draw the run as a page with figures, and return the path of `report.html`."""
        return draw(self.folder)


class ReadRun(Protocol):
    """The content of a run's folder, as `read_run` returns it."""

    folder: Path
    scenario: dict[str, Any]
    manifest: dict[str, Any]
    summary: dict[str, Any]
    """Content of summary.json; empty if the run did not write the file."""
    timeline: "pd.DataFrame"
    notes: tuple[str, ...]
    """Missing files and truncated lines, in words."""

    def records(self, what: str) -> "pd.DataFrame":
        """Return the records of the kind `what` in their order, as a frame."""


class Sweep(Played):
    """A finished sweep; the tables have the records of all points."""

    runs: tuple[Run, ...]
    """The run of each point, in the order of the points."""

    warnings: tuple[str, ...]
    """Warnings for the points, each once; one that is not of all points begins with their label."""

    def __init__(
        self,
        folder: Path,
        rows: Iterable[Mapping[str, Any]],
        runs: Iterable[Run],
        warnings: Iterable[str] = (),
    ):
        """Take a row of the sweep's table for each of `runs`."""
        super().__init__(folder)
        self.runs, self.warnings = tuple(runs), tuple(warnings)
        self._rows = [dict(row) for row in rows]

    @cached_property
    def _loaded(self) -> Any:
        with runs_readable():  # a folder may hold the points of an earlier grid too
            return analysis().load(*self.runs)

    @cached_property
    def points(self) -> "pd.DataFrame":
        """A row for each point: values, results, and `run` as in the other tables.

        The other columns are those of `table.csv`.
        """
        import pandas as pd

        frame = pd.DataFrame(self._rows)
        frame.insert(0, "run", list(self._loaded.labels))
        return frame
