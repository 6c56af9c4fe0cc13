"""A run's folder: where everything that happened is written, and nothing else is kept."""

import os
import secrets
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from .errors import EmulatorError, HostError

RUNS = Path("runs")


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
    def work(self) -> Path:
        """What containers mount; it holds secrets, and goes when the run ends."""
        return self.path / ".work"

    def discard_work(self) -> None:
        shutil.rmtree(self.work, ignore_errors=True)


def create(scenario: str, runs: Path = RUNS) -> RunFolder:
    """A new folder, and `latest` pointing at it. Raises HostError where it cannot be written."""
    run = secrets.token_hex(3)
    path = runs / scenario / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{run}"
    try:
        path.mkdir(parents=True)
        folder = RunFolder(path.resolve(), run)
        folder.devices.mkdir()
        folder.work.mkdir(mode=0o700)
        _point(path.parent / "latest", path.name)
    except OSError as error:
        raise HostError(f"cannot write the run folder {path}: {error.strerror}") from error
    return folder


def _point(link: Path, target: str) -> None:
    beside = link.with_name(f".latest-{os.getpid()}")
    beside.unlink(missing_ok=True)
    beside.symlink_to(target)
    beside.replace(link)


def find(name: str, runs: Path = RUNS) -> Path:
    """The run folder that `name` means: a path, a run's id, or a scenario (its latest run)."""
    for candidate in (Path(name), runs / name, runs / name / "latest"):
        if (candidate / "scenario.yaml").is_file():
            return candidate.resolve()
    matches = [path for path in runs.glob("*/*") if path.name.endswith(f"-{name}")]
    if len(matches) == 1:
        return matches[0].resolve()
    raise EmulatorError(
        f"no run {name!r}: give a run folder, the id at its end, or a scenario that has been run "
        f"(`emulate list` shows them)"
    )
