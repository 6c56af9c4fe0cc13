"""Test accuracy as a line for every run, over updates, time or bytes."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..held_model import held_evaluations
from ..labels import stack
from ..runs import Run
from ..theme import from_zero, legend_above, nothing, run_colours

_FEW = 6
"""Largest number of runs with a legend inside the axes, where it hides no curve."""


def table(runs: Sequence[Run], over: str) -> pd.DataFrame:
    """Return a row for every evaluation: `run`, the column called `over`, `accuracy` (per cent)."""
    return stack(runs, lambda run: rows(run, over), [over, "accuracy"])


def rows(run: Run, over: str) -> pd.DataFrame:
    """Return the rows of a single run, without the column `run`.

    Over time all evaluations count; otherwise those of versions that the server has lost do not, as
    the curve would run backwards.
    """
    evaluations = run.records("evaluation") if over == "at" else held_evaluations(run)
    return evaluations[[over]].assign(accuracy=evaluations["accuracy"] * 100)


def draw(table: pd.DataFrame, ax: Axes, over: str, label: str) -> None:
    if table.empty:
        nothing(ax, "no evaluation was recorded")
        return
    colours = run_colours(table["run"])
    for run, own in table.groupby("run", sort=False):
        ax.plot(
            own[over],
            own["accuracy"],
            color=colours[run],
            label=run,
            marker="o",
            markersize=2.2,
            zorder=3,
        )
    ax.set_xlabel(label)
    ax.set_ylabel("test accuracy (%)")
    from_zero(ax, table[over].max())
    ax.set_ylim(*_limits(table["accuracy"]))
    ax.set_yticks([tick for tick in ax.get_yticks() if tick <= 100])
    if len(colours) > _FEW:
        legend_above(ax)
    elif len(colours) > 1:
        ax.legend(loc="lower right")
    else:
        _tell_end(ax, table[over].iloc[-1], table["accuracy"].iloc[-1])


def _limits(accuracy: pd.Series) -> tuple[float, float]:
    """Return limits from zero, which shows falls at their true size, to a little above the best."""
    return 0.0, max(5.0, accuracy.max() * 1.1)


def _tell_end(ax: Axes, x: float, y: float) -> None:
    ax.annotate(f"{y:.1f} %", (x, y), xytext=(5, 0), textcoords="offset points", va="center")
