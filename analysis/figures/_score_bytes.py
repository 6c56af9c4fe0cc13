"""Scores on the test set over the bytes pushed by workers."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..quantities import size
from ..runs import Run
from ..theme import log_ticks
from ._score import Score


def table(runs: Sequence[Run], score: Score) -> pd.DataFrame:
    """Return a row for every evaluation after a push: `run`, `push_bytes`, and the score."""
    measured = score.table(runs, "push_bytes")
    return measured[measured["push_bytes"] > 0]  # a logarithmic axis has no zero


def draw(table: pd.DataFrame, ax: Axes, score: Score) -> None:
    score.draw(table, ax, "push_bytes", "bytes pushed")
    if not table.empty:
        low, high = table["push_bytes"].min(), table["push_bytes"].max()
        ax.set_xscale("log")
        ax.set_xlim(low / 1.2, high * 1.03)
        log_ticks(ax.xaxis, low, high, size)
