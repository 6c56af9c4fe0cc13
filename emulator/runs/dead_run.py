"""Runs that lost their conductor before the end, and the files from which a run is resumed."""

from dataclasses import dataclass
from pathlib import Path

from ..errors import EmulatorError
from ..log.lines import read_timeline
from ..scenario import Scenario, Timed, load
from ..world.verbs import Action
from .folder import RunFolder, conductor
from .results import read_json


@dataclass(frozen=True)
class DeadRun:
    """A run without an end and without a conducting process."""

    folder: RunFolder
    runtime: str
    """The runtime's name: `docker` or `virtual`."""
    scenario: Scenario
    """As resolved when the run began."""
    timeline: tuple[Timed, ...]
    """The schedule of the run, as its folder has it."""


def dead_run(path: Path) -> DeadRun:
    """Return the dead run in the folder at `path`.

    Raises EmulatorError, with the reason, if there is nothing to resume.
    """
    if (pid := conductor(path)) is not None:
        raise EmulatorError(f"{path.name} is running (process {pid}): there is nothing to resume")
    if (path / "summary.json").exists():
        outcome = read_json(path / "summary.json").get("outcome")
        raise EmulatorError(f"{path.name} is over ({outcome}): there is nothing to resume")
    manifest = read_json(path / "manifest.json")
    try:
        planned = read_timeline(path / "timeline.jsonl")
    except (OSError, ValueError) as error:
        raise EmulatorError(f"{path.name} cannot be resumed: {error}") from error
    timeline = tuple(
        Timed(line.at, Action(line.verb, line.node, line.fault, line.setting)) for line in planned
    )
    folder = RunFolder(path, path.name.rpartition("-")[2])
    return DeadRun(folder, str(manifest["runtime"]), load(path / "scenario.yaml"), timeline)
