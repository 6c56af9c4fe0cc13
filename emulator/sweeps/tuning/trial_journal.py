"""Journal of trials: a finished trial is in the folder with digests, and is not played again."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ...costs.compute_groups import compute_groups, dealt_batches
from ...errors import EmulatorError
from ...log.lines import read
from ...scenario import Scenario
from ..point import Finished, Point
from ..pool import ENDS
from ..sweep_folder import SweepFolder
from ..table import facts
from .probe_score import score
from .trial_players import TrialPlayer


class TrialJournal:
    """Plays points, or recalls those that an earlier process has finished in the same folder."""

    def __init__(self, folder: SweepFolder, player: TrialPlayer) -> None:
        self._folder, self._player = folder, player

    def play(
        self, points: Sequence[Point], skip: Callable[[Point], bool] = lambda point: False
    ) -> Iterator[Finished]:
        """Yield the results of `points` in their order, without those that `skip` rules out.

        `skip` is asked for a point once the results of all points before it are yielded.
        """
        known = {point.label: point for point in self._folder.finished(points)}
        unknown = [point for point in points if point.label not in known]
        made: dict[str, Finished] = {}

        def keep(point: Point, played: Path) -> dict[str, Any]:
            if facts(played)["outcome"] not in ENDS:
                raise EmulatorError(f"{point.label} was ended from outside")
            results = {**facts(played), **scored(point.scenario, played)}
            made[point.label] = self._folder.keep(point, played, results)
            return results

        playing = self._player.play(unknown, keep, skip) if unknown else iter(())
        for point in points:
            if skip(point):
                continue
            if point.label in known:
                yield known[point.label]
            else:
                played, _ = next(playing)
                yield made[played.label]


def scored(scenario: Scenario, folder: Path) -> dict[str, Any]:
    """Return the facts of `score` of the run of `scenario` in `folder`."""
    groups = compute_groups(scenario)
    number = {name: index for index, group in enumerate(groups) for name in group}
    batches = dealt_batches(scenario)
    return score(read(folder / "run.jsonl"), number, batches)
