"""The results of a study: the measures of its rows, each beside those of another entry."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from ..quantities import figures
from .course import Course, courses
from .declaration import RATE, Declaration, declared
from .folder import Row, Study
from .markdown import never_or, spread
from .measures import Measure, measure, middle

HOW: dict[str, Literal["ratio", "gain", "difference"]] = {
    "fewer ": "ratio",
    "gain ": "gain",
    "difference ": "difference",
}
"""Comparisons by the begin of a column's name."""
UNKNOWN = "–"


class LowerBound(float):
    """A lower bound of a number that is not known."""


@dataclass(frozen=True)
class Results:
    """A study's rows with the courses of their runs."""

    study: Study

    @cached_property
    def declared(self) -> Declaration:
        return declared(self.study.name)

    @cached_property
    def courses(self) -> dict[Path, Course]:
        return courses(self.study)

    def values(self, row: Row, name: str) -> list[float]:
        """Return the measure `name` of `row`, a value for each seed."""
        return [measure(name).of(self.courses[run]) for run in row.runs]

    def middle(self, row: Row, name: str) -> float:
        """Return the median of the measure `name` of `row`."""
        return middle(self.values(row, name))

    def compared(self, row: Row, base: Row | None, name: str, how: str) -> float:
        """Return the measure `name` of `row` against `base`, by their medians.

        A `ratio` is how many times less `row` has, a `gain` how much more, and a `difference` how
        much more as a share of the other; of accuracies a difference is a gain. The value is NaN if
        one of them is missing or was never reached. If `base` alone never reached its target, a
        ratio is a lower bound, by the cost of `base` until its last evaluation.
        """
        if base is None:
            return math.nan
        own, other = self.middle(row, name), self.middle(base, name)
        bound = how == "ratio" and math.isinf(other)
        if bound:
            other = self._so_far(base, name)
        if not (math.isfinite(own) and math.isfinite(other)):
            return math.nan
        if how == "gain" or (how == "difference" and measure(name).share):
            return own - other
        if how == "difference":
            return own / other - 1 if other else math.nan
        ratio = other / own if own else math.nan
        return LowerBound(ratio) if bound else ratio

    def _so_far(self, row: Row, name: str) -> float:
        """Return a lower bound of the median of the cost `name` of `row`.

        A seed that never reached the target counts with its cost until the last evaluation.
        """
        cost = measure(name)
        if cost.so_far is None:
            return math.nan
        seeds = [self.courses[run] for run in row.runs]
        costs = [(cost.of(seed), cost.so_far(seed)) for seed in seeds]
        return middle([least if math.isinf(value) else value for value, least in costs])

    def row(
        self,
        world: str,
        entry: str,
        over: Sequence[tuple[str, str]] = (),
        on: str = "virtual",
    ) -> Row | None:
        """Return the row of `entry` in `world` at its own best rate, as `on` played it.

        Of an entry with a grid, the row is the point `over`. None if no such row was played.
        """
        own = [row for row in self.study.rows if row.own and (row.world, row.on) == (world, on)]
        exact = [row for row in own if entry in (row.name, row.entry)]
        grid = [row for row in own if row.algorithm == entry and row.over == tuple(over)]
        return next(iter([*exact, *grid]), None)

    def base(self, row: Row) -> Row | None:
        """Return the row that `row` is compared with in tables."""
        return self.row(row.world, self.declared.base, row.over, row.on)

    def twin(self, row: Row) -> Row | None:
        """Return the row in virtual time of a `row` in containers; None for other rows."""
        return self.row(row.world, row.name, row.over) if row.in_containers else None

    # -- words -------------------------------------------------------------------------------------

    def cell(self, row: Row, name: str) -> str:
        """Return the column `name` of `row` as text."""
        if name == RATE:
            return row.rate
        for begin, how in HOW.items():
            if name.startswith(begin):
                inner = name.removeprefix(begin)
                base = self.twin(row) if how == "difference" else self.base(row)
                value = self.compared(row, base, inner, how)
                return in_words(value, measure(inner), how)
        values, shown = self.values(row, name), measure(name)
        if any(map(math.isnan, values)):
            return UNKNOWN
        if shown.spread and len(values) > 1:
            return spread(values, shown.words)
        return never_or(shown.words)(middle(values))

    def title(self, row: Row, *, worlds: int) -> str:
        """Return the name of `row`, with its world where a table has several `worlds`."""
        name = f"{row.world}: {row.title}" if worlds > 1 else row.title
        lender = self.declared.also.get(row.algorithm) or self.declared.base
        return name if row.own else f"{name}, at {lender}'s rate"


def in_words(value: float, shown: Measure, how: str = "") -> str:
    """Return a `value` of the measure `shown`, or a comparison of such values, as text."""
    if math.isnan(value):
        return UNKNOWN
    if how == "ratio":
        return f"more than {figures(value)}" if isinstance(value, LowerBound) else figures(value)
    if how == "difference" and not shown.share:
        return f"{100 * value:+.1f} %".replace("-", "−")
    if how in ("gain", "difference"):
        text = f"{100 * value:+.2f} points" if shown.share else f"{value:+.3g}"
        return text.replace("-", "−")
    return never_or(shown.words)(value)


def chosen(
    rows: Iterable[Row], worlds: Sequence[str] | None, entries: Sequence[str] | None
) -> list[Row]:
    """Return the rows in `worlds` with a name in `entries`; None stands for all worlds or names."""
    return [
        row
        for row in rows
        if (worlds is None or row.world in worlds)
        and (entries is None or {row.name, row.entry, row.algorithm} & set(entries))
    ]
