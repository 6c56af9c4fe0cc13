"""Scores on the test set over emulated time, above the faults of a single run."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from .. import raster
from ..labels import joined, stack
from ..runs import Run
from ..theme import HEIGHT, fault_keys, from_zero, legend_above, shade
from ._score import Score


def table(runs: Sequence[Run], score: Score) -> pd.DataFrame:
    """Return evaluations and outages: `run`, `what`, `node`, `place`, `at`, `until`, and the score.

    `at` and `until` are in seconds. `what` is the score's column for an evaluation; for an outage
    it is the kind of the fault, `node` is the struck device, and the score is NaN. `place` is as
    `raster.struck` returns it.
    """
    columns = ["what", "node", "place", "at", "until", score.column]
    return stack(runs, lambda run: _rows(run, score), columns)


def _rows(run: Run, score: Score) -> pd.DataFrame:
    measured = score.rows(run, "at")
    if measured.empty:
        return pd.DataFrame()
    return joined(measured.assign(what=score.column, node="server"), raster.struck(run))


def height(table: pd.DataFrame, score: Score) -> float:
    return HEIGHT + raster.height(_struck(table, score))


def draw(table: pd.DataFrame, ax: Axes, score: Score) -> None:
    measured, struck = table[table["what"] == score.column], _struck(table, score)
    if struck.empty:
        score.draw(measured, ax, "at", "time (s)")
        return
    below = raster.beneath(ax, struck, HEIGHT)
    score.draw(measured, ax, "at", "")
    from_zero(ax, max(measured["at"].max(), struck["until"].max()))
    shade(ax, struck, lanes=False)
    legend_above(ax, handles=fault_keys(struck))
    raster.draw(below, struck)


def _struck(table: pd.DataFrame, score: Score) -> pd.DataFrame:
    """Return the outages to draw: none of several runs, whose bands would hide each other."""
    struck = table[table["what"] != score.column]
    return struck if table["run"].nunique() == 1 else struck.iloc[:0]
