"""Test accuracy over applied updates."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..runs import Run
from ._score import ACCURACY

TITLE = "Accuracy over updates"
CAPTION = (
    "Test accuracy over the number of updates that the server applied. It shows the worth of an "
    "update, without the time and the bytes to deliver it."
)

shown = ACCURACY.shown


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for every evaluation: `run`, `updates`, `accuracy` (per cent)."""
    return ACCURACY.table(runs, "updates")


def draw(table: pd.DataFrame, ax: Axes) -> None:
    ACCURACY.draw(table, ax, "updates", "updates")
