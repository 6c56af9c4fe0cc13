"""The times in which the host was short of processor time, and their bands in figures over time."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from .facts import fact
from .runs import Run
from .theme import legend_below

FULL = 0.95
"""Share of the cores in use from which the host is short of processor time."""
CROWDED, PRESSED = 0.8, 0.5
"""Share of the cores in use and pressure from which it is, both together: a device at its CPU quota
waits for a core, too, on a host that has idle ones."""

_BAND = {"facecolor": "#B00020", "alpha": 0.10, "linewidth": 0, "zorder": -1}
_TEXT = "host short of processor time: 95 % busy, or 80 % and processes waited half the time"


@fact
def short_times(run: Run) -> list[tuple[float, float]]:
    """Return begin and end, in emulated seconds, of the times in which the host was short."""
    spans: list[tuple[float, float]] = []
    records = run.records("host")
    steps = records["step"] if "step" in records else pd.Series(1.0, records.index)
    columns = records[["at", "busy", "pressure"]].assign(step=pd.to_numeric(steps).fillna(1.0))
    for at, busy, pressure, step in columns.itertuples(index=False):
        for begin, end in _seconds(float(at), step, _numbers(busy), _numbers(pressure)):
            if spans and begin <= spans[-1][1] + step:
                spans[-1] = spans[-1][0], end
            else:
                spans.append((begin, end))
    return spans


def _seconds(
    at: float, step: float, busy: list[float], pressure: list[float]
) -> list[tuple[float, float]]:
    """Return the times in which the host was short, of a record at `at` with values for each
    `step`."""
    waits = pressure if len(pressure) == len(busy) else [0.0] * len(busy)
    first = at - step * len(busy)
    return [
        (max(0.0, first + step * place), first + step * (place + 1))
        for place, (share, wait) in enumerate(zip(busy, waits, strict=True))
        if share >= FULL or (share >= CROWDED and wait >= PRESSED)
    ]


def _numbers(value: Any) -> list[float]:
    """Return the numbers of a list; of any other value none."""
    if not isinstance(value, list):
        return []
    return [float(each) for each in value if isinstance(each, int | float)]


def mark(figure: Figure, run: Run) -> None:
    """Draw the short times of `run` as bands over all axes of `figure` that show time."""
    spans = short_times(run)
    shown = [ax for ax in figure.axes if _shows_time(ax)] if spans else []
    for ax in shown:
        low, high = ax.get_xlim()
        for begin, end in spans:
            ax.axvspan(begin, min(end, high), **_BAND)
        ax.set_xlim(low, high)
    if shown:
        legend_below(shown[0], [Patch(**_BAND, label=_TEXT)])


def _shows_time(ax: Axes) -> bool:
    """Return whether the x-axis of `ax`, or one that shares it, is in emulated seconds."""
    if not ax.axison:
        return False
    together = ax.get_shared_x_axes().get_siblings(ax)
    return any(each.get_xlabel() == "time (s)" for each in together)
