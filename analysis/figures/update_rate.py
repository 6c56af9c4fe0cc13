"""The number of updates that the server applied per second."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ..facts.held_model import held_updates
from ..pictures import raster
from ..pictures.line_styles import run_styles
from ..pictures.theme import HEIGHT, fault_keys, legend_above, nothing, shade
from ..reading.labels import joined, stack
from ..reading.runs import Run

TITLE = "Updates per second"
CAPTION = (
    "Number of updates that the server applied per second, without those that a crash of the "
    "server lost. Bands mark the times in which a fault "
    "held a device, and rows below show which. A dip that lasts longer than its band shows the "
    "time of the recovery."
)

_BINS = 100


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return intervals and outages: `run`, `setting`, `what`, `node`, `place`, `at`, `until`, and
    `rate`.

    `at` and `until` are in seconds, `rate` is in updates per second. `what` is `update` for an
    interval with its `rate`. For an outage it is the kind of the fault, `node` is the struck
    device, and `rate` is NaN. `place` is as `raster.struck` returns it.
    """
    width = max([1.0, *(run.end / _BINS for run in runs)])
    columns = ["setting", "what", "node", "place", "at", "until", "rate"]
    return stack(runs, lambda run: _rows(run, width), columns)


def _rows(run: Run, width: float) -> pd.DataFrame:
    updates = held_updates(run)
    if updates.empty:
        return pd.DataFrame()
    at = updates["at"].to_numpy(float)
    begin, end = min(0.0, at.min()), max(run.end, at.max())
    edges = begin + width * np.arange(int((end - begin) / width) + 2)
    counts, _ = np.histogram(at, edges)
    whole = edges[1:] <= end  # the last interval is cut short, so its rate would be too low
    whole[0] = True
    rates = pd.DataFrame({"at": edges[:-1], "until": edges[1:], "rate": counts / width})[whole]
    return joined(rates.assign(what="update", node="server"), raster.struck(run))


def height(table: pd.DataFrame) -> float:
    return HEIGHT + raster.height(_struck(table))


def draw(table: pd.DataFrame, ax: Axes) -> None:
    if table.empty:
        nothing(ax, "no update was applied")
        return
    styles = run_styles(table)
    rates, struck = table[table["what"] == "update"], _struck(table)
    below = None
    if not struck.empty:
        below = raster.beneath(ax, struck, HEIGHT)
    for run, own in rates.groupby("run", sort=False):
        edges = [*own["at"], own["until"].iloc[-1]]
        ax.stairs(
            own["rate"],
            edges,
            label=run,
            linewidth=1.2,
            baseline=None,
            zorder=3,
            **styles[run].stroke,
        )
    ax.set_xlabel("time (s)" if below is None else "")
    ax.set_ylabel("updates / s")
    ax.set_ylim(bottom=0)
    if len(styles) > 1:
        legend_above(ax)
    elif below is not None:
        shade(ax, struck, lanes=False)
        legend_above(ax, handles=fault_keys(struck))
        raster.draw(below, struck)


def _struck(table: pd.DataFrame) -> pd.DataFrame:
    """Return the outages to draw: none of several runs, whose bands would hide each other."""
    struck = table[table["what"] != "update"]
    return struck if table["run"].nunique() == 1 else struck.iloc[:0]
