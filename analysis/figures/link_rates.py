"""The rate that each shaped link was asked for, and the busiest stretch that it had."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ..devices import devices
from ..labels import stack
from ..quantities import figures
from ..runs import Run
from ..theme import INK, QUIET, above, log_ticks, nothing, who
from ..traffic import busiest, rates

TITLE = "Achieved against requested link rate"
CAPTION = (
    "For each shaped direction the requested rate (bar) and the highest mean rate that it had "
    "(triangle): up, in a second; down, in five, since what comes in is counted before the "
    "device's own shaper, whose queue takes in a burst. A link kept busy for so long shows 95 to "
    "100 %; one that never was tells nothing about its shaping."
)

SATURATED = 0.9
"""Share of the requested rate from which a link counts as having been full."""
TOO_FAST = 1.05
TOO_MUCH = "above the requested rate"

_MOST_ROWS = 12
_WINDOWS = {"tx": 0.5, "rx": 5.0}
"""Seconds that a stretch must last at least; readings are about one apart."""
_MARKERS = {"tx": "^", "rx": "v"}


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Columns `run`, `group`, `node`, `what`, `requested`, `busiest` (Mbit/s), `share`, `verdict`.

    A row for each device and each direction (`tx` up, `rx` down) whose link asks for a rate;
    `busiest` is the highest mean between two readings, for rx over five seconds. Verdicts:
    `saturated`, `never saturated`, `above the requested rate` (tx only), `a burst above it`
    (rx), `no traffic`.
    """
    columns = ["group", "node", "what", "requested", "busiest", "share", "verdict"]
    return stack(runs, _rows, columns)


def _rows(run: Run) -> pd.DataFrame:
    measured = {
        (node, way): busiest(own, _WINDOWS[way])
        for (node, way), own in rates(run).groupby(["node", "what"])
    }
    rows = [
        (device.group, device.name, way, requested, measured.get((device.name, way), 0.0))
        for device in devices(run)
        for way in _MARKERS
        if (requested := device.rate(way)) is not None
    ]
    table = pd.DataFrame(rows, columns=["group", "node", "what", "requested", "busiest"])
    table["share"] = table["busiest"] / table["requested"]
    pairs = zip(table["what"], table["share"], strict=True)
    return table.assign(verdict=[_verdict(way, share) for way, share in pairs])


def _verdict(way: str, share: float) -> str:
    if share == 0:
        return "no traffic"
    if share > TOO_FAST:
        return TOO_MUCH if way == "tx" else "a burst above it"
    return "saturated" if share >= SATURATED else "never saturated"


def height(table: pd.DataFrame) -> float:
    return 1.2 + 0.38 * len(_grouped(table))


def draw(table: pd.DataFrame, ax: Axes) -> None:
    if table.empty:
        nothing(ax, "no link of this run asked for a rate")
        return
    names = []
    colours = who(table["node" if _few(table) else "group"])
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
    above(ax, handles=_keys())


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
    told = verdicts[0] if len(verdicts) == 1 else "mixed"
    text = told if achieved == 0 else f"{achieved / requested * 100:.0f} %, {told}"
    ax.annotate(
        text,
        (1.01, y),
        xycoords=("axes fraction", "data"),
        va="center",
        fontsize=7.5,
        color=INK if told == TOO_MUCH else QUIET,
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
    """A row a device; a row a group of them where they are many, as medians with their range."""
    several = table["run"].nunique() > 1
    key = "node" if _few(table) else "group"
    made = {}
    for (run, name), own in table.groupby(["run", key], sort=False):
        many = own["node"].nunique()
        told = f"{name} × {many}" if many > 1 else str(name)
        made[f"{run}\n{told}" if several else told] = own
    return made
