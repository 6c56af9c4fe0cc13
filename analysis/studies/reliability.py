"""Tables and figure of the study `reliability`: accuracy when devices crash."""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import mean, median

from ..quantities import figures, percent, seconds, size
from .folder import Study, ended, reached
from .markdown import never_or, table
from .reliability_data import (
    BASE,
    CRASH_RATE,
    MTBF,
    SPAN,
    SURE,
    TARGET,
    TESTED,
    Reliability,
    along,
    losses,
    outcomes,
    sure,
)
from .reliability_figure import figure

COMMAND = "make figure-reliability"
_POINT = 0.01
"""Largest loss of accuracy that counts as none: a point of accuracy, as a fraction."""
_HUNDRED = 100
"""Two orders of magnitude."""

__all__ = ["COMMAND", "figure", "tables"]


def tables(study: Study) -> str:
    """Return the verdicts, the results of each world, and the learning rates tried."""
    return "\n\n".join(
        [
            table(["claim", "here", "measured"], [*_kept(study), _equal(study), _saved(study)]),
            "Devices that crash for good, medians of the seeds (least – most):",
            _results(study, CRASH_RATE),
            "Devices that crash and come back, by the mean time between failures:",
            _results(study, MTBF),
            "Every learning rate that was tried without crashes, with one seed:",
            _tried(study),
        ]
    )


# -- verdicts --------------------------------------------------------------------------------------


def _kept(study: Study) -> list[list[str]]:
    """Return a line for each entry: its mean and its largest loss over all worlds with crashes."""
    lines = []
    for entry in (TESTED, BASE):
        gains = {outcome.world: -loss for outcome, loss in losses(study, entry)}
        claim = f"with crashes {entry} ends within a point of its accuracy without crashes"
        lines.append([claim, *_verdict(gains)])
    return lines


def _equal(study: Study) -> list[str]:
    """Return the line of the accuracy of `TESTED` against that of `BASE` in the same world."""
    gains = {
        world: median(tested.ended) - median(base.ended)
        for world, (base, tested) in _pairs(study).items()
        if world != SURE
    }
    return [f"with crashes {TESTED} ends within a point of {BASE}", *_verdict(gains)]


def _verdict(gains: Mapping[str, float]) -> list[str]:
    """Return the cells of a line on `gains` of accuracy, fractions, by world.

    The mean decides: the least of many gains is low by chance alone.
    """
    middle, worst = mean(gains.values()), min(gains, key=lambda world: gains[world])
    measured = f"{_points(middle)} in the mean, {_points(gains[worst])} at worst ({worst})"
    return [_holds(middle >= -_POINT), measured]


def _saved(study: Study) -> list[str]:
    """Return the line of the least and the largest saving of bytes over all worlds."""
    ratios = [
        median(base.pushed) / median(tested.pushed)
        for base, tested in _pairs(study).values()
        if math.isfinite(median(base.pushed))
    ]
    claim = f"{TESTED} pushes two orders of magnitude fewer bytes until {percent(TARGET, 0)}"
    span = f"{figures(min(ratios))} to {figures(max(ratios))} times fewer" if ratios else "–"
    return [claim, _holds(min(ratios, default=0) >= _HUNDRED), span]


def _pairs(study: Study) -> dict[str, tuple[Reliability, Reliability]]:
    """Return the results of `BASE` and `TESTED` by world."""
    known = {(outcome.world, outcome.entry): outcome for outcome in outcomes(study)}
    worlds = dict.fromkeys(world for world, _ in known)
    return {world: (known[world, BASE], known[world, TESTED]) for world in worlds}


def _holds(verdict: bool) -> str:
    return "holds" if verdict else "does not hold"


def _points(share: float) -> str:
    """Return `share`, a difference of accuracies, in points: `−0.4 points`."""
    return f"{share * 100:+.1f} points".replace("-", "−")


# -- results ---------------------------------------------------------------------------------------


def _results(study: Study, axis: str) -> str:
    """Return the table of the worlds of `axis`, the world without crashes first or last."""
    found = [line for entry in (BASE, TESTED) for line in along(study, axis, entry)]
    if axis == MTBF:
        found += [sure(study, entry) for entry in (BASE, TESTED)]
    # sorting is stable: both entries of a world stand together, `BASE` first
    found.sort(key=lambda outcome: (outcome.world == SURE and axis == MTBF, outcome.place))
    columns = ["", "crashes", "staleness", "ended at", f"after {seconds(SPAN)}"]
    columns += [f"{percent(TARGET, 0)} after", f"pushed to {percent(TARGET, 0)}"]
    return table(columns, map(_line, found))


def _line(outcome: Reliability) -> list[str]:
    return [
        f"{outcome.world}: {outcome.entry}",
        figures(median(outcome.crashes)),
        f"{median(outcome.staleness):.1f}",
        _span(outcome.ended, percent),
        _span(outcome.in_time, percent),
        _span(outcome.seconds, never_or(seconds)),
        never_or(size)(median(outcome.pushed)),
    ]


def _tried(study: Study) -> str:
    rows = [row for row in study.tried if row.world == SURE]
    lines = []
    for row in rows:
        run = next(row.read())
        updates = reached(run, TARGET) or math.inf
        lines.append([row.entry, row.rate, percent(ended(run)), never_or(figures)(updates)])
    columns = ["", "learning rate", "ended at", f"updates to {percent(TARGET, 0)}"]
    return table(columns, lines)


def _span(values: Sequence[float], words: Callable[[float], str]) -> str:
    return f"{words(median(values))} ({words(min(values))} – {words(max(values))})"
