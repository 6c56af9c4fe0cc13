"""The availability of devices under a plot over time: a thin row a device, a colour a fault."""

import pandas as pd
from matplotlib.axes import Axes

from .fault_gantt import PlannedRow, draw_rows
from .theme import QUIET

_ROW, _LEAST, _MOST = 0.11, 0.3, 1.3
"""Inches of a device's row, and least and largest height of all rows."""
_MOST_NAMES = 8
"""Largest number of devices that are named."""


def height(struck: pd.DataFrame) -> float:
    """Return the inches that the raster of the outages `struck` adds to a figure; 0 for none."""
    devices = struck["node"].nunique()
    return min(_MOST, max(_LEAST, _ROW * devices)) + 0.15 if devices else 0.0


def beneath(ax: Axes, struck: pd.DataFrame, above: float) -> Axes:
    """Make room below `ax`, which keeps `above` inches, for the raster of `struck`; return it."""
    parts = ax.get_subplotspec().subgridspec(
        2, 1, height_ratios=[above, height(struck)], hspace=0.06
    )
    ax.set_subplotspec(parts[0])
    ax.tick_params(labelbottom=False)
    return ax.figure.add_subplot(parts[1], sharex=ax)


def draw(ax: Axes, struck: pd.DataFrame) -> None:
    """Draw the outages `struck`: `what` (the kind), `node`, `at`, `until` in seconds.

    Call `draw` once the limits of the x-axis, which the plot above shares, are known.
    """
    low, high = ax.get_xlim()
    rows: list[PlannedRow] = [
        (str(node), str(kind), float(at), float(until))
        for kind, node, at, until in struck[["what", "node", "at", "until"]].itertuples(index=False)
    ]
    devices = sorted(dict.fromkeys(struck["node"]))
    draw_rows(ax, rows, devices, high)
    if len(devices) <= _MOST_NAMES:
        ax.set_yticks([place + 0.5 for place in range(len(devices))], devices, fontsize=6.5)
    else:
        ax.set_yticks([len(devices) / 2], [f"{len(devices):,} devices"], fontsize=7)
    ax.set_xlim(low, high)
    ax.grid(visible=False)
    ax.tick_params(axis="y", length=0, labelcolor=QUIET)
    ax.set_xlabel("time (s)")
