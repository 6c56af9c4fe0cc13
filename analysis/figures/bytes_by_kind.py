"""The pushed bytes by kind: values, indices, headers, framing, and activations of cut models."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from ..facts.devices import groups
from ..facts.message_bytes import KINDS
from ..pictures.theme import SERIES, legend_below, nothing
from ..quantities import size
from ..reading.labels import stack
from ..reading.runs import Run

TITLE = "Bytes pushed, by kind"
CAPTION = (
    "The bytes of applied pushes: gradient values, the indices of their parameters, the headers of "
    "the codec, and the framing of the transport. With a cut model, the activations and labels too "
    "that the devices sent."
)

_MOST_BARS = 12
_CROSSED = "activations"
_ALL = (*KINDS, _CROSSED)
_COLOURS = dict(zip(_ALL, (SERIES[place] for place in (0, 3, 1, 7, 5)), strict=True))


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for every device that pushed: `run`, `group`, `node`, then bytes by kind.

    The column `activations` has the bytes up at the cut; only if a run has such a cut.
    """
    crossed = any(len(run.records("activations")) for run in runs)
    kinds = _ALL if crossed else KINDS
    return stack(runs, _rows, ["group", "node", *kinds]).fillna({_CROSSED: 0})


def _rows(run: Run) -> pd.DataFrame:
    updates = run.records("update")
    if updates.empty:
        return pd.DataFrame()
    sums = updates.groupby("node", sort=False)[list(KINDS)].sum().reset_index()
    crossed = run.records("activations").groupby("node")["up"].sum()
    if len(crossed):
        sums[_CROSSED] = sums["node"].map(crossed).fillna(0).astype("int64")
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
            fontsize="small",
        )
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.margins(x=0.1)
    if several:
        ax.set_xlabel("share of bytes pushed (%)")
    else:
        ax.set_xlabel("bytes pushed")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size(value)))
    legend_below(ax, ax.get_legend_handles_labels()[0])


def _stack(ax: Axes, bars: pd.DataFrame, several: bool) -> None:
    left = pd.Series(0.0, index=bars.index)
    whole = bars.sum().sum()
    for kind in map(str, bars):
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
    kinds = [kind for kind in _ALL if kind in table]
    key = "run" if table["run"].nunique() > 1 else "node"
    if key == "node" and table["node"].nunique() > _MOST_BARS:
        sizes = table.groupby("group", sort=False).size()
        named = table["group"].map(lambda name: f"{name} × {sizes[name]}")
        return table.groupby(named, sort=False)[kinds].sum()
    return table.groupby(key, sort=False)[kinds].sum()
