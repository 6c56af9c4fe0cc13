"""Test accuracy over the bytes pushed by devices."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..runs import Run
from . import _score_bytes
from ._score import ACCURACY

TITLE = "Accuracy over bytes pushed"
CAPTION = (
    "Test accuracy over the bytes that the devices had pushed to the server by then, without the "
    "models that they pulled, on a logarithmic axis. The further left a curve lies, the fewer "
    "bytes of the uplinks its accuracy cost."
)

shown = ACCURACY.shown


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for every evaluation after a push: `run`, `push_bytes`, `accuracy` (%)."""
    return _score_bytes.table(runs, ACCURACY, "push_bytes")


def draw(table: pd.DataFrame, ax: Axes) -> None:
    _score_bytes.draw(table, ax, ACCURACY, "push_bytes")
