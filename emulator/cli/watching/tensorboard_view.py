"""Views that also write TensorBoard's events, of a run as it goes on or of finished points."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import EmulatorError, HostError
from ...log.records import Record
from ...log.tensorboard.event_files import EventFile
from ...log.tensorboard.scalars import Scalars
from ...runs.folder import conductor, folders
from ..read.export_run import events

if TYPE_CHECKING:
    from ...scenario import Timed

IN_RUN = "tensorboard"
"""Folder of the events within a run's folder."""


class TensorboardView:
    """Passes everything on to another view, and writes events into the run's folder.

    With `out` the events are in `out/<scenario>/<run>`, so that several runs may share `out`. A
    disk that takes no more events is told once, and does not end the run.
    """

    def __init__(self, view: Any, scenario: str, runs: Path, out: Path | None) -> None:
        self._view, self._scenario, self._runs, self._out = view, scenario, runs, out
        self._scalars = Scalars()
        self._file: EventFile | None = None
        self._broken = False

    def take_timeline(self, timeline: "Sequence[Timed]") -> None:
        self._view.take_timeline(timeline)

    def progress(self, text: str) -> None:
        self._view.progress(text)

    def record(self, record: Record) -> None:
        self._view.record(record)
        if self._broken:
            return
        try:
            if self._file is None:
                run = self._run()
                out = run / IN_RUN if self._out is None else self._out / self._scenario / run.name
                self._file = EventFile(out, run.name, time.time() - record.at)
            for point in self._scalars.take(record):
                self._file.write(*point)
        except (OSError, EmulatorError) as error:
            self._broken = True
            click.echo(f"emulate: TensorBoard gets no more events of this run: {error}", err=True)

    def beat(self, now: float) -> None:
        self._view.beat(now)

    def _run(self) -> Path:
        """Return the folder of the run that this process is playing."""
        for run in reversed(folders(self._runs)):
            if run.parent.name == self._scenario and conductor(run) == os.getpid():
                return run
        raise EmulatorError(f"no run of this process in {self._runs}")

    def __enter__(self) -> "TensorboardView":
        self._view.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._file is not None:
            self._file.close()
        self._view.__exit__(*error)


def require_folder(out: Path) -> None:
    """Make the folder `out`. Raises HostError if it cannot be made or written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HostError(f"cannot write TensorBoard's folder {out}: {error.strerror}") from error
    if not os.access(out, os.W_OK | os.X_OK):
        raise HostError(f"cannot write TensorBoard's folder {out}: permission denied")


if TYPE_CHECKING:
    from ...sweeps import Finished, Standing


class SweepEvents:
    """Passes everything on to another view, and writes events into the folder of each point."""

    def __init__(self, view: Any) -> None:
        self._view = view

    def progress(self, text: str) -> None:
        self._view.progress(text)

    def line(self, text: str) -> None:
        self._view.line(text)

    def standing(self, now: "Standing") -> None:
        self._view.standing(now)

    def finished(self, point: "Finished", now: "Standing") -> None:
        write_events(point)
        self._view.finished(point, now)


def write_events(point: "Finished") -> None:
    """Write the events of `point` into its folder, if they are not there. Raises HostError."""
    out = point.folder / IN_RUN
    if any(out.glob("events.*")):
        return
    try:
        events(point.folder, out)
    except OSError as error:
        raise HostError(f"cannot write {out}: {error.strerror or error}") from error
