"""Table of the study `pulls`: time and bytes to a target accuracy, by pull coding."""

import math
from collections.abc import Callable
from statistics import median

from ..quantities import figures, percent, seconds, size
from .folder import Row, Spent, Study, spent
from .markdown import never_or, table

TARGET = 0.97
TIME, PULLED, BOTH = f"time to {percent(TARGET, 0)}", "pulled", "both directions"
_COLUMNS: dict[str, tuple[Callable[[Spent], float], Callable[[float], str]]] = {
    TIME: (lambda spent: spent.at, seconds),
    "updates": (lambda spent: spent.updates, figures),
    "pushed": (lambda spent: spent.pushed, size),
    PULLED: (lambda spent: spent.pulled, size),
    BOTH: (lambda spent: spent.both, size),
    "updates/s": (
        # a target that was never reached has no rate
        lambda spent: spent.updates / spent.at if math.isfinite(spent.at) else math.inf,
        figures,
    ),
}


def tables(study: Study) -> str:
    """Return the result in words, and a table of the costs to reach the target.

    The costs are medians of the seeds, the times emulated.
    """
    seeds = {row: [spent(run, TARGET) for run in row.read()] for row in study.rows}
    return "\n\n".join(
        [
            *_words(seeds),
            table(["pull", *_COLUMNS], [_line(row, own) for row, own in seeds.items()]),
        ]
    )


def _line(row: Row, seeds: list[Spent]) -> list[str]:
    cells = (never_or(words)(_median(seeds, name)) for name, (_, words) in _COLUMNS.items())
    return [row.entry, *cells]


def _words(seeds: dict[Row, list[Spent]]) -> list[str]:
    """Return a paragraph that compares each entry with the first; none if that has no costs."""
    (base, first), *others = seeds.items()
    if not math.isfinite(_median(first, TIME)):
        return []

    def times(costs: list[Spent], column: str) -> str:
        return figures(_median(first, column) / _median(costs, column))

    sentences = [
        f"{row.entry} takes {times(costs, TIME)} times less time to {percent(TARGET, 0)}, "
        f"{times(costs, PULLED)} times fewer bytes pulled and {times(costs, BOTH)} times fewer in "
        "both directions"
        for row, costs in others
        if math.isfinite(_median(costs, TIME)) and _median(costs, PULLED)
    ]
    return [f"**Result.** Against {base.entry}: {'; '.join(sentences)}."] if sentences else []


def _median(seeds: list[Spent], column: str) -> float:
    value, _ = _COLUMNS[column]
    return median(map(value, seeds))
