"""Journal of trials: a finished trial is in the folder with its score, and is not played again.

The score is the mean of the last displayed losses, from the log of the trial's run. As in the
released code of Omnivore, the loss of every fifth group update is displayed, and the last ten
displayed losses count.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import fsum
from pathlib import Path
from typing import Any

from ...costs.compute_groups import compute_groups, dealt_batches
from ...errors import EmulatorError
from ...log.lines import read
from ...log.records import Record, UpdateRecord
from ...scenario import Scenario
from ..deciding_code import deciding_code
from ..point import Finished, Point
from ..pool import ENDS
from ..sweep_folder import SweepFolder
from ..table import facts
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
            made[point.label] = self._folder.keep(point, played, results, deciding_code())
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


DISPLAY = 5
"""Group updates from one displayed loss to the next."""
COUNTED = 10
"""Displayed losses in the score."""
WINDOW = DISPLAY * COUNTED
"""Group updates of the shortest probe whose score counts as many losses as it should."""


def score(
    records: Iterable[Record], group: Mapping[str, int], batches: Mapping[str, int]
) -> dict[str, Any]:
    """Return the facts of a probe from the `records` of its run, as JSON types.

    `group` holds the group's number and `batches` the mini-batch of each device. The facts are
    `loss` (the score; None if a loss is not finite or nothing was displayed), `half_loss` (the mean
    of all losses in the second half of the time; None if one is not finite), `group_updates`,
    `update_seconds` (mean time between group updates; None for fewer than two), and `displayed`
    (pairs of time and loss).
    """
    updates = (record for record in records if isinstance(record, UpdateRecord))
    # a group makes one step at a time, and the updates of a step stand together
    steps = groupby(updates, key=lambda update: (update.at, group[update.node]))
    times, losses, names = [], [], []
    for (at, name), members in steps:
        times.append(at)
        names.append(name)
        losses.append(_mean(list(members), batches))
    displayed = list(zip(times, losses, strict=True))[DISPLAY - 1 :: DISPLAY]
    last = [loss for _, loss in displayed[-COUNTED:] if loss is not None]
    finite = None not in losses and last
    return {
        "loss": fsum(last) / len(last) if finite else None,
        "half_loss": _second_half(times, losses),
        "group_updates": len(times),
        "update_seconds": _between(times, names),
        "displayed": displayed,
    }


def _second_half(times: Sequence[float], losses: Sequence[float | None]) -> float | None:
    """Return the mean of the `losses` in the second half of `times`; None without a finite mean."""
    half = [loss for at, loss in zip(times, losses, strict=True) if 2 * at >= times[-1]]
    finite = [loss for loss in half if loss is not None]
    return fsum(finite) / len(finite) if finite and len(finite) == len(half) else None


def _between(times: Sequence[float], groups: Sequence[int]) -> float | None:
    """Return the mean seconds between the group updates at `times`; None for fewer than two.

    `groups` holds the group of each. With constant times groups update in bursts, and a mean from
    the first burst to the last would count a pause too few. So the mean is taken over whole cycles
    of the last group; over all updates, if that group made only one.
    """
    if len(times) < 2:
        return None
    first = groups.index(groups[-1])
    if first == len(times) - 1:
        first = 0
    return (times[-1] - times[first]) / (len(times) - 1 - first)


def _mean(members: list[UpdateRecord], batches: Mapping[str, int]) -> float | None:
    """Return the loss on the group's mini-batch; None if a member's loss is not finite."""
    total = sum(batches[member.node] for member in members)
    if any(member.loss is None for member in members):
        return None
    return fsum((member.loss or 0.0) * batches[member.node] for member in members) / total
