"""The folder of a run: paths, creation, lock, and the search for a run by name."""

import os
import secrets
import shutil
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ..errors import EmulatorError, HostError, suggestion
from ..machine import lock

RUNS = Path("runs")

_CONDUCTOR = "conductor.pid"


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

    @property
    def reports(self) -> Path:
        """The reports of the nodes' supervisors during the run; removed when the run ends."""
        return self.path / "reports.jsonl"

    @property
    def work(self) -> Path:
        """The folder that containers mount. Holds secrets; removed when the run ends."""
        return self.path / ".work"

    def discard_work(self) -> None:
        shutil.rmtree(self.work, ignore_errors=True)

    def taken(self) -> AbstractContextManager[None]:
        """Lock the folder until the block or this process ends; `conductor` then finds the lock."""
        return lock.held(self.path / _CONDUCTOR)


def new_id() -> str:
    """Return a random id of 24 bits for a run."""
    return secrets.token_hex(3)


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
    """Let `link` point at `target`; no reader finds the link missing meanwhile."""
    new = link.with_name(f".latest-{os.getpid()}")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    new.replace(link)


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
    try:
        return (path / "scenario.yaml").is_file()
    except OSError:  # a name too long for a file, a folder that is another user's
        return False


def _id(path: Path) -> str:
    return path.name.rpartition("-")[2]


def _meant(name: str, known: list[Path]) -> str:
    words = {word for path in known for word in (path.parent.name, path.name, _id(path))}
    return suggestion(name.removesuffix(".yaml"), sorted(words))
