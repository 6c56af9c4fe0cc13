"""Test accuracy over emulated time."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from .. import raster
from ..labels import stack
from ..runs import Run
from ..theme import HEIGHT, fault_keys, from_zero, legend_above, shade
from . import _accuracy

TITLE = "Accuracy over time"
CAPTION = (
    "Test accuracy over emulated seconds since every device had said hello. It shows the cost of "
    "slow links, slow devices and faults. Bands mark the times in which a fault held a device, and "
    "rows below show which."
)


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return evaluations and outages: `run`, `what`, `node`, `place`, `at`, `until`, `accuracy`.

    `at` and `until` are in seconds, `accuracy` is in per cent. `what` is `accuracy` for an
    evaluation; for an outage it is the kind of the fault, `node` is the struck device, and
    `accuracy` is NaN. `place` is as `raster.struck` returns it.
    """
    return stack(runs, _rows, ["what", "node", "place", "at", "until", "accuracy"])


def _rows(run: Run) -> pd.DataFrame:
    measured = _accuracy.rows(run, "at")
    if measured.empty:
        return pd.DataFrame()
    return pd.concat(
        [measured.assign(what="accuracy", node="server"), raster.struck(run)], ignore_index=True
    )


def height(table: pd.DataFrame) -> float:
    return HEIGHT + raster.height(_struck(table))


def draw(table: pd.DataFrame, ax: Axes) -> None:
    measured, struck = table[table["what"] == "accuracy"], _struck(table)
    if struck.empty:
        _accuracy.draw(measured, ax, "at", "time (s)")
        return
    below = raster.beneath(ax, struck, HEIGHT)
    _accuracy.draw(measured, ax, "at", "")
    from_zero(ax, max(measured["at"].max(), struck["until"].max()))
    shade(ax, struck, lanes=False)
    legend_above(ax, handles=fault_keys(struck))
    raster.draw(below, struck)


def _struck(table: pd.DataFrame) -> pd.DataFrame:
    """Return the outages to draw: none of several runs, whose bands would hide each other."""
    struck = table[table["what"] != "accuracy"]
    return struck if table["run"].nunique() == 1 else struck.iloc[:0]
