"""Load of the host over time: its cores, the waits for them, the server's core, the quotas."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..host_load import seconds_of
from ..labels import stack
from ..runs import Run
from ..theme import SERIES, from_zero, legend_above, nothing, panels

TITLE = "Load of the host"
CAPTION = (
    "In each second: the share of the host's cores in use; the share of the second in which a "
    "process waited for a core (pressure, as the kernel tells); the core that the server's "
    "container used; and the share for which the CPU quotas made devices wait, in the mean of the "
    "devices with a quota. Pressure and quotas are high, too, where all is as requested: a device "
    "at its quota waits. Results suffer where all cores are busy: a red band, in all figures over "
    "time, marks the seconds in which the host was short of processor time (95 % of the cores in "
    "use, or 80 % and a pressure of 50 %), a blue strip those in which the server used a core."
)

_NAMES = {
    "busy": "cores in use",
    "pressure": "pressure: waits for a core",
    "server": "server, of a core",
    "throttled": "devices held by their quotas",
}


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for each second: `run`, `at`, `until`, and the fractions `busy`, `pressure`,
    `server` and `throttled`, NaN where unknown."""
    return stack(runs, seconds_of, ["at", "until", *_NAMES])


def height(table: pd.DataFrame) -> float:
    return 1.0 + 2.0 * max(1, table["run"].nunique())


def draw(table: pd.DataFrame, ax: Axes) -> None:
    if table.empty:
        nothing(ax, "the load of the host was not recorded")
        return
    runs = dict(iter(table.groupby("run", sort=False)))
    grid = panels(ax, rows=len(runs), gap=0.2)
    for (panel,), (run, own) in zip(grid, runs.items(), strict=True):
        for (name, label), colour in zip(_NAMES.items(), SERIES, strict=False):
            if own[name].notna().any():
                edges = [own["at"].iloc[0], *own["until"]]
                panel.stairs(100 * own[name], edges, baseline=None, color=colour, label=label)
        panel.set_ylabel("%" if len(runs) == 1 else f"{run}\n%")
        panel.set_ylim(0, max(105.0, 105 * own[list(_NAMES)].max().max()))
    from_zero(grid[0][0], float(table["until"].max()))
    grid[-1][0].set_xlabel("time (s)")
    legend_above(grid[0][0])
