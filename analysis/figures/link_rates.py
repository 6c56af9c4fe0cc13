"""The requested rate of each shaped link, and the highest mean rate that the link achieved."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ..facts.link_use import TOO_MUCH, link_use
from ..pictures.theme import INK, QUIET, device_colours, legend_above, log_ticks, nothing
from ..quantities import figures
from ..reading.labels import stack
from ..reading.runs import Run

TITLE = "Achieved against requested link rate"
CAPTION = (
    "For each shaped direction without steps and trace, the requested rate (bar) and the highest "
    "mean rate (triangle). The "
    "mean is over about a second upwards and five seconds downwards: received bytes are counted "
    "before the device's own shaper, whose queue takes in a burst. On slow links the mean is over "
    "the time of 20 frames. A link that is busy for that time without a pause shows about 100 %. A "
    "link is called saturated from 90 % on, because a device that waits for each model pauses in "
    "between. A link that was never saturated says nothing about its shaping."
)

_MOST_ROWS = 12
_MARKERS = {"tx": "^", "rx": "v"}


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the rows of `link_use` of all `runs`, with the label of the run in `run`."""
    columns = ["group", "node", "what", "requested", "busiest", "share", "verdict"]
    return stack(runs, link_use, columns)


def height(table: pd.DataFrame) -> float:
    return 1.2 + 0.38 * len(_grouped(table))


def draw(table: pd.DataFrame, ax: Axes) -> None:
    if table.empty:
        nothing(ax, "no link of this run has a requested rate")
        return
    names = []
    colours = device_colours(table["node" if _few(table) else "group"])
    for place, (name, own) in enumerate(_grouped(table).items()):
        names.append(name)
        for way, shift in (("tx", -0.18), ("rx", 0.18)):
            direction = own[own["what"] == way]
            if not direction.empty:
                colour = colours[own["node" if _few(table) else "group"].iloc[0]]
                _draw_direction(ax, direction, place + shift, way, colour)
    ax.set_xscale("log")
    rates = pd.concat([table["requested"], table.loc[table["busiest"] > 0, "busiest"]])
    log_ticks(ax.xaxis, rates.min(), rates.max(), figures)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel("Mbit/s of Ethernet frames")
    ax.margins(x=0.08)
    legend_above(ax, handles=_keys())


def _draw_direction(ax: Axes, own: pd.DataFrame, y: float, way: str, colour: str) -> None:
    requested, achieved = own["requested"].median(), own["busiest"].median()
    ax.plot([requested], [y], marker="|", markersize=9, markeredgewidth=1.6, color=INK, zorder=5)
    if achieved > 0:
        ax.plot([achieved, requested], [y, y], color=colour, linewidth=0.8, alpha=0.5)
        ax.plot([achieved], [y], marker=_MARKERS[way], markersize=5.5, color=colour, zorder=4)
    if len(own) > 1:
        span = own["busiest"].where(own["busiest"] > 0).agg(["min", "max"])
        ax.plot(span, [y, y], color=colour, linewidth=2.4, alpha=0.45, solid_capstyle="butt")
    verdicts = own["verdict"].unique()
    verdict = verdicts[0] if len(verdicts) == 1 else "mixed"
    text = verdict if achieved == 0 else f"{achieved / requested * 100:.0f} %, {verdict}"
    ax.annotate(
        text,
        (1.01, y),
        xycoords=("axes fraction", "data"),
        va="center",
        fontsize="small",
        color=INK if verdict == TOO_MUCH else QUIET,
    )


def _keys() -> list[Line2D]:
    def mark(marker: str, label: str) -> Line2D:
        return Line2D([], [], marker=marker, linestyle="", color=QUIET, label=label)

    return [
        mark("|", "requested"),
        mark("^", "busiest second, tx (up)"),
        mark("v", "busiest 5 s, rx (down)"),
    ]


def _few(table: pd.DataFrame) -> bool:
    return len(table[["run", "node"]].drop_duplicates()) <= _MOST_ROWS


def _grouped(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of `table` by device, or by group of many devices, under their titles."""
    several = table["run"].nunique() > 1
    key = "node" if _few(table) else "group"
    grouped = {}
    for (run, name), own in table.groupby(["run", key], sort=False):
        count = own["node"].nunique()
        title = f"{name} × {count}" if count > 1 else str(name)
        grouped[f"{run}\n{title}" if several else title] = own
    return grouped
