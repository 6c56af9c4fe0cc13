"""Figures of studies: a sheet of panels, a legend below them, and bars over the seeds."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..pictures.picture_file import save_png
from ..pictures.theme import STYLE


@contextmanager
def sheet(path: Path, width: float, height: float) -> Iterator[Figure]:
    """Yield an empty figure of this size in inches, which is written to `path` at the end."""
    with rc_context(STYLE):
        drawn = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(drawn)
        yield drawn
        save_png(drawn, path, 160)


def legend(
    drawn: Figure, panel: Axes, columns: int = 0, place: Any = "outside lower center"
) -> None:
    """Draw the legend of `panel` outside of all panels, in one line if `columns` is 0."""
    handles, labels = panel.get_legend_handles_labels()
    drawn.legend(handles, labels, loc=place, ncols=columns or len(labels), frameon=False)


def ranges(
    panel: Axes, places: Sequence[float], seeds: Sequence[Sequence[float]], **style: Any
) -> None:
    """Draw the medians of `seeds` at `places`, with bars from the least to the most.

    An infinite median is not drawn, and no bar ends at an infinite value.
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
