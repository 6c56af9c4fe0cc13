"""Scores on the test set over the bytes pushed by devices, or over those of both directions."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..quantities import size
from ..runs import Run
from ..theme import log_ticks
from ._score import Score

_LABELS = {"push_bytes": "bytes pushed", "both_bytes": "bytes pushed and pulled"}


def table(runs: Sequence[Run], score: Score, over: str) -> pd.DataFrame:
    """Return a row for every evaluation after a push: `run`, the bytes `over`, and the score."""
    measured = score.table(runs, over)
    return measured[measured[over] > 0]  # a logarithmic axis has no zero


def draw(table: pd.DataFrame, ax: Axes, score: Score, over: str) -> None:
    score.draw(table, ax, over, _LABELS[over])
    if not table.empty:
        low, high = table[over].min(), table[over].max()
        ax.set_xscale("log")
        ax.set_xlim(low / 1.2, high * 1.03)
        log_ticks(ax.xaxis, low, high, size)
