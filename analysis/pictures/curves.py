"""Curves of runs: a line for each setting, which is the median of its seeds, named at its end."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from .line_styles import line_styles
from .theme import legend_above

_BAND = 0.18
"""Opacity of the band from the least to the most of the seeds."""
_WIDEST = 0.3
"""Largest width of a label at a line's end, as a share of the axes."""
_FARTHEST = 1.6
"""Largest shift of a label from its line's end, in heights of the label."""
_GAP = 5
"""Points between a line's end and its label."""


def draw_curves(ax: Axes, table: pd.DataFrame, x: str, y: str) -> list[Line2D]:
    """Draw the column `y` of `table` over `x`, and return a line with a label for each setting.

    `table` has the columns `run` and `setting`, too. Runs of a setting differ in the seed only:
    their line is the median, with a band from the least to the most.
    """
    styles = line_styles(table["setting"])
    lines = []
    for place, (setting, own) in enumerate(table.groupby("setting", sort=False)):
        seeds, style = own["run"].nunique(), styles[setting]
        shown = medians(own, x, y)
        if seeds > 1:
            band: dict[str, Any] = {"color": style.colour, "alpha": _BAND, "linewidth": 0}
            ax.fill_between(shown.index, shown["least"], shown["most"], **band)
        label = str(setting) if seeds == 1 else f"{setting}, {seeds} seeds"
        look = style.marked(len(shown), place)
        lines += ax.plot(shown.index, shown["median"], label=label, zorder=3, **look)
    return lines


def medians(table: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """Return `median`, `least` and `most` of the column `y` over the runs of `table`, by `x`.

    Between the points of a run its values are interpolated. A run that has ended keeps its last
    value. Points before the first one of any run are left out.
    """
    columns = [
        own.dropna(subset=[x, y]).drop_duplicates(x, keep="last").set_index(x)[y].astype(float)
        for _, own in table.groupby("run", sort=False)
    ]
    runs = pd.concat(columns, axis=1).sort_index()
    runs.index = runs.index.astype(float)
    known = runs.interpolate("index", limit_area="inside").ffill().dropna()
    spread = {"median": known.median(axis=1), "least": known.min(axis=1), "most": known.max(axis=1)}
    return pd.DataFrame(spread)


def name_lines(ax: Axes, lines: Sequence[Line2D]) -> None:
    """Name each of `lines` at its end if all names fit there, else in a legend above `ax`.

    Call it last: it lays the figure out.
    """
    if not name_ends(ax, lines):
        legend_above(ax, lines)


def name_ends(ax: Axes, lines: Sequence[Line2D]) -> bool:
    """Write the label of each of `lines` at its end if all fit, and return whether they do.

    A label that would lie on another one is shifted a little. None may lie on a line. Lines of one
    colour differ in their dashes, which no label at an end shows.
    """
    if len({str(line.get_color()) for line in lines}) < len(lines):
        return False
    figure: Any = ax.figure
    names = [_name_end(ax, line) for line in lines if np.isfinite(end_of(line)).all()]
    figure.draw_without_rendering()
    boxes = [name.get_window_extent() for name in names]
    ends = [ax.transData.transform(name.xy) for name in names]
    shifts = _apart(
        [float(end[1]) for end in ends], 1.05 * max((box.height for box in boxes), default=0)
    )
    moved = [box.translated(0, shift) for box, shift in zip(boxes, shifts, strict=True)]
    if len(names) < len(lines) or not _fit(ax, lines, moved, shifts):
        for name in names:
            name.remove()
        return False
    for name, shift in zip(names, shifts, strict=True):
        name.set_position((_GAP, shift * 72 / figure.dpi))
    return True


def _name_end(ax: Axes, line: Line2D) -> Annotation:
    look: dict[str, Any] = {"color": _readable(str(line.get_color())), "fontsize": "small"}
    place: dict[str, Any] = {"textcoords": "offset points", "va": "center", "clip_on": False}
    return ax.annotate(str(line.get_label()), end_of(line), xytext=(_GAP, 0), **place, **look)


def end_of(line: Line2D) -> tuple[float, float]:
    """Return the last point of `line`, in data; NaN for a line without points."""
    points = np.asarray(line.get_xydata(), float)
    x, y = points[-1] if len(points) else (np.nan, np.nan)
    return float(x), float(y)


def _apart(places: Sequence[float], gap: float) -> list[float]:
    """Return the shifts after which `places` are at least `gap` apart, with the least squares.

    Places less one gap for each place below are pooled until they ascend (isotonic regression).
    """
    order = np.argsort(places, kind="stable")
    pools: list[list[float]] = []
    for number, place in enumerate(np.asarray(places, float)[order]):
        pools.append([place - number * gap])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    found = [float(np.mean(pool)) for pool in pools for _ in pool]
    shifts = [0.0] * len(order)
    for number, (at, place) in enumerate(zip(order, found, strict=True)):
        shifts[at] = place + number * gap - places[at]
    return shifts


def _fit(ax: Axes, lines: Sequence[Line2D], boxes: Sequence[Bbox], shifts: Sequence[float]) -> bool:
    """Return whether labels in `boxes` are narrow, near their ends, and clear of all `lines`."""
    frame = ax.bbox
    for box, shift in zip(boxes, shifts, strict=True):
        if box.width > _WIDEST * frame.width or abs(shift) > _FARTHEST * box.height:
            return False
        if box.y0 < frame.y0 - box.height or box.y1 > frame.y1 + box.height:
            return False
        # the axes become narrower by the labels, so a label takes more of them than now
        if any(
            _crosses(line, Bbox.from_extents(box.x0, box.y0, box.x1 * 1.1, box.y1))
            for line in lines
        ):
            return False
    return True


def _crosses(line: Line2D, box: Bbox) -> bool:
    path = line.get_path().transformed(line.get_transform())
    return bool(len(np.asarray(path.vertices)) > 1 and path.intersects_bbox(box, filled=False))


def _readable(colour: str) -> str:
    """Return `colour`, darkened until it can be read on white (a relative luminance of 0.18)."""
    red, green, blue = to_rgb(colour)
    luminance = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
    factor = min(1.0, (0.18 / max(luminance, 1e-6)) ** (1 / 2.2))
    return to_hex((red * factor, green * factor, blue * factor))
