"""Scores on the test set, as a line for every run, over updates, time or bytes.

The score of a classification is its accuracy, that of a regression its mean absolute error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes

from .. import both_directions
from ..labels import stack
from ..quantities import figures, percent
from ..regression import is_regression
from ..runs import Run
from ..theme import from_zero, legend_above, nothing, run_colours

_FEW = 6
"""Largest number of runs with a legend inside the axes, where it hides no curve."""


@dataclass(frozen=True)
class Score:
    """A score of evaluations: the key of the log, which is the column of the tables."""

    column: str
    axis: str
    """Label of the axis, with its unit."""
    scale: float
    """Number by which the values of the log are multiplied."""
    regression: bool
    """Whether a regression has the score; otherwise a classification has it."""

    def shown(self, runs: Sequence[Run]) -> bool:
        """Return whether any of `runs` may have the score."""
        return not runs or any(is_regression(run) == self.regression for run in runs)

    def table(self, runs: Sequence[Run], over: str) -> pd.DataFrame:
        """Return a row for every evaluation: `run`, the column called `over`, and the score."""
        return stack(runs, lambda run: self.rows(run, over), [over, self.column])

    def rows(self, run: Run, over: str) -> pd.DataFrame:
        """Return the rows of a single run, without the column `run`.

        Over time all evaluations count; otherwise those of versions that the server has lost do
        not, as the curve would run backwards.
        """
        evaluations = (both_directions.measured if over == "at" else both_directions.held)(run)
        if is_regression(run) != self.regression:
            evaluations = evaluations.iloc[:0]
        return evaluations[[over]].assign(**{self.column: evaluations[self.column] * self.scale})

    def draw(self, table: pd.DataFrame, ax: Axes, over: str, label: str) -> None:
        """Draw `table` over its column `over`; `label` is that of the horizontal axis."""
        if table.empty:
            nothing(ax, "no evaluation was recorded")
            return
        colours = run_colours(table["run"])
        for run, own in table.groupby("run", sort=False):
            ax.plot(
                own[over],
                own[self.column],
                color=colours[run],
                label=run,
                marker="o",
                markersize=2.2,
                zorder=3,
            )
        ax.set_xlabel(label)
        ax.set_ylabel(self.axis)
        from_zero(ax, table[over].max())
        self._limit(ax, table[self.column].max())
        if len(colours) > _FEW:
            legend_above(ax)
        elif len(colours) > 1:
            ax.legend(loc="upper right" if self.regression else "lower right")
        else:
            self._tell_end(ax, table[over].iloc[-1], table[self.column].iloc[-1])

    def _limit(self, ax: Axes, most: float) -> None:
        """Draw from zero, which shows falls at their true size, to a little above `most`."""
        if self.regression:
            ax.set_ylim(0.0, most * 1.1 or 1.0)
            return
        ax.set_ylim(0.0, max(5.0, most * 1.1))
        ax.set_yticks([tick for tick in ax.get_yticks() if tick <= 100])

    def _tell_end(self, ax: Axes, x: float, y: float) -> None:
        text = figures(y) if self.regression else percent(y / self.scale)
        ax.annotate(text, (x, y), xytext=(5, 0), textcoords="offset points", va="center")


ACCURACY = Score("accuracy", "test accuracy (%)", 100.0, regression=False)
ERROR = Score("error", "test mean absolute error", 1.0, regression=True)
