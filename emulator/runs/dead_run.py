"""Runs with something left to do, and the files from which they are resumed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..errors import EmulatorError
from ..log.lines import read_timeline
from ..scenario import Scenario, Timed, load
from ..world.verbs import Action
from .folder import RunFolder, conductor, mended, require_plain
from .results import failed_resumably, read_json, unmeasured
from .unchanged_files import require_same_packages, require_unchanged


@dataclass(frozen=True)
class DeadRun:
    """A run without a conducting process that has not come to its own end, or was not measured."""

    folder: RunFolder
    runtime: str
    """The runtime's name: `docker` or `virtual`."""
    scenario: Scenario
    """As resolved when the run began."""
    timeline: tuple[Timed, ...]
    """The schedule of the run, as its folder has it."""


@contextmanager
def resuming(path: Path) -> Iterator[DeadRun]:
    """Let no other process resume the run in the folder at `path` during the block; yield the run.

    Raises EmulatorError as `dead_run`, if another process is at it, and if links lead out of the
    folder.
    """
    require_plain(path)
    with mended(path):
        yield dead_run(path)


def dead_run(path: Path) -> DeadRun:
    """Return the dead run in the folder at `path`.

    Raises EmulatorError, with the reason, if there is nothing to resume.
    """
    if (pid := conductor(path)) is not None:
        raise EmulatorError(f"{path.name} is running (process {pid}): there is nothing to resume")
    folder = RunFolder(path, path.name.rpartition("-")[2])
    over = (path / "summary.json").exists() and not failed_resumably(folder)
    if over and not unmeasured(folder):
        outcome = read_json(path / "summary.json").get("outcome")
        raise EmulatorError(f"{path.name} is over ({outcome}): there is nothing to resume")
    manifest = read_json(path / "manifest.json")
    require_unchanged(path, manifest)
    try:
        planned = read_timeline(path / "timeline.jsonl")
    except (OSError, ValueError) as error:
        raise EmulatorError(f"{path.name} cannot be resumed: {error}") from error
    timeline = tuple(
        Timed(line.at, Action(line.verb, line.node, line.fault, line.setting)) for line in planned
    )
    scenario = load(path / "scenario.yaml")
    require_same_packages(path, scenario)
    return DeadRun(folder, str(manifest["runtime"]), scenario, timeline)
