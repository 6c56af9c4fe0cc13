"""Figures of a study, as its file declares them.

There are curves of runs, measures along a grid, measures over each other, and bars.
"""

import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from ..pictures.line_styles import LineStyle, line_styles
from ..pictures.picture_file import Print, sheet
from ..pictures.theme import INK, log_ticks, name_ticks
from ..quantities import figures, size
from .course import PLACES, Course
from .declaration import WORLDS, FigureSpec
from .folder import Row
from .measures import MEASURED, compression, measure, middle, shares
from .panels import bars, legend_of, ranges, stacked
from .results import Results, chosen

_PANEL = 3.3, 2.4
"""Width and height of a panel in inches."""
_WIDEST = 10.0
_STEPS = 40
"""Number of parts of a run in a curve of a measure that is made of updates."""

Points = list[tuple[float, float]]


@dataclass(frozen=True)
class _Panel:
    """A panel of a figure: its axes, the rows that it shows, and the look of their lines."""

    axes: Axes
    results: Results
    rows: Sequence[Row]
    spec: FigureSpec
    name: str
    """Name of the y-axis of curves, or of a measure."""
    styles: Mapping[Hashable, LineStyle]

    @property
    def lines(self) -> Mapping[str, list[Row]]:
        """The rows of each line by the line's name."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(_line(row, self.spec), []).append(row)
        return found

    def seeds(self, row: Row, name: str) -> list[float]:
        """Return the measure `name` of `row`, a value for each seed, shares in per cent."""
        scale = 100 if measure(name).share else 1
        return [scale * value for value in self.results.values(row, name)]


def draw(results: Results, spec: FigureSpec, path: Path, prints: Print | None = None) -> None:
    """Draw the figure `spec` of `results` into `path`, for print by `prints`."""
    rows = [row for row in chosen(results.study.rows, spec.worlds, spec.entries) if row.own]
    columns = _columns(rows, spec)
    lines = [(name, None) for name in spec.rows_of_panels]
    if spec.zoom:
        low, high = (100 * shares(end) for end in spec.zoom)
        lines += [(spec.rows_of_panels[0], (low, high))]  # type: ignore[list-item]
    styles = line_styles(_line(row, spec) for row in rows)
    # a single world has its measures side by side
    beside = len(columns) == 1 and not spec.zoom
    high, wide = (1, len(lines)) if beside else (len(lines), len(columns))
    turned = high < wide and stacked(wide, prints)
    high, wide = (wide, high) if turned else (high, wide)
    size = min(_WIDEST, max(5.0, _PANEL[0] * wide)), 0.6 + _PANEL[1] * high
    with sheet(path, *size, prints=prints) as drawn:
        shared: Any = {"sharey": "col"} if turned else {"sharex": "col", "sharey": "row"}
        made = drawn.subplots(high, wide, squeeze=False, **({} if beside else shared))
        grid = made.reshape(len(lines), len(columns)) if beside or not turned else made.T
        for (name, ends), panels in zip(lines, grid, strict=True):
            for panel, own in zip(panels, columns.values(), strict=True):
                KINDS[spec.kind](_Panel(panel, results, own, spec, name, styles))
            if ends:
                panels[0].set_ylim(*ends)
            for panel in panels if turned else panels[:1]:
                panel.set_ylabel(_label(spec, name))
        for panel, title in zip(grid[0], columns, strict=True):
            panel.set_title(title)
        for panel in grid.flat if beside or turned else grid[-1]:
            _finish_x(panel, spec)
        for (name, _), panels in zip(lines, grid, strict=True):
            _finish_y(panels, spec, name)
        drawn.align_ylabels()
        _legend(drawn, grid[0])


def _columns(rows: Sequence[Row], spec: FigureSpec) -> Mapping[str, list[Row]]:
    """Return the rows of each column of panels by its title."""
    if spec.panels == "none" or (spec.panels == "worlds" and spec.along == WORLDS):
        return {"": list(rows)}
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.world if spec.panels == "worlds" else row.algorithm, []).append(row)
    return found


def _line(row: Row, spec: FigureSpec) -> str:
    """Return the name of the line that shows `row`."""
    if spec.kind == "curves":
        return row.world + row.runtime if spec.panels == "entries" else row.title
    if spec.kind == "across":  # a line leads along all grids
        name = row.world if spec.panels == "entries" else row.algorithm
        return name + row.runtime
    others = [f", {grid} = {value}" for grid, value in row.over if grid != spec.along]
    name = row.algorithm + "".join(others) + row.runtime
    along_worlds = spec.along == WORLDS or spec.kind == "bars"
    return name if along_worlds or spec.panels == "worlds" else f"{row.world}: {name}"


def _legend(drawn: Figure, panels: Sequence[Axes]) -> None:
    shown: dict[str, Any] = {}
    for panel in panels:
        shown |= dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
    legend_of(drawn, shown)


# -- curves ----------------------------------------------------------------------------------------


def _curves(shown: _Panel) -> None:
    """Draw the median of the seeds of each of `rows`, and a band from the least to the most.

    The seeds' points with the same number of updates belong together; a run that has ended keeps
    its last value. A run that diverged ends with a cross.
    """
    panel, spec, name = shown.axes, shown.spec, shown.name
    for place, row in enumerate(shown.rows):
        style = shown.styles[_line(row, spec)]
        courses = [shown.results.courses[run] for run in row.runs]
        joint = _joined([_points(course, spec.x, name) for course in courses])
        if not joint:
            continue
        at = [median(x for x, _ in seeds) for seeds in joint]
        values = [[y for _, y in seeds] for seeds in joint]
        low, high = [min(own) for own in values], [max(own) for own in values]
        look = style.marked(len(at), place)
        panel.plot(at, list(map(median, values)), label=_line(row, spec), **look)
        panel.fill_between(at, low, high, color=style.colour, alpha=0.18, linewidth=0)
        for course in courses:
            if course.facts.get("diverged") and (points := _points(course, spec.x, name)):
                panel.plot(*points[max(points)], color=style.colour, marker="x")
    if spec.x in _BYTES:
        panel.set_xscale("log")
    if name == "loss" or name in _BYTES or " of " in name:
        panel.set_yscale("log")


def _joined(seeds: Sequence[Mapping[float, tuple[float, float]]]) -> list[Points]:
    """Return the points of all `seeds` at each number of updates; a seed that has ended keeps its
    last point."""
    last: list[tuple[float, float] | None] = [None] * len(seeds)
    found: list[Points] = []
    for updates in sorted({count for seed in seeds for count in seed}):
        last = [seed.get(updates, held) for seed, held in zip(seeds, last, strict=True)]
        found.append([point for point in last if point is not None])
    return found


def _points(course: Course, x: str, y: str) -> dict[float, tuple[float, float]]:
    """Return the finite points of a curve by the number of updates."""
    return {
        count: (at, value)
        for count, at, value in _made(course, x, y)
        if math.isfinite(at) and math.isfinite(value)
        # bytes are on logarithmic axes
        if (at > 0 or x not in _BYTES) and (value > 0 or y not in _BYTES)
    }


def _made(course: Course, x: str, y: str) -> Iterator[tuple[float, float, float]]:
    """Yield updates, x and y of the points of a curve."""
    if y in _SCORES:
        return _scores(course, x, y)
    key, _, variable = y.partition(" of ")
    return _kept(course, x, f"{key} {variable}") if key in MEASURED else _shares(course, x, y)


def _kept(course: Course, x: str, column: str) -> Iterator[tuple[float, float, float]]:
    """Yield the measured updates; they have no bytes, so no points over bytes either."""
    columns = course.measured
    for place, value in enumerate(columns.get(column, [])):
        updates = columns["updates"][place]
        at = updates / course.facts["epoch"] if x == "epochs" else math.nan
        yield updates, columns[_COLUMNS[x]][place] if _COLUMNS.get(x) in columns else at, value


def _scores(course: Course, x: str, y: str) -> Iterator[tuple[float, float, float]]:
    scores = course.evaluations
    for place, updates in enumerate(scores["updates"]):
        at = updates / course.facts["epoch"] if x == "epochs" else scores[_COLUMNS[x]][place]
        yield updates, at, _score(scores, place, y)


def _score(scores: Mapping[str, Sequence[float]], place: int, name: str) -> float:
    """Return the value `name` of an evaluation, shares in per cent."""
    if name in ("accuracy", "error"):
        accuracy = scores["accuracy"][place]
        return 100 * (accuracy if name == "accuracy" else 1 - accuracy)
    return scores[name][place]


def _shares(course: Course, x: str, y: str) -> Iterator[tuple[float, float, float]]:
    """Yield the mean of `y` in each of `_STEPS` parts of the updates, at the part's end."""
    sums = course.progress
    width = PLACES // _STEPS
    for end in range(width, PLACES + 1, width) if sums else ():
        begin = end - width
        count = sums["updates"][end] - sums["updates"][begin]
        if y.startswith("compression of "):
            value = compression(course, y.removeprefix("compression of "), begin, end)
        else:
            value = (sums[y][end] - sums[y][begin]) / count if count else math.nan
        updates = sums["updates"][end]
        column = sums.get(_COLUMNS.get(x, ""), [math.nan] * (PLACES + 1))
        at = updates / course.facts["epoch"] if x == "epochs" else column[end]
        yield updates, at, value


_BYTES = ("pushed", "pulled", "both")
_COLUMNS = {"updates": "updates", "seconds": "at", **{key: key for key in _BYTES}}
"""Columns of a course by the name of the x-axis."""
_SCORES = ("accuracy", "error", "loss", *_BYTES)
"""Values of an evaluation; others are means over updates."""

_LABELS = {
    "updates": "Updates",
    "seconds": "Time (s)",
    "epochs": "Epochs",
    "pushed": "Bytes pushed",
    "pulled": "Bytes pulled",
    "both": "Bytes in both directions",
    "accuracy": "Test accuracy (%)",
    "error": "Test error (%)",
    "loss": "Test loss",
    "staleness": "Staleness σ (updates)",
    "divisor": "Divisor of the step, σ_k",
}


# -- measures along a grid, and bars ---------------------------------------------------------------


def _along(shown: _Panel) -> None:
    """Draw a measure along the grid: medians, with bars from the least to the most."""
    panel, spec = shown.axes, shown.spec
    texts = list(dict.fromkeys(text for row in shown.rows if (text := _text(row, spec))))
    places = _places(texts)
    for number, (line, rows) in enumerate(shown.lines.items()):
        apart = number - (len(shown.lines) - 1) / 2
        own = [row for row in rows if _text(row, spec)]
        own.sort(key=lambda row: places[str(_text(row, spec))])
        seeds = [shown.seeds(row, shown.name) for row in own]
        at = [_apart(places[str(_text(row, spec))], apart, places, spec) for row in own]
        ranges(panel, at, seeds, label=line, **shown.styles[line].marked(len(at)))
    if spec.log:
        panel.set_xscale("log")
    name_ticks(panel.xaxis, list(places.values()), [_short(text) for text in texts])
    _scale(panel, "y", shown.name)


def _apart(place: float, apart: float, places: Mapping[str, float], spec: FigureSpec) -> float:
    """Return `place` moved by `apart` steps, so that the bars of several lines are seen."""
    reach = max(places.values()) - min(places.values())
    return float(place * 1.025**apart) if spec.log else place + 0.01 * reach * apart


def _text(row: Row, spec: FigureSpec) -> str | None:
    """Return the value of `row` on the grid as text; None if it is not on the grid."""
    return row.world if spec.along == WORLDS else dict(row.over).get(spec.along)


def _places(texts: Sequence[str]) -> dict[str, float]:
    """Return the place of each of `texts` on the axis: its number if all have one of their own."""
    found = [re.search(r"\d+(?:\.\d+)?", text) for text in texts]
    numbers = [float(match[0]) for match in found if match]
    if len(set(numbers)) == len(texts):
        return dict(zip(texts, numbers, strict=True))
    return {text: float(place) for place, text in enumerate(texts)}


def _short(text: str) -> str:
    """Return the number of `text` for a tick, or the text if it has none."""
    match = re.search(r"\d+(?:\.\d+)?", text)
    return match[0] if match else text


def _across(shown: _Panel) -> None:
    """Draw a measure over another one: a line through the medians of rows, and a dot for each seed.

    A row with a median that is no finite number has no point.
    """
    panel, spec = shown.axes, shown.spec
    for line, rows in shown.lines.items():
        style = shown.styles[line]
        seeds = [(shown.seeds(row, spec.x), shown.seeds(row, shown.name)) for row in rows]
        dots = _known([pair for xs, ys in seeds for pair in zip(xs, ys, strict=True)])
        middles = _known([(middle(xs), middle(ys)) for xs, ys in seeds])
        if middles:
            panel.plot(*zip(*middles, strict=True), label=line, **style.marked(len(middles)))
            panel.plot(*zip(*dots, strict=True), ".", color=style.colour, alpha=0.5, markersize=3)
    if spec.log:
        panel.set_xscale("log")
    _scale(panel, "x", spec.x)
    _scale(panel, "y", shown.name)


def _known(points: Points) -> Points:
    return [point for point in points if all(map(math.isfinite, point))]


def _bars(shown: _Panel) -> None:
    """Draw a bar for each row, with a line from the least to the most of its seeds."""
    panel, spec = shown.axes, shown.spec
    for place, row in enumerate(shown.rows):
        values = shown.seeds(row, shown.name)
        known = [value for value in values if math.isfinite(value)]
        if not known or not math.isfinite(height := median(values)):
            continue
        line = _line(row, spec)
        style = shown.styles[line]
        panel.bar([place], [height], color=style.colour, width=0.8, label=line)
        span = [(min(known), max(known))]
        bars(panel, [place], [height], span, color=INK, linestyle="none")
    names = [_line(row, spec) for row in shown.rows]
    panel.set_xticks(range(len(names)), names, rotation=30, ha="right")
    panel.grid(False, axis="x")
    _scale(panel, "y", shown.name)


# -- axes ------------------------------------------------------------------------------------------


def _label(spec: FigureSpec, name: str) -> str:
    """Return the label of the y-axis of `name`."""
    if spec.kind == "curves":
        return _LABELS.get(name) or measure(name).label
    return measure(name).label.replace(", ", ",\n", 1)


def _scale(panel: Axes, axis: Literal["x", "y"], name: str) -> None:
    """Make the `axis` of a measure in bytes logarithmic."""
    if measure(name).words is size:
        panel.set(**{f"{axis}scale": "log"})


def _finish_y(panels: Sequence[Axes], spec: FigureSpec, name: str) -> None:
    """Write the ticks of logarithmic axes of a line of panels."""
    for panel in panels:
        _write(panel.yaxis, panel.get_ylim(), spec, name)


def _write(axis: Axis, ends: tuple[float, float], spec: FigureSpec, name: str) -> None:
    """Write the ticks of a logarithmic axis: bytes with their unit, other numbers in full."""
    in_bytes = name in _BYTES or (spec.kind != "curves" and measure(name).words is size)
    if axis.get_scale() == "log":
        log_ticks(axis, *ends, size if in_bytes else figures)


def _finish_x(panel: Axes, spec: FigureSpec) -> None:
    """Label the x-axis."""
    if spec.kind == "bars":
        return
    if spec.kind == "along":
        panel.set_xlabel(spec.label or (spec.along if spec.along != WORLDS else ""))
        return
    panel.set_xlabel(_LABELS[spec.x] if spec.kind == "curves" else measure(spec.x).label)
    _write(panel.xaxis, panel.get_xlim(), spec, spec.x)


KINDS: Mapping[str, Callable[[_Panel], None]] = {
    "curves": _curves,
    "along": _along,
    "across": _across,
    "bars": _bars,
}
"""What draws a panel, by the kind of the figure."""
