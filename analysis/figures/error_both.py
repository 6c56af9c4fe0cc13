"""Mean absolute error of a regression over the bytes that devices pushed and pulled."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..runs import Run
from . import _score_bytes
from ._score import ERROR

TITLE = "Error over bytes pushed and pulled"
CAPTION = (
    "Mean absolute error on the test set over the bytes of both directions by then: those that the "
    "devices had pushed and pulled, with the activations of a cut model, on a logarithmic axis. "
    "The further left a curve falls, the fewer bytes it cost."
)

shown = ERROR.shown


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for every evaluation after a push: `run`, `both_bytes`, `error`."""
    return _score_bytes.table(runs, ERROR, "both_bytes")


def draw(table: pd.DataFrame, ax: Axes) -> None:
    _score_bytes.draw(table, ax, ERROR, "both_bytes")
