"""Table and figure of the study `byzantine`: accuracy by aggregation, with liars and without."""

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pandas as pd
from matplotlib.axes import Axes

from ..pictures.picture_file import sheet
from ..pictures.theme import SERIES
from ..quantities import figures, percent
from ..reading.runs import Run
from .folder import Row, Study, curve, reached, worlds
from .markdown import never_or, spread, table

TARGET = 0.95


def tables(study: Study) -> str:
    """Return a table with a row for each aggregation, and two columns for each world.

    The columns have the accuracy of the last evaluation, and the updates until `TARGET`.
    """
    names = worlds(study.rows)
    cells = {(row.world, row.entry): _cells(row) for row in study.rows}
    columns = ["aggregation"]
    for world in names:
        columns += [world, f"updates to {percent(TARGET, 0)}"]
    lines = [
        [entry, *(cell for world in names for cell in cells.get((world, entry), ("", "")))]
        for entry in _entries(study)
    ]
    return table(columns, lines)


def figure(study: Study, path: Path) -> None:
    """Draw the accuracy over updates into `path`: a panel for each world, bands over the seeds."""
    names, entries = worlds(study.rows), _entries(study)
    colours = dict(zip(entries, SERIES, strict=False))
    with sheet(path, 8.4, 3.8) as drawn:
        panels = drawn.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for panel, world in zip(panels, names, strict=True):
            for row in (row for row in study.rows if row.world == world):
                _draw(panel, row, colours[row.entry])
            panel.set(xlim=(0, None), ylim=(0, 100), title=world, xlabel="Updates")
        panels[0].set_ylabel("Test accuracy (%)")
        shown = {
            label: handle
            for panel in panels
            for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
        }
        labels = [entry for entry in entries if entry in shown]
        drawn.legend([shown[name] for name in labels], labels, loc="outside lower center", ncols=4)


def _entries(study: Study) -> list[str]:
    return list(dict.fromkeys(row.entry for row in study.rows))


def _diverged(run: Run) -> bool:
    return bool((run.records("stop")["reason"] == "diverged").any())


def _cells(row: Row) -> tuple[str, str]:
    """Return the accuracy at the end and the updates until `TARGET`, in words."""
    runs = list(row.read())
    lasts = [float(curve(run)["accuracy"].iloc[-1]) for run in runs]
    until = [reached(run, TARGET) or math.inf for run in runs]
    words = spread(lasts, percent) if len(runs) > 1 else percent(lasts[0])
    return f"{words}{_note(list(map(_diverged, runs)))}", never_or(figures)(median(until))


def _note(diverged: Sequence[bool]) -> str:
    if not any(diverged):
        return ""
    return ", diverged" if all(diverged) else f", diverged: {sum(diverged)} of {len(diverged)}"


def _draw(panel: Axes, row: Row, colour: str) -> None:
    """Draw the median accuracy of the seeds of `row`, and a band from the least to the most.

    A run that has ended keeps its last accuracy. A run that diverged ends with a cross.
    """
    runs = list(row.read())
    columns = [curve(run).set_index("updates")["accuracy"] * 100 for run in runs]
    seeds = pd.concat(columns, axis=1).sort_index().ffill()
    panel.plot(seeds.index, seeds.median(axis=1), color=colour, label=row.entry)
    low, high = seeds.min(axis=1), seeds.max(axis=1)
    panel.fill_between(seeds.index, low, high, color=colour, alpha=0.2, linewidth=0)
    pairs = zip(columns, runs, strict=True)
    ends = [(own.index[-1], own.iloc[-1]) for own, run in pairs if _diverged(run)]
    if ends:
        panel.plot(*zip(*ends, strict=True), color=colour, marker="x", linestyle="none")
