"""Parts of the figures of studies: a legend below the panels, and bars over the seeds."""

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

_LETTERS = 13
"""Number of characters that fit an inch of a legend; a handle takes ten of them."""


def legend(
    drawn: Figure, panel: Axes, columns: int = 0, place: Any = "outside lower center"
) -> None:
    """Draw the legend of `panel` outside of all panels, in one line if `columns` is 0."""
    handles, labels = panel.get_legend_handles_labels()
    drawn.legend(handles, labels, loc=place, ncols=columns or len(labels), frameon=False)


def legend_of(drawn: Figure, shown: Mapping[str, Any]) -> None:
    """Draw a legend of the handles `shown` by label below all panels, if they are several."""
    if len(shown) < 2:
        return
    longest = max(map(len, shown))
    fitting = int(_LETTERS * drawn.get_figwidth()) // (longest + 10)
    columns = max(1, min(len(shown), 4, fitting))
    drawn.legend(
        list(shown.values()),
        list(shown),
        loc="outside lower center",
        ncols=columns,
        handlelength=3.2,
        frameon=False,
    )


def ranges(
    panel: Axes, places: Sequence[float], seeds: Sequence[Sequence[float]], **style: Any
) -> None:
    """Draw the medians of `seeds` at `places`, with bars from the least to the most.

    A median that is no finite number is not drawn, and no bar ends at an infinite value.
    """
    shown = [(x, own) for x, own in zip(places, seeds, strict=True) if math.isfinite(median(own))]
    spans = [(min(own), max(filter(math.isfinite, own))) for _, own in shown]
    middles = [median(own) for _, own in shown]
    bars(panel, [x for x, _ in shown], middles, spans, **style)


def bars(
    panel: Axes,
    places: Sequence[float],
    values: Sequence[float],
    spans: Sequence[tuple[float, float]],
    **style: Any,
) -> None:
    """Draw `values` at `places`, with bars from end to end of `spans`."""
    below = [max(0.0, value - low) for value, (low, _) in zip(values, spans, strict=True)]
    above = [max(0.0, high - value) for value, (_, high) in zip(values, spans, strict=True)]
    panel.errorbar(places, values, yerr=[below, above], capsize=3, **style)
