"""The style of figures: colours for every kind of colour vision, bands for faults, legends, axes.

A device keeps its colour in all figures of a run. Compared runs have colours of their own.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import pandas as pd
from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend
from matplotlib.patches import Patch
from matplotlib.rcsetup import cycler
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from .line_styles import COLOURS, line_styles

SERIES = COLOURS
"""Colours of lines without names; lines with names have `line_styles`."""

DEVICES = (
    *("#332288", "#117733", "#CC6677", "#0F7FA8", "#AA4499", "#8A7A1F"),
    *("#882255", "#2A9D8F", "#C4561A", "#6699CC", "#661100", "#5C5C5C"),
)
"""Colours of 12 devices, after Tol's muted palette, darkened where thin lines need it."""

_GONE = {
    "crash": "#D55E00",
    "leave": "#E69F00",
    "churn": "#B8860B",
    "availability": "#C9B037",
    "energy": "#7A6A00",
    "memory": "#882255",
    "exit": "#4D4D4D",
    "server-crash": "#1A1A1A",
}
_CUT_OFF = {
    "partition": "#9A5BA5",
    "flap": "#CC79A7",
    "degrade": "#0072B2",
    "corrupt": "#56B4E9",
}
_SLOW_OR_WRONG = {
    "pause": "#009E73",
    "slow": "#117733",
    "straggler": "#88CCAA",
    "overheat": "#FF7F51",
    "byzantine": "#CC3344",
}
FAULTS = _GONE | _CUT_OFF | _SLOW_OR_WRONG
"""Colours of the kinds of faults; kinds whose colours are alike differ in their hatches."""
_OTHER_FAULT = "#5C5C8A"
_HATCHES = {
    "partition": "////",
    "exit": "....",
    "churn": "xxxx",
    "availability": "....",
    "flap": "||||",
    "energy": "----",
    "memory": "++++",
    "corrupt": "\\\\\\\\",
    "slow": "----",
    "straggler": "||||",
    "overheat": "....",
    "byzantine": "oo",
    "server-crash": "xx",
}
_LETTERS = 131
"""Number of characters of one point that fit an inch of a legend's line."""
_LINES, _LINE = 3, 0.019
"""Number of legend lines that fit every figure, and the inches of a further line by point."""
_WIDE, _HIGH, _LETTER = 4.0, 2.0, 0.62
"""Width of a label of a tick with its gap, height of one, and width of a letter, in text sizes."""
_MOST_BANDS = 8
"""Largest number of outages that are drawn as bands; more are drawn in lanes."""
_LANE = 0.05
"""Height of a lane, as a share of the axes' height."""

HEIGHT = 3.2
"""Height of a figure in inches; a module with `height(table)` sets its own height."""

INK = "#222222"
QUIET = "#777777"

FONT = 9.0
"""Size of text in points; labels of ticks and legends are a little smaller."""


def style(font: float = FONT) -> Any:
    """Return matplotlib's settings for figures with text of `font` points."""
    small = font * 8 / 9
    return {
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
        "font.size": font,
        "axes.labelsize": font,
        "axes.titlesize": font,
        "axes.prop_cycle": cycler(color=COLOURS),  # for figures of users
        "axes.edgecolor": QUIET,
        "axes.labelcolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#E6E6E6",
        "grid.linewidth": 0.6,
        "text.color": INK,
        "xtick.color": QUIET,
        "ytick.color": QUIET,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "xtick.labelsize": small,
        "ytick.labelsize": small,
        "legend.fontsize": small,
        "legend.frameon": False,
        "lines.linewidth": 1.4,
        "hatch.linewidth": 0.5,
        "svg.fonttype": "none",
        "svg.hashsalt": "emulate",
        "pdf.fonttype": 42,  # text stays text
    }


STYLE: Any = style()


def run_colours(names: Iterable[Hashable]) -> dict[Hashable, str]:
    """Return a colour for each run in `names`, that of its algorithm if the name tells it."""
    return {name: style.colour for name, style in line_styles(names).items()}


def device_colours(names: Iterable[Hashable]) -> dict[Hashable, str]:
    """Return a colour for each device in `names`, and the server's own colour."""
    devices = dict.fromkeys(name for name in names if name != "server")
    colours = {name: DEVICES[place % len(DEVICES)] for place, name in enumerate(devices)}
    return {**colours, "server": INK}


def fault_colour(kind: str) -> str:
    """Return the colour of a kind of fault."""
    return FAULTS.get(kind, _OTHER_FAULT)


def fault_hatch(kind: str) -> str | None:
    """Return the hatch of a kind of fault; None for a plain colour."""
    return _HATCHES.get(kind)


def shade(ax: Axes, outages: pd.DataFrame, *, lanes: bool = True) -> None:
    """Draw `outages` as bands behind the data, or many outages in lanes above, one for each kind.

    The darker a lane, the more devices were gone at the same time. Call `shade` last, because the
    lanes change the limits of the y-axis. Without `lanes`, many outages are not drawn.
    """
    if len(outages) > _MOST_BANDS:
        if lanes:
            _lanes(ax, outages)
        return
    for kind, at, until in outages[["what", "at", "until"]].itertuples(index=False):
        ax.axvspan(at, until, facecolor=(fault_colour(kind), 0.2), linewidth=0, zorder=0)
        if kind in _HATCHES:  # drawn apart, since an SVG would give it the face's transparency
            ax.axvspan(at, until, **_hatch(kind), facecolor="none", zorder=0)


def fault_keys(outages: pd.DataFrame) -> list[Patch]:
    """Return legend entries for the bands: kind of fault, and its devices or its number."""
    keys = []
    for kind, own in outages.groupby("what", sort=False):
        kind, nodes = str(kind), list(dict.fromkeys(own["node"]))
        struck = ", ".join(nodes) if len(nodes) <= 2 else f"{len(own)} times"
        red, green, blue = (0.8 + 0.2 * part for part in to_rgb(fault_colour(kind)))
        keys.append(Patch(**_hatch(kind), facecolor=(red, green, blue), label=f"{kind}: {struck}"))
    return keys


def _hatch(kind: str) -> dict[str, Any]:
    return {"edgecolor": (fault_colour(kind), 0.5), "linewidth": 0, "hatch": _HATCHES.get(kind)}


def _lanes(ax: Axes, outages: pd.DataFrame) -> None:
    kinds = list(dict.fromkeys(outages["what"]))
    room = 1 - _LANE * (len(kinds) + 0.5)
    low, high = ax.get_ylim()
    ax.set_ylim(low, low + (high - low) / room)
    for place, kind in enumerate(kinds):
        upper = 1 - place * _LANE
        own = outages[outages["what"] == kind]
        for at, until in own[["at", "until"]].itertuples(index=False):
            lower, colour = upper - 0.8 * _LANE, (fault_colour(kind), 0.35)
            ax.axvspan(at, until, lower, upper, facecolor=colour, linewidth=0)


def panels(
    ax: Axes,
    rows: int,
    columns: int = 1,
    gap: float = 0.08,
    heights: Sequence[float] | None = None,
) -> list[list[Axes]]:
    """Replace `ax` by a grid of smaller axes with a common x-axis, and return the grid.

    `heights` are those of the rows, in any unit; None: all alike.
    """
    ax.set_axis_off()
    place = ax.get_subplotspec()
    assert place is not None
    grid = place.subgridspec(rows, columns, hspace=gap, height_ratios=heights)
    first = None
    made: list[list[Axes]] = []
    for row in range(rows):
        made.append([])
        for column in range(columns):
            panel = ax.figure.add_subplot(grid[row, column], sharex=first)
            first = first or panel
            panel.tick_params(labelbottom=row == rows - 1)
            made[-1].append(panel)
    return made


def rows_around(ax: Axes, heights: Sequence[float], own: int) -> list[Axes]:
    """Divide the place of `ax` into rows of `heights`, of which `ax` keeps the row `own`.

    Return the axes of all rows. They have a common x-axis, whose labels stand at the bottom.
    """
    place = ax.get_subplotspec()
    assert place is not None
    parts = place.subgridspec(len(heights), 1, height_ratios=heights, hspace=0.06)
    ax.set_subplotspec(parts[own])
    rows = [
        ax if row == own else ax.figure.add_subplot(parts[row], sharex=ax)
        for row in range(len(heights))
    ]
    for upper in rows[:-1]:
        upper.tick_params(labelbottom=False)
    return rows


def nothing(ax: Axes, missing: str) -> None:
    """Write on `ax` that there is nothing to draw, with the `missing` data as the reason."""
    ax.set_axis_off()
    ax.text(
        0.5,
        0.5,
        f"nothing to draw: {missing}",
        ha="center",
        va="center",
        color=QUIET,
        transform=ax.transAxes,
    )


def legend_above(ax: Axes, handles: Sequence[Artist] | None = None) -> None:
    """Draw a legend above the data, at the left, in as few lines as its texts allow.

    The figure grows by the height of the lines beyond `_LINES`.
    """
    shown = list(handles or ax.get_legend_handles_labels()[0])
    columns = _columns(ax, shown)
    more = -(-len(shown) // columns) - _LINES
    if more > 0:
        _grow(ax, more)
    ax.legend(
        handles=shown,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0.3,
        handlelength=2.2,
        ncols=columns,
    )


def legend_below(ax: Axes, handles: Sequence[Artist]) -> None:
    """Draw a legend of `handles` below the figure of `ax`, which grows by all lines but one.

    The entries of a legend that is there already come first.
    """
    figure = ax.figure
    earlier = [entry for legend in figure.legends for entry in _entries(legend)]
    for legend in list(figure.legends):  # two of them would lie on one another
        legend.remove()
    shown = [*earlier, *handles]
    columns = _columns(ax, shown)
    before = -(-len(earlier) // _columns(ax, earlier)) if earlier else 1
    more = -(-len(shown) // columns) - before
    _grow(ax, more)
    figure.legend(handles=shown, loc="outside lower center", ncols=columns)


def _grow(ax: Axes, lines: int) -> None:
    """Make the figure of `ax` higher by `lines` of a legend."""
    figure: Any = ax.figure  # no subfigure, which has no height of its own
    figure.set_figheight(figure.get_figheight() + lines * _LINE * rcParams["font.size"])


def _entries(legend: Legend) -> list[Artist]:
    """Return the entries of `legend`, each with its text as the label."""
    shown = [handle for handle in legend.legend_handles if handle is not None]
    for handle, text in zip(shown, legend.get_texts(), strict=True):
        handle.set_label(text.get_text())
    return shown


def _columns(ax: Axes, handles: Sequence[Artist]) -> int:
    """Return the number of columns of a legend of `handles` as wide as the figure of `ax`."""
    figure: Any = ax.figure
    longest = max(len(str(handle.get_label())) for handle in handles)
    letters = _LETTERS * figure.get_figwidth() / rcParams["font.size"]
    return max(1, min(4, int(letters // (longest + 7))))


def from_zero(ax: Axes, reach: float) -> None:
    """Make the x-axis begin at zero and end a little beyond `reach`, which may be zero."""
    ax.set_xlim(0, reach * 1.01 if reach > 0 else 1)


def log_ticks(axis: Axis, low: float, high: float, text: Callable[[float], str]) -> None:
    """Label the powers of ten on a logarithmic axis, and more numbers if there is room for them."""
    many = 3 * math.log10(high / low) <= min(7, _room(axis))
    powers = LogLocator(subs=(1, 2, 5) if many else (1,))
    # nearer ends may have none of these numbers between them, or one
    axis.set_major_locator(MaxNLocator(min(4, _room(axis))) if high < 5 * low else powers)
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_formatter(NullFormatter())


def _room(axis: Axis) -> int:
    """Return the number of labels that have room on `axis`."""
    frame, across = axis.axes.bbox, axis is axis.axes.xaxis
    length, label = (frame.width, _WIDE) if across else (frame.height, _HIGH)
    return max(1, int(length / (label * _pixels(axis))))


def _pixels(axis: Axis) -> float:
    """Return the size of the text of labels on `axis` in pixels."""
    points = FontProperties(size=rcParams["xtick.labelsize"]).get_size_in_points()
    return points * float(axis.axes.figure.dpi) / 72


def name_ticks(axis: Axis, places: Sequence[float], names: Sequence[str]) -> None:
    """Mark `places` on a horizontal axis, and name each unless the name before it is too near."""
    axis.set_ticks(places)
    axis.set_minor_locator(NullLocator())
    axis.axes.get_xlim()  # brings the limits up to date
    shown, end = dict.fromkeys(places, ""), -math.inf
    for place, name in sorted(zip(places, names, strict=True)):
        at = float(axis.axes.transData.transform((place, 1))[0]) / _pixels(axis)
        if at - _LETTER * len(name) / 2 > end:
            shown[place], end = name, at + _LETTER * len(name) / 2 + 0.4
    axis.set_ticks(places, list(shown.values()))
