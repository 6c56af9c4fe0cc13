"""How stale updates were, and by how much their steps were divided for it."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from ..labels import stack
from ..runs import Run
from ..theme import above, nothing, series

TITLE = "Staleness"
CAPTION = (
    "Share of updates with at most so much staleness (the updates applied between a worker's "
    "pull and its push), and with at most so large a divisor (what the step was really "
    "divided by, its mean over the entries sent). The further the divisor lies left of the "
    "staleness, the more of its step an update kept."
)

_LINES = {"staleness": "-", "divisor": (0, (4, 2))}


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Columns `run`, `node`, `staleness` (updates), `divisor` (NaN: no step): a row an update."""
    return stack(runs, lambda run: run.records("update"), ["node", *_LINES])


def draw(table: pd.DataFrame, ax: Axes) -> None:
    if table.empty:
        nothing(ax, "no update was applied")
        return
    runs = series(table["run"])
    alone = series(_LINES)
    for run, own in table.groupby("run", sort=False):
        for what, line in _LINES.items():
            if own[what].isna().all():  # where nobody learns, nothing was divided
                continue
            colour = alone[what] if len(runs) == 1 else runs[run]
            name = what if len(runs) == 1 else f"{run}: {what}"
            label = f"{name}, median {own[what].median():.3g}"
            ax.step(*_shares(own[what]), where="post", color=colour, linestyle=line, label=label)
    ax.set_xscale("symlog", linthresh=1, linscale=0.5)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set_xlim(0, max(2.0, table[[*_LINES]].max().max() * 1.2))
    ax.set_ylim(0, 103)
    ax.set_xlabel("staleness, divisor (updates)")
    ax.set_ylabel("share of updates (%)")
    if len(runs) <= 2:
        ax.legend(loc="lower right")  # no curve gets there
    else:
        above(ax)


def _shares(values: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """The empirical distribution: each value, and the per cent of updates at or below it."""
    distinct, counts = np.unique(values.to_numpy(float), return_counts=True)
    shares = np.cumsum(counts) / counts.sum() * 100
    return np.concatenate([[0.0], distinct, [1e9]]), np.concatenate([[0.0], shares, [100.0]])
