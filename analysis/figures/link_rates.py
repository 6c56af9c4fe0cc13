"""The rate that each shaped link was asked for, and the busiest stretch that it had."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ..allowance import HEADERS, PAYLOAD
from ..devices import devices
from ..facts import fact
from ..labels import stack
from ..quantities import figures
from ..runs import Run
from ..theme import INK, QUIET, above, log_ticks, nothing, who
from ..traffic import busiest, rates

TITLE = "Achieved against requested link rate"
CAPTION = (
    "For each shaped direction the requested rate (bar) and the highest mean rate that it had "
    "(triangle): up, in a second; down, in five, since what comes in is counted before the "
    "device's own shaper, whose queue takes in a burst; on slow links, in as long as 20 frames "
    "take. A link that is busy for so long without a "
    "pause shows about 100 %; from 90 % on it is called saturated here, as a device that waits for "
    "each model pauses in between. One that never was tells nothing about its shaping."
)

SATURATED = 0.9
"""Share of the requested rate from which a link counts as having been full."""
TOO_FAST = 1.05
"""Share of the requested rate above which it counts as exceeded, beside what passes at once."""
TOO_MUCH = "above the requested rate"

_FRAME = PAYLOAD + HEADERS
_SLACK = 2e-3
"""Seconds of traffic that a rested shaper lets pass at once, beside one frame."""
_LATE = 0.1
"""Seconds by which a busy host may read the clock too late for a counter."""

_MOST_ROWS = 12
_WINDOWS = {"tx": 0.5, "rx": 5.0}
"""Seconds that a stretch must last at least; readings are about one apart."""
_FRAMES = 20
"""Frames that pass in a stretch at least: on a slow link a single one would show as a peak."""
_MARKERS = {"tx": "^", "rx": "v"}


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Columns `run`, `group`, `node`, `what`, `requested`, `busiest` (Mbit/s), `share`, `verdict`.

    A row for each device and each direction (`tx` up, `rx` down) whose link asks for a rate;
    `busiest` is the highest mean between two readings, for rx over five seconds, without the
    acknowledgements that virtual time does not charge to the link. Verdicts: `saturated`, `never
    saturated`, `above the requested rate` (tx only), `a burst above it` (rx), `no traffic`.
    """
    columns = ["group", "node", "what", "requested", "busiest", "share", "verdict"]
    return stack(runs, link_use, columns)


@fact
def link_use(run: Run) -> pd.DataFrame:
    """Return the rows of `table` that are one run's, without the column `run`."""
    intervals = dict(iter(_charged(run).groupby(["node", "what"])))
    rows = [
        (
            device.group,
            device.name,
            way,
            requested,
            *_busiest(intervals, device.name, way, requested),
        )
        for device in devices(run)
        for way in _MARKERS
        if (requested := device.rate(way)) is not None
    ]
    columns = ["group", "node", "what", "requested", "busiest", "beyond"]
    table = pd.DataFrame(rows, columns=columns)
    table["share"] = table["busiest"] / table["requested"]
    verdicts = map(_verdict, table["what"], table["share"], table["beyond"] / table["requested"])
    return table.drop(columns="beyond").assign(verdict=list(verdicts))


def _charged(run: Run) -> pd.DataFrame:
    """Return the run's rates without acknowledgements that its links were not charged for.

    Virtual time counts one for every two full frames that came the other way, and charges the
    link for the frames of messages alone.
    """
    table = rates(run)
    if not run.virtual or run.manifest.get("tcp") == "ideal":
        return table
    other = table["what"].map({"rx": "tx", "tx": "rx"})
    back = table.assign(what=other, back=table["bytes"])[["node", "what", "at", "until", "back"]]
    table = table.merge(back, how="left", on=["node", "what", "at", "until"])
    # bytes = frames + answer x frames back, in both directions: solved for the frames
    answer = HEADERS / 2 / _FRAME
    frames = (table["bytes"] - answer * table["back"].fillna(0)) / (1 - answer**2)
    mbit = frames * 8 / 1e6 / (table["until"] - table["at"])
    return table.assign(bytes=frames, mbit=mbit).drop(columns="back")


def _busiest(
    intervals: dict[Any, pd.DataFrame], node: str, way: str, requested: float
) -> tuple[float, float]:
    """Return the busiest stretch's Mbit/s, and the same beside what may pass at once."""
    own = intervals.get((node, way))
    if own is None:
        return 0.0, 0.0
    rate = requested * 1e6 / 8  # bytes a second
    window = max(_WINDOWS[way], _FRAMES * _FRAME / rate)
    return busiest(own, window), busiest(own, window, _FRAME + (_SLACK + _LATE) * rate)


def _verdict(way: str, share: float, beyond: float) -> str:
    if share == 0:
        return "no traffic"
    if beyond > TOO_FAST:
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
