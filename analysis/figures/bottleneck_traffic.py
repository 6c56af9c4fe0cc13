"""Traffic through each bottleneck over time: the shared line, and its members on top of another."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..facts.bottlenecks import WAYS, Bottleneck, bottlenecks
from ..facts.devices import devices
from ..facts.link_use import charged
from ..facts.traffic import background_rates, bins, extent, rebin, width
from ..pictures.theme import DEVICES, INK, QUIET, legend_below, nothing, panels
from ..quantities import figures
from ..reading.labels import stack
from ..reading.runs import Run

TITLE = "Traffic at bottlenecks"
CAPTION = (
    "For each bottleneck and direction the rate of the shared line (dark line), and beneath it the "
    "rates of its members on top of one another, as counted at the members. A dashed line is the "
    "rate that the members share: a line that stays at it is full. In containers the members' "
    "packets wait in front of the line, and those that its queue has no room for are dropped, so "
    "what goes up may exceed the line. Background traffic is a grey band on top of the members; "
    "the line is without it. More than twelve members are one area; of more than six bottlenecks "
    "those with most traffic are drawn."
)

_MOST_LINES = 6
_MOST_COLOURS = 12
_BINS = 150
_ALL = "all members"
BACKGROUND = "background"
"""Stands in place of a node for the background traffic of a line."""
_COLUMNS = ["line", "node", "place", "what", "at", "until", "mbit", "shared"]


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return intervals: `run`, `line`, `node`, `place`, `what`, `at`, `until`, `mbit`, `shared`.

    `line` is a bottleneck, and `node` is the bottleneck itself, `background`, or a member, whose
    `place` is its number among the devices. `what` is `tx` (up) or `rx` (down); `mbit` is the mean
    rate between two readings, `shared` is the rate of the line (NaN without one), both in Mbit/s.
    """
    return stack(runs, _rows, _COLUMNS)


def _rows(run: Run) -> pd.DataFrame:
    known = bottlenecks(run)
    if not known:
        return pd.DataFrame()
    places = {device.name: place for place, device in enumerate(devices(run))}
    parts = charged(run), background_rates(run), places
    return pd.concat([_line(each, *parts) for each in known], ignore_index=True)


def _line(
    line: Bottleneck, measured: pd.DataFrame, beside: pd.DataFrame, places: dict[str, int]
) -> pd.DataFrame:
    own = measured[measured["node"].isin([line.name, *line.members])].drop(columns="bytes")
    others = beside[beside["node"] == line.name].drop(columns="bytes")
    if not others.empty:
        own = pd.concat([own, others.assign(node=BACKGROUND)], ignore_index=True)
    return own.assign(
        line=line.name,
        place=own["node"].map(places).fillna(-1).astype(int),
        shared=own["what"].map(line.rates).astype(float),
    )


def height(table: pd.DataFrame) -> float:
    return 1.2 + 1.35 * max(1, len(_keys(table)))


def draw(table: pd.DataFrame, ax: Axes) -> None:
    keys = _keys(table)
    if not keys:
        nothing(ax, "no line is shared, or no traffic was recorded")
        return
    grid = panels(ax, rows=len(keys), columns=2, gap=0.18)
    edges = bins(table, width(table, _BINS))
    several = table["run"].nunique() > 1
    for row, (run, line) in zip(grid, keys, strict=True):
        own = table[(table["run"] == run) & (table["line"] == line)]
        for panel, way in zip(row, WAYS, strict=True):
            _panel(panel, own[own["what"] == way], line, edges)
        row[0].set_ylabel(f"{run}\n{line}" if several else line)
    grid[0][0].set_xlim(*extent(table))
    for column, (way, word) in enumerate(WAYS.items()):
        grid[0][column].set_title(f"{way}, {word} (Mbit/s)", loc="left")
        grid[-1][column].set_xlabel("time (s)")
    legend_below(ax, handles=_legend(table, keys))


def _keys(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Return run and name of each bottleneck that is drawn."""
    if table.empty:
        return []
    carried = (table["mbit"] * (table["until"] - table["at"])).groupby(
        [table["run"], table["line"]], sort=False
    )
    sums = carried.sum()
    most = set(sums.sort_values(ascending=False, kind="stable").index[:_MOST_LINES])
    return [(str(run), str(line)) for run, line in sums.index if (run, line) in most]


def _panel(panel: Axes, own: pd.DataFrame, line: str, edges: np.ndarray) -> None:
    below = None
    members = own[own["place"] >= 0]
    for place, rows in members.groupby(members["place"].astype(int)):
        rate = rebin(rows, edges)
        above = rate if below is None else below + rate
        panel.stairs(
            above,
            edges,
            baseline=0 if below is None else below,
            fill=True,
            color=_colour(members, int(place)),
            alpha=0.55,
            linewidth=0,
        )
        below = above
    most = [0.0 if below is None else below.max()]
    if not (beside := own[own["node"] == BACKGROUND]).empty:
        base = 0.0 * rebin(beside, edges) if below is None else below
        above = base + rebin(beside, edges)
        panel.stairs(above, edges, baseline=base, fill=True, color=QUIET, alpha=0.35, linewidth=0)
        most.append(above.max())
    if not (shared := own[own["node"] == line]).empty:
        rate = rebin(shared, edges)
        panel.stairs(rate, edges, color=INK, linewidth=1.0, baseline=None, zorder=3)
        most.append(rate.max())
    asked = own["shared"].max()
    if asked == asked:  # NaN: the direction has no rate
        panel.axhline(asked, color=INK, linestyle=(0, (4, 3)), linewidth=0.7, zorder=4)
        most.append(asked)
    panel.set_ylim(0, max(*most, 1e-3) * 1.15)
    panel.set_yticks([0, max(most)], ["0", figures(max(most))], fontsize="x-small")


def _colour(members: pd.DataFrame, place: int) -> str:
    few = members["place"].nunique() <= _MOST_COLOURS
    return DEVICES[place % len(DEVICES)] if few else QUIET


def _legend(table: pd.DataFrame, keys: list[tuple[str, str]]) -> list[Line2D | Patch]:
    drawn = table[[key in keys for key in zip(table["run"], table["line"], strict=True)]]
    members = drawn[drawn["place"] >= 0]
    others = [Patch(facecolor=QUIET, alpha=0.35, label="background traffic")]
    others = others if (drawn["node"] == BACKGROUND).any() else []
    named = dict(zip(members["node"], members["place"], strict=True))
    marks: list[Line2D | Patch] = [
        Line2D([], [], color=INK, linewidth=1.0, label="shared line"),
        Line2D([], [], color=INK, linewidth=0.7, linestyle=(0, (4, 3)), label="its rate"),
    ]
    if len(named) > _MOST_COLOURS:
        return [*marks, *others, Patch(facecolor=QUIET, alpha=0.55, label=_ALL)]
    return [
        *marks,
        *others,
        *(
            Patch(facecolor=DEVICES[place % len(DEVICES)], alpha=0.55, label=name)
            for name, place in sorted(named.items(), key=lambda pair: pair[1])
        ),
    ]
