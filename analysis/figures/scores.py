"""Scores on the test set over updates, time or bytes, a line for every setting: eight figures.

The score of a classification is its accuracy, that of a regression its mean absolute error. Runs
that differ in the seed only are one setting.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes

from ..facts.message_bytes import evaluations_with_bytes, held_evaluations_with_bytes
from ..pictures import raster
from ..pictures.curves import draw_curves, end_of, name_lines
from ..pictures.theme import (
    HEIGHT,
    fault_keys,
    from_zero,
    legend_above,
    log_ticks,
    nothing,
    rows_around,
    shade,
)
from ..quantities import figures, percent, size
from ..reading.labels import joined, stack
from ..reading.protocol import is_regression
from ..reading.runs import Run

_LABELS = {
    "updates": "updates",
    "at": "time (s)",
    "push_bytes": "bytes pushed",
    "both_bytes": "bytes pushed and pulled",
}
_CROWD = 90.0
"""Accuracy in per cent from which a panel of its own shows the curves that crowd there."""
_PANEL = 1.5
"""Height of this panel in inches."""


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

    def crowds(self, values: "pd.Series[float]") -> bool:
        """Return whether half of `values` lie in the last tenth, and others far below."""
        known = values.dropna()
        many = (known >= _CROWD).mean() >= 0.5 and (known >= _CROWD).sum() > 1
        return bool(not self.regression and many and known.min() < _CROWD - 15)

    def limit(self, ax: Axes, values: "pd.Series[float]") -> None:
        """Limit the vertical axis of `ax` to the range of `values`."""
        low, high = float(values.min()), float(values.max())
        margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        ax.set_ylim(max(-margin, low - margin), high + margin)
        ax.set_ylabel(self.axis)

    def limit_above(self, above: Axes, values: "pd.Series[float]") -> None:
        """Limit the vertical axis of the panel `above` to `values` in the last tenth."""
        above.set_ylim(_CROWD, values.max() + 0.08 * (values.max() - _CROWD))
        above.set_ylabel(f"from {_CROWD:g} %")

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
        """Return a row for every evaluation: `run`, `setting`, the column `over`, the score."""
        return stack(runs, self._rows, ["setting", self.over, self.score.column])

    def draw(self, table: pd.DataFrame, ax: Axes) -> None:
        if table.empty:
            nothing(ax, "no evaluation was recorded")
        elif self._crowds(table):
            self._draw(table, rows_around(ax, [_PANEL, HEIGHT], 1)[::-1])
        else:
            self._draw(table, [ax])

    def height(self, table: pd.DataFrame) -> float:
        return HEIGHT + (_PANEL if self._crowds(table) else 0.0)

    def _crowds(self, table: pd.DataFrame) -> bool:
        return self.score.crowds(table[self.score.column].astype(float))

    def _rows(self, run: Run) -> pd.DataFrame:
        """Return the rows of a single run, without the columns `run` and `setting`.

        Over time all evaluations count; otherwise those of versions that the server has lost do
        not, as the curve would run backwards.
        """
        score, over = self.score, self.over
        evaluations = (evaluations_with_bytes if over == "at" else held_evaluations_with_bytes)(run)
        if is_regression(run) != score.regression:
            evaluations = evaluations.iloc[:0]
        return evaluations[[over]].assign(**{score.column: evaluations[score.column] * score.scale})

    def _draw(self, table: pd.DataFrame, panels: Sequence[Axes]) -> None:
        """Draw the evaluations `table` on `panels`: all, and if they crowd, those in the last tenth
        above."""
        values = table[self.score.column].astype(float)
        for panel, limit in zip(panels, (self.score.limit, self.score.limit_above), strict=False):
            limit(panel, values)
            lines = draw_curves(panel, table, self.over, self.score.column)
        self._limit(panels[0], table[self.over])
        panels[0].set_xlabel(_LABELS[self.over])
        if table["run"].nunique() == 1:
            self._write_last(panels, table)
        elif len(panels) > 1 and any(end_of(line)[1] < _CROWD for line in lines):
            legend_above(panels[-1])  # some lines end outside of the upper panel
        else:
            name_lines(panels[-1], lines)

    def _limit(self, ax: Axes, over: "pd.Series[float]") -> None:
        """Set the limits of the horizontal axis for the values `over`."""
        from_zero(ax, over.max())

    def _write_last(self, panels: Sequence[Axes], table: pd.DataFrame) -> None:
        """Write the last score of a single run at the end of its line."""
        at, value = table[[self.over, self.score.column]].iloc[-1]
        panel = panels[-1] if value >= _CROWD else panels[0]
        text = self.score.text(value)
        panel.annotate(text, (at, value), xytext=(5, 0), textcoords="offset points", va="center")


class BytesCurve(Curve):
    """A score over the bytes pushed by devices, or over those of both directions."""

    def table(self, runs: Sequence[Run]) -> pd.DataFrame:
        """Return a row for every evaluation after a push, as `Curve` does."""
        measured = super().table(runs)
        return measured[measured[self.over] > 0]  # a logarithmic axis has no zero

    def _limit(self, ax: Axes, over: "pd.Series[float]") -> None:
        low, high = over.min(), over.max()
        ax.set_xscale("log")
        ax.set_xlim(low / 1.2, high * 1.03)
        log_ticks(ax.xaxis, low, high, size)


class TimeCurve(Curve):
    """A score over emulated time, above the faults of a single run."""

    def table(self, runs: Sequence[Run]) -> pd.DataFrame:
        """Return evaluations and outages: `run`, `setting`, `what`, `node`, `place`, `at`, `until`,
        and the score.

        `at` and `until` are in seconds. `what` is the score's column for an evaluation; for an
        outage it is the kind of the fault, `node` is the struck device, and the score is NaN.
        `place` is as `raster.struck` returns it.
        """
        columns = ["setting", "what", "node", "place", "at", "until", self.score.column]
        return stack(runs, self._both, columns)

    def height(self, table: pd.DataFrame) -> float:
        return super().height(table) + raster.height(self._struck(table))

    def draw(self, table: pd.DataFrame, ax: Axes) -> None:
        measured, struck = table[table["what"] == self.score.column], self._struck(table)
        if struck.empty:
            super().draw(measured, ax)
            return
        heights = [*([_PANEL] if self._crowds(measured) else []), HEIGHT, raster.height(struck)]
        *panels, below = rows_around(ax, heights, len(heights) - 2)
        self._draw(measured, panels[::-1])
        ax.set_xlabel("")
        from_zero(ax, max(measured["at"].max(), struck["until"].max()))
        for panel in panels:
            shade(panel, struck, lanes=False)
        legend_above(panels[0], handles=fault_keys(struck))
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
