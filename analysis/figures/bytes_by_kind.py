"""The pushed bytes by kind: values, indices, headers, framing."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from ..devices import groups
from ..labels import stack
from ..pushes import KINDS
from ..quantities import size
from ..runs import Run
from ..theme import SERIES, legend_above, nothing

TITLE = "Bytes pushed, by kind"
CAPTION = (
    "The bytes of applied pushes: gradient values, the indices of their parameters, the headers of "
    "the codec, and the framing of the transport."
)

_MOST_BARS = 12
_COLOURS = dict(zip(KINDS, (SERIES[0], SERIES[4], SERIES[2], SERIES[6]), strict=True))


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for every device that pushed: `run`, `group`, `node`, then bytes by kind."""
    return stack(runs, _rows, ["group", "node", *KINDS])


def _rows(run: Run) -> pd.DataFrame:
    updates = run.records("update")
    if updates.empty:
        return pd.DataFrame()
    sums = updates.groupby("node", sort=False)[list(KINDS)].sum().reset_index()
    group = groups(run)
    order = {name: place for place, name in enumerate(group)}
    sums = sums.sort_values("node", key=lambda names: names.map(order), ignore_index=True)
    return sums.assign(group=sums["node"].map(group).fillna(sums["node"]))


def height(table: pd.DataFrame) -> float:
    return 1.3 + 0.26 * len(_bars(table))


def draw(table: pd.DataFrame, ax: Axes) -> None:
    if table.empty:
        nothing(ax, "no push was applied")
        return
    bars = _bars(table)
    totals = bars.sum(axis=1)
    several = table["run"].nunique() > 1
    if several:  # runs may differ a hundredfold, so shares are drawn
        bars = bars.div(totals, axis=0) * 100
    _stack(ax, bars, several)
    for place, (length, total) in enumerate(zip(bars.sum(axis=1), totals, strict=True)):
        ax.annotate(
            size(total),
            (length, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.margins(x=0.1)
    if several:
        ax.set_xlabel("share of bytes pushed (%)")
    else:
        ax.set_xlabel("bytes pushed")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size(value)))
    legend_above(ax)


def _stack(ax: Axes, bars: pd.DataFrame, several: bool) -> None:
    left = pd.Series(0.0, index=bars.index)
    whole = bars.sum().sum()
    for kind in KINDS:
        label = kind if several else f"{kind} {bars[kind].sum() / whole * 100:.1f} %"
        ax.barh(
            bars.index,
            bars[kind],
            left=left,
            height=0.72,
            color=_COLOURS[kind],
            label=label,
            zorder=3,
        )
        left += bars[kind]


def _bars(table: pd.DataFrame) -> pd.DataFrame:
    """Return a bar for every run; for a single run, a bar for every device, or group of many."""
    key = "run" if table["run"].nunique() > 1 else "node"
    if key == "node" and table["node"].nunique() > _MOST_BARS:
        sizes = table.groupby("group", sort=False).size()
        named = table["group"].map(lambda name: f"{name} × {sizes[name]}")
        return table.groupby(named, sort=False)[list(KINDS)].sum()
    return table.groupby(key, sort=False)[list(KINDS)].sum()
