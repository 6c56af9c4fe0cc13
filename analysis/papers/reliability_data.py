"""Rows of the study `reliability`: results of each world, for tables and figure."""

from dataclasses import dataclass
from functools import cache
from statistics import median

from ..reading.runs import Run
from .folder import Row, Spent, Study, curve, ended, spent

TARGET = 0.9
SPAN = 100.0
"""Seconds that a run takes without crashes."""
CRASH_RATE, MTBF = "crash rate ", "MTBF "
"""Begins of the names of the worlds, before the crash rate in per cent or the MTBF in seconds."""
SURE = f"{CRASH_RATE}0 %"
"""World without crashes."""
BASE, TESTED = "ASGD", "AdaComp"


@dataclass(frozen=True)
class Reliability:
    """Results of an entry in a world, a value for each seed; infinite for a target not reached."""

    world: str
    entry: str
    crashes: tuple[int, ...]
    ended: tuple[float, ...]
    """Accuracy after all updates, a fraction."""
    in_time: tuple[float, ...]
    """Accuracy at `SPAN`, a fraction: the mean of the last two evaluations until then."""
    spent: tuple[Spent, ...]
    """Costs to the target."""
    staleness: tuple[float, ...]
    """Mean staleness of the updates."""

    @property
    def place(self) -> float:
        """Crash rate in per cent, or MTBF in seconds."""
        return float(self.world.removeprefix(CRASH_RATE).removeprefix(MTBF).split()[0])


@cache
def outcomes(study: Study) -> tuple[Reliability, ...]:
    """Return the results of every row, in the study's order."""
    return tuple(map(_outcome, study.rows))


def along(study: Study, axis: str, entry: str) -> list[Reliability]:
    """Return the results of `entry` in the worlds of `axis`, in the order of their places."""
    own = [o for o in outcomes(study) if o.entry == entry and o.world.startswith(axis)]
    return sorted(own, key=lambda outcome: outcome.place)


def sure(study: Study, entry: str) -> Reliability:
    """Return the results of `entry` without crashes."""
    return along(study, SURE, entry)[0]


def losses(study: Study, entry: str) -> list[tuple[Reliability, float]]:
    """Return the results of `entry` in each world with crashes, and the loss of accuracy.

    The loss is the difference of the medians after all updates, without crashes and with crashes,
    as a fraction; a gain is negative.
    """
    base = median(sure(study, entry).ended)
    own = [o for o in outcomes(study) if o.entry == entry and o.world != SURE]
    return [(outcome, base - median(outcome.ended)) for outcome in own]


def _outcome(row: Row) -> Reliability:
    seeds = list(map(_seed, row.read()))
    crashes, ends, in_time, costs, staleness = zip(*seeds, strict=True)
    return Reliability(row.world, row.entry, crashes, ends, in_time, costs, staleness)


def _seed(run: Run) -> tuple[int, float, float, Spent, float]:
    """Return a value for each of the fields `crashes` to `staleness` of `Reliability`."""
    points = curve(run)
    early = points.loc[points["at"] <= SPAN, "accuracy"].tail(2)
    return (
        len(run.records("kill")),
        ended(run),
        float(early.mean()),
        spent(run, TARGET),
        float(run.records("update")["staleness"].mean()),
    )
