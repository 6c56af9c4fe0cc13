"""Test accuracy over emulated time."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..runs import Run
from . import _score_time
from ._score import ACCURACY

TITLE = "Accuracy over time"
CAPTION = (
    "Test accuracy over emulated seconds since every device had said hello. It shows the cost of "
    "slow links, slow devices and faults. Bands mark the times in which a fault held a device, and "
    "rows below show which."
)

shown = ACCURACY.shown


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return evaluations and outages: `run`, `what`, `node`, `place`, `at`, `until`, `accuracy`.

    `accuracy` is in per cent. The other columns are as in `_score_time.table`.
    """
    return _score_time.table(runs, ACCURACY)


def height(table: pd.DataFrame) -> float:
    return _score_time.height(table, ACCURACY)


def draw(table: pd.DataFrame, ax: Axes) -> None:
    _score_time.draw(table, ax, ACCURACY)
