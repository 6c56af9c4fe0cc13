"""Load of each host over time: its cores, the waits for them, the server's core, the quotas."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.artist import Artist
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
    "seconds marks the run. A run on several hosts has a panel for each, the server's first; "
    "the bands of a panel are its host's own."
)

_NAMES = {
    "busy": "cores in use",
    "evaluator": "of these, the evaluator",
    "waits": "devices and server wait for a core",
    "server": "server, of a core",
    "throttled": "devices held by their quotas",
}


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for each second of each host: `run`, `host`, `at`, `until`, and the fractions
    `busy`, `evaluator`, `waits`, `server` and `throttled`, NaN where unknown."""
    return stack(runs, seconds_of, ["host", "at", "until", *_NAMES])


def height(table: pd.DataFrame) -> float:
    return 1.0 + 2.0 * max(1, len(_panels(table)))


def draw(table: pd.DataFrame, ax: Axes) -> None:
    if table.empty:
        nothing(ax, "the load of the host was not recorded")
        return
    several = _panels(table)
    grid = panels(ax, rows=len(several), gap=0.2)
    lines: dict[str, Artist] = {}
    for (panel,), (words, host, own) in zip(grid, several, strict=True):
        for (name, label), style in zip(_NAMES.items(), series(len(_NAMES)), strict=True):
            if own[name].notna().any():
                edges = [own["at"].iloc[0], *own["until"]]
                stairs = panel.stairs(100 * own[name], edges, baseline=None, **style.stroke)
                stairs.set_label(label)
                lines.setdefault(name, stairs)
        panel.set_label(host)  # by which bands find their panel
        panel.set_ylabel("\n".join([*words, "%"]))
        panel.set_ylim(0, max(105.0, 105 * own[list(_NAMES)].max().max()))
    from_zero(grid[0][0], float(table["until"].max()))
    grid[-1][0].set_xlabel("time (s)")
    legend_above(grid[0][0], [lines[name] for name in _NAMES if name in lines])


def _panels(table: pd.DataFrame) -> list[tuple[list[str], str, pd.DataFrame]]:
    """Return for each panel its words, the name of its host, and the rows: those of a run stand
    together, the server's host first."""
    runs = dict(iter(table.groupby("run", sort=False)))
    found = []
    for run, rows in runs.items():
        serving = {*rows[rows["server"].notna()]["host"]}  # no other host has the server's core
        hosts = sorted(rows["host"].unique(), key=lambda host: (host not in serving, host))
        for host in hosts:
            words = [str(run)] * (len(runs) > 1) + [host] * (len(hosts) > 1)
            own = rows[rows["host"] == host].sort_values("at")
            found.append((words, host, own))
    return found
