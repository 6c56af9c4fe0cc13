"""Table and figure of the study `byzantine`: accuracy by aggregation, with liars and without."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..pictures.picture_file import save_png
from ..pictures.theme import SERIES, STYLE
from ..quantities import figures, percent
from ..reading.runs import Run
from .folder import Row, Study, curve, reached
from .markdown import never_or, table

TARGET = 0.95


def tables(study: Study) -> str:
    """Return a table with a row for each aggregation, and two columns for each world.

    The columns have the accuracy of the last evaluation, and the updates until `TARGET`.
    """
    worlds = _worlds(study)
    cells = {(row.world, row.entry): _cells(row) for row in study.rows}
    columns = ["aggregation"]
    for world in worlds:
        columns += [world, f"updates to {percent(TARGET, 0)}"]
    lines = [
        [entry, *(cell for world in worlds for cell in cells.get((world, entry), ("", "")))]
        for entry in dict.fromkeys(row.entry for row in study.rows)
    ]
    return table(columns, lines)


def figure(study: Study, path: Path) -> None:
    """Draw the accuracy over updates into `path`: a panel for each world, bands over the seeds."""
    entries = list(dict.fromkeys(row.entry for row in study.rows))
    colours = dict(zip(entries, SERIES, strict=False))
    with rc_context(STYLE):
        drawn = Figure(figsize=(8.4, 3.8), layout="constrained")
        FigureCanvasAgg(drawn)
        worlds = _worlds(study)
        panels = drawn.subplots(1, len(worlds), sharey=True, squeeze=False)[0]
        for panel, world in zip(panels, worlds, strict=True):
            for row in (row for row in study.rows if row.world == world):
                _draw(panel, row, colours[row.entry])
            panel.set(xlim=(0, None), ylim=(0, 100), title=world, xlabel="Updates")
        panels[0].set_ylabel("Test accuracy (%)")
        shown = {
            label: handle
            for panel in panels
            for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
        }
        names = [entry for entry in entries if entry in shown]
        drawn.legend([shown[name] for name in names], names, loc="outside lower center", ncols=4)
        save_png(drawn, path, 160)


def _worlds(study: Study) -> list[str]:
    return list(dict.fromkeys(row.world for row in study.rows))


def _diverged(run: Run) -> bool:
    return bool((run.records("stop")["reason"] == "diverged").any())


# -- table -----------------------------------------------------------------------------------------


def _cells(row: Row) -> tuple[str, str]:
    """Return the accuracy at the end and the updates until `TARGET`, in words."""
    runs = list(row.read())
    lasts = [float(curve(run)["accuracy"].iloc[-1]) for run in runs]
    until = [reached(run, TARGET) or float("inf") for run in runs]
    diverged = sum(map(_diverged, runs))
    words = f"{_span(lasts)}{_note(diverged, len(runs))}"
    return words, never_or(figures)(median(until))


def _span(values: Sequence[float]) -> str:
    middle = percent(median(values))
    if len(values) == 1:
        return middle
    return f"{middle} ({percent(min(values))} – {percent(max(values))})"


def _note(diverged: int, runs: int) -> str:
    if not diverged:
        return ""
    return ", diverged" if diverged == runs else f", diverged: {diverged} of {runs}"


# -- figure ----------------------------------------------------------------------------------------


def _draw(panel: Axes, row: Row, colour: str) -> None:
    """Draw the median accuracy of the seeds of `row`, and a band from the least to the most.

    A run that has ended keeps its last accuracy. A run that diverged ends with a cross.
    """
    runs = list(row.read())
    columns = [curve(run).set_index("updates")["accuracy"] * 100 for run in runs]
    seeds = pd.concat(columns, axis=1).sort_index().ffill()
    panel.plot(seeds.index, seeds.median(axis=1), color=colour, label=row.entry)
    panel.fill_between(
        seeds.index, seeds.min(axis=1), seeds.max(axis=1), color=colour, alpha=0.2, linewidth=0
    )
    ends = [
        (own.index[-1], own.iloc[-1])
        for own, run in zip(columns, runs, strict=True)
        if _diverged(run)
    ]
    if ends:
        panel.plot(*zip(*ends, strict=True), color=colour, marker="x", linestyle="none")
