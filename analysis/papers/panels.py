"""Parts of the figures of studies: panels, a legend below them, and bars over the seeds."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..pictures.picture_file import Print, sheet

_NARROW = 2.0
"""Least width in inches of a panel that stands beside others."""
_LETTERS = 13
"""Number of characters that fit an inch of a legend; a handle takes ten of them."""


def stacked(count: int, prints: Print | None) -> bool:
    """Return whether `count` panels have no room beside each other in print."""
    return prints is not None and prints.narrower(_NARROW * count)


@contextmanager
def beside(
    path: Path, size: tuple[float, float], count: int, prints: Print | None
) -> Iterator[tuple[Figure, Sequence[Axes]]]:
    """Yield a figure of `size` in inches with `count` panels, and write it to `path` at the end.

    The panels stand beside each other, or below each other where print is narrow.
    """
    below = stacked(count, prints)
    (width, height), shape = size, (count, 1) if below else (1, count)
    own = (2 * width / count, 0.75 * height * count) if below else size
    with sheet(path, *own, prints=prints) as drawn:
        yield drawn, list(drawn.subplots(*shape, squeeze=False).flat)


def legend(drawn: Figure, panel: Axes) -> None:
    """Draw the legend of `panel` below all panels."""
    handles, labels = panel.get_legend_handles_labels()
    legend_of(drawn, dict(zip(labels, handles, strict=True)))


_LINE = 0.2
"""Height of a line of a legend, in inches."""


def legend_of(drawn: Figure, shown: Mapping[str, Any]) -> None:
    """Draw a legend of the handles `shown` by label below all panels, if they are several."""
    if len(shown) < 2:
        return
    longest = max(map(len, shown))
    fitting = int(_LETTERS * drawn.get_figwidth()) // (longest + 10)
    columns = max(1, min(len(shown), 4, fitting))
    lines = math.ceil(len(shown) / columns)
    drawn.set_figheight(drawn.get_figheight() + _LINE * (lines - 1))  # which panels would lack
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
