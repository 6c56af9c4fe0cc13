"""Gantt charts of iterations: the link above the processor, segments labelled by their layers.

A row of a chart is one iteration: a strategy's plan, or the trace of a device. Both phases stand
one after the other. In the forward phase the link carries the model, in the backward phase the
update.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ..quantities import figures, percent
from .picture_file import sheet
from .theme import INK, QUIET, legend_above

Layers: TypeAlias = tuple[int, int]
"""First and last layer of a segment, counted from 1, both included."""
Span: TypeAlias = tuple[float, float]
"""Begin and end, in seconds since the phase began; fractions will do."""

PHASES = {
    "pulled": ("pull", "#0072B2"),
    "forward": ("forward pass", "#009E73"),
    "backward": ("backward pass", "#B0568B"),
    "pushed": ("push", "#D55E00"),
}
"""Name and colour of each kind of bar."""

_ROW, _MARGIN = 0.95, 1.05
"""Inches of a row's height, and of the height of legend and axis."""
_WIDTH = 7.2
_LINK, _PROCESSOR, _TITLE = 0.62, 0.12, 1.02
"""Lower ends of the two lanes and of the title, in a row of height 1.3."""
_LANE, _PITCH = 0.4, 1.3
_LETTER = 0.0072
"""Width of a letter in a bar for text of one point, as a share of a figure one inch wide."""
_THIN = 0.004
"""Largest width of a bar without a white edge, as a share of the axis."""
_PIXEL = 0.001
"""Smallest width of a bar, as a share of the axis: about a pixel of a picture of `png`."""


class GanttBar(NamedTuple):
    """A segment on the link or on the processor; times count from the phase's begin."""

    layers: Layers
    begin: float
    end: float


@dataclass(frozen=True)
class GanttRow:
    """An iteration as bars by kind, in two phases."""

    label: str
    """For example the strategy's name, or `realised`."""
    pulled: tuple[GanttBar, ...]
    forward: tuple[GanttBar, ...]
    backward: tuple[GanttBar, ...]
    pushed: tuple[GanttBar, ...]

    @property
    def t_forward(self) -> float:
        """Seconds of the forward phase."""
        return max((bar.end for bar in (*self.pulled, *self.forward)), default=0.0)

    @property
    def t_backward(self) -> float:
        """Seconds of the backward phase."""
        return max((bar.end for bar in (*self.backward, *self.pushed)), default=0.0)

    @property
    def hidden(self) -> float:
        """Share of the transfer time in which the processor computes; NaN without a transfer."""
        transfer = sum(bar.end - bar.begin for bar in (*self.pulled, *self.pushed))
        overlap = _overlap(self.pulled, self.forward) + _overlap(self.pushed, self.backward)
        return overlap / transfer if transfer > 0 else float("nan")


def gantt_row(
    label: str,
    *,
    pull: Sequence[Layers],
    push: Sequence[Layers],
    pulled: Sequence[Span],
    forward: Sequence[Span],
    backward: Sequence[Span],
    pushed: Sequence[Span],
) -> GanttRow:
    """Return the row of an iteration with the segments `pull` and `push`.

    The other arguments have a span for each segment, in the order in which segments travel. Lists
    of different lengths are cut to the shortest.
    """
    return GanttRow(
        label,
        pulled=_bars(pull, pulled),
        forward=_bars(pull, forward),
        backward=_bars(push, backward),
        pushed=_bars(push, pushed),
    )


def segment_spans(segments: Iterable[Layers], layers: Sequence[Span]) -> list[Span]:
    """Return the span of each of `segments`; `layers` has a span for each layer, layer 1 first."""
    parts = [layers[first - 1 : last] for first, last in segments]
    return [(min(begin for begin, _ in part), max(end for _, end in part)) for part in parts]


def height(charts: Mapping[str, Sequence[object]]) -> float:
    """Return the height in inches of `charts`, given as the rows of each by its title."""
    return sum(map(_height, charts.values())) or _height([])


def _height(rows: Sequence[object]) -> float:
    return _MARGIN + _ROW * max(1, len(rows))


def draw_charts(charts: Mapping[str, Sequence[GanttRow]], ax: Axes) -> None:
    """Draw `charts`, the rows of each by its title, below each other in the place of `ax`.

    Each chart has a time axis of its own, as devices may differ by orders of magnitude. A single
    chart is drawn on `ax` and has no title.
    """
    if len(charts) == 1:
        (rows,) = charts.values()
        draw(rows, ax)
        return
    place, figure = ax.get_subplotspec(), ax.figure
    assert place is not None
    ax.set_axis_off()
    grid = place.subgridspec(len(charts), 1, height_ratios=list(map(_height, charts.values())))
    for number, (title, rows) in enumerate(charts.items()):
        panel = figure.add_subplot(grid[number])
        draw(rows, panel, legend=not number)
        panel.set_ylabel(title, color=INK)


def draw(rows: Sequence[GanttRow], ax: Axes, *, legend: bool = True) -> None:
    """Draw `rows` on `ax`, the first one at the top; times are in milliseconds or seconds."""
    reach = max(row.t_forward + row.t_backward for row in rows)
    scale, unit = (1.0, "s") if reach >= 2 else (1e3, "ms")
    ax.set_xlim(0, reach * scale * 1.01 or 1)
    ax.set_ylim(0, _PITCH * len(rows))
    ticks: dict[float, str] = {}
    for number, row in enumerate(reversed(rows)):
        base = _PITCH * number
        _draw_row(ax, row, base, scale, unit)
        ticks |= {base + _LINK + _LANE / 2: "link", base + _PROCESSOR + _LANE / 2: "processor"}
    ax.set_yticks(list(ticks), list(ticks.values()))
    ax.tick_params(axis="y", length=0)
    ax.grid(False, axis="y")
    ax.set_xlabel(f"time since the model could begin to arrive ({unit})")
    if legend:
        legend_above(ax, [Patch(facecolor=colour, label=name) for name, colour in PHASES.values()])


def png(charts: Mapping[str, Sequence[GanttRow]], path: Path) -> Path:
    """Write `charts` to `path` as `draw_charts` draws them, making its folder; return `path`."""
    with sheet(path, _WIDTH, height(charts)) as figure:
        draw_charts(charts, figure.subplots())
    return path


def _draw_row(ax: Axes, row: GanttRow, base: float, scale: float, unit: str) -> None:
    turn = row.t_forward
    lanes = (
        (row.pulled, "pulled", _LINK, 0.0),
        (row.forward, "forward", _PROCESSOR, 0.0),
        (row.backward, "backward", _PROCESSOR, turn),
        (row.pushed, "pushed", _LINK, turn),
    )
    for bars, phase, lane, shift in lanes:
        _draw_bars(ax, bars, PHASES[phase][1], base + lane, shift, scale)
    ax.plot(
        [turn * scale] * 2, [base + 0.05, base + 1.05], color=QUIET, linewidth=0.8, dashes=(2, 2)
    )
    ax.text(
        0, base + _TITLE + 0.05, _title(row, scale, unit), color=INK, fontsize="small", va="bottom"
    )


def _draw_bars(
    ax: Axes, bars: Sequence[GanttBar], colour: str, low: float, shift: float, scale: float
) -> None:
    spans = [((shift + bar.begin) * scale, (bar.end - bar.begin) * scale) for bar in bars]
    whole = ax.get_xlim()[1]
    # a white edge parts wide bars, and would cover a thin one
    edges = ["white" if width > _THIN * whole else "none" for _, width in spans]
    figure: Any = ax.figure
    letter = _LETTER * rcParams["font.size"] / figure.get_figwidth()
    visible = [(begin, max(width, _PIXEL * whole) if width else 0.0) for begin, width in spans]
    ax.broken_barh(visible, (low, _LANE), facecolor=colour, edgecolor=edges, linewidth=0.6)
    for bar, (begin, width) in zip(bars, spans, strict=True):
        text = _worded(bar.layers)
        if width > (len(text) + 1) * letter * whole:
            middle = (begin + width / 2, low + _LANE / 2)
            ax.text(*middle, text, color="white", fontsize="x-small", ha="center", va="center")


def _title(row: GanttRow, scale: float, unit: str) -> str:
    forward, backward = row.t_forward * scale, row.t_backward * scale
    return (
        f"{row.label}: {figures(forward)} + {figures(backward)} = {figures(forward + backward)} "
        f"{unit}, {percent(row.hidden, 0)} of the transfer hidden"
    )


def _worded(layers: Layers) -> str:
    first, last = layers
    return str(first) if first == last else f"{first}–{last}"


def _bars(segments: Sequence[Layers], spans: Sequence[Span]) -> tuple[GanttBar, ...]:
    return tuple(
        GanttBar((int(first), int(last)), float(begin), float(end))
        for (first, last), (begin, end) in zip(segments, spans, strict=False)
    )


def _overlap(one: Iterable[GanttBar], other: Sequence[GanttBar]) -> float:
    """Return the seconds in which a bar of `one` and a bar of `other` run at the same time."""
    return sum(
        max(0.0, min(bar.end, against.end) - max(bar.begin, against.begin))
        for bar in one
        for against in other
    )
