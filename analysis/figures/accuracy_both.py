"""Test accuracy over the bytes that devices pushed and pulled."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..runs import Run
from . import _score_bytes
from ._score import ACCURACY

TITLE = "Accuracy over bytes pushed and pulled"
CAPTION = (
    "Test accuracy over the bytes of both directions by then: those that the devices had pushed "
    "and pulled, with the activations of a cut model, on a logarithmic axis. The further left a "
    "curve lies, the fewer bytes its accuracy cost."
)

shown = ACCURACY.shown


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for every evaluation after a push: `run`, `both_bytes`, `accuracy` (%)."""
    return _score_bytes.table(runs, ACCURACY, "both_bytes")


def draw(table: pd.DataFrame, ax: Axes) -> None:
    _score_bytes.draw(table, ax, ACCURACY, "both_bytes")
