"""The staleness of updates, and the divisors of their steps."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from ..facts.held_model import held_updates
from ..pictures.line_styles import COLOURS, line_styles
from ..pictures.theme import legend_above, nothing
from ..reading.labels import stack
from ..reading.runs import Run

TITLE = "Staleness"
CAPTION = (
    "Share of updates with at most the staleness, or the divisor, on the x-axis. The staleness is "
    "the number of updates applied between a worker's pull and its push; with compute groups it is "
    "the number of steps. The divisor is the number by which the server divided the step, as a "
    "mean over the entries sent. The further left of the staleness the divisor lies, the more of "
    "its step an update kept."
)

_LINES = {"staleness": "-", "divisor": (0, (4, 2))}
_WIDTHS = {"staleness": 1.6, "divisor": 0.8}


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for every update: `run`, `setting`, `node`, `staleness` (updates), `divisor`.

    The divisor is NaN for an update without a step.
    """
    return stack(runs, held_updates, ["setting", "node", *_LINES])


def draw(table: pd.DataFrame, ax: Axes) -> None:
    if table.empty:
        nothing(ax, "no update was applied")
        return
    styles = line_styles(table["setting"])
    alone = dict(zip(_LINES, COLOURS, strict=False))
    for setting, own in table.groupby("setting", sort=False):
        for column, line in _LINES.items():
            if own[column].isna().all():  # without a learner there are no steps to divide
                continue
            look: dict[str, Any] = {"color": alone[column], "linestyle": line}
            if len(styles) > 1:  # the dash tells settings apart, and the width what is drawn
                look = {**styles[setting].stroke, "linewidth": _WIDTHS[column]}
            name = column if len(styles) == 1 else f"{setting}: {column}"
            label = f"{name}, median {own[column].median():.3g}"
            ax.step(*_shares(own[column]), where="post", label=label, **look)
    ax.set_xscale("symlog", linthresh=1, linscale=0.5)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set_xlim(0, max(2.0, table[[*_LINES]].max().max() * 1.2))
    ax.set_ylim(0, 103)
    ax.set_xlabel("staleness (updates or steps), divisor")
    ax.set_ylabel("share of updates (%)")
    if len(styles) == 1:
        ax.legend(loc="lower right")  # no curve gets there
    else:
        legend_above(ax)


def _shares(values: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct `values`, and the per cent of updates at or below each of them."""
    distinct, counts = np.unique(values.to_numpy(float), return_counts=True)
    shares = np.cumsum(counts) / counts.sum() * 100
    return np.concatenate([[0.0], distinct, [1e9]]), np.concatenate([[0.0], shares, [100.0]])
