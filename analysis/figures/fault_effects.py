"""The effects of faults: updates a second before, while and after they held devices."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ..pictures.theme import INK, fault_colour, legend_above, nothing
from ..reading.labels import stack
from ..reading.runs import Run

TITLE = "Effects of faults"
CAPTION = (
    "Updates per second of the whole run before, while and after faults of a kind held devices: as "
    "long before and after each fault as it lasted, from 1 s to 60 s, without the seconds in which "
    "another fault held a device; a fault holds its device until the server hears from the device "
    "again. All bars of a kind are means over the same faults, those of which at least a tenth of "
    "the time before and after is left, or else of the time before; a kind has no bars without "
    "such a fault. "
    "Faults that overlap share their effects while they hold devices."
)

_WINDOWS = {"before": 0.25, "during": 1.0, "after": 0.55}
"""The windows of a fault, with the strength of their colour."""


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return `run`, `fault` (the kind), `count`, `window` and `rate` (updates/s; NaN: no time)."""
    return stack(runs, _rows, ["fault", "count", "window", "rate"])


def _rows(run: Run) -> pd.DataFrame:
    kinds = (run.summary.get("fault_effects") or {}).get("kinds") or {}
    return pd.DataFrame(
        [
            (kind, own["count"], window, own["updates_per_s"][window])
            for kind, own in kinds.items()
            for window in _WINDOWS
        ],
        columns=["fault", "count", "window", "rate"],
    ).astype({"rate": float})


def height(table: pd.DataFrame) -> float:
    return 1.2 + 0.55 * max(1, table[["run", "fault"]].drop_duplicates().shape[0])


def draw(table: pd.DataFrame, ax: Axes) -> None:
    if table.empty:
        nothing(ax, "no fault happened")
        return
    several = table["run"].nunique() > 1
    labels = []
    for place, ((run, kind), own) in enumerate(table.groupby(["run", "fault"], sort=False)):
        labels.append(f"{run} · {kind}" if several else f"{kind} ({own['count'].iloc[0]:,})")
        for shift, (window, strength) in enumerate(_WINDOWS.items()):
            (rate,) = own.loc[own["window"] == window, "rate"]
            at = place + (shift - 1) * 0.27
            colour = fault_colour(str(kind))
            ax.barh(at, rate, 0.25, color=(colour, strength), edgecolor=colour, linewidth=0.6)
    ax.set_yticks(range(len(labels)), labels)
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    ax.set_xlabel("updates / s")
    ax.grid(visible=False, axis="y")
    keys = [Patch(facecolor=(INK, strength), label=name) for name, strength in _WINDOWS.items()]
    legend_above(ax, handles=keys)
