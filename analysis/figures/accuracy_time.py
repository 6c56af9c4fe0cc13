"""Test accuracy over emulated time."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..runs import Run
from . import _accuracy

TITLE = "Accuracy over time"
CAPTION = (
    "Test accuracy against emulated seconds since every device had said hello: what slow "
    "links, slow devices and faults cost."
)


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Columns `run`, `at` (s), `accuracy` (per cent)."""
    return _accuracy.table(runs, "at")


def draw(table: pd.DataFrame, ax: Axes) -> None:
    _accuracy.draw(table, ax, "at", "at (s)")
