"""Players of trials: processes side by side in virtual time, one run after the other in containers.

A player yields the results of points in their order, whatever order they end in.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from ...optimizers import Momentum
from ...runs.cancel import Canceled
from ...runs.conductor import ProgressView, RunView
from ...scenario import Scenario
from ...scenario.model import EvaluateSection, StopSection
from ...synchronization import ComputeGroups
from ...units import Seconds
from ...world.stop_conditions import SCORED
from ..players import Players
from ..point import Point
from ..point_process import EVERY, Playing, PointTask, heard
from ..pool import Standing
from ..preparation import prepare
from ..sweep_folder import SweepFolder
from .grids import Setting

Keep = Callable[[Point, Path], dict[str, Any]]
"""Function that makes a finished point durable, and returns its facts."""
Skip = Callable[[Point], bool]
"""Function that returns whether the results yielded so far rule a point out."""


class TrialView(Protocol):
    """Observer of trials that are being played."""

    def progress(self, text: str) -> None:
        """Show a step of the preparation."""

    def standing(self, now: Standing) -> None:
        """Show the progress `now`; called a few times a second."""


class TrialPlayer(Protocol):
    """Plays the trials of one grid."""

    def play(
        self, points: Sequence[Point], keep: Keep, skip: Skip
    ) -> Iterator[tuple[Point, dict[str, Any]]]:
        """Yield the `points` in order, each with its facts; leave out points to `skip`."""


class VirtualTrials:
    """Plays trials in virtual time, each on one core, of this machine or of a cluster."""

    def __init__(self, folder: SweepFolder, here: Players, view: TrialView) -> None:
        self._folder, self._view = folder, view
        self._players, self._cores = here

    def play(
        self, points: Sequence[Point], keep: Keep, skip: Skip
    ) -> Iterator[tuple[Point, dict[str, Any]]]:
        """As `TrialPlayer.play`. Later points are begun ahead of time on free cores.

        A point begun in vain is ended and leaves nothing behind, so the number of cores changes no
        result.
        """
        waiting = list(zip(points, prepare(points, self._view.progress), strict=True))
        playing: dict[str, Playing] = {}
        done: dict[str, dict[str, Any]] = {}
        try:
            for turn, point in enumerate(points):
                if skip(point):
                    if process := playing.pop(point.label, None):
                        process.end()
                    continue
                while point.label not in done:
                    waiting = self._start(waiting, playing, skip)
                    self._hear(playing, done, keep)
                    self._tell(len(points), turn, playing)
                yield point, done[point.label]
        finally:
            for process in playing.values():
                process.end()

    def _start(
        self, waiting: list[tuple[Point, Scenario]], playing: dict[str, Playing], skip: Skip
    ) -> list[tuple[Point, Scenario]]:
        """Start processes while cores are free; return the points that still wait."""
        while waiting and len(playing) < self._cores:
            (point, scenario), *waiting = waiting
            if not skip(point):
                task = PointTask(point, scenario, self._folder.scratch())
                playing[point.label] = self._players([task])
        return waiting

    def _hear(
        self, playing: dict[str, Playing], done: dict[str, dict[str, Any]], keep: Keep
    ) -> None:
        """Read the reports that have arrived, keep the results, and forget ended processes."""
        ready = heard(playing.values())
        for label, process in list(playing.items()):
            if process in ready:
                for played in process.hear():
                    done[label] = keep(played.point, played.folder)
                if process.over:
                    process.end()
                    del playing[label]

    def _tell(self, total: int, finished: int, playing: dict[str, Playing]) -> None:
        states = tuple(
            (label, process.step or f"{process.share:.0%}") for label, process in playing.items()
        )
        self._view.standing(Standing(total, finished, states))


class ContainerTrials:
    """Plays trials in containers, in this process and one after the other."""

    def __init__(
        self,
        folder: SweepFolder,
        view: TrialView,
        play: Callable[[Scenario, Path, RunView], tuple[Path, dict[str, Any]]],
    ) -> None:
        """`play` plays a scenario into a new run folder inside a folder."""
        self._folder, self._view, self._play = folder, view, play

    def play(
        self, points: Sequence[Point], keep: Keep, skip: Skip
    ) -> Iterator[tuple[Point, dict[str, Any]]]:
        """As `TrialPlayer.play`. Raises Canceled if a signal ended a run."""
        for turn, point in enumerate(points):
            if skip(point):
                continue
            watch = _RunWatch(self._view, point, Standing(len(points), turn))
            scratch = self._folder.scratch()
            folder, summary = self._play(point.scenario, scratch, watch)
            if summary["outcome"] in ("canceled", "stopped"):
                raise Canceled(summary["outcome"])
            facts = keep(point, folder)
            shutil.rmtree(scratch, ignore_errors=True)
            yield point, facts


class _RunWatch(ProgressView):
    """Run view that shows a trial's progress in the view of the tuner."""

    def __init__(self, view: TrialView, point: Point, standing: Standing) -> None:
        super().__init__(self._tell)
        self._view, self._point, self._standing = view, point, standing
        self._due = 0.0

    def beat(self, now: float) -> None:
        """Show the emulated time `now`, a few times a second."""
        wall = time.monotonic()
        if wall >= self._due:
            self._due = wall + EVERY
            self._tell(f"{now:.1f} s")

    def _tell(self, state: str) -> None:
        before = self._standing
        playing = ((self._point.label, state),)
        self._view.standing(Standing(before.total, before.finished, playing))


_NEVER = 10**9
"""Updates between two evaluations of a probe, which needs none."""


def with_setting(scenario: Scenario, setting: Setting, initial: Path | None = None) -> Scenario:
    """Return `scenario` with the groups, rate and momentum of `setting`.

    It begins with the model in `initial`; None: with weights drawn from the seed. The groups are
    assigned as `scenario` assigns groups, else in the order of the devices.
    """
    training = scenario.training
    given = training.synchronization
    known = given if isinstance(given, ComputeGroups) else ComputeGroups(groups=1)
    changed = training.model_copy(
        update={
            "synchronization": ComputeGroups(setting.groups, known.assign, known.patience),
            "optimizer": Momentum(setting.momentum),
            "learning_rate": setting.rate,
            "initial": None if initial is None else str(initial.resolve()),
        }
    )
    return scenario.model_copy(update={"training": changed})


def probe(scenario: Scenario, *, seconds: float | None, updates: int | None) -> Scenario:
    """Return `scenario` without evaluations, ended after `seconds` or device `updates`."""
    stop = StopSection(updates=updates, time=None if seconds is None else Seconds(seconds))
    return scenario.model_copy(update={"stop": stop, "evaluate": EvaluateSection(every=_NEVER)})


def epoch(scenario: Scenario, seconds: float) -> Scenario:
    """Return `scenario` ended after `seconds`, or before that once its score is reached."""
    scored = {key: n for key, n in scenario.stop.limits.items() if key in SCORED}
    stop = StopSection(**scored, time=Seconds(seconds))
    return scenario.model_copy(update={"stop": stop})
