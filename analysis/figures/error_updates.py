"""Mean absolute error of a regression over applied updates."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..runs import Run
from ._score import ERROR

TITLE = "Error over updates"
CAPTION = (
    "Mean absolute error on the test set over the number of updates that the server applied. It "
    "shows the worth of an update, without the time and the bytes to deliver it."
)

shown = ERROR.shown


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for every evaluation: `run`, `updates`, `error`."""
    return ERROR.table(runs, "updates")


def draw(table: pd.DataFrame, ax: Axes) -> None:
    ERROR.draw(table, ax, "updates", "updates")
