"""A picture of a link trace: its rate over time, and its delay and loss if known."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from matplotlib.axes import Axes

from .picture_file import sheet
from .theme import INK, QUIET, SERIES

TraceRow: TypeAlias = tuple[float, float | None, float | None, float | None]
"""Time in seconds, rate in bit/s, one-way delay in seconds, share of lost packets, or None."""

_WIDTH, _TALL, _LOW = 9.0, 2.6, 1.1
_UNITS = ((2 * 3600, 3600, "h"), (300, 60, "min"), (0, 1, "s"))
_RATES = ((1e9, "gbit"), (1e6, "mbit"), (1e3, "kbit"))
_OUTAGE = "#F3D9CC"


def png(
    rows: Sequence[TraceRow], end: float, path: Path, *, title: str = "", rounds: int = 1
) -> Path:
    """Draw `rows`, of which the last one holds until `end`, `rounds` times into `path`.

    The legend tells times at a rate of zero, which are shaded, and the begins of rounds. Return
    `path`; its folder is made.
    """
    panels = [(1, "rate", 1.0)]
    panels += [(2, "delay (ms)", 1e3)] if any(row[2] is not None for row in rows) else []
    panels += [(3, "loss (%)", 100.0)] if any(row[3] is not None for row in rows) else []
    seconds, unit = next((size, name) for least, size, name in _UNITS if end * rounds >= least)
    times = [(number * end + row[0]) / seconds for number in range(rounds) for row in rows]
    times.append(rounds * end / seconds)
    heights = [_TALL] + [_LOW] * (len(panels) - 1)
    with sheet(path, _WIDTH, sum(heights) + 0.7) as figure:
        axes = figure.subplots(len(panels), 1, sharex=True, height_ratios=heights, squeeze=False)
        for ax, (column, name, factor) in zip(axes[:, 0], panels, strict=True):
            values = [row[column] for row in rows] * rounds
            if column == 1:
                factor, name = _rate_unit([value for value in values if value is not None])
                _shade(ax, times, values)
            drawn = [float("nan") if value is None else value * factor for value in values]
            ax.step(times, [*drawn, drawn[-1]], where="post", color=SERIES[column - 1])
            ax.set_ylim(bottom=0)
            ax.set_ylabel(name)
            for number in range(1, rounds):
                begun = f"begin of round {number + 1}"
                at = number * end / seconds
                ax.axvline(at, color=QUIET, linewidth=0.8, linestyle=":", label=begun)
            if column == 1 and (rounds > 1 or 0 in values):
                ax.legend(loc="upper right", fontsize=8)
        axes[-1, 0].set_xlim(0, times[-1])
        axes[-1, 0].set_xlabel(f"time ({unit})")
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, color=INK)
    return path


def _rate_unit(rates: Sequence[float]) -> tuple[float, str]:
    most = max(rates, default=0.0)
    scale, name = next((pair for pair in _RATES if most >= pair[0]), (1.0, "bit"))
    return 1 / scale, f"rate ({name}/s)"


def _shade(ax: Axes, times: Sequence[float], rates: Sequence[float | None]) -> None:
    """Shade the times at which the rate is zero."""
    label = "outage: a rate of zero"
    for number, rate in enumerate(rates):
        if rate == 0:
            ax.axvspan(times[number], times[number + 1], color=_OUTAGE, linewidth=0, label=label)
            label = ""  # one entry in the legend
