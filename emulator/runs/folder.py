"""The folder of a run: paths, creation, lock, and the search for a run by name."""

import os
import re
import stat
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ..errors import EmulatorError, HostError, suggestion
from ..machine import lock
from ..machine.made_files import made_as

RUNS = Path("runs")

_CONDUCTOR = "conductor.pid"
_MENDER = "resume.pid"
"""File that is locked while a dead run is resumed, or the files of its nodes are gathered."""
_NAME = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")
"""Name of a run's folder: when the run began (UTC), and its id."""


@dataclass(frozen=True)
class RunFolder:
    """The folder `runs/<scenario>/<UTC>-<id>/`."""

    path: Path
    run: str
    """The run's id, which labels the run's containers and networks."""

    @property
    def records(self) -> Path:
        return self.path / "run.jsonl"

    @property
    def timeline(self) -> Path:
        return self.path / "timeline.jsonl"

    @property
    def devices(self) -> Path:
        return self.path / "devices"

    @property
    def server(self) -> Path:
        """The server's output folder during the run; removed when the run ends."""
        return self.path / "server"

    def shard(self, number: int) -> Path:
        """Return the output folder of a shard of the server: that of the first, which leads, is
        `server` itself."""
        from ..world.roles import shard_name  # late: the list of commands needs no faults

        return self.server / shard_name(number) if number else self.server

    @property
    def reports(self) -> Path:
        """The reports of the nodes' supervisors during the run; removed when the run ends."""
        return self.path / "reports.jsonl"

    @property
    def work(self) -> Path:
        """The folder that containers mount. Holds secrets; removed when the run ends."""
        return self.path / ".work"

    def discard_work(self) -> None:
        from shutil import rmtree  # takes longer to import than all of this module

        rmtree(self.work, ignore_errors=True)

    def taken(self) -> AbstractContextManager[None]:
        """Lock the folder until the block or this process ends; `conductor` then finds the lock."""
        return lock.held(self.path / _CONDUCTOR)


def new_id() -> str:
    """Return a random id of 24 bits for a run."""
    return os.urandom(3).hex()


def create(scenario: str, runs: Path = RUNS) -> RunFolder:
    """Create a folder for a run of `scenario` in `runs`, and let the link `latest` point at it.

    Raises HostError if `runs` cannot be written.
    """
    run = new_id()
    path = runs / scenario / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{run}"
    try:
        path.mkdir(parents=True)
        folder = RunFolder(path.resolve(), run)
        folder.devices.mkdir()
        folder.work.mkdir(mode=0o700)
        _point(path.parent / "latest", path.name)
    except OSError as error:
        raise HostError(
            f"cannot write the run folder {path}: {error.strerror}: name another place with --runs"
        ) from error
    return folder


def _point(link: Path, target: str) -> None:
    """Let `link` point at `target`; no reader finds the link missing meanwhile.

    A file, or a link that leads out of its folder, is not `emulate`'s and stays.
    """
    if link.is_symlink():
        if os.path.dirname(os.readlink(link)):
            return
    elif link.exists():
        return
    new = link.with_name(f".latest-{os.getpid()}")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    new.replace(link)


def mended(folder: Path) -> AbstractContextManager[None]:
    """Let no other process resume the run in `folder`, or gather its files, during the block.

    Raises HostError if another process is at it.
    """
    return lock.held_alone(folder / _MENDER, f"{folder.name} is being resumed or gathered")


def conductor(folder: Path) -> int | None:
    """Return the id of the process that conducts the run in `folder`; None if the run is over."""
    try:
        return lock.holder(folder / _CONDUCTOR)
    except OSError:
        return None


def folders(runs: Path = RUNS) -> list[Path]:
    """Return the folders of all runs in `runs`, the newest last."""
    try:
        paths = [path for path in runs.glob("*/*") if not path.is_symlink()]
    except OSError:  # a name too long for a folder
        return []
    return sorted(filter(_is_run, paths), key=lambda path: path.name)


def find(name: str, runs: Path = RUNS) -> Path:
    """Return the run folder of `name`: a path, a run's id, or a scenario (its latest run)."""
    for candidate in (runs / name / "latest", runs / name, Path(name) / "latest", Path(name)):
        if name and _is_run(candidate):
            return candidate.resolve()
    known = folders(runs)
    # `latest` may point at a folder in which no run has begun, as after a full disk
    if begun := [path for path in known if path.parent.name == name]:
        return begun[-1].resolve()
    matches = [path for path in known if name in (path.name, _id(path))]
    if len(matches) == 1:
        return matches[0].resolve()
    raise EmulatorError(
        f"no run {name!r} in {runs}/{_meant(name, known)}: give a run's folder, the id at its "
        "end, or a scenario that has been run (`emulate list` shows them)"
    )


def _is_run(path: Path) -> bool:
    """Return whether `path` is a run's folder: a folder of a user's scenarios is none."""
    try:
        if not (path / "scenario.yaml").is_file():
            return False
        named = _NAME.fullmatch(path.resolve().name) is not None
        return named or (path / "timeline.jsonl").is_file() or made_as(path, "compose")
    except OSError:  # a name too long for a file, a folder that is another user's
        return False


def require_plain(path: Path) -> None:
    """Raise EmulatorError if the run's folder `path` has links, pipes or devices.

    A run makes none, and a folder of a stranger could have reads and writes led out by them.
    """
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            mode = os.lstat(os.path.join(folder, name)).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                place = os.path.relpath(os.path.join(folder, name), path)
                what = "link" if stat.S_ISLNK(mode) else "pipe, socket or device"
                raise EmulatorError(
                    f"{path}: {place} is a {what}, which no run makes: remove it if you trust the "
                    "rest of the folder"
                )


def _id(path: Path) -> str:
    return path.name.rpartition("-")[2]


def _meant(name: str, known: list[Path]) -> str:
    words = {word for path in known for word in (path.parent.name, path.name, _id(path))}
    return suggestion(name.removesuffix(".yaml"), sorted(words))
