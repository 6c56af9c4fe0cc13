"""Test accuracy over emulated time."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..faults import outages
from ..labels import stack
from ..runs import Run
from ..theme import above, fault_keys, from_zero, shade
from . import _accuracy

TITLE = "Accuracy over time"
CAPTION = (
    "Test accuracy against emulated seconds since every device had said hello: what slow "
    "links, slow devices and faults cost. Bands are the times when a fault held a device."
)


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Columns `run`, `what`, `node`, `at`, `until` (s), `accuracy` (per cent).

    `what` is `accuracy` for an evaluation, or the kind of a fault, with the node that it struck
    and no accuracy.
    """
    return stack(runs, _rows, ["what", "node", "at", "until", "accuracy"])


def _rows(run: Run) -> pd.DataFrame:
    measured = _accuracy.rows(run, "at")
    if measured.empty:
        return pd.DataFrame()
    struck = outages(run).rename(columns={"fault": "what"})
    return pd.concat([measured.assign(what="accuracy", node="server"), struck], ignore_index=True)


def draw(table: pd.DataFrame, ax: Axes) -> None:
    measured = table[table["what"] == "accuracy"]
    struck = table[table["what"] != "accuracy"]
    _accuracy.draw(measured, ax, "at", "time (s)")
    if table["run"].nunique() == 1 and not struck.empty:  # several runs' bands hide each other
        from_zero(ax, max(measured["at"].max(), struck["until"].max()))
        shade(ax, struck)
        above(ax, handles=fault_keys(struck))
