"""What a worker of a Dask cluster does for a sweep: its facts, its data sets, its points.

The functions run in the worker's process, in a thread of their own; a point runs in a process as
at home, with the sweep's `point_process`.
"""

import io
import os
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ...errors import EmulatorError
from ...machine.cache import cache
from ...machine.installed import versions
from ..deciding_code import Code, deciding_code
from ..point import Point
from ..point_process import PLAYERS, SCENARIO, PointTask, Process, heard

Files: TypeAlias = Mapping[str, bytes]
"""Contents by path from a folder."""
PLACE = "@scratch@"
"""Stands for a point's folder in a scenario that names files of it, as each worker has its own."""


class BroughtHome(NamedTuple):
    """A played point."""

    folder: str
    """Name of the run's folder, for the place where it is unpacked."""
    archive: bytes
    """The folder, as tar."""
    facts: dict[str, Any]
    scratch: str
    """Folder of the point's files on the worker."""


class Failed(NamedTuple):
    """The error that ended a point."""

    kind: str
    """Name of its class in `emulator.errors`."""
    message: str


def facts() -> dict[str, str | None]:
    """Return what must be the same on all machines of a sweep."""
    return {**deciding_code(), **versions(("edge-emulate",))}


def missing(folders: Mapping[str, Sequence[str]]) -> list[str]:
    """Return those of the `folders` of the cache that this worker does not have, with all files."""
    return [
        folder
        for folder, files in folders.items()
        if not all((cache(folder) / file).is_file() for file in files)
    ]


def keep(folder: str, files: Files) -> None:
    """Keep the `files` of a `folder` of the cache; each appears complete or not at all."""
    place = cache(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        part = place / f".{name}.{os.getpid()}"
        part.write_bytes(content)
        part.replace(place / name)


def play(points: Sequence[Files], code: Code, topic: str) -> list[BroughtHome] | Failed:
    """Play points one after the other in a process; `points` are their folders' files.

    The progress goes to `topic` of the cluster. A point that the client has given up ends soon.
    """
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()
    if deciding_code() != code:
        return Failed("EmulatorError", f"{worker.address} has other code than this machine")
    with tempfile.TemporaryDirectory(prefix="emulate-points-") as folder:
        scratch = [Path(folder, str(number)) for number in range(len(points))]
        try:
            tasks = [_task(*each) for each in zip(scratch, points, strict=True)]
            process = Process(tasks, PLAYERS["virtual"])
        except EmulatorError as error:
            return _failed(error)
        played: list[BroughtHome] = []
        try:
            while not process.over:
                for _ in heard([process]):
                    played += [_brought(each.folder, each.facts) for each in process.hear()]
                here = worker.state.tasks.get(key)
                if here is None or here.state != "executing":  # the client has gone
                    break
                progress = process.updates, process.at, process.step, len(played)
                worker.log_event(topic, {"key": key, "progress": progress})
        except EmulatorError as error:
            return _failed(error)
        finally:
            process.end()
        return played


class _Written(PointTask):
    """A point whose scenario and sources have arrived, so nothing is left to write."""

    def write(self) -> None:
        pass


def _task(scratch: Path, files: Files) -> PointTask:
    """Write the `files` of a point into the new folder `scratch`; return the task to play it."""
    for name, content in files.items():
        file = scratch / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if name == SCENARIO:
            content = content.replace(PLACE.encode(), str(scratch).encode())
        file.write_bytes(content)
    unread: Any = None  # only the process runs code of the scenario's files
    return _Written(Point("a point", unread), unread, scratch)


def _brought(folder: Path, found: dict[str, Any]) -> BroughtHome:
    """Return what goes home of a played point: its run's `folder` and the facts of it."""
    return BroughtHome(folder.name, _packed(folder), found, str(folder.parents[1]))


def _packed(folder: Path) -> bytes:
    """Return `folder` as tar, without what depends on the owner."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz", compresslevel=1) as archive:
        archive.add(folder, folder.name)
    return sink.getvalue()


def unpacked(archive: bytes, place: Path) -> None:
    """Unpack a run folder below the folder `place`."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as source:
        source.extractall(place, filter="data")


def _failed(error: EmulatorError) -> Failed:
    return Failed(type(error).__name__, str(error))
