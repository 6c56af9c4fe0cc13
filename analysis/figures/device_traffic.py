"""Traffic at each device's interface over time: strips for a few devices, a map for many."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.patches import Patch

from ..facts.devices import devices
from ..facts.faults import outages
from ..facts.traffic import background_rates, bins, extent, rates, rebin, width
from ..pictures.theme import (
    INK,
    QUIET,
    device_colours,
    fault_colour,
    fault_keys,
    legend_below,
    nothing,
    panels,
    shade,
)
from ..quantities import figures
from ..reading.labels import joined, stack
from ..reading.runs import Run

TITLE = "Traffic per device"
CAPTION = (
    "Rates of sending (tx, up) and receiving (rx, down) at the interface of each device. With few "
    "devices, each has a scale of its own, and a dashed line at the requested rate of its link if "
    "the traffic comes near it and the link has no steps and no trace. "
    "Background traffic beside a device is a grey band on top. With many devices the rates are a "
    "map: a darker cell is a higher rate, and a mark in a row is a fault."
)

_MOST_STRIPS = 12
_WAYS = {"tx": "tx, up (Mbit/s)", "rx": "rx, down (Mbit/s)"}
_BESIDE = {"tx": "background tx", "rx": "background rx"}
_STRIP_BINS = 150
_MAP_BINS = 240
_MOST_NAMES = 80
_NEAR = 2.5
"""The requested rate is drawn if it is at most this many times the highest rate."""


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return intervals and outages: `run`, `node`, `what`, `at`, `until` (s), `mbit`, `requested`.

    `what` is `tx` or `rx` for an interval between two readings, with its mean rate `mbit` and the
    `requested` rate of the link (NaN if unshaped), both in Mbit/s; of background traffic `what` is
    `background tx` or `background rx`, without `requested`. For an outage it is the kind of
    the fault, and both rates are NaN.
    """
    return stack(runs, _rows, ["node", "what", "at", "until", "mbit", "requested"])


def _rows(run: Run) -> pd.DataFrame:
    measured = rates(run)
    known = {device.name: device for device in devices(run)}
    measured = measured[measured["node"].isin(known)]
    if measured.empty:
        return pd.DataFrame()
    order = {name: place for place, name in enumerate(known)}
    measured = measured.sort_values(
        ["node", "at"], key=lambda column: column.map(order) if column.name == "node" else column
    )
    requested = {(name, way): known[name].rate(way) for name in known for way in _WAYS}
    asked = [requested[pair] for pair in zip(measured["node"], measured["what"], strict=True)]
    measured = measured.assign(requested=pd.Series(asked, index=measured.index, dtype=float))
    beside = background_rates(run)
    beside = beside[beside["node"].isin(known)]
    beside = beside.assign(what=beside["what"].map(_BESIDE)).drop(columns="bytes")
    struck = outages(run).rename(columns={"fault": "what"})
    return joined(measured.drop(columns="bytes"), joined(beside, struck))


def height(table: pd.DataFrame) -> float:
    count = len(_keys(table))
    if count <= _MOST_STRIPS:
        return 1.0 + 0.55 * max(count, 2)
    return 1.6 + 0.1 * min(count, _MOST_NAMES)


def draw(table: pd.DataFrame, ax: Axes) -> None:
    keys = _keys(table)
    if not keys:
        nothing(ax, "no traffic was recorded at the devices")
    elif len(keys) <= _MOST_STRIPS:
        _strips(table, keys, ax)
    else:
        _map(table, keys, ax)


def _keys(table: pd.DataFrame) -> list[tuple[str, str]]:
    measured = table[table["what"].isin(_WAYS)]
    return list(measured[["run", "node"]].drop_duplicates().itertuples(index=False, name=None))


def _names(keys: list[tuple[str, str]]) -> list[str]:
    """Return the devices' names, with the runs' names if there are several runs."""
    several = len({run for run, _ in keys}) > 1
    return [f"{run} · {node}" if several else node for run, node in keys]


def _strips(table: pd.DataFrame, keys: list[tuple[str, str]], ax: Axes) -> None:
    grid = panels(ax, rows=len(keys), columns=2, gap=0.25)
    colours = device_colours(node for _, node in keys)
    for row, (run, node), name in zip(grid, keys, _names(keys), strict=True):
        own = table[(table["run"] == run) & (table["node"] == node)]
        struck = _struck(own)
        for panel, way in zip(row, _WAYS, strict=True):
            beside = own[own["what"] == _BESIDE[way]]
            _strip(panel, own[own["what"] == way], beside, colours[node])
            shade(panel, struck)
        row[0].set_ylabel(name, rotation=0, ha="right", va="center", labelpad=6)
    grid[0][0].set_xlim(*extent(table))
    for column, label in enumerate(_WAYS.values()):
        grid[0][column].set_title(label, loc="left")
        grid[-1][column].set_xlabel("time (s)")
    _fault_legend(table, ax)


def _strip(panel: Axes, own: pd.DataFrame, beside: pd.DataFrame, colour: str) -> None:
    edges = bins(own, width(own, _STRIP_BINS))
    rate = rebin(own, edges)
    panel.stairs(rate, edges, fill=True, color=colour, alpha=0.3, linewidth=0)
    panel.stairs(rate, edges, color=colour, linewidth=0.8, baseline=None, zorder=3)
    most = max(rate.max(), 1e-3)
    if not beside.empty:
        above = rate + rebin(beside, edges)
        panel.stairs(above, edges, baseline=rate, fill=True, color=QUIET, alpha=0.35, linewidth=0)
        most = max(most, above.max())
    requested = own["requested"].iloc[0]
    if requested <= _NEAR * most:
        panel.axhline(requested, color=INK, linestyle=(0, (4, 3)), linewidth=0.7, zorder=4)
        most = max(most, requested)
    panel.set_ylim(0, most * 1.2)
    panel.set_yticks([0, most], ["0", figures(most)], fontsize="x-small")


def _map(table: pd.DataFrame, keys: list[tuple[str, str]], ax: Axes) -> None:
    measured = table[table["what"].isin(_WAYS)]
    own = dict(iter(measured.groupby(["run", "node", "what"])))
    no_rows = measured.iloc[:0]
    edges = bins(measured, width(measured, _MAP_BINS))
    busy = measured.loc[measured["mbit"] > 0, "mbit"]
    highest = busy.max() if len(busy) else 1.0
    lowest = min(busy.min() if len(busy) else 0.1, highest / 10)
    norm = LogNorm(max(highest / 1e4, lowest), highest)
    (row,) = panels(ax, rows=1, columns=2)
    for panel, (way, label) in zip(row, _WAYS.items(), strict=True):
        cells = np.array([rebin(own.get((*key, way), no_rows), edges) for key in keys])
        mesh = panel.pcolormesh(
            edges,
            np.arange(len(keys) + 1),
            np.ma.masked_less_equal(cells, 0.0),
            cmap="cividis_r",
            norm=norm,
            rasterized=True,
        )
        _mark(panel, table, keys)
        panel.set_xlim(*extent(table))
        panel.set_ylim(len(keys), 0)
        panel.set_title(label, loc="left")
        panel.set_xlabel("time (s)")
        panel.grid(visible=False)
        step = -(-len(keys) // _MOST_NAMES)
        panel.set_yticks(
            np.arange(len(keys))[::step] + 0.5, _names(keys)[::step], fontsize="x-small"
        )
    row[1].set_yticks([])
    ax.figure.colorbar(mesh, ax=row, label="Mbit/s", shrink=0.6, pad=0.02)
    _fault_legend(table, ax)


def _struck(table: pd.DataFrame) -> pd.DataFrame:
    """Return the outages of `table`."""
    return table[~table["what"].isin([*_WAYS, *_BESIDE.values()])]


def _mark(panel: Axes, table: pd.DataFrame, keys: list[tuple[str, str]]) -> None:
    places = {key: place for place, key in enumerate(keys)}
    struck = _struck(table)
    for run, node, kind, at, until in struck[["run", "node", "what", "at", "until"]].itertuples(
        index=False
    ):
        if (run, node) in places:
            middle = places[run, node] + 0.5
            panel.hlines(middle, at, until, color=fault_colour(kind), linewidth=2.2)


def _fault_legend(table: pd.DataFrame, ax: Axes) -> None:
    struck = _struck(table)
    keys = [] if struck.empty else fault_keys(struck)
    if table["what"].isin(_BESIDE.values()).any():
        keys = [*keys, Patch(facecolor=QUIET, alpha=0.35, label="background traffic")]
    if keys:
        legend_below(ax, keys)
