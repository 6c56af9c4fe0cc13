"""Figure of the study `reliability`: accuracy and time over the crash rate and the MTBF."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ..pictures.picture_file import save_png
from ..pictures.theme import SERIES, STYLE
from ..quantities import figures, percent
from .folder import Study
from .reliability_data import (
    BASE,
    CRASH_RATE,
    MTBF,
    SPAN,
    TARGET,
    TESTED,
    Reliability,
    along,
    sure,
)

_COLOURS = dict(zip((BASE, TESTED), SERIES, strict=False))
_NEVER = 2
"""Place of `never` on the axis of the MTBF, as a multiple of the largest MTBF."""
_APART = {BASE: -1, TESTED: 1}
"""Direction in which the marks of an entry are moved, so that bars do not hide each other."""

Values = Callable[[Reliability], Sequence[float]]


def figure(study: Study, path: Path) -> None:
    """Draw accuracies above times to the target into `path`, a column for each kind of crash."""
    with rc_context(STYLE):
        drawn = Figure(figsize=(7.2, 6.4), layout="constrained")
        FigureCanvasAgg(drawn)
        grid = drawn.subplots(3, 2, sharex="col", sharey="row")
        rows: list[tuple[str, Values]] = [
            (f"Test accuracy (%)\nafter {_updates(study)} updates", lambda o: _percents(o.ended)),
            (f"Test accuracy (%)\nafter {SPAN:g} s", lambda o: _percents(o.in_time)),
            (
                f"Time to {percent(TARGET, 0)}\ntest accuracy (s)",
                lambda o: tuple(spent.at for spent in o.spent),
            ),
        ]
        for (label, values), panels in zip(rows, grid, strict=True):
            panels[0].set_ylabel(label)
            for panel, axis in zip(panels, (CRASH_RATE, MTBF), strict=True):
                for entry in (BASE, TESTED):
                    _draw(panel, _places(study, axis, entry), values, entry, axis)
        grid[2][0].set_ylim(0, None)
        grid[2][0].set_xlabel("Crash rate (% of the devices, for good)")
        _times(grid[2][1], [outcome.place for outcome in along(study, MTBF, BASE)])
        handles, labels = grid[0][0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False)
        save_png(drawn, path, 160)


def _updates(study: Study) -> str:
    """Return the updates of a run as text."""
    last = max(max(run.records("evaluation")["updates"]) for run in study.rows[0].read())
    return figures(float(last))


def _percents(shares: Sequence[float]) -> list[float]:
    return [100 * share for share in shares]


def _places(study: Study, axis: str, entry: str) -> list[tuple[float, Reliability]]:
    """Return the results of `entry` along `axis`, with their places on the x-axis."""
    found = [(outcome.place, outcome) for outcome in along(study, axis, entry)]
    if axis == MTBF and found:
        found.append((_NEVER * found[-1][0], sure(study, entry)))
    return found


def _draw(
    panel: Axes,
    places: Sequence[tuple[float, Reliability]],
    values: Values,
    entry: str,
    axis: str,
) -> None:
    """Draw the medians of `values` at their `places`, with bars from the least to the most."""
    shown = [(x, values(o)) for x, o in places if math.isfinite(median(values(o)))]
    middles = [median(own) for _, own in shown]
    least = [middle - min(own) for middle, (_, own) in zip(middles, shown, strict=True)]
    most = [
        max(value for value in own if math.isfinite(value)) - middle
        for middle, (_, own) in zip(middles, shown, strict=True)
    ]
    # the axis of the MTBF is logarithmic
    moved = [
        x * 1.03 ** _APART[entry] if axis == MTBF else x + 0.5 * _APART[entry] for x, _ in shown
    ]
    style: dict[str, Any] = {"marker": "o" if entry == BASE else "s", "markersize": 4}
    panel.errorbar(
        moved, middles, yerr=[least, most], capsize=3, color=_COLOURS[entry], label=entry, **style
    )


def _times(panel: Axes, places: Sequence[float]) -> None:
    """Label the logarithmic axis of the MTBF, with `never` at its end."""
    panel.set_xscale("log")
    ends = [*places, _NEVER * places[-1]]
    panel.set_xticks(ends, [*(f"{place:g}" for place in places), "no\ncrashes"])
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xlabel("Mean time between failures (s)")
