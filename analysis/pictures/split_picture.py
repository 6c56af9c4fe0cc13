"""A picture of a data split: devices × classes, and the number of examples of each device."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from .picture_file import sheet
from .theme import INK, SERIES

_WIDTH = 7.2
_ROW, _LEAST, _MOST = 0.24, 1.0, 8.0
"""Inches of a row, and the least and largest height of all rows."""
_MARGIN = 1.0
_MOST_LABELS = 33
"""Largest number of devices or classes with a label each."""
_MOST_NUMBERS = 16
"""Largest number of columns whose cells hold their numbers."""
_SHADES = LinearSegmentedColormap.from_list("shares", ["#FFFFFF", SERIES[0]])


def png(
    devices: Sequence[str],
    columns: Sequence[str],
    counts: NDArray[np.int64],
    examples: Sequence[int],
    path: Path,
    *,
    title: str = "",
    axis: str = "class",
) -> Path:
    """Draw `counts` [devices, columns] and the `examples` of each device into `path`.

    The picture has no columns for examples without classes. `axis` is the name of the columns. The
    folder of `path` is made. Returns `path`.
    """
    tall = min(_MOST, max(_LEAST, _ROW * len(devices)))
    with sheet(path, _WIDTH, tall + _MARGIN) as figure:
        if columns:
            cells, bars = figure.subplots(1, 2, sharey=True, width_ratios=[3, 1])
            _draw_cells(cells, columns, counts)
            cells.set_xlabel(axis)
            _label_devices(cells, devices)
        else:
            bars = figure.subplots()
            _label_devices(bars, devices)
        _draw_bars(bars, examples)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=10, color=INK)
    return path


def _draw_cells(ax: Axes, columns: Sequence[str], counts: NDArray[np.int64]) -> None:
    """Draw a cell for each device and column, the darker the more examples."""
    ax.grid(visible=False)
    most = max(1, int(counts.max()))
    ax.imshow(counts, aspect="auto", cmap=_SHADES, vmin=0, vmax=most, interpolation="nearest")
    if len(columns) <= _MOST_LABELS:
        long = max(map(len, columns)) > 4
        ax.set_xticks(range(len(columns)), columns, rotation=30 if long else 0)
        for label in ax.get_xticklabels() if long else ():
            label.set_horizontalalignment("right")
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if len(columns) > _MOST_NUMBERS or len(counts) > _MOST_LABELS:
        return
    for (row, column), count in np.ndenumerate(counts):
        if count:
            colour = "white" if count > 0.6 * most else INK
            ax.text(column, row, f"{count:,}", ha="center", va="center", fontsize=6, color=colour)


def _draw_bars(ax: Axes, examples: Sequence[int]) -> None:
    ax.barh(range(len(examples)), examples, color=SERIES[0], height=0.8)
    ax.set_xlabel("training examples")
    ax.set_xlim(left=0)
    ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))


def _label_devices(ax: Axes, devices: Sequence[str]) -> None:
    """Name the devices, or number them if there are many; the first stands at the top."""
    if len(devices) <= _MOST_LABELS:
        ax.set_yticks(range(len(devices)), devices)
    else:
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_ylabel("device")
    ax.set_ylim(len(devices) - 0.5, -0.5)
