"""A run's folder: where everything that happened is written, and nothing else is kept."""

import os
import secrets
import shutil
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ..did_you_mean import suggestion
from ..errors import EmulatorError, HostError
from ..machine import lock

RUNS = Path("runs")

_CONDUCTOR = "conductor.pid"


@dataclass(frozen=True)
class RunFolder:
    """`runs/<scenario>/<UTC>-<id>/`."""

    path: Path
    run: str
    """The id that labels what the run creates."""

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
        """Where the server writes while it lives; it goes when the run ends."""
        return self.path / "server"

    @property
    def reports(self) -> Path:
        """What the nodes' supervisors report while the run goes on; it goes when the run ends."""
        return self.path / "reports.jsonl"

    @property
    def work(self) -> Path:
        """What containers mount; it holds secrets, and goes when the run ends."""
        return self.path / ".work"

    def discard_work(self) -> None:
        shutil.rmtree(self.work, ignore_errors=True)

    def taken(self) -> AbstractContextManager[None]:
        """Hold the folder: until the block or this process ends, `conductor` returns it."""
        return lock.held(self.path / _CONDUCTOR)


def new_id() -> str:
    """Return an id that no run has had."""
    return secrets.token_hex(3)


def create(scenario: str, runs: Path = RUNS) -> RunFolder:
    """A new folder, and `latest` pointing at it. Raises HostError where it cannot be written."""
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
    beside = link.with_name(f".latest-{os.getpid()}")
    beside.unlink(missing_ok=True)
    beside.symlink_to(target)
    beside.replace(link)


def conductor(folder: Path) -> int | None:
    """Return the process that conducts the run in `folder`; None if none does."""
    try:
        return lock.holder(folder / _CONDUCTOR)
    except OSError:
        return None


def folders(runs: Path = RUNS) -> list[Path]:
    """All runs, the newest last."""
    try:
        found = [path for path in runs.glob("*/*") if not path.is_symlink()]
    except OSError:  # a name too long for a folder
        return []
    return sorted((path for path in found if _is_run(path)), key=lambda path: path.name)


def find(name: str, runs: Path = RUNS) -> Path:
    """The run folder that `name` means: a path, a run's id, or a scenario (its latest run)."""
    for candidate in (runs / name / "latest", runs / name, Path(name) / "latest", Path(name)):
        if name and _is_run(candidate):
            return candidate.resolve()
    known = folders(runs)
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
    return suggestion(name, sorted(words))
