"""Load of the host over time: its cores, the waits for them, the server's core, the quotas."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..facts.host_load import seconds_of
from ..pictures.line_styles import series
from ..pictures.theme import from_zero, legend_above, nothing, panels
from ..reading.labels import stack
from ..reading.runs import Run

TITLE = "Load of the host"
CAPTION = (
    "In each second: the share of the host's cores in use, and the evaluator's part of it; the "
    "share of the second for which devices and server waited for a core beside their quotas, "
    "where the kernel tells; the core that the server's container used; and the share for which "
    "the CPU quotas made devices wait, as requested, in the mean of the devices with a quota. The "
    "evaluator takes what is left of the cores. Results suffer where the others use all of them: "
    "a red band, in all figures over time, marks the seconds in which devices and server were "
    "short of processor time (95 % of the cores in use without the evaluator, or 80 % and waits "
    "of 50 %), a blue strip those in which the server used a core. More than a tenth of such "
    "seconds marks the run."
)

_NAMES = {
    "busy": "cores in use",
    "evaluator": "of these, the evaluator",
    "waits": "devices and server wait for a core",
    "server": "server, of a core",
    "throttled": "devices held by their quotas",
}


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for each second: `run`, `at`, `until`, and the fractions `busy`,
    `evaluator`, `waits`, `server` and `throttled`, NaN where unknown."""
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
        for (name, label), style in zip(_NAMES.items(), series(len(_NAMES)), strict=True):
            if own[name].notna().any():
                edges = [own["at"].iloc[0], *own["until"]]
                panel.stairs(100 * own[name], edges, baseline=None, label=label, **style.stroke)
        panel.set_ylabel("%" if len(runs) == 1 else f"{run!s}\n%")
        panel.set_ylim(0, max(105.0, 105 * own[list(_NAMES)].max().max()))
    from_zero(grid[0][0], float(table["until"].max()))
    grid[-1][0].set_xlabel("time (s)")
    legend_above(grid[0][0])
