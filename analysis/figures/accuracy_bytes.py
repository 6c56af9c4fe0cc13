"""Test accuracy over the bytes that workers pushed."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..quantities import size
from ..runs import Run
from ..theme import log_ticks
from . import _accuracy

TITLE = "Accuracy over bytes pushed"
CAPTION = (
    "Test accuracy against all that the workers had sent to the server by then, on a "
    "logarithmic axis: the further left a curve, the less it paid for its accuracy."
)


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Columns `run`, `push_bytes`, `accuracy` (per cent): a row an evaluation after some push."""
    measured = _accuracy.table(runs, "push_bytes")
    return measured[measured["push_bytes"] > 0]  # zero has no place on a logarithmic axis


def draw(table: pd.DataFrame, ax: Axes) -> None:
    _accuracy.draw(table, ax, "push_bytes", "bytes pushed")
    if not table.empty:
        low, high = table["push_bytes"].min(), table["push_bytes"].max()
        ax.set_xscale("log")
        ax.set_xlim(low / 1.2, high * 1.03)
        log_ticks(ax.xaxis, low, high, size)
