"""Test accuracy over the bytes pushed by workers."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..quantities import size
from ..runs import Run
from ..theme import log_ticks
from . import _accuracy

TITLE = "Accuracy over bytes pushed"
CAPTION = (
    "Test accuracy over the bytes that the workers had pushed to the server by then, on a "
    "logarithmic axis. The further left a curve lies, the fewer bytes its accuracy cost."
)


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for every evaluation after a push: `run`, `push_bytes`, `accuracy` (%)."""
    measured = _accuracy.table(runs, "push_bytes")
    return measured[measured["push_bytes"] > 0]  # a logarithmic axis has no zero


def draw(table: pd.DataFrame, ax: Axes) -> None:
    _accuracy.draw(table, ax, "push_bytes", "bytes pushed")
    if not table.empty:
        low, high = table["push_bytes"].min(), table["push_bytes"].max()
        ax.set_xscale("log")
        ax.set_xlim(low / 1.2, high * 1.03)
        log_ticks(ax.xaxis, low, high, size)
