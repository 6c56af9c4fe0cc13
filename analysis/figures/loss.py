"""Losses over updates: on the workers' mini-batches, and on the test set."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ..facts.held_model import held_evaluations, held_updates
from ..pictures.curves import draw_curves, name_ends
from ..pictures.theme import HEIGHT, from_zero, legend_above, log_ticks, nothing, panels
from ..quantities import figures
from ..reading.labels import joined, stack
from ..reading.runs import Run

TITLE = "Loss over updates"
CAPTION = (
    "Above, the loss on the workers' mini-batches before each update, as the median of each "
    "hundredth of the run; below, the loss on the test set. A test loss that rises while the "
    "training loss falls shows that the model learns its examples by heart. The axis is "
    "logarithmic where losses differ fivefold."
)

_PARTS = 100
"""Number of medians of the training loss."""
_PANELS = {"training": "training loss", "test": "test loss"}
_WIDE = 5
"""Quotient of the largest and the least loss from which the axis is logarithmic."""


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for every point: `run`, `setting`, `what`, `updates`, `loss`.

    `what` is `training` for the median of some updates, the last of which is `updates`, and `test`
    for an evaluation.
    """
    return stack(runs, _rows, ["setting", "what", "updates", "loss"])


def _rows(run: Run) -> pd.DataFrame:
    trained, tested = (
        records[["updates", "loss"]].dropna().astype(float)
        for records in (held_updates(run), held_evaluations(run))
    )
    part = np.arange(len(trained)) // max(1, len(trained) // _PARTS)
    trained = trained.groupby(part).agg({"updates": "last", "loss": "median"})
    return joined(trained.assign(what="training"), tested.assign(what="test"))


def height(table: pd.DataFrame) -> float:
    return HEIGHT + (1.2 if table["what"].nunique() > 1 else 0.0)


def draw(table: pd.DataFrame, ax: Axes) -> None:
    shown = [what for what in _PANELS if (table["what"] == what).any()]
    if not shown:
        nothing(ax, "no loss was recorded")
        return
    grid = [panel for (panel,) in panels(ax, rows=len(shown))]
    for panel, what in zip(grid, shown, strict=True):
        own = table[table["what"] == what]
        lines = draw_curves(panel, own, "updates", "loss")
        panel.set_ylabel(_PANELS[what])
        _scale(panel, own["loss"])
    grid[-1].set_xlabel("updates")
    from_zero(grid[0], table["updates"].max())
    if table["run"].nunique() > 1 and not name_ends(grid[-1], lines):
        legend_above(grid[0], lines)


def _scale(panel: Axes, losses: "pd.Series[float]") -> None:
    """Make the axis of `panel` logarithmic if `losses` differ much."""
    low, high = losses.min(), losses.max()
    if 0 < low < high / _WIDE:
        panel.set_yscale("log")
        log_ticks(panel.yaxis, low, high, figures)
