"""Mean absolute error of a regression over the bytes pushed by devices."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..runs import Run
from . import _score_bytes
from ._score import ERROR

TITLE = "Error over bytes pushed"
CAPTION = (
    "Mean absolute error on the test set over the bytes that the devices had pushed to the server "
    "by then, without the models that they pulled, on a logarithmic axis. The further left a curve "
    "falls, the fewer bytes of the uplinks it cost."
)

shown = ERROR.shown


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for every evaluation after a push: `run`, `push_bytes`, `error`."""
    return _score_bytes.table(runs, ERROR, "push_bytes")


def draw(table: pd.DataFrame, ax: Axes) -> None:
    _score_bytes.draw(table, ax, ERROR, "push_bytes")
