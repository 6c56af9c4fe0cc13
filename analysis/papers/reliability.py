"""Tables and figure of the study `reliability`: accuracy when devices crash."""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import mean, median

from ..quantities import figures, percent, seconds, size
from .claim_rules import all_at_least, mean_at_least, word
from .folder import Spent, Study, ended, reached
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
EQUAL = f"{TESTED} ends within a point of {BASE}"
"""Claim that both algorithms end alike."""

__all__ = ["COMMAND", "figure", "tables"]


def tables(study: Study) -> str:
    """Return the verdicts, the results of each world, and the learning rates tried."""
    return "\n\n".join(
        [
            _verdicts(study),
            _in_both(study),
            "Devices that crash for good, medians of the seeds (least – most):",
            _results(study, CRASH_RATE),
            "Devices that crash and come back, by the mean time between failures:",
            _results(study, MTBF),
            "Every learning rate that was tried without crashes, with one seed:",
            _tried(study),
        ]
    )


# -- verdicts --------------------------------------------------------------------------------------


def _verdicts(study: Study) -> str:
    gains = {
        kept(entry): {outcome.world: -loss for outcome, loss in losses(study, entry)}
        for entry in (TESTED, BASE)
    }
    pairs = _pairs(study)
    gains[EQUAL] = {
        world: median(tested.ended) - median(base.ended)
        for world, (base, tested) in pairs.items()
        if world != SURE
    }
    saved = _savings(study, lambda spent: spent.pushed)
    return table(["claim", "here", "measured"], verdicts(gains, saved))


def kept(entry: str) -> str:
    """Return the claim that crashes cost `entry` no accuracy."""
    return f"{entry} ends within a point of its accuracy without crashes"


def verdicts(gains: Mapping[str, Mapping[str, float]], saved: Sequence[float]) -> list[list[str]]:
    """Return the lines of the claims: claim, verdict, and the numbers that decide.

    `gains` has for each claim the gain of accuracy in each world with crashes, a fraction. A line
    judges the mean of the worlds, and the next line every one of them, of which the worst is low by
    chance too. `saved` has how many times fewer bytes `TESTED` pushed than `BASE` in each world.
    """
    lines = []
    for claim, by_world in gains.items():
        values = list(by_world.values())
        worst = min(by_world, key=lambda world: by_world[world])
        lines += [
            [
                f"in the mean of the settings with crashes, {claim}",
                word(mean_at_least(values, -_POINT)),
                f"{_points(mean(values))} in the mean",
            ],
            [
                f"in each of the settings with crashes, {claim}",
                word(all_at_least(values, -_POINT)),
                f"{_points(by_world[worst])} at worst ({worst})",
            ],
        ]
    goal = percent(TARGET, 0)
    claim = f"in each setting, {TESTED} pushes two orders of magnitude fewer bytes until {goal}"
    return [*lines, [claim, word(all_at_least(saved, _HUNDRED)), _range(saved)]]


def _in_both(study: Study) -> str:
    """Return a sentence on the bytes of both directions, of which the claims say nothing."""
    saved = _savings(study, lambda spent: spent.both)
    return f"In both directions {TESTED} takes, until {percent(TARGET, 0)}: {_range(saved)}."


def _savings(study: Study, size: Callable[[Spent], float]) -> list[float]:
    """Return how many times fewer bytes `TESTED` took than `BASE`, by world."""
    pairs = [
        tuple(median(map(size, outcome.spent)) for outcome in pair)
        for pair in _pairs(study).values()
    ]
    return [base / tested for base, tested in pairs if math.isfinite(base)]


def _range(ratios: Sequence[float]) -> str:
    return f"{figures(min(ratios))} to {figures(max(ratios))} times fewer" if ratios else "–"


def _pairs(study: Study) -> dict[str, tuple[Reliability, Reliability]]:
    """Return the results of `BASE` and `TESTED` by world."""
    known = {(outcome.world, outcome.entry): outcome for outcome in outcomes(study)}
    worlds = dict.fromkeys(world for world, _ in known)
    return {world: (known[world, BASE], known[world, TESTED]) for world in worlds}


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
    target = percent(TARGET, 0)
    columns += [f"{target} after", f"pushed to {target}", f"pulled to {target}", "both directions"]
    return table(columns, map(_line, found))


def _line(outcome: Reliability) -> list[str]:
    return [
        f"{outcome.world}: {outcome.entry}",
        figures(median(outcome.crashes)),
        f"{median(outcome.staleness):.1f}",
        _span(outcome.ended, percent),
        _span(outcome.in_time, percent),
        _span([spent.at for spent in outcome.spent], never_or(seconds)),
        *(
            never_or(size)(median(sizes))
            for sizes in zip(*((s.pushed, s.pulled, s.both) for s in outcome.spent), strict=True)
        ),
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
