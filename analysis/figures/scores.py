"""Scores on the test set as a line for every run, over updates, time or bytes: eight figures.

The score of a classification is its accuracy, that of a regression its mean absolute error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes

from ..facts.message_bytes import evaluations_with_bytes, held_evaluations_with_bytes
from ..pictures import raster
from ..pictures.theme import (
    HEIGHT,
    fault_keys,
    from_zero,
    legend_above,
    log_ticks,
    nothing,
    run_colours,
    shade,
)
from ..quantities import figures, percent, size
from ..reading.labels import joined, stack
from ..reading.protocol import is_regression
from ..reading.runs import Run

_FEW = 6
"""Largest number of runs with a legend inside the axes, where it hides no curve."""
_LABELS = {
    "updates": "updates",
    "at": "time (s)",
    "push_bytes": "bytes pushed",
    "both_bytes": "bytes pushed and pulled",
}


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

    def limit(self, ax: Axes, most: float) -> None:
        """Draw from zero, which shows falls at their true size, to a little above `most`."""
        if self.regression:
            ax.set_ylim(0.0, most * 1.1 or 1.0)
            return
        ax.set_ylim(0.0, max(5.0, most * 1.1))
        ax.set_yticks([tick for tick in ax.get_yticks() if tick <= 100])

    def text(self, value: float) -> str:
        """Return the `value` of a table in words."""
        return figures(value) if self.regression else percent(value / self.scale)


ACCURACY = Score("accuracy", "test accuracy (%)", 100.0, regression=False)
ERROR = Score("error", "test mean absolute error", 1.0, regression=True)


@dataclass(frozen=True)
class Curve:
    """A figure of `score` over the column `over` of evaluations, with what a module has."""

    name: str
    score: Score
    over: str
    TITLE: str
    CAPTION: str

    @property
    def __name__(self) -> str:
        return self.name

    def shown(self, runs: Sequence[Run]) -> bool:
        """Return whether any of `runs` may have the score."""
        return not runs or any(is_regression(run) == self.score.regression for run in runs)

    def table(self, runs: Sequence[Run]) -> pd.DataFrame:
        """Return a row for every evaluation: `run`, the column called `over`, and the score."""
        return stack(runs, self._rows, [self.over, self.score.column])

    def draw(self, table: pd.DataFrame, ax: Axes) -> None:
        self._draw(table, ax, _LABELS[self.over])

    def height(self, table: pd.DataFrame) -> float:
        return HEIGHT

    def _rows(self, run: Run) -> pd.DataFrame:
        """Return the rows of a single run, without the column `run`.

        Over time all evaluations count; otherwise those of versions that the server has lost do
        not, as the curve would run backwards.
        """
        score, over = self.score, self.over
        evaluations = (evaluations_with_bytes if over == "at" else held_evaluations_with_bytes)(run)
        if is_regression(run) != score.regression:
            evaluations = evaluations.iloc[:0]
        return evaluations[[over]].assign(**{score.column: evaluations[score.column] * score.scale})

    def _draw(self, table: pd.DataFrame, ax: Axes, label: str) -> None:
        """Draw the evaluations `table`; `label` is that of the horizontal axis."""
        if table.empty:
            nothing(ax, "no evaluation was recorded")
            return
        times, values = table[self.over], table[self.score.column]
        colours = run_colours(table["run"])
        for run, own in table.groupby("run", sort=False):
            ax.plot(
                own[self.over],
                own[self.score.column],
                color=colours[run],
                label=run,
                marker="o",
                markersize=2.2,
                zorder=3,
            )
        ax.set_xlabel(label)
        ax.set_ylabel(self.score.axis)
        from_zero(ax, times.max())
        self.score.limit(ax, values.max())
        if len(colours) > _FEW:
            legend_above(ax)
        elif len(colours) > 1:
            ax.legend(loc="upper right" if self.score.regression else "lower right")
        else:
            text, end = self.score.text(values.iloc[-1]), (times.iloc[-1], values.iloc[-1])
            ax.annotate(text, end, xytext=(5, 0), textcoords="offset points", va="center")


class BytesCurve(Curve):
    """A score over the bytes pushed by devices, or over those of both directions."""

    def table(self, runs: Sequence[Run]) -> pd.DataFrame:
        """Return a row for every evaluation after a push: `run`, the bytes `over`, the score."""
        measured = super().table(runs)
        return measured[measured[self.over] > 0]  # a logarithmic axis has no zero

    def draw(self, table: pd.DataFrame, ax: Axes) -> None:
        super().draw(table, ax)
        if not table.empty:
            low, high = table[self.over].min(), table[self.over].max()
            ax.set_xscale("log")
            ax.set_xlim(low / 1.2, high * 1.03)
            log_ticks(ax.xaxis, low, high, size)


class TimeCurve(Curve):
    """A score over emulated time, above the faults of a single run."""

    def table(self, runs: Sequence[Run]) -> pd.DataFrame:
        """Return evaluations and outages: `run`, `what`, `node`, `place`, `at`, `until`, the score.

        `at` and `until` are in seconds. `what` is the score's column for an evaluation; for an
        outage it is the kind of the fault, `node` is the struck device, and the score is NaN.
        `place` is as `raster.struck` returns it.
        """
        return stack(runs, self._both, ["what", "node", "place", "at", "until", self.score.column])

    def height(self, table: pd.DataFrame) -> float:
        return HEIGHT + raster.height(self._struck(table))

    def draw(self, table: pd.DataFrame, ax: Axes) -> None:
        measured, struck = table[table["what"] == self.score.column], self._struck(table)
        if struck.empty:
            super().draw(measured, ax)
            return
        below = raster.beneath(ax, struck, HEIGHT)
        self._draw(measured, ax, "")
        from_zero(ax, max(measured["at"].max(), struck["until"].max()))
        shade(ax, struck, lanes=False)
        legend_above(ax, handles=fault_keys(struck))
        raster.draw(below, struck)

    def _both(self, run: Run) -> pd.DataFrame:
        measured = self._rows(run)
        if measured.empty:
            return pd.DataFrame()
        return joined(measured.assign(what=self.score.column, node="server"), raster.struck(run))

    def _struck(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the outages to draw: none of several runs, whose bands would hide each other."""
        struck = table[table["what"] != self.score.column]
        return struck if table["run"].nunique() == 1 else struck.iloc[:0]


accuracy_updates = Curve(
    "accuracy_updates",
    ACCURACY,
    "updates",
    "Accuracy over updates",
    "Test accuracy over the number of updates that the server applied. It shows the worth of an "
    "update, without the time and the bytes to deliver it.",
)
accuracy_time = TimeCurve(
    "accuracy_time",
    ACCURACY,
    "at",
    "Accuracy over time",
    "Test accuracy over emulated seconds since every device had said hello. It shows the cost of "
    "slow links, slow devices and faults. Bands mark the times in which a fault held a device, and "
    "rows below show which.",
)
accuracy_both = BytesCurve(
    "accuracy_both",
    ACCURACY,
    "both_bytes",
    "Accuracy over bytes pushed and pulled",
    "Test accuracy over the bytes of both directions by then: those that the devices had pushed "
    "and pulled, with the activations of a cut model, on a logarithmic axis. The further left a "
    "curve lies, the fewer bytes its accuracy cost.",
)
accuracy_bytes = BytesCurve(
    "accuracy_bytes",
    ACCURACY,
    "push_bytes",
    "Accuracy over bytes pushed",
    "Test accuracy over the bytes that the devices had pushed to the server by then, without the "
    "models that they pulled, on a logarithmic axis. The further left a curve lies, the fewer "
    "bytes of the uplinks its accuracy cost.",
)
error_updates = Curve(
    "error_updates",
    ERROR,
    "updates",
    "Error over updates",
    "Mean absolute error on the test set over the number of updates that the server applied. It "
    "shows the worth of an update, without the time and the bytes to deliver it.",
)
error_time = TimeCurve(
    "error_time",
    ERROR,
    "at",
    "Error over time",
    "Mean absolute error on the test set over emulated seconds since every device had said hello. "
    "It shows the cost of slow links, slow devices and faults. Bands mark the times in which a "
    "fault held a device, and rows below show which.",
)
error_both = BytesCurve(
    "error_both",
    ERROR,
    "both_bytes",
    "Error over bytes pushed and pulled",
    "Mean absolute error on the test set over the bytes of both directions by then: those that the "
    "devices had pushed and pulled, with the activations of a cut model, on a logarithmic axis. "
    "The further left a curve falls, the fewer bytes it cost.",
)
error_bytes = BytesCurve(
    "error_bytes",
    ERROR,
    "push_bytes",
    "Error over bytes pushed",
    "Mean absolute error on the test set over the bytes that the devices had pushed to the server "
    "by then, without the models that they pulled, on a logarithmic axis. The further left a curve "
    "falls, the fewer bytes of the uplinks it cost.",
)

SCORES = (
    accuracy_updates,
    accuracy_time,
    accuracy_both,
    accuracy_bytes,
    error_updates,
    error_time,
    error_both,
    error_bytes,
)
"""The figures of scores, in the order of the report."""
