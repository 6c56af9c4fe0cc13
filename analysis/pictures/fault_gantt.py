"""A picture of planned faults: devices × time, a colour and a hatch for each kind.

With few devices each has a labelled row; with many, rows are thin and groups are labelled. Below
stands the number of devices that a fault holds. The server may have a row, and is no device.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypeAlias

from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from .picture_file import sheet
from .theme import INK, QUIET, fault_colour, fault_hatch, legend_above

PlannedRow: TypeAlias = tuple[str, str, float, float | None]
"""Device, kind, begin and end in seconds; the end is None for a fault for good."""
ExpectedRow: TypeAlias = tuple[str, float, int]
"""Kind of a drawn fault, its chance in each iteration, and the number of its devices."""

SERVER = "server"
"""Name of the server where a row of a device has the device's name."""

_WIDTH = 9.0
_MOST_LABELS = 60
"""Largest number of devices with a label each."""
_ROW, _LEAST, _MOST = 0.2, 1.2, 7.0
"""Inches of a row with a label, and the least and largest height of all rows."""
_PIXEL = 0.0011
"""Least width of a bar as a share of the axis: about a pixel."""
_THIN = 0.004
"""Largest width of a bar without a white edge and a hatch, as a share of the axis."""
_HELD = 1.0
"""Height of the lower panel in inches."""
_MARGIN = 1.1
_UNITS = ((2 * 86400, 86400, "days"), (2 * 3600, 3600, "h"), (300, 60, "min"), (0, 1, "s"))
_STEPS = {
    "h": (1, 1.2, 2, 3, 6, 10),
    "min": (1, 1.5, 2, 3, 5, 10),
    "s": (1, 2, 5, 10),
    "days": (1, 2, 5, 10),
}
"""Steps between two ticks of the time axis, up to powers of ten, by unit."""
_HATCHED = 400
"""Largest number of bars with an edge and a hatch, which hide the colour of crowded bars."""


class _Scale(NamedTuple):
    """Unit of the time axis: seconds in a unit, and the unit's name."""

    seconds: float
    name: str


class Lane(NamedTuple):
    """A share of a row: the lane `number`, from 0 at the top, of `lanes` lanes."""

    number: int = 0
    lanes: int = 1


def png(
    rows: Sequence[PlannedRow],
    devices: Sequence[str],
    end: float,
    path: Path,
    *,
    title: str = "",
    expected: Sequence[ExpectedRow] = (),
    batteries: int = 0,
) -> Path:
    """Draw the faults `rows` of `devices` up to `end` seconds into `path`; return `path`.

    `expected` are faults without a time, which the legend names, as it does the number of devices
    with `batteries`, whose times off depend on their work. The folder of `path` is made.
    """
    tall = min(_MOST, max(_LEAST, _ROW * len(devices)))
    with sheet(path, _WIDTH, tall + _HELD + _MARGIN) as figure:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[tall, _HELD])
        scale = _scale(end)
        upper.set_xlim(0, end / scale.seconds)
        draw_rows(upper, rows, devices, end, scale.seconds)
        _label_rows(upper, devices)
        _draw_held(lower, rows, len([name for name in devices if name != SERVER]), end, scale)
        lower.set_xlabel(f"time ({scale.name})")
        keys = _keys(rows, expected, batteries)
        if keys:
            legend_above(upper, keys)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=10, color=INK)
    return path


def _scale(end: float) -> _Scale:
    return next(_Scale(seconds, name) for least, seconds, name in _UNITS if end >= least)


def draw_rows(
    ax: Axes,
    rows: Sequence[PlannedRow],
    devices: Sequence[str],
    end: float,
    unit: float = 1.0,
    lanes: Mapping[PlannedRow, Lane] | None = None,
) -> None:
    """Draw a bar for each of `rows` up to the second `end`, the first device at the top.

    The x-axis counts units of `unit` seconds. A bar with a lane in `lanes` is as thin as the lane.
    """
    place = {name: number for number, name in enumerate(devices)}
    labelled = len(devices) <= _MOST_LABELS
    least, height = end * _PIXEL, 0.8 if labelled else 1.0
    bars: dict[tuple[str, bool], list[Rectangle]] = {}
    # the longest first: a short fault stays visible on a long one
    for node, kind, begin, until in sorted(rows, key=lambda row: -_lasts(row, end)):
        width = max(least, min(end, math.inf if until is None else until) - begin)
        lane = (lanes or {}).get((node, kind, begin, until), Lane())
        thin = height / lane.lanes
        corner = begin / unit, place[node] + (1 - height) / 2 + lane.number * thin
        bar = Rectangle(corner, width / unit, thin)
        wide = len(rows) <= _HATCHED and width > _THIN * end
        bars.setdefault((kind, wide), []).append(bar)
    for order, ((kind, wide), own) in enumerate(bars.items()):
        ax.add_collection(
            PatchCollection(
                own,
                facecolor=(fault_colour(kind), 0.9),
                edgecolor="white" if wide else "none",
                linewidth=0.4 if wide else 0,
                hatch=fault_hatch(kind) if wide else None,
                antialiased=wide,
                zorder=2 + order,
            )
        )
    ax.set_ylim(len(devices), 0)
    ax.grid(False, axis="y")


def fault_lanes(rows: Iterable[PlannedRow]) -> dict[PlannedRow, Lane]:
    """Return a lane for each of `rows`: faults of a device that overlap have different lanes.

    A device has as many lanes as faults at the same time. A fault takes the first free lane.
    """
    free: dict[str, list[float]] = {}  # ends of the last faults in the lanes, by device
    numbers: dict[PlannedRow, int] = {}
    for row in sorted(rows, key=lambda row: row[2]):
        node, _, begin, until = row
        ends = free.setdefault(node, [])
        number = next((place for place, end in enumerate(ends) if end <= begin), len(ends))
        ends[number : number + 1] = [math.inf if until is None else until]
        numbers[row] = number
    return {row: Lane(number, len(free[row[0]])) for row, number in numbers.items()}


def _label_rows(ax: Axes, devices: Sequence[str]) -> None:
    ax.tick_params(axis="y", length=0)
    if len(devices) <= _MOST_LABELS:
        ax.set_yticks([number + 0.5 for number in range(len(devices))], list(devices))
    else:
        _label_groups(ax, devices)


def _lasts(row: PlannedRow, end: float) -> float:
    _, _, begin, until = row
    return min(end, math.inf if until is None else until) - begin


def _label_groups(ax: Axes, devices: Sequence[str]) -> None:
    """Label neighbours whose names differ in their last number only, with lines between them."""
    ticks: dict[float, str] = {}
    start = 0
    for name, members in groupby(devices, key=lambda device: re.sub(r"-\d+$", "", device)):
        count = len(list(members))
        ticks[start + count / 2] = f"{name}\n({count:,})" if count > 1 else name
        start += count
        if start < len(devices):
            ax.axhline(start, color=QUIET, linewidth=0.5, zorder=50)
    ax.set_yticks(list(ticks), list(ticks.values()))


def _draw_held(
    ax: Axes, rows: Sequence[PlannedRow], devices: int, end: float, scale: _Scale
) -> None:
    """Draw how many of `devices` a fault holds, over time."""
    times, counts = held(rows, end)
    ax.step(
        [time / scale.seconds for time in times], counts, where="post", color=INK, linewidth=0.9
    )
    ax.set_ylim(0, max(1, devices, *counts) * 1.05)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=3, integer=True))
    ax.xaxis.set_major_locator(MaxNLocator(nbins=12, steps=_STEPS[scale.name]))
    ax.set_ylabel("devices\nstruck")


def held(rows: Iterable[PlannedRow], end: float) -> tuple[list[float], list[int]]:
    """Return times and the number of devices that a fault holds from each of these times on.

    Faults of several kinds that overlap on a device count once.
    """
    spans: dict[str, list[tuple[float, float]]] = {}
    for node, _, begin, until in rows:
        if node != SERVER:
            reach = min(end, math.inf if until is None else until)
            spans.setdefault(node, []).append((begin, reach))
    changes: dict[float, int] = {0.0: 0, end: 0}
    for own in spans.values():
        reached = -math.inf
        for begin, until in sorted(own):
            if begin > reached:
                changes[begin] = changes.get(begin, 0) + 1
            elif until > reached:
                changes[reached] += 1  # the span goes on where the one before would have ended
            if until > reached:
                changes[until] = changes.get(until, 0) - 1
                reached = until
    times = sorted(changes)
    counts, now = [], 0
    for time in times:
        now += changes[time]
        counts.append(now)
    return times, counts


def _keys(
    rows: Sequence[PlannedRow], expected: Sequence[ExpectedRow], batteries: int = 0
) -> list[Patch]:
    """Return a legend entry for each kind, and for each fault without a time."""
    counts: Mapping[str, list[str]] = {}
    for node, kind, *_ in rows:
        counts.setdefault(kind, []).append(node)  # type: ignore[attr-defined]
    keys = []
    for kind, nodes in counts.items():
        struck = {*nodes} - {SERVER}
        where = _devices(len(struck)) if struck else f"the {SERVER}"
        keys.append(_key(kind, f"{kind}: {len(nodes):,} on {where}"))
    for kind, chance, devices in expected:
        label = f"{kind}: drawn, {100 * chance:.3g} % of iterations, {_devices(devices)}"
        keys.append(Patch(facecolor="none", edgecolor=fault_colour(kind), label=label))
    if batteries:
        label = f"energy: not drawn, depends on the work of {_devices(batteries)}"
        keys.append(Patch(facecolor="none", edgecolor=fault_colour("energy"), label=label))
    return keys


def _devices(number: int) -> str:
    return f"{number:,} device{'s' * (number != 1)}"


def _key(kind: str, label: str) -> Patch:
    hatch = fault_hatch(kind)
    return Patch(facecolor=fault_colour(kind), edgecolor="white", hatch=hatch, label=label)
