"""The availability of devices under a plot over time: a thin row a device, a colour a fault.

The row of a device with several faults at the same time has a lane for each of them.
"""

import pandas as pd
from matplotlib.axes import Axes

from ..facts.devices import devices
from ..facts.faults import outages
from ..reading.runs import Run, fact
from .fault_gantt import SERVER, PlannedRow, draw_rows, fault_lanes
from .theme import QUIET, rows_around

_ROW, _LEAST, _MOST = 0.11, 0.3, 1.3
"""Inches of a device's row, and least and largest height of all rows."""
_MOST_NAMES = 8
"""Largest number of devices that are named."""


@fact
def struck(run: Run) -> pd.DataFrame:
    """Return the outages of `run`: `what` (the kind), `node`, `at`, `until` (s), and `place`.

    `place` is the device's position in the scenario; the server has -1.
    """
    places = {SERVER: -1, **{device.name: place for place, device in enumerate(devices(run))}}
    found = outages(run).rename(columns={"fault": "what"})
    return found.assign(place=found["node"].map(places).fillna(len(places)))


def height(struck: pd.DataFrame) -> float:
    """Return the inches that the raster of the outages `struck` adds to a figure; 0 for none."""
    rows = _spans(struck)
    devices = {node for node, *_ in rows}
    lanes = sum(_most_lanes(rows).values()) if len(devices) <= _MOST_NAMES else len(devices)
    return min(_MOST, max(_LEAST, _ROW * lanes)) + 0.15 if devices else 0.0


def beneath(ax: Axes, struck: pd.DataFrame, above: float) -> Axes:
    """Make room below `ax`, which keeps `above` inches, for the raster of `struck`; return it."""
    return rows_around(ax, [above, height(struck)], 0)[1]


def draw(ax: Axes, struck: pd.DataFrame) -> None:
    """Draw the outages `struck`, as the function `struck` returns them.

    The server, if a fault struck it, has the row at the top, and is no device. Call `draw` once
    the limits of the x-axis, which the plot above shares, are known.
    """
    low, high = ax.get_xlim()
    rows = _spans(struck)
    ordered = struck.sort_values("place", kind="stable")
    names = [str(name) for name in dict.fromkeys(ordered["node"])]
    # among many devices a lane would be thinner than a pixel
    draw_rows(ax, rows, names, high, lanes=fault_lanes(rows) if len(names) <= _MOST_NAMES else None)
    if len(names) <= _MOST_NAMES:
        ax.set_yticks([place + 0.5 for place in range(len(names))], names, fontsize="x-small")
    else:
        first = int(names[0] == SERVER)  # row of the first device
        ticks = {(first + len(names)) / 2: f"{len(names) - first:,} devices"}
        ax.set_yticks([*([0.5] * first), *ticks], [*([SERVER] * first), *ticks.values()])
        ax.tick_params(axis="y", labelsize="x-small")
    ax.set_xlim(low, high)
    ax.grid(visible=False)
    ax.tick_params(axis="y", length=0, labelcolor=QUIET)
    ax.set_xlabel("time (s)")


def _spans(struck: pd.DataFrame) -> list[PlannedRow]:
    return [
        (str(node), str(kind), float(at), float(until))
        for kind, node, at, until in struck[["what", "node", "at", "until"]].itertuples(index=False)
    ]


def _most_lanes(rows: list[PlannedRow]) -> dict[str, int]:
    """Return the number of lanes of each device in `rows`."""
    return {node: lane.lanes for (node, *_), lane in fault_lanes(rows).items()}
