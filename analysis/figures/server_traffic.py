"""Traffic at the server's interface over time, with the faults behind it."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..facts.traffic import bins, extent, rates, rebin, width
from ..pictures import raster
from ..pictures.line_styles import run_styles
from ..pictures.theme import fault_keys, legend_above, nothing, panels, shade
from ..reading.labels import joined, stack
from ..reading.runs import Run

TITLE = "Traffic at the server"
CAPTION = (
    "Rates in both directions at the server's network interface: rx carries the pushes and the "
    "acknowledgements of the models, tx carries the models. Bands mark the times in which a fault "
    "held a device, and rows below show which, with a lane for each of several faults at the same "
    "time. Each direction has a scale of its own."
)

_BINS = 300
_HEIGHT = 4.0
_WAYS = {"rx": "rx (Mbit/s)", "tx": "tx (Mbit/s)"}


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return intervals and outages: `run`, `setting`, `what`, `node`, `place`, `at`, `until`, and
    `mbit`.

    `at` and `until` are in seconds, `mbit` is in Mbit/s. `what` is `rx` or `tx` for an interval
    between two readings, with its mean rate `mbit`. For an outage it is the kind of the fault,
    `node` is the struck device, and `mbit` is NaN. `place` is as `raster.struck` returns it.
    """
    return stack(runs, _rows, ["setting", "what", "node", "place", "at", "until", "mbit"])


def _rows(run: Run) -> pd.DataFrame:
    measured = rates(run)
    measured = measured[measured["node"] == "server"]
    if measured.empty:
        return pd.DataFrame()
    return joined(measured.drop(columns="bytes"), raster.struck(run))


def height(table: pd.DataFrame) -> float:
    return _HEIGHT + raster.height(_struck(table))


def _struck(table: pd.DataFrame) -> pd.DataFrame:
    """Return the outages to draw: none of several runs, whose bands would hide each other."""
    struck = table[~table["what"].isin(_WAYS)]
    return struck if table["run"].nunique() == 1 else struck.iloc[:0]


def draw(table: pd.DataFrame, ax: Axes) -> None:
    if table.empty:
        nothing(ax, "no traffic was recorded at the server")
        return
    styles = run_styles(table)
    struck = _struck(table)
    wide = width(table, _BINS if len(styles) == 1 else _BINS // 3)
    shown = [_HEIGHT / 2, _HEIGHT / 2, *([] if struck.empty else [raster.height(struck)])]
    grid = panels(ax, rows=len(shown), heights=shown)
    for (panel,), (way, label) in zip(grid[:2], _WAYS.items(), strict=True):
        for run, own in table[table["what"] == way].groupby("run", sort=False):
            edges = bins(own, wide)
            panel.stairs(
                rebin(own, edges),
                edges,
                label=run,
                linewidth=1.1,
                baseline=None,
                zorder=3,
                **styles[run].stroke,
            )
        panel.set_ylabel(label)
        panel.set_xlim(*extent(table))
        panel.set_ylim(bottom=0)
        if not struck.empty:
            shade(panel, struck, lanes=False)
    upper, lower = grid[0][0], grid[1][0]
    if len(styles) > 1:
        legend_above(upper)
    if struck.empty:
        lower.set_xlabel("time (s)")
    else:
        legend_above(upper, handles=fault_keys(struck))
        raster.draw(grid[2][0], struck)
