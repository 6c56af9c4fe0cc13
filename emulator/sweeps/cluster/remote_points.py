"""Points in play on a worker of a cluster, which the pool sees as it sees a process."""

import json
import os
import shutil
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from ... import errors
from ...errors import EmulatorError
from ...runs.plugin_sources import kept_scenario
from ..deciding_code import deciding_code
from ..point import Point
from ..point_process import SCENARIO, PlayedPoint, PointTask, share_done
from . import worker_tasks
from .worker_tasks import PLACE, BroughtHome, Failed

MANIFEST = "manifest.json"


class RemotePoints:
    """Points that a worker plays one after the other; another one does if the worker is lost."""

    def __init__(self, tasks: Sequence[PointTask], client: Any, topic: str) -> None:
        """Hand `tasks`, at least one, to the scheduler of `client`.

        The worker tells its progress by `topic`.
        """
        self.updates, self.at, self.step = 0, 0.0, "waiting for a worker"
        self.over = False
        self._tasks = list(tasks)
        self._waiting = deque(task.point for task in tasks)
        self.key = f"emulate-{uuid4().hex}"
        self._outside = [_outside(task) for task in tasks]
        files = [_files(*both) for both in zip(tasks, self._outside, strict=True)]
        # readable once the worker is through, so that `select` wakes
        self._ready, self._wake = os.pipe()
        self._future = client.submit(
            worker_tasks.play, files, deciding_code(), topic, key=self.key, pure=False
        )
        self._future.add_done_callback(self._done)

    def _done(self, future: Any) -> None:
        with suppress(OSError):  # ended before
            os.write(self._wake, b"\n")

    def tell(self, updates: int, at: float, step: str, played: int) -> None:
        """Take the progress of the point behind the `played` ones."""
        self.updates, self.at, self.step = updates, at, step

    def fileno(self) -> int:
        return self._ready

    @property
    def points(self) -> Sequence[Point]:
        """Points without a result here, the one in play first."""
        return self._waiting

    @property
    def share(self) -> float:
        return share_done(self._waiting, self.updates, self.at)

    def hear(self) -> list[PlayedPoint]:
        """Return the points once all are played. Raises the error that ended one of them."""
        os.read(self._ready, 1)
        self.over = True
        try:
            answer = self._future.result()
        except Exception as error:  # whatever Dask could not do, it says in words of its own
            raise self._failure(EmulatorError(f"the cluster could not play it: {error}")) from error
        if isinstance(answer, Failed):
            kind = getattr(errors, answer.kind, EmulatorError)
            raise self._failure(kind(answer.message))
        found = zip(self._tasks, answer, self._outside, strict=True)
        return [self._brought(*each) for each in found]

    def _brought(
        self, task: PointTask, played: BroughtHome, outside: Mapping[str, str]
    ) -> PlayedPoint:
        """Unpack a run's folder where a process would have made it."""
        worker_tasks.unpacked(played.archive, task.scratch)
        folder = task.scratch / played.folder
        for path, name in outside.items():  # the run was made of this machine's files
            _rename(folder / SCENARIO, f"{played.scratch}/{name}", path)
            there, here = (json.dumps(each)[1:-1] for each in (f"{played.scratch}/{name}", path))
            _rename(folder / MANIFEST, there, here)
        return PlayedPoint(self._waiting.popleft(), folder, played.facts)

    def _failure(self, error: EmulatorError) -> EmulatorError:
        error.add_note(f"the point is {self._waiting[0].label}")
        return error

    def end(self) -> None:
        """Give up what is not played, and remove the scratch folders of the points."""
        self._future.cancel()
        for descriptor in (self._ready, self._wake):
            os.close(descriptor)
        for task in self._tasks:
            shutil.rmtree(task.scratch, ignore_errors=True)


def _rename(file: Path, there: str, here: str) -> None:
    """Replace the path `there` by the path `here` in `file`."""
    text = file.read_text(encoding="utf-8").replace(there, here)
    file.write_text(text, encoding="utf-8")


def _outside(task: PointTask) -> dict[str, str]:
    """Return the files that the scenario names by a path of this machine, with names of their own
    in the folder of the point."""
    training = task.scenario.training
    paths = [training.initial, getattr(training.split, "file", None)]
    named = [path for path in paths if path is not None]
    return {path: f"files/{number}-{Path(path).name}" for number, path in enumerate(named)}


def _files(task: PointTask, outside: Mapping[str, str]) -> dict[str, bytes]:
    """Return all that a worker needs of the point, by paths from the point's folder."""
    task.point.sources.write(task.scratch)
    files = {
        file.relative_to(task.scratch).as_posix(): file.read_bytes()
        for file in sorted(task.scratch.rglob("*"))
        if file.is_file()
    }
    places = {path: f"{PLACE}/{name}" for path, name in outside.items()}
    text = kept_scenario(task.scenario, task.point.sources, places)
    read = {name: Path(path).read_bytes() for path, name in outside.items()}
    return {**files, **read, SCENARIO: text.encode()}
