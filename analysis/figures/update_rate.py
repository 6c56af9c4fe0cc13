"""Updates that the server applied in each second."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ..faults import outages
from ..labels import stack
from ..runs import Run
from ..theme import above, fault_keys, nothing, series, shade

TITLE = "Updates per second"
CAPTION = (
    "How fast the server's model moved; bands are the times when a fault held a "
    "device. A dip that outlasts its band is what the recovery took."
)

_BINS = 100


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Columns `run`, `what`, `node`, `at`, `until` (s), `rate` (updates/s).

    `what` is `update` for a stretch of time and its rate, or the kind of a fault, with the
    node that it struck and no rate.
    """
    width = max([1.0, *(run.end / _BINS for run in runs)])
    columns = ["what", "node", "at", "until", "rate"]
    return stack(runs, lambda run: _rows(run, width), columns)


def _rows(run: Run, width: float) -> pd.DataFrame:
    updates = run.records("update")
    if updates.empty:
        return pd.DataFrame()
    at = updates["at"].to_numpy(float)
    begin, end = min(0.0, at.min()), max(run.end, at.max())
    edges = begin + width * np.arange(int((end - begin) / width) + 2)
    counts, _ = np.histogram(at, edges)
    whole = edges[1:] <= end  # the last stretch broke off: its rate would say nothing
    whole[0] = True
    rates = pd.DataFrame({"at": edges[:-1], "until": edges[1:], "rate": counts / width})[whole]
    struck = outages(run).rename(columns={"fault": "what"})
    return pd.concat([rates.assign(what="update", node="server"), struck], ignore_index=True)


def draw(table: pd.DataFrame, ax: Axes) -> None:
    if table.empty:
        nothing(ax, "no update was applied")
        return
    colours = series(table["run"])
    rates = table[table["what"] == "update"]
    for run, own in rates.groupby("run", sort=False):
        edges = [*own["at"], own["until"].iloc[-1]]
        ax.stairs(
            own["rate"],
            edges,
            color=colours[run],
            label=run,
            linewidth=1.2,
            baseline=None,
            zorder=3,
        )
    ax.set_xlabel("time (s)")
    ax.set_ylabel("updates / s")
    ax.set_ylim(bottom=0)
    struck = table[table["what"] != "update"]
    if len(colours) > 1:
        above(ax)  # without bands: those of several runs would hide each other
    elif not struck.empty:
        shade(ax, struck)
        above(ax, handles=fault_keys(struck))
