"""The times in which the host was short of processor time, and their bands in figures over time."""

import math
from collections.abc import Iterable
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..pictures.theme import legend_below
from ..reading.runs import Run, fact

FULL = 0.95
"""Share of a core from which the server's container is short of processor time."""

_HOST, _SERVER = "#B00020", "#1F4E9E"
_HOST_TEXT, _SERVER_TEXT = (
    "devices and server short of processor time",
    "server used 95 % of a core",
)
_STRIP = 0.96
"""Height of the strip above a band, as a share of the axes: a band lies behind the data."""


@fact
def short_times(run: Run) -> list[tuple[float, float]]:
    """Return begin and end, in emulated seconds, of the times in which the host was short of
    processor time for devices and server, as the records `host` say."""
    return _joined((begin, end, short == 1) for begin, end, short, _ in _seconds(run))


@fact
def short_seconds(run: Run) -> tuple[int, int]:
    """Return the seconds in which the host was short, and all seconds that the records judge."""
    judged = seconds_of(run)["short"].dropna()
    return int(judged.sum()), len(judged)


@fact
def server_times(run: Run) -> list[tuple[float, float]]:
    """Return begin and end of the times in which the server used nearly a whole core."""
    return _joined((begin, end, used >= FULL) for begin, end, _, used in _seconds(run))


def _joined(seconds: Iterable[tuple[float, float, bool]]) -> list[tuple[float, float]]:
    """Return begin and end of the stretches that hold; a single second that does not ends none."""
    spans: list[tuple[float, float]] = []
    for begin, end, holds in seconds:
        if not holds:
            continue
        if spans and begin <= spans[-1][1] + (end - begin):
            spans[-1] = spans[-1][0], end
        else:
            spans.append((begin, end))
    return spans


@fact
def seconds_of(run: Run) -> pd.DataFrame:
    """Return a row for each second of the records `host`: `at`, `until`, `busy`, `evaluator`,
    `waits`, `pressure`, `server`, `throttled`, `short`.

    All but the times are fractions, and `short` is 1 or 0; NaN where unknown. A dilated run has a
    row for each real second; `server` is then the share of the core that the server has in emulated
    seconds.
    """
    names = ("busy", "evaluator", "waits", "pressure", "server", "throttled", "short")
    dilation = run.manifest.get("dilation")
    rows: list[tuple[float, ...]] = []
    for record in run.records("host").to_dict("records"):
        values = {name: _numbers(record.get(name)) for name in names}
        step = _number(record.get("step"), 1.0)
        count = len(values["busy"])
        first = float(record["at"]) - step * count
        for place in range(count):
            row = [own[place] if len(own) == count else math.nan for own in values.values()]
            row[names.index("server")] *= _number(dilation, 1.0)
            rows.append((max(0.0, first + step * place), first + step * (place + 1), *row))
    return pd.DataFrame(rows, columns=["at", "until", *names])


def _seconds(run: Run) -> Iterable[tuple[float, ...]]:
    """Return begin and end of each second, whether it is short, and the share of the server."""
    columns = ["at", "until", "short", "server"]
    return seconds_of(run)[columns].itertuples(index=False, name=None)


def _number(value: Any, otherwise: float) -> float:
    known = isinstance(value, int | float) and value > 0
    return float(value) if known else otherwise


def _numbers(value: Any) -> list[float]:
    """Return the numbers of a list; of any other value none."""
    if not isinstance(value, list):
        return []
    return [float(each) for each in value if isinstance(each, int | float)]


def mark(figure: Figure, run: Run) -> None:
    """Draw the times in which the host or the server of `run` was short of processor time, as bands
    over all axes of `figure` that show time."""
    kinds = [
        (short_times(run), _HOST, _HOST_TEXT, 0.10),
        (server_times(run), _SERVER, _SERVER_TEXT, 0.0),
    ]
    found = [kind for kind in kinds if kind[0]]
    shown = [ax for ax in figure.axes if _shows_time(ax)] if found else []
    for ax in shown:
        low, high = ax.get_xlim()
        for place, (spans, colour, _, alpha) in enumerate(reversed(found)):
            _band(ax, [(begin, min(end, high)) for begin, end in spans], colour, alpha, place)
        ax.set_xlim(low, high)
    if shown:
        keys = [Patch(facecolor=colour, alpha=0.6, label=text) for _, colour, text, _ in found]
        legend_below(shown[0], keys)


def _band(
    ax: Axes, spans: list[tuple[float, float]], colour: str, alpha: float, place: int
) -> None:
    """Draw `spans` behind the data, and as a strip above them, the `place`-th from above."""
    upper = 1 - place * (1 - _STRIP)
    for begin, end in spans:
        if alpha:
            ax.axvspan(begin, end, facecolor=colour, alpha=alpha, linewidth=0, zorder=-1)
        lower = upper - (1 - _STRIP)
        ax.axvspan(begin, end, lower, upper, facecolor=colour, alpha=0.6, linewidth=0, zorder=4)


def _shows_time(ax: Axes) -> bool:
    """Return whether the x-axis of `ax`, or one that shares it, is in emulated seconds."""
    if not ax.axison:
        return False
    together = ax.get_shared_x_axes().get_siblings(ax)
    return any(each.get_xlabel() == "time (s)" for each in together)
